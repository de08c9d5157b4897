// Subresources that act or show part of an object: status, scale, binding, eviction; and the kinds
// that are questions.
#include <fmt/format.h>

#include <utility>

#include "sim/listing.h"
#include "sim/meta.h"
#include "sim/refusals.h"
#include "sim/selector.h"
#include "sim/target.h"

#include "json/json_patch.h"
#include "json/merge_patch.h"

namespace mainspring::sim {

using http::Method;
using http::Request;
using http::Response;
using json::Value;

namespace {

Response respond(int status, const Value& body) {
  return http::json_response(status, to_text(body));
}

Response success(int code) {
  return respond(code, Value::object({{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", Value::object()},
                                      {"status", "Success"},
                                      {"code", code}}));
}

std::int64_t number_at(const Value& object, const std::string& pointer) {
  const Value* found = pointer.empty() ? nullptr : object.at_pointer(pointer);
  return found == nullptr ? 0 : found->as_int().value_or(0);
}

Value scale_of(const Kind& kind, const Value& object) {
  Value meta = Value::object();
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* found = object.find("metadata")->find(name)) meta.set(name, *found);
  }
  Value status = Value::object({{"replicas", number_at(object, kind.status_replicas_path)}});
  const std::string_view selector =
      kind.selector_path.empty() ? std::string_view() : text_at(object, kind.selector_path);
  if (!selector.empty()) status["selector"] = selector;
  Value spec = Value::object();
  if (const std::int64_t replicas = number_at(object, kind.replicas_path); replicas != 0) {
    spec["replicas"] = replicas;
  }
  return Value::object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", std::move(meta)},
                        {"spec", std::move(spec)},
                        {"status", std::move(status)}});
}

}  // namespace

Result<Response> KubeApi::handle_subresource(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  if (target.subresource == "status" && kind.has_status) return handle_object(target, request);
  if (target.subresource == "scale" && kind.has_scale) return handle_scale(target, request);
  if (kind.collection() == "pods" && request.method == Method::kPost) {
    const auto body = json::parse(request.body);
    if (!body) return fail(bad_request("the body cannot be read"));
    if (target.subresource == "binding") return bind(target, *body);
    if (target.subresource == "eviction") return evict(target, *body);
  }
  return fail(no_such_resource());
}

Result<Response> KubeApi::handle_scale(const Target& target, const Request& request) {
  const Kind& kind = *target.kind;
  MS_TRY(const Object object, registry_.get(kind, target.ns, target.name));
  Value scale = scale_of(kind, *object);
  if (request.method == Method::kGet) return respond(200, scale);
  auto body = json::parse(request.body);
  if (!body) return fail(bad_request("the body cannot be read"));
  if (request.method == Method::kPatch) {
    if (body->is_array()) {
      MS_TRY(scale, json::apply_json_patch(std::move(scale), *body));
    } else {
      scale = json::apply_merge_patch(std::move(scale), *body);
    }
  } else if (request.method == Method::kPut) {
    scale = *std::move(body);
  } else {
    return fail(method_not_allowed());
  }
  const std::int64_t replicas = number_at(scale, "/spec/replicas");
  if (replicas < 0) {
    return fail(invalid(
        Subject{target.name, "autoscaling", "Scale"},
        {wrong("spec.replicas", std::to_string(replicas), "should be a non-negative integer")}));
  }
  const std::string version(version_of(scale));
  const auto edit = [&](const Value& live) -> Result<Value> {
    Value made = live;
    Value* at = made.at_pointer(kind.replicas_path);
    if (at == nullptr) {
      made["spec"]["replicas"] = replicas;
    } else {
      *at = replicas;
    }
    if (!version.empty()) made["metadata"]["resourceVersion"] = version;
    return made;
  };
  const std::string agent(request.headers.get("User-Agent").value_or("unknown"));
  const WriteOptions options{
      .manager = request.url.query_value("fieldManager").value_or(agent.substr(0, agent.find('/'))),
      .subresource = "scale",
      .dry_run = request.url.query_value("dryRun") == "All"};
  MS_TRY(const Written made, registry_.patch(kind, target.ns, target.name, edit, options));
  return respond(200, scale_of(kind, *made.object));
}

