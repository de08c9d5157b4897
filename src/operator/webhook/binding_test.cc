// operator/webhook/binding_test.cc
#include "operator/webhook/binding.h"

#include <gmock/gmock.h>

#include "control/scripted_api.h"

namespace mainspring::op {
namespace {

using control::AdmissionRequest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Binding : ::testing::Test {
  bool allowed(std::string_view binding = kBinding, bool dry_run = false) {
    AdmissionRequest request;
    request.name = "gpu-0";
    request.ns = "slurm";
    request.operation = "CREATE";
    request.object = *json::parse(binding);
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
  void reply_node(const std::string& topology = "s1:b2") {
    kube.api.reply(200,
                   R"({"metadata":{"name":"n1","annotations":{"topology.slinky.slurm.net/spec":")" +
                       topology + R"("}}})");
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

TEST_F(Binding, ATopologyThatIsNoneIsNotHandedOn) {
  reply_pod("slurmd");
  reply_node("s1:b2 Weight=0");
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
