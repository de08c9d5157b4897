// slurm/usual_time.h
//
// What answers of one kind take at best of late, to tell a slow one by: the least of the last five
// to ten minutes. So a slurmrestd that is far away is not taken for one in trouble, and what is
// slow for good becomes the usual. A value; the client keeps one for each endpoint.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mainspring::slurm {

class UsualTime {
 public:
  // Zero until there was an answer.
  Duration least(TimePoint now) {
    turn(now);
    if (older_ == Duration::zero()) return newer_;
    return newer_ == Duration::zero() ? older_ : std::min(older_, newer_);
  }

  void add(Duration took, TimePoint now) {
    turn(now);
    took = std::max(took, Duration(1));
    newer_ = newer_ == Duration::zero() ? took : std::min(newer_, took);
  }

 private:
  static constexpr Duration kWindow = minutes(5);

  void turn(TimePoint now) {
    if (now - began_ < kWindow) return;
    // What was not heard of for a whole window says nothing about now.
    older_ = now - began_ < 2 * kWindow ? newer_ : Duration::zero();
    newer_ = Duration::zero();
    began_ = now;
  }

  TimePoint began_;
  Duration older_{}, newer_{};
};

}  // namespace mainspring::slurm
