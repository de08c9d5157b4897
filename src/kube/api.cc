#include "kube/api.h"

#include <fmt/format.h>

#include <utility>

namespace mainspring::kube {
namespace {

using http::Method;

void add(Call& call, std::string_view name, const std::string& value) {
  if (!value.empty()) call.query.emplace_back(name, value);
}

void add_selection(Call& call, const ListOptions& options) {
  add(call, "labelSelector", options.label_selector);
  add(call, "fieldSelector", options.field_selector);
}

std::string to_text(VersionMatch match) {
  switch (match) {
    case VersionMatch::kUnset:
      return "";
    case VersionMatch::kNotOlderThan:
      return "NotOlderThan";
    case VersionMatch::kExact:
      return "Exact";
  }
  return "";
}

std::string to_text(Propagation propagation) {
  switch (propagation) {
    case Propagation::kDefault:
      return "";
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

std::string content_type(PatchKind kind) {
  switch (kind) {
    case PatchKind::kMerge:
      return "application/merge-patch+json";
    case PatchKind::kJson:
      return "application/json-patch+json";
    case PatchKind::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

void add_write(Call& call, const WriteOptions& options) {
  add(call, "fieldManager", options.field_manager);
  add(call, "fieldValidation", options.field_validation);
  if (options.dry_run) add(call, "dryRun", "All");
  call.always_allowed = options.always_allowed;
  call.timeout = options.timeout;
}

json::Value body_of(const DeleteOptions& options) {
  json::Value body = json::Value::object({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (options.propagation != Propagation::kDefault) {
    body["propagationPolicy"] = to_text(options.propagation);
  }
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (options.dry_run) body["dryRun"] = json::Value::array({"All"});
  return body;
}

Result<std::string> name_of(const json::Value& object) {
  const json::Value* name = object.at_pointer("/metadata/name");
  if (name == nullptr || !name->is_string() || name->as_string()->empty()) {
    return fail(Code::kInvalid, "metadata.name is missing: an object is written under its name");
  }
  return std::string(*name->as_string());
}

}  // namespace

Call RawApi::call(Method method, std::string_view verb, std::string_view name,
                  std::string_view subresource) const {
  Call call;
  call.method = method;
  call.path = resource_.path(ns_, name, subresource);
  call.what = fmt::format("{} {}", verb, resource_.to_string());
  if (!subresource.empty()) call.what += fmt::format("/{}", subresource);
  if (!name.empty()) {
    call.what += ns_.empty() ? fmt::format(" {}", name) : fmt::format(" {}/{}", ns_, name);
  }
  return call;
}

Task<Result<std::string>> RawApi::body_of(Call call) const {
  MS_CO_TRY(http::Response response, co_await client_->send(std::move(call)));
  co_return std::move(response.body);
}

Task<Result<std::string>> RawApi::get(std::string name, GetOptions options) const {
  Call get = call(Method::kGet, "get", name, options.subresource);
  add(get, "resourceVersion", options.resource_version);
  get.timeout = options.timeout;
  co_return co_await body_of(std::move(get));
}

Task<Result<std::string>> RawApi::list(ListOptions options) const {
  Call list = call(Method::kGet, "list", {}, {});
  add_selection(list, options);
  if (options.limit > 0) add(list, "limit", std::to_string(options.limit));
  add(list, "continue", options.continue_token);
  add(list, "resourceVersion", options.resource_version);
  add(list, "resourceVersionMatch", to_text(options.match));
  co_return co_await body_of(std::move(list));
}

Task<Result<std::unique_ptr<http::StreamingResponse>>> RawApi::watch(WatchOptions options) const {
  Call watch = call(Method::kGet, "watch", {}, {});
  add(watch, "watch", "true");
  add(watch, "labelSelector", options.label_selector);
  add(watch, "fieldSelector", options.field_selector);
  add(watch, "resourceVersion", options.resource_version);
  if (options.bookmarks) add(watch, "allowWatchBookmarks", "true");
  if (options.send_initial_events) {
    add(watch, "sendInitialEvents", "true");
    add(watch, "resourceVersionMatch", "NotOlderThan");
  }
  const auto limit = std::chrono::duration_cast<seconds>(options.timeout);
  add(watch, "timeoutSeconds", std::to_string(limit.count()));
  // The server ends the watch, or else the way to it is broken.
  watch.idle_timeout = options.timeout + seconds(15);
  co_return co_await client_->open(std::move(watch));
}

Task<Result<std::string>> RawApi::create(json::Value object, WriteOptions options) const {
  Call create = call(Method::kPost, "create", {}, {});
  if (const auto name = name_of(object)) {
    create.what += " " + ObjectKey(ns_, *name).to_string();
  }
  add_write(create, options);
  create.body = json::to_text(object);
  co_return co_await body_of(std::move(create));
}

Task<Result<std::string>> RawApi::post(std::string name, std::string subresource, json::Value body,
                                       WriteOptions options) const {
  Call post = call(Method::kPost, "create", name, subresource);
  add_write(post, options);
  post.body = json::to_text(body);
  co_return co_await body_of(std::move(post));
}

Task<Result<std::string>> RawApi::replace(json::Value object, WriteOptions options) const {
  MS_CO_TRY(const std::string name, name_of(object));
  Call replace = call(Method::kPut, "update", name, options.subresource);
  add_write(replace, options);
  replace.body = json::to_text(object);
  co_return co_await body_of(std::move(replace));
}

Task<Result<std::string>> RawApi::patch(std::string name, Patch patch, WriteOptions options) const {
  Call send = call(Method::kPatch, "patch", name, options.subresource);
  add_write(send, options);
  send.content_type = content_type(patch.kind);
  send.body = json::to_text(patch.body);
  // A JSON patch may append to a list; the other kinds say what shall be.
  send.idempotent = patch.kind != PatchKind::kJson;
  co_return co_await body_of(std::move(send));
}

Task<Result<std::string>> RawApi::apply(json::Value object, ApplyOptions options) const {
  MS_CO_TRY(const std::string name, name_of(object));
  if (object.find("apiVersion") == nullptr) object["apiVersion"] = resource_.api_version();
  if (object.find("kind") == nullptr) object["kind"] = resource_.kind;
  Call send = call(Method::kPatch, "apply", name, options.subresource);
  add(send, "fieldManager", options.field_manager);
  if (options.force) add(send, "force", "true");
  if (options.dry_run) add(send, "dryRun", "All");
  // JSON is YAML, and this type is the one that all servers know.
  send.content_type = "application/apply-patch+yaml";
  send.body = json::to_text(object);
  send.idempotent = true;
  co_return co_await body_of(std::move(send));
}

Task<Result<std::string>> RawApi::remove(std::string name, DeleteOptions options) const {
  Call send = call(Method::kDelete, "delete", name, {});
  send.body = json::to_text(kube::body_of(options));
  co_return co_await body_of(std::move(send));
}

Task<Result<std::string>> RawApi::remove_all(ListOptions which, DeleteOptions options) const {
  Call send = call(Method::kDelete, "delete all", {}, {});
  add_selection(send, which);
  send.body = json::to_text(kube::body_of(options));
  co_return co_await body_of(std::move(send));
}

}  // namespace mainspring::kube
