#include "bridge/sync/lost_jobs.h"

#include <utility>

#include "slurm/jobs.h"

namespace mainspring::bridge {

LostJobs::LostJobs(World& world, Keys keys)
    : world_(world), keys_(std::move(keys)), tasks_(world.manager.executor()) {}

Task<Result<LostJobs::Answer>> LostJobs::list() {
  const net::OneShot<Answer> answer;
  waiting_.push_back(answer);
  if (!std::exchange(running_, true)) tasks_.spawn(run());
  co_return co_await answer.wait();
}

Task<Result<void>> LostJobs::run() {
  while (!waiting_.empty()) {
    const auto asked = std::exchange(waiting_, {});
    const auto answer = co_await ask();
    for (const net::OneShot<Answer>& each : asked) each.set(answer);
  }
  running_ = false;
  co_return Result<void>();
}

Task<Result<LostJobs::Answer>> LostJobs::ask() {
  const auto found = std::make_shared<ByKey>();
  const auto look = [&](const std::shared_ptr<const slurm::Job>& job) {
    std::vector<std::string> keys;
    keys_(*job, keys);
    for (std::string& key : keys) found->emplace(std::move(key), job);
  };
  MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).list(look));
  co_return Answer(found);
}

}  // namespace mainspring::bridge
