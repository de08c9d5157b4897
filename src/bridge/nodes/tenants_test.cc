#include "bridge/nodes/tenants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bridge/nodes/node_testing.h"

namespace mainspring::bridge {
namespace {

using Base = slurm::JobState::Base;

slurm::Job job_in(slurm::JobState state, std::string_view nodes = "n[1-3]") {
  slurm::Job job;
  job.state = state;
  job.nodes = nodes;
  return job;
}

TEST(Tenants, AJobHasItsNodesWhileItRunsAndNoLonger) {
  EXPECT_TRUE(has_node(job_in(Base::kRunning), "n2"));
  EXPECT_TRUE(has_node(job_in(Base::kRunning, "n2"), "n2"));
  EXPECT_FALSE(has_node(job_in(Base::kRunning), "n4"));
  for (const slurm::JobState state :
       {slurm::JobState(Base::kCancelled), slurm::JobState(Base::kPreempted),
        slurm::JobState(Base::kTimeout), slurm::JobState(Base::kPending),
        slurm::JobState(Base::kSuspended),
        slurm::JobState(Base::kPreempted, {slurm::JobState::Flag::kRequeued})}) {
    EXPECT_FALSE(has_node(job_in(state), "n2")) << state.to_string();
  }
}

PodPtr pod_with(std::string_view resources) {
  const auto value = json::parse_yaml(fmt::format(
      "{{metadata: {{name: p}}, spec: {{containers: [{{name: c, resources: {{requests: {}}}}}]}}}}",
      resources));
  json::Reader reader;
  auto pod = json::decode<kube::Pod>(reader, json::to_text(*value));
  EXPECT_TRUE(pod.has_value());
  return std::make_shared<const kube::Pod>(*std::move(pod));
}

TEST(Tenants, ItIsTooMuchWhereTheKubeletWouldTurnOneAway) {
  const auto node =
      node_with("{status: {allocatable: {cpu: 15500m, memory: 31Gi, nvidia.com/gpu: '2'}}}");
  const PodPtr half = pod_with("{cpu: '7', memory: 15Gi, nvidia.com/gpu: 1}");
  EXPECT_FALSE(is_too_much({half, half}, *node));
  EXPECT_TRUE(is_too_much({half, pod_with("{cpu: '9'}")}, *node));
  EXPECT_TRUE(is_too_much({half, pod_with("{memory: 17Gi}")}, *node));
  EXPECT_TRUE(is_too_much({half, pod_with("{nvidia.com/gpu: 2}")}, *node));
  EXPECT_TRUE(is_too_much({pod_with("{amd.com/gpu: 1}")}, *node)) << "it has none";
}

}  // namespace
}  // namespace mainspring::bridge
