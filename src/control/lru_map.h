// control/lru_map.h
//
// A hash map that forgets what was not used for longest when it is full: what a process remembers
// about objects that come and go without end. Lives on one loop; owned by what remembers.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace mainspring::control {

template <class T>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;

  // Null where there is none. Counts as a use.
  T* find(std::string_view key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return &it->second->second;
  }

  // Replaces what is there.
  T& put(std::string key, T value) {
    erase(key);
    if (!entries_.empty() && entries_.size() >= capacity_) pop_oldest();
    entries_.emplace_front(std::move(key), std::move(value));
    index_.emplace(entries_.front().first, entries_.begin());
    return entries_.front().second;
  }

  void erase(std::string_view key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return;
    const auto entry = it->second;
    index_.erase(it);
    entries_.erase(entry);
  }

  // Drops every entry for which `gone(value)`; the most recently used is asked first.
  template <class Gone>
  void erase_if(Gone gone) {
    for (auto it = entries_.begin(); it != entries_.end();) {
      if (!gone(it->second)) {
        ++it;
        continue;
      }
      index_.erase(it->first);
      it = entries_.erase(it);
    }
  }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  using Entries = std::list<std::pair<const std::string, T>>;

  void pop_oldest() {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }

  std::size_t capacity_;
  Entries entries_;
  // Keys point into the entries, whose addresses stay.
  std::unordered_map<std::string_view, typename Entries::iterator> index_;
};

}  // namespace mainspring::control
