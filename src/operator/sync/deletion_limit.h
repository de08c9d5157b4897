// operator/sync/deletion_limit.h
//
// How many pods may be deleted: so many a minute by the whole process, and of one NodeSet only a
// small share on the word that Slurm does not know them. Whatever goes wrong, in our code or in
// Slurm's answers, takes down no more than this before somebody can look. Lives on the control
// loop.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace mainspring::op {

class DeletionLimit {
 public:
  DeletionLimit(const Clock& clock, int per_minute) : clock_(clock), per_minute_(per_minute) {}

  // Takes one from what is left of this minute; false where nothing is left.
  bool take();
  // The same for a pod of a NodeSet of `size` pods that Slurm does not know: at most a tenth of
  // them a minute, and at least one.
  bool take_unknown(std::string_view nodeset_uid, std::size_t size);
  // Whether take() would give one now, and take_unknown().
  bool has_room();
  bool has_room_unknown(std::string_view nodeset_uid, std::size_t size);
  // Of a NodeSet that is gone.
  void forget(const std::string& nodeset_uid) { unknown_.erase(nodeset_uid); }

 private:
  using Times = std::deque<TimePoint>;
  void expire(Times& times) const;

  const Clock& clock_;
  const int per_minute_;
  Times recent_;
  std::unordered_map<std::string, Times> unknown_;
};

}  // namespace mainspring::op
