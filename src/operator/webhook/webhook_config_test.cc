// operator/webhook/webhook_config_test.cc
#include "operator/webhook/webhook_config.h"

#include <gmock/gmock.h>

#include "control/scripted_api.h"
#include "operator/webhook/binding.h"

namespace mainspring::op {
namespace {

using control::AdmissionRequest;
using json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value parsed(std::string_view text) { return *json::parse(text); }

TEST(WebhookConfig, OurKindsWaitForUsAndNothingElseDoes) {
  const Value config = validating_webhooks({.service = "hook", .ns = "ops"});
  std::vector<std::string> names;
  for (const Value& hook : *config.find("webhooks")) {
    const std::string name(*hook.find("name")->as_string());
    names.push_back(name);
    const bool ours = name.ends_with(".kb.io");
    EXPECT_EQ(*hook.find("failurePolicy"), Value(ours ? "Fail" : "Ignore")) << name;
    EXPECT_EQ(hook.find("objectSelector") != nullptr, !ours) << name;
    EXPECT_EQ(json::to_text(*hook.find("namespaceSelector")),
              R"({"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn",)"
              R"("values":["kube-system","kube-public","kube-node-lease"]}]})");
  }
  EXPECT_THAT(names, ElementsAre("controller-v1beta1.kb.io", "nodeset-v1beta1.kb.io",
                                 "loginset-v1beta1.kb.io", "restapi-v1beta1.kb.io",
                                 "accounting-v1beta1.kb.io", "token-v1beta1.kb.io",
                                 "config.mainspring.slurm.net"));
  EXPECT_EQ(json::to_text(config.find("webhooks")->at(1)),
            R"({"name":"nodeset-v1beta1.kb.io","admissionReviewVersions":["v1","v1beta1"],)"
            R"("clientConfig":{"service":{"name":"hook","namespace":"ops",)"
            R"("path":"/validate-slinky-slurm-net-v1beta1-nodeset","port":443}},)"
            R"("failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":)"
            R"({"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn",)"
            R"("values":["kube-system","kube-public","kube-node-lease"]}]},)"
            R"("rules":[{"apiGroups":["slinky.slurm.net"],"apiVersions":["v1beta1"],)"
            R"("resources":["nodesets"],"operations":["CREATE","UPDATE"],"scope":"Namespaced"}],)"
            R"("sideEffects":"None","timeoutSeconds":10})");
  EXPECT_EQ(json::to_text(*config.find("webhooks")->at(6).find("objectSelector")),
            R"({"matchExpressions":[{"key":"mainspring.slurm.net/config-of",)"
            R"("operator":"Exists"}]})");
}

TEST(WebhookConfig, BindingsAreAskedAboutOnlyWhereWantedAndNeverForOurselves) {
  WebhookConfig options{.service = "hook", .ns = "ops"};
  EXPECT_TRUE(mutating_webhooks(options).find("webhooks")->empty());
  options.bindings = true;
  options.namespaces = {"slurm"};
  const Value config = mutating_webhooks(options);
  const Value& hook = config.find("webhooks")->at(0);
  EXPECT_EQ(*hook.find("name"), Value("podsbinding-v1.kb.io"));
  EXPECT_EQ(*hook.find("failurePolicy"), Value("Ignore"));
  EXPECT_EQ(*hook.find("sideEffects"), Value("NoneOnDryRun"));
  EXPECT_EQ(json::to_text(*hook.at_pointer("/rules/0/resources")), R"(["pods/binding"])");
  EXPECT_EQ(json::to_text(*hook.at_pointer("/namespaceSelector/matchExpressions")),
            R"([{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":)"
            R"(["kube-system","kube-public","kube-node-lease","ops"]},)"
            R"({"key":"kubernetes.io/metadata.name","operator":"In","values":["slurm"]}])");
}

struct Binding : ::testing::Test {
  bool allowed(std::string_view binding = kBinding, bool dry_run = false) {
    AdmissionRequest request;
    request.name = "gpu-0";
    request.ns = "slurm";
    request.operation = "CREATE";
    request.object = parsed(binding);
    request.dry_run = dry_run;
    const auto answer =
        kube.executor.run(review_binding(&kube.client, seconds(1), {}, std::move(request)));
    return answer && answer->allowed && !answer->object;
  }
  void reply_pod(std::string_view name, std::string_view annotations = "{}") {
    kube.api.reply(200, R"({"metadata":{"name":"gpu-0","namespace":"slurm","uid":"u-1","labels":)"
                        R"({"app.kubernetes.io/name":")" +
                            std::string(name) + R"("},"annotations":)" + std::string(annotations) +
                            "}}");
  }
  void reply_node() {
    kube.api.reply(
        200,
        R"({"metadata":{"name":"n1","annotations":{"topology.slinky.slurm.net/spec":"s1:b2"}}})");
  }

  static constexpr std::string_view kBinding =
      R"({"metadata":{"name":"gpu-0","uid":"u-1"},"target":{"kind":"Node","name":"n1"}})";
  static constexpr const char* kPod = "GET /api/v1/namespaces/slurm/pods/gpu-0";
  static constexpr const char* kNode = "GET /api/v1/nodes/n1";
  control::ScriptedClient kube;
};

TEST_F(Binding, AWorkerGetsItsNodesTopology) {
  reply_pod("slurmd");
  reply_node();
  reply_pod("slurmd");
  EXPECT_TRUE(allowed());
  EXPECT_THAT(kube.api.calls(),
              ElementsAre(kPod, kNode, "PATCH /api/v1/namespaces/slurm/pods/gpu-0"));
  EXPECT_EQ(
      json::to_text(kube.api.body(2)),
      R"({"metadata":{"uid":"u-1","annotations":{"topology.slinky.slurm.net/spec":"s1:b2"}}})");
}

TEST_F(Binding, NothingIsWrittenWhereItIsRightAlready) {
  reply_pod("slurmd", R"({"topology.slinky.slurm.net/spec":"s1:b2"})");
  reply_node();
  EXPECT_TRUE(allowed());
  EXPECT_THAT(kube.api.calls(), ElementsAre(kPod, kNode));
}

TEST_F(Binding, ADryRunAndWhatIsNoWorkerAreLeftAlone) {
  EXPECT_TRUE(allowed(kBinding, true));
  EXPECT_TRUE(allowed(R"({"target":{"kind":"Machine","name":"n1"}})"));
  EXPECT_TRUE(allowed("{}"));
  EXPECT_TRUE(allowed(R"({"metadata":7,"target":[]})"));
  EXPECT_THAT(kube.api.calls(), IsEmpty());
  reply_pod("nginx");
  EXPECT_TRUE(allowed());
  EXPECT_THAT(kube.api.calls(), ElementsAre(kPod));
}

TEST_F(Binding, AnotherPodOfThatNameIsLeftAlone) {
  reply_pod("slurmd");
  EXPECT_TRUE(allowed(R"({"metadata":{"uid":"u-2"},"target":{"kind":"Node","name":"n1"}})"));
  EXPECT_THAT(kube.api.calls(), ElementsAre(kPod));
}

TEST_F(Binding, WhateverFailsTheBindingGoesThrough) {
  reply_pod("slurmd");
  kube.api.refuse(404, "NotFound");
  EXPECT_TRUE(allowed());
  kube.api.latency = minutes(1);
  EXPECT_TRUE(allowed());
  kube.api.latency = {};
  reply_pod("slurmd");
  reply_node();
  kube.api.refuse(403, "Forbidden");
  EXPECT_TRUE(allowed());
}

}  // namespace
}  // namespace mainspring::op
