// operator/sync/deletion_limit.h
//
// How many pods may be deleted: so many a minute by the whole process, and of one NodeSet only a
// share of its pods for reasons of which a mistake gives to all of them at once. Whatever goes
// wrong, in our code, in Slurm's answers or in the labels of nodes, takes down no more than this
// before somebody can look. Lives on the control loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace mainspring::op {

class DeletionLimit {
 public:
  DeletionLimit(const Clock& clock, int per_minute) : clock_(clock), per_minute_(per_minute) {}

  enum class Ground : std::uint8_t {
    kWanted,    // Scale-in, update, deletion: somebody asked for it in so many words.
    kUprooted,  // Its node does not fit it any more, or has another name, or the scaling mode is
                // another. A quarter a minute.
    kUnknown,   // Slurm does not know it. A tenth a minute.
  };

  // Takes one from what is left of this minute, for a NodeSet of `size` pods; false where nothing
  // is left. Of a share there is always one.
  bool take(Ground ground, std::string_view nodeset_uid, std::size_t size);
  // Whether take() would give one now.
  bool has_room(Ground ground, std::string_view nodeset_uid, std::size_t size);
  // Of a NodeSet that is gone.
  void forget(const std::string& nodeset_uid) { shares_.erase(nodeset_uid); }

 private:
  using Times = std::deque<TimePoint>;
  void expire(Times& times) const;

  const Clock& clock_;
  const int per_minute_;
  Times recent_;
  std::unordered_map<std::string, std::map<Ground, Times>> shares_;  // By UID of the NodeSet.
};

}  // namespace mainspring::op
