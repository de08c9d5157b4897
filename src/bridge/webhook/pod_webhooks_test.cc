// bridge/webhook/pod_webhooks_test.cc
#include "bridge/webhook/pod_webhooks.h"

#include <gmock/gmock.h>

#include "base/base64.h"
#include "control/scripted_api.h"
#include "json/json_patch.h"

namespace mainspring::bridge {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kOpenPod = R"({"metadata":{"generateName":"p-"},"spec":{
    "schedulerName":"default-scheduler","containers":[{"name":"main"}]}})";
constexpr std::string_view kOurPod = R"({"metadata":{"name":"p"},"spec":{
    "schedulerName":"slurm-bridge-scheduler","nodeName":"n1","containers":[{"name":"main"}]}})";
constexpr std::string_view kForgedPod = R"({"metadata":{"generateName":"p-","labels":{
    "scheduler.slinky.slurm.net/slurm-jobid":"42"}},"spec":{
    "schedulerName":"slurm-bridge-scheduler","containers":[{"name":"main"}]}})";

struct PodWebhooks : ::testing::Test {
  Value ask(std::string_view path, std::string_view object, std::string_view before = "null",
            std::string_view user = "ann") {
    if (!made) {
      made.emplace();
      add_pod_webhooks(*made, {.config = config, .own_user = "bridge", .client = kube.client});
    }
    http::Request request;
    request.method = http::Method::kPost;
    request.url.path = path;
    request.headers.set("Content-Type", "application/json");
    const std::string_view operation = before == "null" ? "CREATE" : "UPDATE";
    request.body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{)"
                   R"("uid":"u","namespace":"research","operation":")" +
                   std::string(operation) + R"(","userInfo":{"username":")" + std::string(user) +
                   R"("},"object":)" + std::string(object) + R"(,"oldObject":)" +
                   std::string(before) + "}}";
    const auto answer = kube.executor.run(made->handle(std::move(request)));
    if (!answer || answer->status != 200) return Value();
    auto review = json::parse(answer->body);
    return review ? *review->find("response") : Value();
  }
  // What the mutating webhook makes of it; null where it failed.
  Value mutated(std::string_view object) {
    const Value response = ask("/mutate--v1-pod", object);
    if (!response.is_object()) return Value();
    Value pod = *json::parse(object);
    const Value* const patch = response.find("patch");
    if (patch == nullptr) return pod;
    const auto text = base64_decode(*patch->as_string());
    auto patched = json::apply_json_patch(std::move(pod), *json::parse(*text));
    return patched ? *std::move(patched) : Value();
  }
  void select_namespaces() {
    config.managed_namespace_selector = *kube::LabelSelector::parse("slurm=yes");
  }
  void reply_namespace(std::string_view value) {
    kube.api.reply(200, R"({"metadata":{"name":"research","labels":{"slurm":")" +
                            std::string(value) + R"("}}})");
  }
  static std::string scheduler(const Value& pod) {
    const Value* const name = pod.at_pointer("/spec/schedulerName");
    return name == nullptr ? "" : std::string(*name->as_string());
  }

  control::ScriptedClient kube;
  BridgeConfig config;
  std::optional<http::Router> made;
};

TEST_F(PodWebhooks, APodOfAListedNamespaceBecomesOurs) {
  config.managed_namespaces = {"research"};
  const Value pod = mutated(kOpenPod);
  EXPECT_EQ(scheduler(pod), "slurm-bridge-scheduler");
  EXPECT_EQ(pod.at_pointer("/spec/tolerations")->size(), 1U);
  EXPECT_THAT(kube.api.calls(), IsEmpty());
}

TEST_F(PodWebhooks, APodOfAnotherNamespaceStaysAsItIs) {
  config.managed_namespaces = {"other"};
  EXPECT_EQ(mutated(kOpenPod), *json::parse(kOpenPod));
}

TEST_F(PodWebhooks, APodThatNamesUsIsOursAnywhereAndOnNoNodeYet) {
  const Value pod = mutated(kOurPod);
  EXPECT_EQ(pod.at_pointer("/spec/nodeName"), nullptr);
  EXPECT_EQ(pod.at_pointer("/spec/tolerations")->size(), 1U);
}

