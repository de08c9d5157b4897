// What the project's own client side makes of the API in memory: the parts that simulations stand
// on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "control/delegated_auth.h"
#include "control/reflector.h"
#include "kube/core_objects.h"
#include "kube/discovery.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "sim/faults.h"
#include "sim/kube_api.h"
#include "sim/meta.h"

namespace mainspring::sim {
namespace {

using json::Value;
using kube::ConfigMap;
using ::testing::Contains;

Value map(const std::string& name, const std::string& value) {
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", Value::object({{"name", name}})},
                        {"data", Value::object({{"k", value}})}});
}

class ClientTest : public ::testing::Test {
 protected:
  static KubeApi::Options options() {
    return {.authorize = [](const Value& spec) { return text_at(spec, "/user") == "ann"; },
            .authenticate =
                [](std::string_view token) {
                  if (token != "good") return Value::object({{"authenticated", false}});
                  return Value::object(
                      {{"authenticated", true},
                       {"user",
                        Value::object({{"username", "ann"}, {"groups", Value::array({"dev"})}})}});
                }};
  }

  net::VirtualExecutor executor_;
  KubeApi api_{executor_, options()};
  Random random_{1};
  kube::Client client_{
      api_, executor_.clock(), random_, {.server = *http::Url::parse("https://sim")}};
  kube::Api<ConfigMap> maps_{client_, "default"};
};

TEST_F(ClientTest, WritesAndReadsTypedObjects) {
  const auto made = executor_.run(maps_.create(map("a", "1")));
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_EQ(made->data.find("k"), "1");
  EXPECT_FALSE(made->meta.uid.empty());
  EXPECT_EQ(executor_.run(maps_.create(map("a", "1"))).error().code(), Code::kAlreadyExists);

  Value stale = map("a", "2");
  stale["metadata"]["resourceVersion"] = "1";
  EXPECT_EQ(executor_.run(maps_.replace(std::move(stale))).error().code(), Code::kConflict);
  EXPECT_TRUE(executor_.run(maps_.remove("a")).has_value());
  EXPECT_EQ(executor_.run(maps_.get("a")).error().code(), Code::kNotFound);
}

class ReflectorOnSim : public ClientTest, public ::testing::WithParamInterface<bool> {
 protected:
  // Whether the store has what the server has, no more and no less.
  bool same() {
    const Objects& all = api_.storage().all("configmaps");
    if (store_.size() != all.size()) return false;
    for (const auto& [key, object] : all) {
      const auto kept = store_.get("default", name_of(*object));
      if (kept == nullptr || kept->meta.resource_version != version_of(*object)) return false;
    }
    return true;
  }

  Store<ConfigMap> store_;
};

TEST_P(ReflectorOnSim, KeepsAStoreLikeTheServerThroughFaults) {
  Faults rough(api_, {.seed = 9,
                      .delay_max = milliseconds(20),
                      .refuse = 0.1,
                      .lose_request = 0.1,
                      .break_watch = 0.2,
                      .cut_line = 0.2});
  kube::Client client(rough, executor_.clock(), random_,
                      {.server = *http::Url::parse("https://sim")});
  control::Reflector<ConfigMap> reflector(kube::Api<ConfigMap>(client, "default"), store_,
                                          {.page_size = 2, .streaming_list = GetParam()});
  net::TaskGroup group(executor_);
  group.spawn(reflector.run());
  for (int i = 0; i < 200; ++i) {
    const std::string name = "m" + std::to_string(random_.below(8));
    if (random_.below(3) == 0) {
      (void)executor_.run(maps_.remove(name));
    } else {
      (void)executor_.run(maps_.apply(map(name, std::to_string(i))));
    }
    if (i % 50 == 20) api_.compact();
    if (i % 50 == 40) api_.drop_watches();
    executor_.advance(milliseconds(300));
  }
  EXPECT_GT(rough.injected(), 0u);
  rough.heal();
  executor_.advance(minutes(10));
  EXPECT_TRUE(reflector.synced());
  EXPECT_TRUE(same());
  group.cancel();
  (void)executor_.run(group.join());
}

INSTANTIATE_TEST_SUITE_P(EitherWay, ReflectorOnSim, ::testing::Bool());

TEST_F(ClientTest, IsDiscovered) {
  const auto found = executor_.run(kube::discover(&client_));
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  EXPECT_TRUE(found->serves("", "v1", "pods"));
  EXPECT_TRUE(found->serves("coordination.k8s.io", "v1", "leases"));
  EXPECT_FALSE(found->serves("x.dev", "v1", "toys"));
  const auto* deployments = found->find("apps", "deployments");
  ASSERT_NE(deployments, nullptr);
  EXPECT_TRUE(deployments->can("watch"));
  EXPECT_THAT(deployments->short_names, Contains("deploy"));
  ASSERT_NE(deployments->subresource("scale"), nullptr);
  EXPECT_EQ(deployments->subresource("scale")->kind, "Scale");
}

TEST_F(ClientTest, SaysWhoATokenIsAndWhatTheyMayDo) {
  control::DelegatedAuth auth(client_);
  const auto ann = executor_.run(auth.authenticate(Secret("good"), {}));
  ASSERT_TRUE(ann.has_value()) << ann.error().to_string();
  EXPECT_EQ(ann->username, "ann");
  EXPECT_THAT(ann->groups, Contains("dev"));
  EXPECT_EQ(executor_.run(auth.authenticate(Secret("bad"), {})).error().code(),
            Code::kUnauthorized);

  const control::AccessAttributes read{.verb = "get", .path = "/metrics"};
  EXPECT_TRUE(executor_.run(auth.authorize(*ann, read)).has_value());
  EXPECT_EQ(executor_.run(auth.authorize({.username = "bob"}, read)).error().code(),
            Code::kForbidden);
}

}  // namespace
}  // namespace mainspring::sim
