#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/scripted_transport.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCore = R"({"kind": "APIGroupDiscoveryList",
  "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
  "items": [{"metadata": {"creationTimestamp": null}, "versions": [{"version": "v1",
    "freshness": "Current", "resources": [
      {"resource": "namespaces", "responseKind": {"group": "", "version": "", "kind": "Namespace"},
       "scope": "Cluster", "singularResource": "namespace", "verbs": ["get", "list"],
       "shortNames": ["ns"]},
      {"resource": "pods", "responseKind": {"group": "", "version": "", "kind": "Pod"},
       "scope": "Namespaced", "singularResource": "pod", "verbs": ["create", "get", "watch"],
       "shortNames": ["po"], "categories": ["all"],
       "subresources": [{"subresource": "eviction",
         "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
         "verbs": ["create"]}]}]}]}]})";

constexpr const char* kGroups = R"({"kind": "APIGroupDiscoveryList",
  "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": [
  {"metadata": {"name": "autoscaling"}, "versions": [
    {"version": "v2", "freshness": "Current", "resources": [
      {"resource": "horizontalpodautoscalers", "scope": "Namespaced", "verbs": ["get"],
       "responseKind": {"group": "", "version": "", "kind": "HorizontalPodAutoscaler"}}]},
    {"version": "v1", "freshness": "Current", "resources": [
      {"resource": "horizontalpodautoscalers", "scope": "Namespaced", "verbs": ["get"],
       "responseKind": {"group": "", "version": "", "kind": "HorizontalPodAutoscaler"}},
      {"resource": "olders", "scope": "Namespaced", "verbs": [],
       "responseKind": {"kind": "Older"}}]}]},
  {"metadata": {"name": "external.metrics.k8s.io"}, "versions": [
    {"version": "v1beta1", "freshness": "Stale"}]}]})";

class DiscoveryTest : public ::testing::Test {
 protected:
  void answer(int status, std::string body) {
    transport_.answers.push_back(http::json_response(status, std::move(body)));
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& request : transport_.asked) all.push_back(request.url.path);
    return all;
  }
  Discovery found() {
    auto result = executor_.run(discover(&client_));
    EXPECT_TRUE(result.has_value()) << result.error().to_string();
    return result ? *std::move(result) : Discovery();
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Client client_{
      transport_, executor_.clock(), random_, {.server = *http::Url::parse("https://api:6443")}};
};

