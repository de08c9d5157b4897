#include "operator/sync/deletion_limit.h"

#include <algorithm>

namespace mainspring::op {

void DeletionLimit::expire(Times& times) const {
  const TimePoint since = clock_.now() - minutes(1);
  while (!times.empty() && times.front() <= since) times.pop_front();
}

bool DeletionLimit::has_room(Ground ground, std::string_view nodeset_uid, std::size_t size) {
  expire(recent_);
  if (recent_.size() >= static_cast<std::size_t>(std::max(per_minute_, 0))) return false;
  if (ground == Ground::kWanted) return true;
  const std::size_t share = ground == Ground::kUnknown ? 10 : 4;
  Times& times = shares_[std::string(nodeset_uid)][ground];
  expire(times);
  return times.size() < std::max<std::size_t>(1, size / share);
}

bool DeletionLimit::take(Ground ground, std::string_view nodeset_uid, std::size_t size) {
  if (!has_room(ground, nodeset_uid, size)) return false;
  recent_.push_back(clock_.now());
  if (ground != Ground::kWanted) {
    shares_[std::string(nodeset_uid)][ground].push_back(clock_.now());
  }
  return true;
}

}  // namespace mainspring::op
