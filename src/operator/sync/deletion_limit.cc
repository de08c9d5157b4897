#include "operator/sync/deletion_limit.h"

#include <algorithm>

namespace mainspring::op {

void DeletionLimit::expire(Times& times) const {
  const TimePoint since = clock_.now() - minutes(1);
  while (!times.empty() && times.front() <= since) times.pop_front();
}

bool DeletionLimit::has_room() {
  expire(recent_);
  return recent_.size() < static_cast<std::size_t>(std::max(per_minute_, 0));
}

bool DeletionLimit::take() {
  if (!has_room()) return false;
  recent_.push_back(clock_.now());
  return true;
}

bool DeletionLimit::has_room_unknown(std::string_view nodeset_uid, std::size_t size) {
  constexpr std::size_t kShare = 10;
  Times& times = unknown_[std::string(nodeset_uid)];
  expire(times);
  return times.size() < std::max<std::size_t>(1, size / kShare) && has_room();
}

bool DeletionLimit::take_unknown(std::string_view nodeset_uid, std::size_t size) {
  if (!has_room_unknown(nodeset_uid, size) || !take()) return false;
  unknown_[std::string(nodeset_uid)].push_back(clock_.now());
  return true;
}

}  // namespace mainspring::op
