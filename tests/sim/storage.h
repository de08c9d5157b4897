// tests/sim/storage.h
//
// What etcd is to an API server: objects by key under one counter of versions, and the history of
// changes back to the last compaction, from which watches read and old lists are rebuilt. It knows
// nothing of what objects mean. Lives on one loop; owned by KubeApi.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "json/value.h"
#include "net/notify.h"

namespace mainspring::sim {

using Object = std::shared_ptr<const json::Value>;
// By "namespace/name", or "name" for kinds without namespaces: the order in which lists come.
using Objects = std::map<std::string, Object, std::less<>>;

struct Change {
  std::uint64_t version = 0;
  std::string collection;
  std::string key;
  Object before;  // Null for a new object.
  Object after;   // Null for a deleted one.
  Object last;    // Of a deleted one: what watchers are told, at the version of the deletion.
};

std::string storage_key(std::string_view ns, std::string_view name);

class Storage {
 public:
  std::uint64_t version() const { return version_; }
  std::uint64_t compacted() const { return compacted_; }

  Object get(std::string_view collection, std::string_view key) const;
  const Objects& all(std::string_view collection) const;
  // As they were at `version`; nullopt if that has been compacted away.
  std::optional<Objects> all_at(std::string_view collection, std::uint64_t version) const;

  // Gives the object its new resourceVersion.
  Object put(std::string_view collection, std::string_view key, json::Value object);
  // `last` is the state that watchers are told.
  Object erase(std::string_view collection, std::string_view key, json::Value last);

  // The first change after `version` whose collection this is; null if there is none (yet).
  const Change* next_change(std::string_view collection, std::uint64_t version) const;

  // From now on nobody can begin at `version` or before. Watches under way go on: the real server
  // keeps the latest changes for them in memory.
  void compact(std::uint64_t version);
  // Whether a watch that has seen everything up to `version` can go on.
  bool can_follow(std::uint64_t version) const { return version >= forgotten_; }

  // Whoever waits for changes.
  net::Notify& changed() { return changed_; }
  void on_change(std::function<void(const Change&)> observer) { observer_ = std::move(observer); }

 private:
  void record(Change change);

  std::uint64_t version_ = 1;
  std::uint64_t compacted_ = 0;
  std::uint64_t forgotten_ = 0;  // The last change that is no longer in the history.
  std::map<std::string, Objects, std::less<>> collections_;
  std::deque<Change> history_;
  net::Notify changed_;
  std::function<void(const Change&)> observer_;
};

}  // namespace mainspring::sim
