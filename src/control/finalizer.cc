// control/finalizer.cc
#include "control/finalizer.h"

#include <algorithm>
#include <utility>

#include "control/fresh_read.h"

namespace mainspring::control {

namespace {

constexpr int kAttempts = 3;
constexpr std::string_view kPath = "/metadata/finalizers";

json::Value operation(std::string_view op, std::string_view path, json::Value value) {
  return json::Value::object({{"op", op}, {"path", path}, {"value", std::move(value)}});
}

// The version is tested as well: whether the finalizer is missing is known of this version only,
// and the list itself may not be there to add to.
json::Value adding(const kube::Meta& meta, const std::string& finalizer) {
  json::Value patch =
      json::Value::array({operation("test", "/metadata/uid", meta.uid),
                          operation("test", "/metadata/resourceVersion", meta.resource_version)});
  if (meta.finalizers.empty()) {
    patch.push_back(operation("add", kPath, json::Value::array({finalizer})));
  } else {
    patch.push_back(operation("add", std::string(kPath) + "/-", finalizer));
  }
  return patch;
}

json::Value removing(const kube::Meta& meta, const std::string& finalizer) {
  const auto it = std::find(meta.finalizers.begin(), meta.finalizers.end(), finalizer);
  const std::string place = std::string(kPath) + "/" + std::to_string(it - meta.finalizers.begin());
  return json::Value::array({operation("test", "/metadata/uid", meta.uid),
                             operation("test", place, finalizer),
                             json::Value::object({{"op", "remove"}, {"path", place}})});
}

}  // namespace

Task<Result<kube::Meta>> add_finalizer(kube::Client* client, kube::Resource resource,
                                       kube::Meta meta, std::string finalizer) {
  const kube::Api<ObjectMeta> api(*client, std::move(resource), meta.ns);
  for (int attempt = 1; !meta.has_finalizer(finalizer); ++attempt) {
    if (meta.deleting()) {
      co_return fail(Code::kConflict, "finalizer " + finalizer + " cannot be added to " +
                                          meta.name + ": it is being deleted");
    }
    kube::Patch patch{kube::PatchKind::kJson, adding(meta, finalizer)};
    auto patched = co_await api.patch(meta.name, std::move(patch));
    if (patched) co_return std::move(patched->meta);
    if (attempt == kAttempts) co_return fail(std::move(patched).error());
    MS_CO_TRY(auto fresh, co_await read_after_refusal(std::move(patched).error(), api, meta));
    if (!fresh) {
      co_return fail(Code::kConflict, "finalizer " + finalizer + " cannot be added to " +
                                          meta.name + ": it is gone");
    }
    meta = *std::move(fresh);
  }
  co_return meta;
}

Task<Result<void>> remove_finalizer(kube::Client* client, kube::Resource resource, kube::Meta meta,
                                    std::string finalizer) {
  const kube::Api<ObjectMeta> api(*client, std::move(resource), meta.ns);
  for (int attempt = 1; meta.has_finalizer(finalizer); ++attempt) {
    kube::Patch patch{kube::PatchKind::kJson, removing(meta, finalizer)};
    auto patched = co_await api.patch(meta.name, std::move(patch));
    if (patched) co_return Result<void>();
    if (attempt == kAttempts) co_return fail(std::move(patched).error());
    MS_CO_TRY(auto fresh, co_await read_after_refusal(std::move(patched).error(), api, meta));
    if (!fresh) co_return Result<void>();
    meta = *std::move(fresh);
  }
  co_return Result<void>();
}

Task<Result<Requeue>> with_finalizer(kube::Client* client, kube::Resource resource, kube::Meta meta,
                                     std::string finalizer, Ensure ensure, Cleanup cleanup) {
  if (!meta.deleting()) {
    MS_CO_CHECK(co_await add_finalizer(client, std::move(resource), std::move(meta), finalizer));
    co_return co_await ensure();
  }
  if (!meta.has_finalizer(finalizer)) co_return Requeue{};
  MS_CO_TRY(const std::optional<Requeue> again, co_await cleanup());
  if (again) co_return *again;
  MS_CO_CHECK(co_await remove_finalizer(client, std::move(resource), std::move(meta), finalizer));
  co_return Requeue{};
}

}  // namespace mainspring::control
