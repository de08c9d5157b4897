// tests/sim/chronicle.h
//
// What a store told its handlers, and whether that hangs together: each object's story is told once
// and in order. For simulations and for tests against the real thing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/store.h"

namespace mainspring::sim {

// Must live as long as the store changes.
template <class T>
class Chronicle {
 public:
  explicit Chronicle(Store<T>& store) {
    store.add_handler([this](const auto& before, const auto& after) { note(before, after); });
  }
  std::vector<std::string> complaints;
  std::vector<std::string> gone;

 private:
  using Object = std::shared_ptr<const T>;
  void note(const Object& before, const Object& after) {
    const std::string key((before ? before : after)->key().name);
    Object& last = last_[key];
    const bool follows = before && last ? *before == *last : before == last;
    if (!follows) complaints.push_back(key + ": an event was skipped or told twice");
    if (before && after && *before == *after) complaints.push_back(key + ": nothing changed");
    if (!after) gone.push_back(key);
    last = after;
  }
  std::map<std::string, Object> last_;
};

}  // namespace mainspring::sim
