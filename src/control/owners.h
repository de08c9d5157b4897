// control/owners.h
//
// Who manages an object: at most one owner, named by the controller reference. These are the rules
// by which Kubernetes controllers share objects without fighting: an owner keeps what it controls
// and its selector matches, adopts an orphan that matches, releases what no longer matches, and
// never touches what another controls. An owner that is being deleted takes and gives nothing: the
// garbage collector decides then.
//
// decide_claim() is pure. claim() acts on it: every write names the object's UID and version, so
// neither another object of the same name nor somebody else's change is ever overwritten; and
// before the first adoption the owner is read from the server, since a cache may not have shown yet
// that it is being deleted. Runs on the control loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"
#include "kube/api.h"

namespace mainspring::control {

using net::Task;

// The reference that makes `owner` the controller of a child, which blocks the owner's foreground
// deletion until the child is gone.
kube::OwnerReference controller_ref(const kube::Resource& resource, const kube::Meta& owner);
json::Value to_json(const kube::OwnerReference& owner);

bool is_controlled_by(const kube::Meta& object, std::string_view owner_uid);

enum class Claim { kKeep, kAdopt, kRelease, kIgnore };

// `matches`: the owner's selector, and whatever else makes an object its own, fits the object.
Claim decide_claim(const kube::Meta& owner, const kube::Meta& object, bool matches);

struct Claimant {
  kube::Resource resource;
  kube::Meta meta;
  std::function<bool(const kube::Meta& object)> matches;
  // Of the writes.
  std::string field_manager = "mainspring";
};

// For each object whether the claimant controls it now. What was adopted counts, although the
// caller's copy does not show it yet; what vanished meanwhile does not. All objects are tried; the
// first failure is the result. `client` must outlive the task.
Task<Result<std::vector<bool>>> claim_each(kube::Client* client, Claimant claimant,
                                           kube::Resource resource,
                                           std::vector<kube::Meta> objects);

// The objects, as from a store, that the claimant controls now.
template <class T>
Task<Result<std::vector<std::shared_ptr<const T>>>> claim(
    kube::Client* client, Claimant claimant, kube::Resource resource,
    std::vector<std::shared_ptr<const T>> objects) {
  std::vector<kube::Meta> metas;
  metas.reserve(objects.size());
  for (const auto& object : objects) metas.push_back(object->meta);
  MS_CO_TRY(
      const std::vector<bool> controlled,
      co_await claim_each(client, std::move(claimant), std::move(resource), std::move(metas)));
  std::vector<std::shared_ptr<const T>> owned;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (controlled[i]) owned.push_back(std::move(objects[i]));
  }
  co_return owned;
}

}  // namespace mainspring::control
