// tests/sim/garbage.h
//
// What kube-controller-manager does to objects of every kind: removes those whose owners are gone,
// carries out foreground deletion and orphaning, and empties namespaces that are being deleted. It
// looks a while after something changed, as the real one does, so that a controller sees the states
// between. Lives on one loop; owned by KubeApi.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/executor.h"
#include "sim/kinds.h"
#include "sim/registry.h"
#include "sim/storage.h"

namespace mainspring::sim {

class Garbage {
 public:
  // All must outlive it.
  Garbage(net::Executor& executor, Duration delay, Storage& storage, const Kinds& kinds,
          Registry& registry)
      : executor_(executor), delay_(delay), storage_(storage), kinds_(kinds), registry_(registry) {}

  // Looks after the delay, once, however often it is told.
  void wake();
  // Now, until nothing changes any more.
  void collect();

 private:
  struct Item {
    std::shared_ptr<const Kind> kind;
    Object object;
  };

  std::vector<Item> everything() const;
  bool sweep();
  bool sweep_owners(const Item& item);
  bool finish_foreground(const Item& item);
  bool orphan_dependents(const Item& item);
  bool empty_namespace(const Item& item);
  // The owner that a reference means; null if it is gone.
  Object owner(const json::Value& reference, std::string_view ns) const;
  std::vector<Item> dependents_of(std::string_view uid) const;
  void write(const Item& item, json::Value object);

  net::Executor& executor_;
  Duration delay_;
  Storage& storage_;
  const Kinds& kinds_;
  Registry& registry_;
  std::optional<net::Timer> timer_;
  bool awake_ = false;
};

}  // namespace mainspring::sim
