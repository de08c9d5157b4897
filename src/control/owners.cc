// control/owners.cc
#include "control/owners.h"

#include <algorithm>
#include <optional>

#include "control/fresh_read.h"

namespace mainspring::control {

namespace {

constexpr int kAttempts = 3;

// One pass over the objects of a claimant. Lives in the frame of claim_each().
class Claiming {
 public:
  Claiming(kube::Client& client, Claimant claimant, kube::Resource resource)
      : client_(client), claimant_(std::move(claimant)), resource_(std::move(resource)) {}

  // Whether the claimant controls the object now.
  Task<Result<bool>> settle(kube::Meta object) {
    for (int attempt = 1;; ++attempt) {
      const Claim claim = decide_claim(claimant_.meta, object, claimant_.matches(object));
      if (claim == Claim::kKeep) co_return true;
      if (claim == Claim::kIgnore) co_return false;
      if (claim == Claim::kAdopt) MS_CO_CHECK(co_await may_adopt());

      const kube::Api<ObjectMeta> api(client_, resource_, object.ns);
      const kube::WriteOptions options{.field_manager = claimant_.field_manager};
      kube::Patch guarded{kube::PatchKind::kMerge, patch(object, claim)};
      auto patched = co_await api.patch(object.name, std::move(guarded), options);
      if (patched) co_return claim == Claim::kAdopt;
      if (attempt == kAttempts) co_return fail(std::move(patched).error());
      MS_CO_TRY(auto fresh, co_await read_after_refusal(std::move(patched).error(), api, object));
      if (!fresh) co_return false;
      object = *std::move(fresh);
    }
  }

 private:
  // Asked of the server once a pass.
  Task<Result<void>> may_adopt() {
    if (!may_adopt_) may_adopt_ = co_await read_owner();
    co_return *may_adopt_;
  }

  Task<Result<void>> read_owner() {
    const kube::Meta& owner = claimant_.meta;
    const kube::Api<ObjectMeta> api(client_, claimant_.resource, owner.ns);
    MS_CO_TRY(const ObjectMeta fresh, co_await api.get(owner.name));
    const std::string who = claimant_.resource.kind + " " + owner.name;
    if (fresh.meta.uid != owner.uid) {
      co_return fail(Code::kConflict, who + " is another object now (UID " + fresh.meta.uid +
                                          ", was " + owner.uid + "): nothing is adopted");
    }
    if (fresh.meta.deleting()) {
      co_return fail(Code::kConflict, who + " is being deleted: nothing is adopted");
    }
    co_return Result<void>();
  }

  // The whole list of owners, guarded by the version: a merge patch works on every kind, custom
  // ones too, and cannot add to a list.
  json::Value patch(const kube::Meta& object, Claim claim) const {
    json::Value owners = json::Value::array();
    for (const kube::OwnerReference& owner : object.owners) {
      if (owner.uid != claimant_.meta.uid) owners.push_back(to_json(owner));
    }
    if (claim == Claim::kAdopt) {
      owners.push_back(to_json(controller_ref(claimant_.resource, claimant_.meta)));
    }
    return json::Value::object(
        {{"metadata", json::Value::object({{"uid", object.uid},
                                           {"resourceVersion", object.resource_version},
                                           {"ownerReferences", std::move(owners)}})}});
  }

  kube::Client& client_;
  Claimant claimant_;
  kube::Resource resource_;
  std::optional<Result<void>> may_adopt_;
};

}  // namespace

kube::OwnerReference controller_ref(const kube::Resource& resource, const kube::Meta& owner) {
  return {.api_version = resource.api_version(),
          .kind = resource.kind,
          .name = owner.name,
          .uid = owner.uid,
          .controller = true,
          .block_owner_deletion = true};
}

json::Value to_json(const kube::OwnerReference& owner) {
  json::Value value = json::Value::object({{"apiVersion", owner.api_version},
                                           {"kind", owner.kind},
                                           {"name", owner.name},
                                           {"uid", owner.uid}});
  if (owner.controller) value["controller"] = true;
  if (owner.block_owner_deletion) value["blockOwnerDeletion"] = true;
  return value;
}

bool is_controlled_by(const kube::Meta& object, std::string_view owner_uid) {
  const kube::OwnerReference* owner = object.controller();
  return owner != nullptr && owner->uid == owner_uid;
}

Claim decide_claim(const kube::Meta& owner, const kube::Meta& object, bool matches) {
  if (const kube::OwnerReference* controller = object.controller()) {
    if (controller->uid != owner.uid) return Claim::kIgnore;
    if (matches) return Claim::kKeep;
    return owner.deleting() ? Claim::kIgnore : Claim::kRelease;
  }
  // An owner reference does not reach into another namespace; from a cluster-wide owner it does.
  const bool reachable = owner.ns.empty() || owner.ns == object.ns;
  const bool wanted = matches && reachable && !owner.deleting() && !object.deleting();
  return wanted ? Claim::kAdopt : Claim::kIgnore;
}

Task<Result<std::vector<bool>>> claim_each(kube::Client* client, Claimant claimant,
                                           kube::Resource resource,
                                           std::vector<kube::Meta> objects) {
  Claiming claiming(*client, std::move(claimant), std::move(resource));
  std::vector<bool> controlled;
  controlled.reserve(objects.size());
  std::optional<Error> failure;
  for (kube::Meta& object : objects) {
    auto settled = co_await claiming.settle(std::move(object));
    controlled.push_back(settled.value_or(false));
    if (!settled && !failure) failure = std::move(settled).error();
  }
  if (failure) co_return fail(*std::move(failure));
  co_return controlled;
}

}  // namespace mainspring::control
