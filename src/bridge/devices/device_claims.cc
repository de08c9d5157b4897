#include "bridge/devices/device_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "bridge/names.h"
#include "kube/api.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {
namespace {

DeviceId id_of(const kube::AllocatedDevice& device) {
  return {device.driver.str(), device.pool.str(), device.device.str()};
}

// The pod that a claim was made for by a scheduler; "" for the claims of users.
std::string_view owner_of(const kube::ResourceClaim& claim) {
  const kube::OwnerReference* const owner = claim.meta.controller();
  if (owner == nullptr || owner->kind != "Pod") return {};
  return claim.meta.annotations.contains(kExtendedClaimAnnotation) ? std::string_view(owner->uid)
                                                                   : std::string_view();
}

bool is_gone(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kConflict;
}

}  // namespace

DeviceClaims::DeviceClaims(World& world)
    : world_(world),
      by_device_(world.claims.add_index(
          [](const kube::ResourceClaim& claim, std::vector<std::string>& values) {
            if (!claim.allocation) return;
            for (const kube::AllocatedDevice& one : claim.allocation->devices) {
              // Administrators look at devices that others use.
              if (!one.admin_access) values.push_back(id_of(one).text());
            }
          })),
      by_pod_(world.claims.add_index(
          [](const kube::ResourceClaim& claim, std::vector<std::string>& values) {
            if (const auto uid = owner_of(claim); !uid.empty()) values.emplace_back(uid);
          })) {
  // What a claim shows need not be remembered any more.
  world.claims.add_handler([this](const ClaimPtr& before, const ClaimPtr& after) {
    const kube::ResourceClaim& claim = after ? *after : *before;
    const auto found = promised_.find(owner_of(claim));
    if (found == promised_.end() || found->second.name != claim.meta.name) return;
    if (!after || after->allocation) forget(std::string(found->first));
  });
  world.pods.add_handler([this](const PodPtr& before, const PodPtr& after) {
    if (!after) forget(before->meta.uid);
  });
}

void DeviceClaims::note(const kube::Pod& pod, ClaimPlan plan) {
  forget(pod.meta.uid);
  for (const DeviceId& id : plan.devices()) promises_.emplace(id.text(), pod.meta.uid);
  promised_.emplace(pod.meta.uid, std::move(plan));
}

void DeviceClaims::forget(std::string_view uid) {
  const auto found = promised_.find(uid);
  if (found == promised_.end()) return;
  for (const DeviceId& id : found->second.devices()) promises_.erase(id.text());
  promised_.erase(found);
}

std::string DeviceClaims::holder_of(const DeviceId& device, const kube::Pod& pod) const {
  const std::string key = device.text();
  for (const ClaimPtr& claim : world_.claims.find(by_device_, key)) {
    if (owner_of(*claim) != pod.meta.uid) {
      return fmt::format("ResourceClaim {}/{}", claim->meta.ns, claim->meta.name);
    }
  }
  const auto promised = promises_.find(key);
  if (promised == promises_.end() || promised->second == pod.meta.uid) return {};
  return fmt::format("the pod with UID {}", promised->second);
}

bool DeviceClaims::is_own(const DeviceId& device, const kube::Pod& pod) const {
  const std::string key = device.text();
  const auto promised = promises_.find(key);
  if (promised != promises_.end()) return promised->second == pod.meta.uid;
  const auto& claims = world_.claims.find(by_device_, key);
  return std::any_of(claims.begin(), claims.end(),
                     [&](const ClaimPtr& one) { return owner_of(*one) == pod.meta.uid; });
}

Result<ClaimPlan> DeviceClaims::plan_for(const Placed& placed, const DeviceNeeds& needs,
                                         const slurm::Job& job,
                                         const std::vector<slurm::NodeAllocation>& given) const {
  const auto node = world_.nodes.get({}, placed.node);
  const std::string name = node ? World::slurm_name(*node) : placed.node;
  const auto here = std::find_if(given.begin(), given.end(), [&](const slurm::NodeAllocation& one) {
    return one.node == name;
  });
  if (here == given.end()) {
    return fail(Code::kNotFound,
                fmt::format("Slurm names no resources of job {} on node {}", job.id.text(), name));
  }
  const auto in_slurm = world_.cache.nodes().get({}, name);
  const kube::Pod& pod = *placed.pod;
  DeviceView view;
  view.job = job.id.text();
  view.node = placed.node;
  view.inventory = inventory_of(world_.slices_of(placed.node), world_.config.device_classes);
  view.allocation = *here;
  view.gres = in_slurm ? in_slurm->gres.str() : std::string();
  view.pods_per_node = job.tasks_per_node.value_or(1);
  view.holder = [this, &pod](const DeviceId& id) { return holder_of(id, pod); };
  view.is_own = [this, &pod](const DeviceId& id) { return is_own(id, pod); };
  return with_context(plan_claim(pod, needs, view, world_.config.device_classes),
                      "pod " + pod.meta.name);
}

