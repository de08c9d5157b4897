// bridge/nodes/node_testing.h
//
// For tests of the node rules: a Kubernetes node that is given to Slurm and in good health, with
// whatever a test lays over it, and Slurm's node as Slurm shows it after it was made.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/nodes/node_plan.h"
#include "json/merge_patch.h"
#include "json/yaml.h"

namespace mainspring::bridge {

inline constexpr std::string_view kSoundNode = R"(
metadata:
  name: worker-1
  uid: u1
  resourceVersion: "7"
  labels: {scheduler.slinky.slurm.net/external-node: "true"}
spec: {}
status:
  capacity: {cpu: "16", memory: 32Gi}
  allocatable: {cpu: 15500m, memory: 31Gi}
  addresses: [{type: Hostname, address: worker-1}, {type: InternalIP, address: 10.0.0.1}]
  conditions: [{type: Ready, status: "True"}]
)";

// `over`: a merge patch in YAML.
inline std::shared_ptr<const kube::Node> node_with(std::string_view over = "{}") {
  const auto base = json::parse_yaml(kSoundNode);
  const auto patch = json::parse_yaml(over);
  EXPECT_TRUE(base && patch) << over;
  json::Reader reader;
  auto node = json::decode<kube::Node>(reader, to_text(json::apply_merge_patch(*base, *patch)));
  EXPECT_TRUE(node.has_value());
  return std::make_shared<const kube::Node>(*std::move(node));
}

// As Slurm shows it, idle, in the partitions of its features.
inline slurm::Node shown(const slurm::NodeSpec& spec, std::string_view comment) {
  slurm::Node node;
  node.name = spec.name;
  node.address = spec.address;
  node.cpus = static_cast<std::int32_t>(*spec.cpus);
  node.real_memory = *spec.real_memory;
  node.gres = spec.gres;
  node.topology = spec.topology;
  const std::vector<std::string_view> features(spec.features.begin(), spec.features.end());
  node.features = node.active_features = node.partitions = json::StringList(features);
  node.comment = comment;
  node.state = {slurm::NodeState::Base::kIdle,
                {slurm::NodeState::Flag::kExternal, slurm::NodeState::Flag::kDynamicNorm}};
  return node;
}

// What one step says, in a line.
inline std::string text_of(const SlurmStep& step) {
  switch (step.kind) {
    case SlurmStep::Kind::kNone:
      return step.why.empty() ? "nothing" : "wait: " + step.why;
    case SlurmStep::Kind::kCreate:
      return "create " + slurm::node_conf(step.spec).value_or("(invalid)");
    case SlurmStep::Kind::kUpdate:
      return "update " + to_text(slurm::to_json(step.update), {.sort_keys = true});
    case SlurmStep::Kind::kDrain:
      return "drain " + step.why;
    case SlurmStep::Kind::kUndrain:
      return "undrain";
    case SlurmStep::Kind::kRemove:
      return "remove: " + step.why;
  }
  return {};
}

class NodeRulesTest : public ::testing::Test {
 protected:
  NodeView view(std::shared_ptr<const kube::Node> node) const {
    return {"worker-1", std::move(node), nullptr, {}};
  }
  NodeRules rules() const {
    return {config, "here",
            [this](std::string_view name) {
              return std::find(partitions.begin(), partitions.end(), name) != partitions.end();
            },
            now};
  }
  SlurmStep step_of(const NodeView& of) const { return slurm_step(of, rules()); }
  std::string step(const NodeView& of) const { return text_of(step_of(of)); }
  // Of a sound node that is registered, with `over` laid over it afterwards, and Slurm's node as
  // `changed` left it.
  template <class Change>
  NodeView registered(std::string_view over, Change changed) const {
    const SlurmStep made = step_of(view(node_with()));
    EXPECT_EQ(made.kind, SlurmStep::Kind::kCreate);
    slurm::Node slurm = shown(made.spec, made.comment);
    changed(slurm);
    return {"worker-1", node_with(over), std::make_shared<const slurm::Node>(std::move(slurm)), {}};
  }
  NodeView registered(std::string_view over = "{}") const {
    return registered(over, [](slurm::Node&) {});
  }

  BridgeConfig config;
  WallTime now{};
  std::vector<std::string> partitions{"slurm-bridge", "gpu", "debug"};
};

}  // namespace mainspring::bridge
