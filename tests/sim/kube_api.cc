#include "sim/kube_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"
#include "json/strategic_merge.h"
#include "net/wait.h"
#include "sim/discovery.h"
#include "sim/listing.h"
#include "sim/meta.h"
#include "sim/refusals.h"
#include "sim/target.h"
#include "sim/watch_stream.h"

namespace mainspring::sim {

using http::Method;
using http::Request;
using http::Response;
using json::Value;

namespace {

Response respond(int status, const Value& body) {
  return http::json_response(status, to_text(body));
}

bool is_set(const http::Url& url, std::string_view name) {
  const auto value = url.query_value(name);
  return value && (*value == "true" || *value == "1");
}

Result<Value> read_body(const Request& request, const Kind& kind) {
  auto body = json::parse(request.body);
  if (!body || !body->is_object()) {
    return fail(bad_request(fmt::format(
        "the object provided is unrecognized (must be of type {}): couldn't get version/kind",
        kind.resource.kind)));
  }
  const std::string_view found = text_at(*body, "/kind");
  const std::string_view version = text_at(*body, "/apiVersion");
  if ((!found.empty() && found != kind.resource.kind) ||
      (!version.empty() && version != kind.resource.api_version())) {
    return fail(bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}", found,
                                        version, kind.resource.kind)));
  }
  (*body)["apiVersion"] = kind.resource.api_version();
  (*body)["kind"] = kind.resource.kind;
  return *std::move(body);
}

WriteOptions write_options(const Request& request, std::string_view subresource) {
  const std::string agent(request.headers.get("User-Agent").value_or("unknown"));
  return {
      .manager = request.url.query_value("fieldManager").value_or(agent.substr(0, agent.find('/'))),
      .subresource = std::string(subresource),
      .dry_run = request.url.query_value("dryRun") == "All"};
}

Result<RemoveOptions> remove_options(const Request& request) {
  RemoveOptions options;
  options.propagation = request.url.query_value("propagationPolicy").value_or("");
  options.dry_run = request.url.query_value("dryRun") == "All";
  if (const auto grace = request.url.query_value("gracePeriodSeconds")) {
    options.grace_seconds = parse_integer<std::int64_t>(*grace).value_or(0);
  }
  if (request.body.empty()) return options;
  const auto body = json::parse(request.body);
  if (!body) return fail(bad_request("the DeleteOptions cannot be read"));
  if (const Value* grace = body->find("gracePeriodSeconds"))
    options.grace_seconds = grace->as_int();
  if (!text_at(*body, "/propagationPolicy").empty()) {
    options.propagation = text_at(*body, "/propagationPolicy");
  }
  if (const Value* uid = body->at_pointer("/preconditions/uid")) {
    options.uid = std::string(uid->as_string().value_or(""));
  }
  options.resource_version = text_at(*body, "/preconditions/resourceVersion");
  options.dry_run = options.dry_run || body->find("dryRun") != nullptr;
  return options;
}

Error unpatchable(const Kind& kind) {
  return refuse(415, "UnsupportedMediaType",
                kind.custom ? "the body of the request was in an unknown format - accepted media "
                              "types include: application/json-patch+json, "
                              "application/merge-patch+json, application/apply-patch+yaml"
                            : "415: Unsupported Media Type");
}

// The server's JSON Patch lets `replace` make a member that was not there.
Value lenient(const Value& live, Value patch) {
  for (Value& operation : patch) {
    if (text_at(operation, "/op") == "replace" &&
        live.at_pointer(text_at(operation, "/path")) == nullptr) {
      operation["op"] = "add";
    }
  }
  return patch;
}

Result<Value> patched(const Kind& kind, std::string_view type, const Value& live,
                      const Value& patch) {
  if (type == "application/merge-patch+json") return json::apply_merge_patch(live, patch);
  auto made =
      type == "application/json-patch+json"
          ? json::apply_json_patch(live, lenient(live, patch))
          : json::apply_strategic_merge(live, patch, json::merge_type_of_kind(kind.resource.kind));
  if (made) return *std::move(made);
  return fail(
      refuse(422, "Invalid", "the server rejected our request due to an error in our request"));
}

}  // namespace

