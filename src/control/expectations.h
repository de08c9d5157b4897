// control/expectations.h
//
// What a controller has done and its cache has not shown yet. A reconcile that counts children in a
// cache right after it created some would count too few and create them again; so it says what it
// is about to do, and waits until the store's handlers have seen it happen.
//
//   if (auto wait = expectations.wait(owner.uid)) co_return Requeue{*wait};
//   expectations.expect_creation(owner.uid);
//   if (auto made = co_await pods.create(...); !made) expectations.creation_failed(owner.uid);
//
// By the owner's UID: a new owner of the same name starts clean. Deletions are by the UID of the
// child, since a cache may tell of one several times (a deletion mark, then its absence). An
// expectation that is not met within `expiry` is dropped with a loud log: a watch may have missed
// the object altogether, and a controller that waits for ever is worse than one that looks again.
//
// Lives on the control loop; owned by the controller whose children it follows, and must outlive
// the stores that it follows. It neither waits nor calls: that is the reconciler's.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/store.h"
#include "kube/meta.h"

namespace mainspring::control {

class Expectations {
 public:
  struct Options {
    const Clock& clock;
    Logger log;
    Duration expiry = minutes(5);
  };
  explicit Expectations(Options options) : options_(std::move(options)) {}

  // Say these before the call: its effect may be seen before its answer.
  void expect_creation(std::string_view owner_uid);
  void expect_deletion(std::string_view owner_uid, std::string_view child_uid);

  // The call failed and its effect will not be seen. After a timeout that is not known: let the
  // expectation stand, it is met or it expires.
  void creation_failed(std::string_view owner_uid) { creation_seen(owner_uid); }
  void deletion_failed(std::string_view owner_uid, std::string_view child_uid) {
    deletion_seen(owner_uid, child_uid);
  }

  void creation_seen(std::string_view owner_uid);
  void deletion_seen(std::string_view owner_uid, std::string_view child_uid);

  // Nothing where the cache has shown all that was done; else how long to wait at most. What the
  // owner waits for comes as an event of its child, which wakes its key earlier.
  std::optional<Duration> wait(std::string_view owner_uid);

  // The owner is gone.
  void forget(std::string_view owner_uid);
  std::size_t size() const { return owners_.size(); }

  // Sees what happens to the children in `store`, each known to its owner by the controller
  // reference. A deletion mark counts as deleted: the controller no longer counts such a child.
  template <class T>
  void follow(Store<T>& store) {
    store.add_handler(
        [this](const std::shared_ptr<const T>& before, const std::shared_ptr<const T>& after) {
          observe(before ? &before->meta : nullptr, after ? &after->meta : nullptr);
        });
  }
  void observe(const kube::Meta* before, const kube::Meta* after);

 private:
  struct Text {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Pending {
    std::size_t creations = 0;
    std::unordered_set<std::string, Text, std::equal_to<>> deletions;
    TimePoint since;  // When the last of them was added.
    bool met() const { return creations == 0 && deletions.empty(); }
  };
  using Owners = std::unordered_map<std::string, Pending, Text, std::equal_to<>>;

  Pending& pending(std::string_view owner_uid);
  void drop_if_met(Owners::iterator owner);

  Options options_;
  Owners owners_;
};

}  // namespace mainspring::control
