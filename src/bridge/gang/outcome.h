// bridge/gang/outcome.h
//
// Outcome: what became of the pods of one job, for Slurm's accounting. Pods of a gang end one after
// the other and may be gone from the API server before the last has, so they are counted as they
// go. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "kube/pod.h"

namespace mainspring::bridge {

class Outcome {
 public:
  // One of which nothing is at work any more; `lost`: because its node is not. Counts once, however
  // often it is added.
  void add(const kube::Pod& pod, bool lost);

  // That one pod ran and ended well is what the job's own record shows.
  bool is_worth_telling() const { return seen_.size() > 1 || failed_ > 0 || restarts_ > 0; }
  int exit_code() const { return exit_code_; }
  // "pod ns/a failed with exit code 137: OOMKilled; of 4 pods 3 succeeded; 2 restarts; 311 s".
  std::string text() const;

 private:
  std::set<std::string, std::less<>> seen_;  // UIDs.
  std::string worst_;                        // "pod ns/a failed with exit code 3: Error".
  int exit_code_ = 0;                        // The highest of all.
  std::size_t failed_ = 0;
  std::size_t out_of_memory_ = 0;
  std::int64_t restarts_ = 0;
  std::optional<WallTime> began_, ended_;
};

}  // namespace mainspring::bridge
