#include "control/request_header.h"

#include <algorithm>

#include "base/text.h"
#include "net/certificate.h"
#include "net/tls.h"

namespace mainspring::control {

using json::Value;

namespace {

Result<std::vector<std::string>> list_in(const Value& data, const std::string& key) {
  const Value* text = data.find(key);
  std::vector<std::string> list;
  if (text == nullptr) return list;
  auto parsed = json::parse(text->as_string().value_or(""));
  if (!parsed || !parsed->is_array()) {
    return fail(Code::kInvalid, "data." + key + ": expected a JSON list of strings");
  }
  for (const Value& item : *parsed) {
    if (!item.is_string()) {
      return fail(Code::kInvalid, "data." + key + ": expected a JSON list of strings");
    }
    list.emplace_back(*item.as_string());
  }
  return list;
}

std::string first_value(const http::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto value = headers.get(name);
    if (value && !value->empty()) return std::string(*value);
  }
  return "";
}

// Header names have no case and few characters: the API server escapes the key and we lower it.
std::string extra_key(std::string_view suffix) {
  std::string key = http::percent_decode(suffix).value_or(std::string(suffix));
  std::transform(key.begin(), key.end(), key.begin(), ascii_lower);
  return key;
}

void add_extra(UserInfo& user, const http::Headers& headers, const std::string& prefix) {
  for (const http::Field field : headers) {
    if (field.name.size() <= prefix.size() || !starts_with_ignore_case(field.name, prefix)) {
      continue;
    }
    const std::string key = extra_key(field.name.substr(prefix.size()));
    const auto known = std::find_if(user.extra.begin(), user.extra.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    auto& values = known != user.extra.end()
                       ? known->second
                       : user.extra.emplace_back(key, std::vector<std::string>()).second;
    values.emplace_back(field.value);
  }
}

bool is_front_proxy(const RequestHeaderConfig& config, const net::PeerCertificate* peer) {
  if (peer == nullptr || !peer->verified || config.client_ca_pem.empty()) return false;
  return config.allowed_names.empty() ||
         std::find(config.allowed_names.begin(), config.allowed_names.end(), peer->common_name) !=
             config.allowed_names.end();
}

std::string verb_of(http::Method method) {
  std::string verb(to_string(method));
  std::transform(verb.begin(), verb.end(), verb.begin(), ascii_lower);
  return verb;
}

std::string resource_verb(const http::Request& request, bool named) {
  switch (request.method) {
    case http::Method::kPost:
      return "create";
    case http::Method::kPut:
      return "update";
    case http::Method::kPatch:
      return "patch";
    case http::Method::kDelete:
      return named ? "delete" : "deletecollection";
    case http::Method::kGet:
    case http::Method::kHead: {
      if (named) return "get";
      const std::string watch = request.url.query_value("watch").value_or("false");
      return watch == "true" || watch == "1" ? "watch" : "list";
    }
    default:
      return verb_of(request.method);
  }
}

std::vector<std::string> segments_of(const std::string& path) {
  std::vector<std::string> segments;
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty()) segments.push_back(http::percent_decode(part).value_or(std::string(part)));
  }
  return segments;
}

}  // namespace

Result<RequestHeaderConfig> read_request_header_config(const Value& config_map) {
  const Value* data = config_map.find("data");
  if (data == nullptr) return fail(Code::kInvalid, "data: it is missing");
  RequestHeaderConfig config;
  if (const Value* ca = data->find("requestheader-client-ca-file")) {
    config.client_ca_pem = std::string(ca->as_string().value_or(""));
    MS_CHECK(
        with_context(net::inspect_all(config.client_ca_pem), "data.requestheader-client-ca-file"));
  }
  MS_TRY(config.allowed_names, list_in(*data, "requestheader-allowed-names"));
  MS_TRY(config.username_headers, list_in(*data, "requestheader-username-headers"));
  MS_TRY(config.uid_headers, list_in(*data, "requestheader-uid-headers"));
  MS_TRY(config.group_headers, list_in(*data, "requestheader-group-headers"));
  MS_TRY(config.extra_header_prefixes, list_in(*data, "requestheader-extra-headers-prefix"));
  return config;
}

std::optional<UserInfo> front_proxy_user(const RequestHeaderConfig& config,
                                         const http::Request& request) {
  if (!is_front_proxy(config, request.peer_certificate)) return std::nullopt;
  UserInfo user;
  user.username = first_value(request.headers, config.username_headers);
  if (user.username.empty()) return std::nullopt;
  user.uid = first_value(request.headers, config.uid_headers);
  for (const std::string& name : config.group_headers) {
    for (const std::string_view group : request.headers.all(name)) user.groups.emplace_back(group);
  }
  for (const std::string& prefix : config.extra_header_prefixes) {
    add_extra(user, request.headers, prefix);
  }
  return user;
}

AccessAttributes access_of(const http::Request& request) {
  AccessAttributes access;
  std::vector<std::string> parts = segments_of(request.url.path);
  if (parts.size() < 4 || parts[0] != "apis") {
    access.path = request.url.path;
    access.verb = verb_of(request.method);
    return access;
  }
  access.group = parts[1];
  access.version = parts[2];
  parts.erase(parts.begin(), parts.begin() + 3);
  if (parts[0] == "namespaces" && parts.size() > 2) {
    access.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  access.resource = parts[0];
  if (parts.size() > 1) access.name = parts[1];
  if (parts.size() > 2) access.subresource = parts[2];
  access.verb = resource_verb(request, !access.name.empty());
  return access;
}

}  // namespace mainspring::control
