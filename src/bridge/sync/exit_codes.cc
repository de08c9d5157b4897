#include "bridge/sync/exit_codes.h"

#include <algorithm>
#include <utility>

#include "net/wait.h"
#include "slurm/accounts.h"

namespace mainspring::bridge {
namespace {

constexpr Duration kPace = seconds(2);
constexpr std::size_t kAtOnce = 20;    // A round.
constexpr std::size_t kMost = 10'000;  // So many more are not worth remembering.
constexpr int kTries = 15;
constexpr Duration kWithout = minutes(10);

}  // namespace

ExitCodes::ExitCodes(World& world) : world_(world) {
  world_.manager.add_work("exit-codes", control::Manager::When::kLeading, [this] { return run(); });
}

void ExitCodes::add(slurm::JobId job, int exit_code, std::string comment) {
  if ((exit_code == 0 && comment.empty()) || ended_.size() >= kMost) return;
  if (world_.manager.executor().now() < without_until_) return;
  ended_.push_back({job, exit_code, std::move(comment)});
}

net::Task<Result<bool>> ExitCodes::write(Ended ended) {
  const slurm::Accounting accounting(world_.slurm);
  MS_CO_TRY(const slurm::DbJob past, co_await accounting.job(ended.job));
  if (past.end_time == 0) co_return false;
  slurm::DbJobUpdate update;
  if (!ended.comment.empty()) update.comment = std::move(ended.comment);
  if (ended.exit_code != 0) update.derived_exit_code = static_cast<std::int32_t>(ended.exit_code);
  MS_CO_CHECK(co_await accounting.update_job(ended.job, std::move(update)));
  co_return true;
}

net::Task<Result<void>> ExitCodes::run() {
  for (;;) {
    MS_CO_CHECK(co_await net::sleep(kPace));
    for (std::size_t left = std::min(ended_.size(), kAtOnce); left > 0; --left) {
      Ended one = std::exchange(ended_.front(), {});
      ended_.pop_front();
      const auto done = co_await write(one);
      if (done && *done) continue;
      if (!done && done.error().code() == Code::kCancelled) co_return fail(done.error());
      if (!done && done.error().code() == Code::kUnsupported) {
        without_until_ = world_.manager.executor().now() + kWithout;
        ended_.clear();
        break;
      }
      if (++one.tries < kTries) {
        ended_.push_back(one);
      } else if (!done) {
        world_.log.debug("no exit code in accounting",
                         {{"job", one.job.text()}, {"error", done.error()}});
      }
      if (!done) break;
    }
  }
}

}  // namespace mainspring::bridge
