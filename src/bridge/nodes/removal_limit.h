// bridge/nodes/removal_limit.h
//
// RemovalLimit: how many of a kind may be removed, such as nodes from Slurm: of all that are there
// a share a minute, by default a tenth, and a few where that is more. Whatever goes wrong, in our
// code or in what others say, leaves people time to look. Lives on the control loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace mainspring::bridge {

class RemovalLimit {
 public:
  struct Options {
    std::size_t percent = 10;
    std::size_t few = 2;
  };
  explicit RemovalLimit(const Clock& clock) : RemovalLimit(clock, Options()) {}
  RemovalLimit(const Clock& clock, Options options) : clock_(clock), options_(options) {}

  // Takes one from what is left of this minute; false where nothing is left.
  bool take(std::size_t all) {
    while (!recent_.empty() && recent_.front() <= clock_.now() - minutes(1)) recent_.pop_front();
    if (recent_.size() >= std::max(options_.few, all * options_.percent / 100)) return false;
    recent_.push_back(clock_.now());
    return true;
  }

 private:
  const Clock& clock_;
  const Options options_;
  std::deque<TimePoint> recent_;
};

}  // namespace mainspring::bridge