Result<Response> KubeApi::bind(const Target& target, const Value& binding) {
  const Kind& kind = *target.kind;
  if (!name_of(binding).empty() && name_of(binding) != target.name) {
    return fail(bad_request("name in URL does not match name in Binding object"));
  }
  MS_TRY(const Object live, registry_.get(kind, target.ns, target.name));
  const auto refusal = [&](std::string why) {
    return fail(refuse(
        409, "Conflict",
        fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", target.name, why),
        {target.name, "", "pods/binding"}));
  };
  const std::string_view node = text_at(*live, "/spec/nodeName");
  if (is_being_deleted(*live)) {
    return refusal(
        fmt::format("pod {} is being deleted, cannot be assigned to a host", target.name));
  }
  if (!node.empty()) {
    return refusal(fmt::format("pod {} is already assigned to node \"{}\"", target.name, node));
  }
  Value pod = *live;
  pod["spec"]["nodeName"] = text_at(binding, "/target/name");
  for (const std::string_view part : {"annotations", "labels"}) {
    const Value* given = binding.at_pointer(fmt::format("/metadata/{}", part));
    if (given == nullptr || (part == "labels" && minor_ < 35)) continue;
    for (const auto [name, value] : given->members()) pod["metadata"][part].set(name, value);
  }
  Value conditions = Value::array();
  if (const Value* present = pod.at_pointer("/status/conditions")) {
    for (const Value& condition : *present) {
      if (text_at(condition, "/type") != "PodScheduled") conditions.push_back(condition);
    }
  }
  conditions.push_back(Value::object({{"type", "PodScheduled"},
                                      {"status", "True"},
                                      {"lastProbeTime", nullptr},
                                      {"lastTransitionTime", registry_.now_text()}}));
  pod["status"]["conditions"] = std::move(conditions);
  const std::string key = key_of(pod);
  storage_.put(kind.collection(), key, std::move(pod));
  return success(201);
}

Result<Response> KubeApi::evict(const Target& target, const Value& eviction) {
  MS_TRY(const Object pod, registry_.get(*target.kind, target.ns, target.name));
  const Kind& budgets = *kinds_.find("policy", "v1", "poddisruptionbudgets");
  const Objects all = storage_.all(budgets.collection());
  for (const auto& [key, budget] : all) {
    const Value* selector = budget->at_pointer("/spec/selector");
    if (namespace_of(*budget) != target.ns || selector == nullptr ||
        !Selector::from_object(*selector).matches(*pod) ||
        text_at(*pod, "/status/phase") == "Pending") {
      continue;
    }
    const std::int64_t allowed = number_at(*budget, "/status/disruptionsAllowed");
    if (allowed <= 0) {
      return fail(
          refuse(429, "TooManyRequests",
                 "Cannot evict pod as it would violate the pod's disruption budget.", {},
                 {{"DisruptionBudget",
                   fmt::format("The disruption budget {} needs {} healthy pods and has {} "
                               "currently",
                               name_of(*budget), number_at(*budget, "/status/desiredHealthy"),
                               number_at(*budget, "/status/currentHealthy")),
                   ""}}));
    }
    Value changed = *budget;
    changed["status"]["disruptionsAllowed"] = allowed - 1;
    changed["status"]["disruptedPods"][target.name] = registry_.now_text();
    storage_.put(budgets.collection(), key, std::move(changed));
  }
  RemoveOptions options;
  if (const Value* grace = eviction.at_pointer("/deleteOptions/gracePeriodSeconds")) {
    options.grace_seconds = grace->as_int();
  }
  if (const Value* uid = eviction.at_pointer("/deleteOptions/preconditions/uid")) {
    options.uid = std::string(uid->as_string().value_or(""));
  }
  MS_CHECK(registry_.remove(*target.kind, target.ns, target.name, options));
  return success(201);
}

Result<Response> KubeApi::review(const Kind& kind, Value object) const {
  const Value* spec = object.find("spec");
  const Value nothing = Value::object();
  const Value& asked = spec == nullptr ? nothing : *spec;
  Value status = Value::object();
  if (kind.resource.kind == "TokenReview") {
    const std::string_view token = text_at(asked, "/token");
    status = options_.authenticate
                 ? options_.authenticate(token)
                 : Value::object(
                       {{"authenticated", true}, {"user", Value::object({{"username", "sim"}})}});
  } else if (kind.resource.kind == "SelfSubjectReview") {
    status = Value::object({{"userInfo", Value::object({{"username", "sim"}})}});
  } else {
    status = Value::object({{"allowed", !options_.authorize || options_.authorize(asked)}});
  }
  object["status"] = std::move(status);
  return respond(201, object);
}

}  // namespace mainspring::sim