TEST_F(PodWebhooks, APodOfAnotherSchedulerStaysAsItIs) {
  config.managed_namespaces = {"research"};
  constexpr std::string_view kOther = R"({"spec":{"schedulerName":"kueue","nodeName":"n1"}})";
  EXPECT_EQ(mutated(kOther), *json::parse(kOther));
}

TEST_F(PodWebhooks, ASelectorIsHeldAgainstTheNamespaceAndRemembered) {
  select_namespaces();
  config.managed_namespaces = {"other"};
  reply_namespace("yes");
  EXPECT_EQ(scheduler(mutated(kOpenPod)), "slurm-bridge-scheduler");
  EXPECT_EQ(scheduler(mutated(kOpenPod)), "slurm-bridge-scheduler");
  EXPECT_THAT(kube.api.calls(), ElementsAre("GET /api/v1/namespaces/research"));
  EXPECT_TRUE(kube.executor.run(net::sleep(seconds(6))));
  reply_namespace("no");
  EXPECT_EQ(scheduler(mutated(kOpenPod)), "default-scheduler");
}

TEST_F(PodWebhooks, ANamespaceThatHasJustBeenLabelledCountsAtOnce) {
  select_namespaces();
  config.managed_namespaces = {"research"};
  for (int i = 0; i < 2; ++i) {
    reply_namespace("no");
    EXPECT_EQ(scheduler(mutated(kOpenPod)), "default-scheduler");
  }
  reply_namespace("yes");
  EXPECT_EQ(scheduler(mutated(kOpenPod)), "slurm-bridge-scheduler");
}

TEST_F(PodWebhooks, ANamespaceThatCannotBeReadIsNoAnswer) {
  select_namespaces();
  kube.api.otherwise = [](const http::Request&) { return http::error_response(503, "down"); };
  EXPECT_TRUE(mutated(kOpenPod).is_null());
}

TEST_F(PodWebhooks, AForgedPodIsRefusedByName) {
  const Value response = ask("/validate--v1-pod", kForgedPod);
  EXPECT_EQ(*response.find("allowed"), Value(false));
  EXPECT_THAT(std::string(*response.at_pointer("/status/message")->as_string()),
              HasSubstr("Pod research/p- is invalid: metadata.labels["));
}

TEST_F(PodWebhooks, TheBridgeItselfMayNoteTheJob) {
  EXPECT_EQ(*ask("/validate--v1-pod", kForgedPod, kOurPod, "ann").find("allowed"), Value(false));
  EXPECT_EQ(*ask("/validate--v1-pod", kForgedPod, kOurPod, "bridge").find("allowed"), Value(true));
}

TEST_F(PodWebhooks, AStaticPodIsAKubeletsToMake) {
  config.managed_namespaces = {"research"};
  constexpr std::string_view kStatic = R"({"metadata":{"annotations":{
      "kubernetes.io/config.mirror":"x"}},"spec":{"nodeName":"n1"}})";
  const auto patched = [&](std::string_view user) {
    return ask("/mutate--v1-pod", kStatic, "null", user).find("patch") != nullptr;
  };
  EXPECT_FALSE(patched("system:node:n1"));
  EXPECT_TRUE(patched("ann"));
  constexpr std::string_view kForged = R"({"metadata":{"annotations":{
      "kubernetes.io/config.mirror":"x","slinky.slurm.net/slurm-node":"n1"}},"spec":{
      "schedulerName":"slurm-bridge-scheduler"}})";
  EXPECT_EQ(*ask("/validate--v1-pod", kForged, "null", "ann").find("allowed"), Value(false));
}

TEST_F(PodWebhooks, APodOfAnotherSchedulerIsNotJudged) {
  constexpr std::string_view kOther = R"({"metadata":{"labels":{
      "scheduler.slinky.slurm.net/slurm-jobid":"1"}},"spec":{"schedulerName":"kueue"}})";
  EXPECT_EQ(*ask("/validate--v1-pod", kOther).find("allowed"), Value(true));
}

}  // namespace
}  // namespace mainspring::bridge
