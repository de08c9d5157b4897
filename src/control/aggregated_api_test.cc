#include "control/aggregated_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/scripted_api.h"
#include "net/certificate.h"
#include "net/task_group.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::HasSubstr;

Value config_map(const std::string& ca) {
  return Value::object(
      {{"data",
        Value::object({{"requestheader-client-ca-file", ca},
                       {"requestheader-allowed-names", R"(["proxy"])"},
                       {"requestheader-username-headers", R"(["X-Remote-User"])"},
                       {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
                       {"requestheader-group-headers", R"(["X-Remote-Group"])"},
                       {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}})}});
}

std::string new_authority() {
  const WallTime start(seconds(1'500'000'000));
  return net::make_ca({"front proxy authority", {start, start + hours(24 * 36500)}})->cert_pem;
}

http::Request request_to(const std::string& path, http::Method method = http::Method::kGet) {
  http::Request request;
  request.method = method;
  request.url = *http::Url::parse_target(path);
  return request;
}

Task<Result<http::Response>> greet(UserInfo user, http::Request) {
  co_return http::text_response(200, "hello " + user.username);
}

struct AggregatedApiTest : ::testing::Test {
  AggregatedApiTest() {
    proxy.verified = true;
    proxy.common_name = "proxy";
    api.add(router, http::Method::kGet, "/apis/x.dev/v1/{rest...}", greet);
    api.add(router, http::Method::kGet, "/healthz", greet);
    api.add_discovery(router);
    kube.api.reply(config_map(new_authority()));
    EXPECT_TRUE(kube.executor.run(api.load()).has_value());
    kube.api.requests.clear();
  }

  http::Response call(http::Request request) {
    return *kube.executor.run(router.handle(std::move(request)));
  }
  http::Request proxied(const std::string& path) {
    http::Request request = request_to(path);
    request.peer_certificate = &proxy;
    request.headers.add("X-Remote-User", "ann");
    request.headers.add("X-Remote-Group", "dev");
    request.headers.add("x-remote-group", "system:authenticated");
    request.headers.add("X-Remote-Extra-Scopes%2fa", "one");
    request.headers.add("X-Remote-Extra-Scopes%2Fa", "two");
    return request;
  }
  void allow() { kube.api.reply(201, R"({"status":{"allowed":true}})"); }

  ScriptedClient kube;
  net::PeerCertificate proxy;
  DelegatedAuth auth{kube.client};
  std::shared_ptr<ServingTls> tls = *ServingTls::make(kube.executor.clock());
  AggregatedApi api{kube.client,
                    auth,
                    tls,
                    {.groups = {{"x.dev", "v1", {{"things", "Thing", true, {"get", "list"}}}}}}};
  http::Router router;
};

TEST_F(AggregatedApiTest, TheFrontProxySaysWhoItIsAndTheApiServerWhetherHeMay) {
  allow();
  EXPECT_EQ(call(proxied("/apis/x.dev/v1/namespaces/web/things/a")).body, "hello ann");
  const Value review = kube.api.body(0);
  EXPECT_EQ(json::to_text(*review.find("spec")),
            R"({"user":"ann","groups":["dev","system:authenticated"],)"
            R"("extra":{"scopes/a":["one","two"]},"resourceAttributes":{"verb":"get",)"
            R"("resource":"things","namespace":"web","group":"x.dev","version":"v1","name":"a"}})");
}

TEST_F(AggregatedApiTest, HeadersOfAnybodyElseAreNotBelieved) {
  http::Request request = proxied("/apis/x.dev/v1/things");
  request.peer_certificate = nullptr;
  EXPECT_EQ(call(request).status, 401);
  proxy.verified = false;
  EXPECT_EQ(call(proxied("/apis/x.dev/v1/things")).status, 401);
  proxy.verified = true;
  proxy.common_name = "somebody";
  const http::Response refused = call(proxied("/apis/x.dev/v1/things"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr(R"("kind":"Status")"));
  EXPECT_THAT(refused.body, HasSubstr(R"("reason":"Unauthorized")"));
  EXPECT_TRUE(kube.api.requests.empty());
}

TEST_F(AggregatedApiTest, ABearerTokenIsReviewed) {
  kube.api.reply(201, R"({"status":{"authenticated":true,"user":{"username":"robot"}}})");
  allow();
  http::Request request = request_to("/apis/x.dev/v1/things");
  request.headers.set("Authorization", "Bearer t");
  EXPECT_EQ(call(request).body, "hello robot");
  EXPECT_EQ(*kube.api.body(0).at_pointer("/spec/token"), Value("t"));
}

TEST_F(AggregatedApiTest, WhoMayNotIsToldSo) {
  kube.api.reply(201, R"({"status":{"allowed":false}})");
  const http::Response refused = call(proxied("/apis/x.dev/v1/things"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("may not list resource things.x.dev"));
}

TEST_F(AggregatedApiTest, WhenNobodyCanBeAskedNobodyComesIn) {
  kube.api.refuse(403, "Forbidden");
  EXPECT_NE(call(proxied("/apis/x.dev/v1/things")).status, 200);
}

TEST_F(AggregatedApiTest, HealthIsOpen) {
  EXPECT_EQ(call(request_to("/healthz")).body, "hello system:anonymous");
  EXPECT_TRUE(kube.api.requests.empty());
}

TEST_F(AggregatedApiTest, IsFoundByDiscovery) {
  kube.api.otherwise = [](const http::Request&) {
    return http::json_response(201, R"({"status":{"allowed":true}})");
  };
  EXPECT_EQ(call(proxied("/apis/x.dev/v1")).body,
            R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":"x.dev/v1","resources":)"
            R"([{"name":"things","singularName":"","namespaced":true,"kind":"Thing",)"
            R"("verbs":["get","list"]}]})");
  EXPECT_THAT(call(proxied("/apis/x.dev")).body, HasSubstr(R"("kind":"APIGroup")"));
  EXPECT_THAT(call(proxied("/apis")).body, HasSubstr(R"("kind":"APIGroupList")"));
  http::Request aggregated = proxied("/apis");
  aggregated.headers.set("Accept",
                         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                         "application/json");
  const http::Response found = call(aggregated);
  EXPECT_THAT(found.body, HasSubstr(R"("scope":"Namespaced")"));
  EXPECT_THAT(std::string(*found.headers.get("Content-Type")), HasSubstr("v=v2"));
}

TEST_F(AggregatedApiTest, NewSettingsOfTheProxyAreTakenOverAndBadOnesAreNot) {
  net::TaskGroup group(kube.executor);
  group.spawn(api.run());
  const auto before = tls->current();
  kube.api.reply(config_map("nonsense"));
  kube.executor.advance(minutes(1) + seconds(1));
  EXPECT_EQ(tls->current(), before);
  kube.api.reply(config_map(new_authority()));
  kube.executor.advance(minutes(1) + seconds(1));
  EXPECT_NE(tls->current(), before);
  group.cancel();
  (void)kube.executor.run(group.join());
}

TEST(RequestHeader, SaysWhichKeyOfTheConfigMapIsWrong) {
  Value map = Value::object();
  map["data"]["requestheader-allowed-names"] = "proxy";
  EXPECT_THAT(read_request_header_config(map).error().message(),
              HasSubstr("data.requestheader-allowed-names"));
  EXPECT_TRUE(read_request_header_config(Value::object({{"data", Value::object()}}))
                  ->client_ca_pem.empty());
}

TEST(RequestHeader, ReadsPathsAsTheApiServerDoes) {
  const auto verb = [](const char* path, http::Method method = http::Method::kGet) {
    const AccessAttributes access = access_of(request_to(path, method));
    return access.to_string();
  };
  EXPECT_EQ(verb("/apis/g/v1/namespaces/n/r/x/status", http::Method::kPatch),
            R"(patch resource r.g/status "x" in namespace "n")");
  EXPECT_EQ(verb("/apis/g/v1/r"), "list resource r.g");
  EXPECT_EQ(verb("/apis/g/v1/r?watch=true"), "watch resource r.g");
  EXPECT_EQ(verb("/apis/g/v1/r", http::Method::kDelete), "deletecollection resource r.g");
  EXPECT_EQ(verb("/apis/g/v1/r/x", http::Method::kDelete), R"(delete resource r.g "x")");
  EXPECT_EQ(verb("/apis/g/v1/r", http::Method::kPost), "create resource r.g");
  EXPECT_EQ(verb("/apis/g/v1/namespaces/n"), R"(get resource namespaces.g "n")");
  EXPECT_EQ(verb("/apis/g/v1"), R"(get path "/apis/g/v1")");
  EXPECT_EQ(verb("/metrics"), R"(get path "/metrics")");
}

}  // namespace
}  // namespace mainspring::control
