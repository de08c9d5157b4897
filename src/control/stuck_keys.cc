#include "control/stuck_keys.h"

#include <algorithm>

#include "base/rfc3339.h"

namespace mainspring::control {

void StuckKeys::started(const Key& key) {
  const TimePoint now = clock_.now();
  keys_.try_emplace(key, State{now, std::nullopt, 0, {}}).first->second.running = now;
}

void StuckKeys::forget(const Key& key) { keys_.erase(key); }

void StuckKeys::failed(const Key& key, const Error& error) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  found->second.running.reset();
  ++found->second.failures;
  found->second.last_error = error.to_string();
}

std::vector<StuckKeys::Stuck> StuckKeys::stuck() const {
  std::vector<Stuck> stuck;
  const TimePoint now = clock_.now();
  const WallTime wall_now = clock_.wall_now();
  for (const auto& [key, state] : keys_) {
    if (now - state.since < after_) continue;
    stuck.push_back({key, wall_now - (now - state.since), state.failures, state.last_error});
  }
  std::sort(stuck.begin(), stuck.end(), [](const Stuck& a, const Stuck& b) {
    return a.since != b.since ? a.since < b.since : a.key < b.key;
  });
  return stuck;
}

std::size_t StuckKeys::held_workers() const {
  const TimePoint now = clock_.now();
  const auto held = std::count_if(keys_.begin(), keys_.end(), [&](const auto& entry) {
    const auto& running = entry.second.running;
    return running && now - *running >= after_;
  });
  return static_cast<std::size_t>(held);
}

std::string describe(const std::vector<StuckKeys::Stuck>& stuck) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(stuck.size(), kShown); ++i) {
    const auto& one = stuck[i];
    if (i > 0) text += "; ";
    text +=
        "key " + one.key.to_string() + " has made no progress since " + format_rfc3339(one.since);
    if (one.failures > 0) {
      text += ", " + std::to_string(one.failures) + " failures, the last: " + one.last_error;
    } else {
      text += ", its reconcile does not end";
    }
  }
  if (stuck.size() > kShown) text += "; and " + std::to_string(stuck.size() - kShown) + " more";
  return text;
}

}  // namespace mainspring::control
