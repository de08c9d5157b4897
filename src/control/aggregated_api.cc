#include "control/aggregated_api.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "http/status.h"
#include "kube/api.h"
#include "kube/status.h"
#include "net/wait.h"

namespace mainspring::control {

using json::Value;

namespace {

constexpr const char* kNamespace = "kube-system";
constexpr const char* kConfigMap = "extension-apiserver-authentication";
constexpr std::string_view kBearer = "Bearer ";

Value verbs_of(const ServedResource& resource) {
  Value verbs = Value::array();
  for (const std::string& verb : resource.verbs) verbs.push_back(verb);
  return verbs;
}

Value group_document(const ServedGroup& group) {
  const Value version = Value::object(
      {{"groupVersion", group.group + "/" + group.version}, {"version", group.version}});
  return Value::object({{"kind", "APIGroup"},
                        {"apiVersion", "v1"},
                        {"name", group.group},
                        {"versions", Value::array({version})},
                        {"preferredVersion", version}});
}

Value resources_document(const ServedGroup& group) {
  Value resources = Value::array();
  for (const ServedResource& resource : group.resources) {
    resources.push_back(Value::object({{"name", resource.plural},
                                       {"singularName", ""},
                                       {"namespaced", resource.namespaced},
                                       {"kind", resource.kind},
                                       {"verbs", verbs_of(resource)}}));
  }
  return Value::object({{"kind", "APIResourceList"},
                        {"apiVersion", "v1"},
                        {"groupVersion", group.group + "/" + group.version},
                        {"resources", std::move(resources)}});
}

Value groups_document(const std::vector<ServedGroup>& groups) {
  Value list = Value::array();
  for (const ServedGroup& group : groups) list.push_back(group_document(group));
  return Value::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", list}});
}

Value aggregated_document(const std::vector<ServedGroup>& groups) {
  Value items = Value::array();
  for (const ServedGroup& group : groups) {
    Value resources = Value::array();
    for (const ServedResource& resource : group.resources) {
      resources.push_back(Value::object({{"resource", resource.plural},
                                         {"responseKind", Value::object({{"group", group.group},
                                                                         {"version", group.version},
                                                                         {"kind", resource.kind}})},
                                         {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                                         {"singularResource", ""},
                                         {"verbs", verbs_of(resource)}}));
    }
    const Value version = Value::object({{"version", group.version},
                                         {"resources", std::move(resources)},
                                         {"freshness", "Current"}});
    items.push_back(Value::object({{"metadata", Value::object({{"name", group.group}})},
                                   {"versions", Value::array({version})}}));
  }
  return Value::object({{"kind", "APIGroupDiscoveryList"},
                        {"apiVersion", "apidiscovery.k8s.io/v2"},
                        {"metadata", Value::object()},
                        {"items", std::move(items)}});
}

// The first of the client's wishes that we know decides: aggregated v2 discovery or the plain list.
bool wants_aggregated(const http::Request& request) {
  for (const std::string_view line : request.headers.all("Accept")) {
    for (const std::string_view wish : split(line, ',')) {
      if (wish.find("as=APIGroupDiscoveryList") == std::string_view::npos) {
        if (wish.find("application/json") != std::string_view::npos) return false;
        continue;
      }
      if (wish.find("g=apidiscovery.k8s.io") != std::string_view::npos &&
          wish.find("v=v2;") != std::string_view::npos) {
        return true;
      }
    }
  }
  return false;
}

Task<Result<http::Response>> document(std::shared_ptr<const std::string> text) {
  co_return http::json_response(200, *text);
}

Task<Result<http::Response>> groups_answer(std::shared_ptr<const std::string> plain,
                                           std::shared_ptr<const std::string> aggregated,
                                           http::Request request) {
  if (!wants_aggregated(request)) co_return http::json_response(200, *plain);
  http::Response response = http::json_response(200, *aggregated);
  response.headers.set("Content-Type",
                       "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  co_return response;
}

std::shared_ptr<const std::string> shared_text(const Value& value) {
  return std::make_shared<const std::string>(json::to_text(value));
}

}  // namespace

AggregatedApi::AggregatedApi(kube::Client& client, DelegatedAuth& auth,
                             std::shared_ptr<ServingTls> tls, Options options)
    : client_(client), auth_(auth), tls_(std::move(tls)), options_(std::move(options)) {}

Task<Result<void>> AggregatedApi::load() {
  const kube::RawApi maps(client_, {"", "v1", "configmaps", "ConfigMap", true}, kNamespace);
  const std::string what = std::string("ConfigMap ") + kNamespace + "/" + kConfigMap;
  MS_CO_TRY(const std::string text, with_context(co_await maps.get(kConfigMap, {}), what));
  MS_CO_TRY(const Value map, json::parse(text));
  MS_CO_TRY(RequestHeaderConfig config, with_context(read_request_header_config(map), what));
  MS_CO_CHECK(with_context(tls_->set_client_ca(config.client_ca_pem), what));
  config_ = std::move(config);
  co_return Result<void>();
}

Task<Result<void>> AggregatedApi::run() {
  while (true) {
    MS_CO_CHECK(co_await net::sleep(options_.reload));
    auto done = co_await load();
    if (!done && done.error().code() != Code::kCancelled) {
      options_.log.warn("the front proxy's settings as they were stay in use",
                        {{"error", done.error()}});
    }
  }
}

Task<Result<UserInfo>> AggregatedApi::authenticate(const http::Request* request) {
  if (auto user = front_proxy_user(config_, *request)) co_return *std::move(user);
  const std::string_view header = request->headers.get("Authorization").value_or("");
  if (!starts_with_ignore_case(header, kBearer)) {
    co_return fail(Code::kUnauthorized,
                   "neither the cluster's front proxy nor a bearer token says who is calling");
  }
  Secret token{std::string(trim(header.substr(kBearer.size())))};
  co_return co_await auth_.authenticate(std::move(token), options_.audiences);
}

Task<Result<http::Response>> AggregatedApi::guarded(const UserHandler* handler,
                                                    http::Request request) {
  UserInfo user{"system:anonymous", "", {"system:unauthenticated"}, {}};
  const auto& open = options_.exempt_paths;
  if (std::find(open.begin(), open.end(), request.url.path) == open.end()) {
    auto known = co_await authenticate(&request);
    if (!known) co_return kube::status_response(known.error());
    user = *std::move(known);
    auto allowed = co_await auth_.authorize(user, access_of(request));
    if (!allowed) co_return kube::status_response(allowed.error());
  }
  auto response = co_await (*handler)(std::move(user), std::move(request));
  if (!response) co_return kube::status_response(response.error());
  co_return response;
}

void AggregatedApi::add(http::Router& router, http::Method method, std::string_view pattern,
                        UserHandler handler) {
  auto shared = std::make_shared<const UserHandler>(std::move(handler));
  router.add(method, pattern, [this, shared](http::Request request) {
    return guarded(shared.get(), std::move(request));
  });
}

void AggregatedApi::add_document(http::Router& router, const std::string& path,
                                 const Value& value) {
  add(router, http::Method::kGet, path,
      [text = shared_text(value)](const UserInfo&, const http::Request&) {
        return document(text);
      });
}

void AggregatedApi::add_discovery(http::Router& router) {
  add(router, http::Method::kGet, "/apis",
      [plain = shared_text(groups_document(options_.groups)),
       aggregated = shared_text(aggregated_document(options_.groups))](const UserInfo&,
                                                                       http::Request request) {
        return groups_answer(plain, aggregated, std::move(request));
      });
  for (const ServedGroup& group : options_.groups) {
    const std::string path = "/apis/" + group.group;
    add_document(router, path, group_document(group));
    add_document(router, path + "/" + group.version, resources_document(group));
  }
}

}  // namespace mainspring::control
