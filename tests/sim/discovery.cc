#include "sim/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/value.h"

namespace mainspring::sim {
namespace {

using json::Value;

Value verbs_of(const Kind& kind) {
  if (kind.virtual_kind) return Value::array({"create"});
  return Value::array(
      {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
}

std::vector<std::pair<std::string, std::string>> subresources_of(const Kind& kind) {
  std::vector<std::pair<std::string, std::string>> found;
  if (kind.has_scale) found.emplace_back("scale", "Scale");
  if (kind.has_status) found.emplace_back("status", kind.resource.kind);
  if (kind.collection() == "pods") {
    found.emplace_back("binding", "Binding");
    found.emplace_back("eviction", "Eviction");
  }
  return found;
}

Value aggregated_resource(const Kind& kind) {
  const auto response_kind = [](const std::string& name) {
    return Value::object({{"group", ""}, {"version", ""}, {"kind", name}});
  };
  Value made = Value::object({{"resource", kind.resource.plural},
                              {"responseKind", response_kind(kind.resource.kind)},
                              {"scope", kind.resource.namespaced ? "Namespaced" : "Cluster"},
                              {"singularResource", kind.singular},
                              {"verbs", verbs_of(kind)}});
  for (const std::string& name : kind.short_names) made["shortNames"].push_back(name);
  for (const auto& [name, answer] : subresources_of(kind)) {
    made["subresources"].push_back(
        Value::object({{"subresource", name},
                       {"responseKind", response_kind(answer)},
                       {"verbs", Value::array({"get", "patch", "update"})}}));
  }
  return made;
}

// Group -> version -> resources, in the order of the table.
Value aggregated(const Kinds& kinds, bool core) {
  std::map<std::string, std::map<std::string, Value>> groups;
  for (const auto& kind : kinds.all()) {
    if (kind->resource.group.empty() != core) continue;
    groups[kind->resource.group][kind->resource.version].push_back(aggregated_resource(*kind));
  }
  Value items = Value::array();
  for (auto& [group, versions] : groups) {
    Value list = Value::array();
    for (auto& [version, resources] : versions) {
      list.push_back(Value::object(
          {{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}}));
    }
    Value meta = Value::object();
    if (!group.empty()) meta["name"] = group;
    items.push_back(Value::object({{"metadata", std::move(meta)}, {"versions", std::move(list)}}));
  }
  return Value::object({{"kind", "APIGroupDiscoveryList"},
                        {"apiVersion", "apidiscovery.k8s.io/v2"},
                        {"metadata", Value::object()},
                        {"items", std::move(items)}});
}

Value group_list(const Kinds& kinds) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& kind : kinds.all()) {
    if (kind->resource.group.empty()) continue;
    auto& versions = groups[kind->resource.group];
    if (std::find(versions.begin(), versions.end(), kind->resource.version) == versions.end()) {
      versions.push_back(kind->resource.version);
    }
  }
  Value items = Value::array();
  for (const auto& [group, versions] : groups) {
    Value list = Value::array();
    for (const std::string& version : versions) {
      list.push_back(
          Value::object({{"groupVersion", group + "/" + version}, {"version", version}}));
    }
    const Value preferred = list.at(0);
    items.push_back(Value::object(
        {{"name", group}, {"versions", std::move(list)}, {"preferredVersion", preferred}}));
  }
  return Value::object(
      {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(items)}});
}

Value resource_list(const Kinds& kinds, const std::string& group, const std::string& version) {
  Value list = Value::array();
  for (const auto& kind : kinds.all()) {
    if (kind->resource.group != group || kind->resource.version != version) continue;
    list.push_back(Value::object({{"name", kind->resource.plural},
                                  {"singularName", kind->singular},
                                  {"namespaced", kind->resource.namespaced},
                                  {"kind", kind->resource.kind},
                                  {"verbs", verbs_of(*kind)}}));
    for (const auto& [name, answer] : subresources_of(*kind)) {
      list.push_back(Value::object({{"name", kind->resource.plural + "/" + name},
                                    {"singularName", ""},
                                    {"namespaced", kind->resource.namespaced},
                                    {"kind", answer},
                                    {"verbs", Value::array({"get", "patch", "update"})}}));
    }
  }
  return Value::object({{"kind", "APIResourceList"},
                        {"apiVersion", "v1"},
                        {"groupVersion", group.empty() ? version : group + "/" + version},
                        {"resources", std::move(list)}});
}

}  // namespace

std::optional<http::Response> discover(const Kinds& kinds, int minor,
                                       const http::Request& request) {
  const std::string& path = request.url.path;
  const auto respond = [](const Value& body) { return http::json_response(200, to_text(body)); };
  if (path == "/healthz" || path == "/readyz" || path == "/livez") {
    return http::text_response(200, "ok");
  }
  if (path == "/version") {
    return respond(Value::object({{"major", "1"},
                                  {"minor", std::to_string(minor)},
                                  {"gitVersion", fmt::format("v1.{}.0-sim", minor)}}));
  }
  const bool whole = request.headers.get("Accept").value_or("").find("APIGroupDiscoveryList") !=
                     std::string_view::npos;
  if (path == "/api" || path == "/apis") {
    if (whole) {
      http::Response made = respond(aggregated(kinds, path == "/api"));
      made.headers.set("Content-Type",
                       "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
      return made;
    }
    if (path == "/apis") return respond(group_list(kinds));
    return respond(Value::object({{"kind", "APIVersions"}, {"versions", Value::array({"v1"})}}));
  }
  const auto parts = split(path, '/');
  if (parts.size() == 3 && parts[1] == "api" && parts[2] == "v1") {
    return respond(resource_list(kinds, "", "v1"));
  }
  if (parts.size() == 4 && parts[1] == "apis" && kinds.serves_group(parts[2], parts[3])) {
    return respond(resource_list(kinds, std::string(parts[2]), std::string(parts[3])));
  }
  return std::nullopt;
}

}  // namespace mainspring::sim
