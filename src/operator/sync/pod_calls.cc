#include "operator/sync/pod_calls.h"

#include <fmt/format.h>

#include "operator/sync/ensure.h"

namespace mainspring::op {

Task<Result<void>> patch_pod(World* world, std::string ns, std::string name, kube::Patch patch,
                             std::string subresource) {
  const kube::RawApi api(world->client, kube::Pod::kResource, std::move(ns));
  const auto done = co_await api.patch(std::move(name), std::move(patch),
                                       {.subresource = std::move(subresource)});
  if (!done && done.error().code() != Code::kNotFound && done.error().code() != Code::kConflict) {
    co_return fail(done.error());
  }
  co_return Result<void>();
}

Task<Result<void>> delete_pod(NodeSetWorld* shared, std::shared_ptr<const kube::Pod> pod,
                              std::shared_ptr<const api::NodeSet> nodeset, PodVersion version) {
  World& world = shared->world;
  const control::ObjectRef owner = control::ref_to(api::NodeSet::kResource, nodeset->meta);
  shared->expectations.expect_deletion(nodeset->meta.uid, pod->meta.uid);
  const kube::RawApi api(world.client, kube::Pod::kResource, pod->meta.ns);
  kube::DeleteOptions options{.uid = pod->meta.uid};
  if (version == PodVersion::kAsSeen) options.resource_version = pod->meta.resource_version;
  const auto done = co_await api.remove(pod->meta.name, std::move(options));
  if (done) {
    world.events.event(owner, control::EventType::kNormal, "SuccessfulDelete", "Delete",
                       fmt::format("Deleted Pod {}", pod->meta.name));
    co_return Result<void>();
  }
  const Code code = done.error().code();
  if (code != Code::kTimeout && code != Code::kTransient && code != Code::kCancelled) {
    shared->expectations.deletion_failed(nodeset->meta.uid, pod->meta.uid);
  }
  if (code == Code::kNotFound || code == Code::kConflict) co_return Result<void>();
  warn(world, owner, "FailedDelete", done.error().to_string());
  co_return fail(done.error());
}

void keep_first(Result<void>& first, const Result<void>& next) {
  if (first && !next) first = next;
}

}  // namespace mainspring::op