KubeApi::KubeApi(net::Executor& executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      random_(options_.seed),
      registry_(executor.clock(), random_, storage_, kinds_),
      garbage_(executor, options_.garbage_delay, storage_, kinds_, registry_) {
  storage_.on_change([this](const Change& change) { note(change); });
  for (const char* name : {"default", "kube-system"}) (void)add_namespace(name);
}

void KubeApi::note(const Change& change) {
  if (change.collection == "customresourcedefinitions.apiextensions.k8s.io") {
    if (change.after != nullptr) {
      kinds_.install(*change.after);
    } else {
      const std::string group(text_at(*change.last, "/spec/group"));
      const std::string plural(text_at(*change.last, "/spec/names/plural"));
      const Objects objects = storage_.all(plural + "." + group);
      for (const auto& [key, object] : objects) storage_.erase(plural + "." + group, key, *object);
      kinds_.uninstall(group, plural);
    }
  }
  const Value& object = change.after != nullptr ? *change.after : *change.last;
  if (change.after == nullptr || is_being_deleted(object) ||
      object.at_pointer("/metadata/ownerReferences") != nullptr) {
    garbage_.wake();
  }
}

Result<Response> KubeApi::handle(const Request& request) {
  if (auto document = discover(kinds_, minor_, request)) return *std::move(document);
  MS_TRY(const Target target, resolve(request));
  if (!target.subresource.empty()) return handle_subresource(target, request);
  if (target.kind->virtual_kind) {
    if (request.method != Method::kPost) return fail(method_not_allowed());
    MS_TRY(Value body, read_body(request, *target.kind));
    return review(*target.kind, std::move(body));
  }
  return target.name.empty() ? handle_collection(target, request) : handle_object(target, request);
}

Result<Response> KubeApi::handle_collection(const Target& target, const Request& request) {
  switch (request.method) {
    case Method::kGet: {
      MS_TRY(const Value list, list_objects(storage_, *target.kind, target.ns, request.url));
      return respond(200, list);
    }
    case Method::kPost: {
      if (target.kind->resource.namespaced && target.ns.empty()) return fail(method_not_allowed());
      MS_TRY(Value body, read_body(request, *target.kind));
      MS_TRY(const Written made, registry_.create(*target.kind, target.ns, std::move(body),
                                                  write_options(request, "")));
      return respond(201, render(*target.kind, *made.object));
    }
    case Method::kDelete:
      return remove_all(target, request);
    default:
      return fail(method_not_allowed());
  }
}

Result<Response> KubeApi::handle_object(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  switch (request.method) {
    case Method::kGet: {
      MS_TRY(const Object object, registry_.get(kind, target.ns, target.name));
      return respond(200, render(kind, *object));
    }
    case Method::kPut: {
      MS_TRY(Value body, read_body(request, kind));
      MS_TRY(const Written made, registry_.update(kind, target.ns, target.name, std::move(body),
                                                  write_options(request, target.subresource)));
      return respond(made.created ? 201 : 200, render(kind, *made.object));
    }
    case Method::kPatch:
      return patch(target, request);
    case Method::kDelete:
      if (!target.subresource.empty()) return fail(method_not_allowed());
      return remove(target, request);
    default:
      return fail(method_not_allowed());
  }
}

Result<Response> KubeApi::patch(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  const std::string type(request.headers.get("Content-Type").value_or(""));
  const WriteOptions options = write_options(request, target.subresource);
  const bool apply = type == "application/apply-patch+yaml";
  const bool strategic = type == "application/strategic-merge-patch+json";
  if (!apply && (!strategic || kind.custom) && type != "application/merge-patch+json" &&
      type != "application/json-patch+json") {
    return fail(unpatchable(kind));
  }
  const auto body = json::parse(request.body);
  if (!body) return fail(bad_request("the patch cannot be read: " + body.error().to_string()));
  if (!apply) {
    const auto edit = [&](const Value& live) { return patched(kind, type, live, *body); };
    MS_TRY(const Written made, registry_.patch(kind, target.ns, target.name, edit, options));
    return respond(200, render(kind, *made.object));
  }
  if (!request.url.query_value("fieldManager")) {
    return fail(invalid(Subject{"", "meta.k8s.io", "PatchOptions"},
                        {required("fieldManager", "is required for apply patch")}));
  }
  MS_TRY(Value config, read_body(request, kind));
  MS_TRY(const Written made, registry_.apply(kind, target.ns, target.name, std::move(config),
                                             is_set(request.url, "force"), options));
  return respond(made.created ? 201 : 200, render(kind, *made.object));
}

Result<Response> KubeApi::remove(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  MS_TRY(const RemoveOptions options, remove_options(request));
  MS_TRY(const Removed removed, registry_.remove(kind, target.ns, target.name, options));
  if (!removed.gone || kind.returns_deleted) return respond(200, render(kind, *removed.object));
  Value details = Value::object({{"name", target.name}});
  if (!kind.resource.group.empty()) details["group"] = kind.resource.group;
  details["kind"] = kind.resource.plural;
  details["uid"] = uid_of(*removed.object);
  return respond(200, Value::object({{"kind", "Status"},
                                     {"apiVersion", "v1"},
                                     {"metadata", Value::object()},
                                     {"status", "Success"},
                                     {"details", std::move(details)}}));
}

Result<Response> KubeApi::remove_all(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  MS_TRY(const RemoveOptions options, remove_options(request));
  MS_TRY(Value list, list_objects(storage_, kind, target.ns, request.url));
  for (const Value& item : *list.find("items")) {
    (void)registry_.remove(kind, namespace_of(item), name_of(item), options);
  }
  return respond(200, list);
}

Result<std::unique_ptr<http::StreamingResponse>> KubeApi::watch(const Target& target,
                                                                const Request& request) {
  const http::Url& url = request.url;
  MS_CHECK(check_list_options(url, true));
  const std::string version = url.query_value("resourceVersion").value_or("");
  const auto from = parse_version(version);
  if (!from) return fail(refuse(500, "", from.error().message()));
  WatchRequest asked;
  asked.kind = target.kind;
  asked.ns = target.ns;
  MS_TRY(asked.selector,
         Selector::parse(*target.kind, url.query_value("labelSelector").value_or(""),
                         url.query_value("fieldSelector").value_or("")));
  asked.from = *from;
  asked.bookmarks = is_set(url, "allowWatchBookmarks");
  asked.all_first = *from == 0 || is_set(url, "sendInitialEvents");
  asked.mark_the_end = is_set(url, "sendInitialEvents") && asked.bookmarks;
  asked.bookmark_every = options_.bookmark_every;
  const auto limit = parse_integer<std::int64_t>(url.query_value("timeoutSeconds").value_or(""));
  asked.timeout = limit ? seconds(*limit)
                        : minutes(30) + seconds(static_cast<std::int64_t>(random_.below(1800)));
  return std::make_unique<WatchStream>(executor_, storage_, epoch_, std::move(asked));
}

Response KubeApi::answer(const Request& request) {
  auto response = handle(request);
  if (response) return *std::move(response);
  return respond(status_code(response.error()), status_body(response.error()));
}

http::Task<Result<Response>> KubeApi::send(Request request) {
  if (is_set(request.url, "watch")) {
    MS_CO_TRY(const auto stream, co_await open(std::move(request)));
    Response response{.status = stream->status(), .headers = stream->headers(), .body = {}};
    MS_CO_TRY(response.body, co_await http::read_all(stream.get(), std::size_t{64} << 20));
    co_return response;
  }
  MS_CO_CHECK(co_await net::sleep(options_.latency));
  co_return answer(request);
}

namespace {

// An answer that is complete already.
class Buffered final : public http::StreamingResponse {
 public:
  explicit Buffered(Response response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const http::Headers& headers() const override { return response_.headers; }
  http::Task<Result<std::string_view>> next_chunk() override {
    co_return std::exchange(given_, true) ? std::string_view() : std::string_view(response_.body);
  }

 private:
  Response response_;
  bool given_ = false;
};

}  // namespace

http::Task<Result<std::unique_ptr<http::StreamingResponse>>> KubeApi::open(Request request) {
  MS_CO_CHECK(co_await net::sleep(options_.latency));
  if (request.method == Method::kGet && is_set(request.url, "watch")) {
    const auto target = resolve(request);
    if (target && target->name.empty() && !target->kind->virtual_kind) {
      auto stream = watch(*target, request);
      if (stream) co_return *std::move(stream);
      co_return std::make_unique<Buffered>(
          respond(status_code(stream.error()), status_body(stream.error())));
    }
  }
  co_return std::make_unique<Buffered>(answer(request));
}

http::Task<Result<http::Upgraded>> KubeApi::upgrade(Request request) {
  co_return fail(Code::kUnsupported,
                 "the simulated API server has no kubelet to connect " + request.url.path + " to");
}

Result<Object> KubeApi::add(Value object) {
  const auto kind = kinds_.find_kind(text_at(object, "/apiVersion"), text_at(object, "/kind"));
  if (kind == nullptr) return fail(no_such_resource());
  const std::string ns(namespace_of(object));
  MS_TRY(Written made, registry_.create(*kind, ns, std::move(object), {.manager = "scene"}));
  return std::move(made.object);
}

Result<Object> KubeApi::add_namespace(std::string_view name) {
  return add(Value::object({{"apiVersion", "v1"},
                            {"kind", "Namespace"},
                            {"metadata", Value::object({{"name", name}})}}));
}

Object KubeApi::find(const kube::Resource& resource, std::string_view ns,
                     std::string_view name) const {
  return storage_.get(resource.to_string(), storage_key(ns, name));
}

void KubeApi::drop_watches() {
  ++epoch_;
  storage_.changed().notify_all();
}

}  // namespace mainspring::sim
