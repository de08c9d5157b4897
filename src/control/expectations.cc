// control/expectations.cc
#include "control/expectations.h"

namespace mainspring::control {

void Expectations::expect_creation(std::string_view owner_uid) { ++pending(owner_uid).creations; }

void Expectations::expect_deletion(std::string_view owner_uid, std::string_view child_uid) {
  pending(owner_uid).deletions.emplace(child_uid);
}

void Expectations::creation_seen(std::string_view owner_uid) {
  const auto it = owners_.find(owner_uid);
  if (it == owners_.end() || it->second.creations == 0) return;
  --it->second.creations;
  drop_if_met(it);
}

void Expectations::deletion_seen(std::string_view owner_uid, std::string_view child_uid) {
  const auto it = owners_.find(owner_uid);
  if (it == owners_.end()) return;
  const auto child = it->second.deletions.find(child_uid);
  if (child == it->second.deletions.end()) return;
  it->second.deletions.erase(child);
  drop_if_met(it);
}

std::optional<Duration> Expectations::wait(std::string_view owner_uid) {
  const auto it = owners_.find(owner_uid);
  if (it == owners_.end()) return std::nullopt;
  const Duration age = options_.clock.now() - it->second.since;
  if (age < options_.expiry) return options_.expiry - age;
  options_.log.error(
      "the cache never showed what this controller did; deciding again by what it shows",
      {{"owner_uid", owner_uid},
       {"creations_not_seen", it->second.creations},
       {"deletions_not_seen", it->second.deletions.size()},
       {"waited", age}});
  owners_.erase(it);
  return std::nullopt;
}

void Expectations::forget(std::string_view owner_uid) {
  if (const auto it = owners_.find(owner_uid); it != owners_.end()) owners_.erase(it);
}

void Expectations::observe(const kube::Meta* before, const kube::Meta* after) {
  const auto owner_of = [](const kube::Meta& meta) {
    const kube::OwnerReference* owner = meta.controller();
    return owner != nullptr ? std::string_view(owner->uid) : std::string_view();
  };
  const bool same = before != nullptr && after != nullptr && before->uid == after->uid;
  // A child that was released is lost to its owner as well.
  if (before != nullptr && (!same || owner_of(*before) != owner_of(*after))) {
    deletion_seen(owner_of(*before), before->uid);
  }
  if (after == nullptr) return;
  if (!same) creation_seen(owner_of(*after));
  if (after->deleting()) deletion_seen(owner_of(*after), after->uid);
}

Expectations::Pending& Expectations::pending(std::string_view owner_uid) {
  auto it = owners_.find(owner_uid);
  if (it == owners_.end()) it = owners_.emplace(owner_uid, Pending()).first;
  it->second.since = options_.clock.now();
  return it->second;
}

void Expectations::drop_if_met(Owners::iterator owner) {
  if (owner->second.met()) owners_.erase(owner);
}

}  // namespace mainspring::control
