// bridge/nodes/removal_limit.h
//
// RemovalLimit: how many nodes may be removed from Slurm: of all that are there a tenth a minute,
// and two where that is more. Whatever goes wrong, in our code or in what Kubernetes says, leaves
// people time to look. Lives on the control loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace mainspring::bridge {

class RemovalLimit {
 public:
  explicit RemovalLimit(const Clock& clock) : clock_(clock) {}

  // Takes one from what is left of this minute; false where nothing is left.
  bool take(std::size_t nodes) {
    constexpr std::size_t kShare = 10;
    constexpr std::size_t kFew = 2;
    while (!recent_.empty() && recent_.front() <= clock_.now() - minutes(1)) recent_.pop_front();
    if (recent_.size() >= std::max(kFew, nodes / kShare)) return false;
    recent_.push_back(clock_.now());
    return true;
  }

 private:
  const Clock& clock_;
  std::deque<TimePoint> recent_;
};

}  // namespace mainspring::bridge
