#include "sim/storage.h"

#include <algorithm>
#include <utility>

namespace mainspring::sim {

using json::Value;

std::string storage_key(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
}

Object Storage::get(std::string_view collection, std::string_view key) const {
  const Objects& objects = all(collection);
  const auto it = objects.find(key);
  return it == objects.end() ? nullptr : it->second;
}

const Objects& Storage::all(std::string_view collection) const {
  static const Objects kNone;
  const auto it = collections_.find(collection);
  return it == collections_.end() ? kNone : it->second;
}

std::optional<Objects> Storage::all_at(std::string_view collection, std::uint64_t version) const {
  if (version < compacted_) return std::nullopt;
  Objects objects = all(collection);
  for (auto it = history_.rbegin(); it != history_.rend() && it->version > version; ++it) {
    if (it->collection != collection) continue;
    if (it->before == nullptr) {
      objects.erase(it->key);
    } else {
      objects[it->key] = it->before;
    }
  }
  return objects;
}

Object Storage::put(std::string_view collection, std::string_view key, Value object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  auto stored = std::make_shared<const Value>(std::move(object));
  Object& slot = collections_[std::string(collection)][std::string(key)];
  Object before = std::exchange(slot, stored);
  record({version_, std::string(collection), std::string(key), std::move(before), stored, nullptr});
  return stored;
}

Object Storage::erase(std::string_view collection, std::string_view key, Value last) {
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  auto gone = std::make_shared<const Value>(std::move(last));
  Objects& objects = collections_[std::string(collection)];
  Object before;
  if (const auto it = objects.find(key); it != objects.end()) {
    before = std::move(it->second);
    objects.erase(it);
  }
  record({version_, std::string(collection), std::string(key), std::move(before), nullptr, gone});
  return gone;
}

const Change* Storage::next_change(std::string_view collection, std::uint64_t version) const {
  auto it =
      std::upper_bound(history_.begin(), history_.end(), version,
                       [](std::uint64_t after, const Change& c) { return after < c.version; });
  it =
      std::find_if(it, history_.end(), [&](const Change& c) { return c.collection == collection; });
  return it == history_.end() ? nullptr : &*it;
}

void Storage::compact(std::uint64_t version) {
  compacted_ = std::max(compacted_, std::min(version, version_));
}

void Storage::record(Change change) {
  constexpr std::size_t kLongest = 100'000;
  history_.push_back(std::move(change));
  while (history_.size() > kLongest) {
    forgotten_ = history_.front().version;
    compacted_ = std::max(compacted_, forgotten_);
    history_.pop_front();
  }
  // The observer may write, which adds to the history: keep it from seeing a moved element.
  if (observer_) observer_(Change(history_.back()));
  changed_.notify_all();
}

}  // namespace mainspring::sim