TEST_F(DiscoveryTest, NeedsTwoRequestsWhereTheServerAggregates) {
  answer(200, kCore);
  answer(200, kGroups);
  const Discovery all = found();
  EXPECT_THAT(paths(), ElementsAre("/api", "/apis"));
  EXPECT_THAT(std::string(transport_.asked[0].headers.get("Accept").value()),
              HasSubstr("g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));

  const DiscoveredResource* pods = all.find("", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->resource, (Resource{"", "v1", "pods", "Pod", true}));
  EXPECT_EQ(pods->singular, "pod");
  EXPECT_THAT(pods->short_names, ElementsAre("po"));
  EXPECT_THAT(pods->categories, ElementsAre("all"));
  EXPECT_TRUE(pods->can("watch"));
  EXPECT_FALSE(pods->can("delete"));
  ASSERT_NE(pods->subresource("eviction"), nullptr);
  EXPECT_EQ(pods->subresource("eviction")->kind, "Eviction");
  EXPECT_EQ(pods->subresource("scale"), nullptr);
  EXPECT_FALSE(all.preferred("", "Namespace")->resource.namespaced);
}

TEST_F(DiscoveryTest, PrefersTheFirstVersionThatHasTheKind) {
  answer(200, kCore);
  answer(200, kGroups);
  const Discovery all = found();
  EXPECT_EQ(all.preferred("autoscaling", "HorizontalPodAutoscaler")->resource.version, "v2");
  EXPECT_EQ(all.find("autoscaling", "olders")->resource.api_version(), "autoscaling/v1");
  EXPECT_TRUE(all.serves("autoscaling", "v1", "horizontalpodautoscalers"));
  EXPECT_FALSE(all.serves("autoscaling", "v2", "olders"));
  EXPECT_FALSE(all.serves("apps", "v1", "deployments"));
  EXPECT_EQ(all.find("apps", "deployments"), nullptr);
  EXPECT_EQ(all.preferred("", "Deployment"), nullptr);
}

TEST_F(DiscoveryTest, TellsNotServedFromNotKnown) {
  answer(200, kCore);
  answer(200, kGroups);
  const Discovery all = found();
  EXPECT_TRUE(all.complete("autoscaling"));
  EXPECT_TRUE(all.complete("no.such.group"));
  EXPECT_FALSE(all.complete("external.metrics.k8s.io"));
}

TEST_F(DiscoveryTest, AsksAnOlderServerForEachVersion) {
  answer(200, R"({"kind": "APIVersions", "versions": ["v1"]})");
  answer(200, R"({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
    {"name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
     "version": "v1", "kind": "Eviction", "verbs": ["create"]},
    {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
     "verbs": ["get"], "shortNames": ["po"], "categories": ["all"]},
    {"name": "nodes", "singularName": "node", "namespaced": false, "kind": "Node",
     "verbs": ["get"]}]})");
  answer(200, R"({"kind": "APIGroupList", "apiVersion": "v1", "groups": [
    {"name": "apps", "versions": [{"groupVersion": "apps/v1beta1", "version": "v1beta1"},
                                  {"groupVersion": "apps/v1", "version": "v1"}],
     "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]})");
  const char* deployments = R"({"kind": "APIResourceList", "resources": [
    {"name": "deployments", "namespaced": true, "kind": "Deployment", "verbs": ["get"]}]})";
  answer(200, deployments);
  answer(200, deployments);
  const Discovery all = found();
  EXPECT_THAT(paths(),
              ElementsAre("/api", "/api/v1", "/apis", "/apis/apps/v1", "/apis/apps/v1beta1"));
  ASSERT_NE(all.find("", "pods"), nullptr);
  EXPECT_EQ(all.find("", "pods")->resource, (Resource{"", "v1", "pods", "Pod", true}));
  EXPECT_EQ(all.find("", "pods")->subresource("eviction")->kind, "Eviction");
  EXPECT_FALSE(all.find("", "nodes")->resource.namespaced);
  EXPECT_EQ(all.preferred("apps", "Deployment")->resource.version, "v1");
  EXPECT_TRUE(all.serves("apps", "v1beta1", "deployments"));
}

TEST_F(DiscoveryTest, DoesNotFailForOneGroupThatDoesNotAnswer) {
  answer(200, kCore);
  answer(200, R"({"kind": "APIGroupList", "groups": [
    {"name": "broken", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    {"name": "good", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}]})");
  answer(404, "");
  answer(200, R"({"kind": "APIResourceList", "resources": [
    {"name": "things", "namespaced": true, "kind": "Thing", "verbs": ["get"]}]})");
  const Discovery all = found();
  EXPECT_FALSE(all.complete("broken"));
  EXPECT_NE(all.find("good", "things"), nullptr);
}

TEST_F(DiscoveryTest, FailsWhereTheServerDoesNotTellItsGroups) {
  answer(200, kCore);
  answer(403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})");
  EXPECT_EQ(executor_.run(discover(&client_)).error().code(), Code::kForbidden);
  EXPECT_EQ(parse_discovery(R"({"kind":"Pod"})").error().code(), Code::kInvalid);
}

TEST_F(DiscoveryTest, ReadsTheVersionOfTheServer) {
  answer(200, R"({"major": "1", "minor": "36+", "gitVersion": "v1.36.4-x", "gitCommit": "abc",
                  "platform": "linux/amd64"})");
  const auto version = executor_.run(server_version(&client_));
  ASSERT_TRUE(version.has_value()) << version.error().to_string();
  EXPECT_EQ(version->major, 1);
  EXPECT_EQ(version->minor, 36);
  EXPECT_EQ(version->git_version, "v1.36.4-x");
  EXPECT_TRUE(version->at_least(1, 36));
  EXPECT_TRUE(version->at_least(0, 99));
  EXPECT_FALSE(version->at_least(1, 37));
  EXPECT_FALSE(version->at_least(2, 0));
  EXPECT_FALSE(parse_server_version(R"({"major": "x", "minor": "1"})").has_value());
}

}  // namespace
}  // namespace mainspring::kube