Task<Result<void>> DeviceClaims::promise(std::shared_ptr<const slurm::Job> job,
                                         std::vector<Placed> pods) {
  std::vector<std::pair<Placed, DeviceNeeds>> wanted;
  for (Placed& one : pods) {
    MS_CO_TRY(DeviceNeeds needs, device_needs_of(*one.pod->spec, world_.config.device_classes));
    if (!needs.none()) wanted.emplace_back(std::move(one), std::move(needs));
  }
  if (wanted.empty()) co_return Result<void>();
  MS_CO_TRY(const auto given, co_await slurm::Jobs(world_.slurm).resources(job->id));
  // Nothing is waited for from here on, so nobody comes between.
  std::vector<std::string> made;
  for (const auto& [placed, needs] : wanted) {
    auto plan = plan_for(placed, needs, *job, given);
    if (!plan) {
      for (const std::string& uid : made) forget(uid);
      co_return fail(std::move(plan).error());
    }
    note(*placed.pod, *std::move(plan));
    made.push_back(placed.pod->meta.uid);
  }
  co_return Result<void>();
}

bool DeviceClaims::is_written(const kube::Pod& pod, const ClaimPlan& plan) const {
  const ClaimPtr claim = world_.claims.get(pod.meta.ns, plan.name);
  return claim && claim->allocation && !claim->meta.deleting() &&
         owner_of(*claim) == pod.meta.uid && !claim->reserved_for.empty();
}

Task<Result<void>> DeviceClaims::claim(PodPtr pod) {
  const auto found = promised_.find(pod->meta.uid);
  if (found == promised_.end()) co_return Result<void>();
  const ClaimPlan plan = found->second;
  // Of an earlier place of the pod.
  std::vector<std::string> others;
  for (const ClaimPtr& claim : world_.claims.find(by_pod_, pod->meta.uid)) {
    if (claim->meta.name != plan.name) others.push_back(claim->meta.name);
  }
  for (std::string& name : others) MS_CO_CHECK(co_await remove(pod->meta.ns, std::move(name)));
  if (!is_written(*pod, plan)) MS_CO_CHECK(co_await make(pod, plan));
  if (is_written(*pod, plan)) forget(pod->meta.uid);
  if (pod->status.extended_resource_claim == plan.name) co_return Result<void>();
  json::Value body =
      json::Value::object({{"metadata", json::Value::object({{"uid", pod->meta.uid}})},
                           {"status", pod_status_of(plan)}});
  const kube::Api<kube::Pod> api(world_.kube, pod->meta.ns);
  const auto now = co_await api.patch(pod->meta.name, {kube::PatchKind::kMerge, std::move(body)},
                                      {.subresource = "status"});
  if (!now) {
    // The binding that follows names the UID, so it does nothing either.
    if (is_gone(now.error())) co_return Result<void>();
    co_return fail(now.error());
  }
  // An API server without the feature drops what it does not know, and the kubelet would start the
  // pod without its devices.
  if (now->status.extended_resource_claim != plan.name) {
    co_return fail(Code::kUnsupported,
                   "the API server does not keep status.extendedResourceClaimStatus of pods; turn "
                   "on its feature gate DRAExtendedResource, and the kubelets'");
  }
  co_return Result<void>();
}

Task<Result<void>> DeviceClaims::make(PodPtr pod, ClaimPlan plan) {
  const kube::Api<kube::ResourceClaim> api(world_.kube, pod->meta.ns);
  auto made = co_await api.create(claim_of(plan, *pod));
  if (!made) {
    if (made.error().code() != Code::kAlreadyExists) co_return fail(std::move(made).error());
    // An earlier self of ours made it; the name says for whom and with what.
    MS_CO_TRY(const kube::ResourceClaim there, co_await api.get(plan.name));
    if (owner_of(there) != pod->meta.uid || there.meta.deleting()) {
      co_return fail(
          Code::kAlreadyExists,
          fmt::format(
              "ResourceClaim {}/{} is there and is not, or not for long, the pod's: delete it",
              pod->meta.ns, plan.name));
    }
  }
  json::Value body = json::Value::object();
  body.set("status", claim_status_of(plan, *pod));
  MS_CO_CHECK(co_await api.patch(plan.name, {kube::PatchKind::kMerge, std::move(body)},
                                 {.subresource = "status"}));
  co_return Result<void>();
}

bool DeviceClaims::has_any(const kube::Pod& pod) const {
  return promised_.contains(pod.meta.uid) || !world_.claims.find(by_pod_, pod.meta.uid).empty();
}

Task<Result<void>> DeviceClaims::release(PodPtr pod) {
  std::set<std::string> names;
  for (const ClaimPtr& claim : world_.claims.find(by_pod_, pod->meta.uid)) {
    names.insert(claim->meta.name);
  }
  if (const auto promised = promised_.find(pod->meta.uid); promised != promised_.end()) {
    names.insert(promised->second.name);
  }
  for (const std::string& name : names) MS_CO_CHECK(co_await remove(pod->meta.ns, name));
  forget(pod->meta.uid);
  co_return Result<void>();
}

Task<Result<void>> DeviceClaims::remove(std::string ns, std::string name) {
  const kube::Api<kube::ResourceClaim> api(world_.kube, std::move(ns));
  auto removed = co_await api.remove(std::move(name));
  if (!removed && !is_gone(removed.error())) co_return fail(std::move(removed).error());
  co_return Result<void>();
}

}  // namespace mainspring::bridge
