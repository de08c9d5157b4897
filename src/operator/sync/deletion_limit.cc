#include "operator/sync/deletion_limit.h"

#include <algorithm>

namespace mainspring::op {

void DeletionLimit::expire(Times& times) const {
  const TimePoint since = clock_.now() - minutes(1);
  while (!times.empty() && times.front() <= since) times.pop_front();
}

bool DeletionLimit::take() {
  expire(recent_);
  if (recent_.size() >= static_cast<std::size_t>(std::max(per_minute_, 0))) return false;
  recent_.push_back(clock_.now());
  return true;
}

bool DeletionLimit::take_unknown(std::string_view nodeset_uid, std::size_t size) {
  constexpr std::size_t kShare = 10;
  Times& times = unknown_[std::string(nodeset_uid)];
  expire(times);
  if (times.size() >= std::max<std::size_t>(1, size / kShare) || !take()) return false;
  times.push_back(clock_.now());
  return true;
}

}  // namespace mainspring::op
