// What each of several slurmctld has for itself, so that its name resolves while its pod is away.
#include "operator/build/controller_names.h"
#include "operator/build/login_names.h"
#include "operator/sync/controller_sync.h"

namespace mainspring::op {
namespace {

bool is_owned(const kube::Meta& meta, const api::Controller& controller) {
  const kube::OwnerReference* const owner = meta.controller();
  return owner != nullptr && owner->uid == controller.meta.uid;
}

}  // namespace

Task<Result<void>> ControllerSync::members(ControllerPtr controller) {
  const control::ObjectRef owner = control::ref_to(api::Controller::kResource, controller->meta);
  const std::string& ns = controller->meta.ns;
  const std::int32_t count = controller->replicas() > 1 ? controller->replicas() : 0;
  std::vector<std::string> addresses;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::string name = build::controller_member_name(*controller, i);
    MS_CO_CHECK(co_await ensure(&world_, owner, kube::Service::kResource,
                                build::controller_member_service(*controller, i),
                                seen(world_.services, ns, name)));
    const auto service = world_.services.get(ns, name);
    if (service && !service->cluster_ip.empty()) addresses.push_back(service->cluster_ip.str());
  }
  for (std::int32_t i = count;; ++i) {
    const auto surplus = seen(world_.services, ns, build::controller_member_name(*controller, i));
    if (!surplus || !is_owned(*surplus, *controller)) break;
    MS_CO_CHECK(co_await ensure_absent(&world_, owner, kube::Service::kResource, *surplus));
  }
  auto slice = seen(slices_, ns, build::controller_names_name(*controller));
  if (count == 0 && slice) {
    co_return co_await ensure_absent(&world_, owner, build::kEndpointSlices, *std::move(slice));
  }
  // One that has no address yet comes back as an event.
  if (count == 0 || addresses.size() < static_cast<std::size_t>(count)) co_return Result<void>();
  MS_CO_CHECK(co_await ensure(&world_, owner, build::kEndpointSlices,
                              build::controller_names(*controller, addresses), std::move(slice)));
  co_return Result<void>();
}

}  // namespace mainspring::op
