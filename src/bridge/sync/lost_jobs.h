// bridge/sync/lost_jobs.h
//
// LostJobs: which jobs Slurm has for pods of which it is not known whether it has any. Only a list
// of all jobs says so, which is dear: one list answers all who asked before it began, and those who
// ask while it is under way share the next. Lives on the control loop; the tasks must not outlive
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bridge/sync/world.h"
#include "net/one_shot.h"
#include "net/task_group.h"
#include "slurm/job.h"

namespace mainspring::bridge {

using net::Task;

class LostJobs {
 public:
  // Under which keys a job is found, as a store's index has them.
  using Keys = std::function<void(const slurm::Job&, std::vector<std::string>&)>;
  using ByKey = std::multimap<std::string, std::shared_ptr<const slurm::Job>, std::less<>>;

  LostJobs(World& world, Keys keys);

  // By a list that began after this call.
  Task<Result<std::shared_ptr<const ByKey>>> list();

 private:
  using Answer = std::shared_ptr<const ByKey>;

  Task<Result<void>> run();
  Task<Result<Answer>> ask();

  World& world_;
  const Keys keys_;
  std::vector<net::OneShot<Answer>> waiting_;  // For a list that has not begun.
  bool running_ = false;
  net::TaskGroup tasks_;  // Last: what runs ends before what it uses.
};

}  // namespace mainspring::bridge
