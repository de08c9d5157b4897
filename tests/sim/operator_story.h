// tests/sim/operator_story.h
//
// What stories of one NodeSet, told to the whole operator, have in common: the NodeSet "gpu" on the
// nodes of pool a, what a person does to it, and what is then seen of it in Kubernetes and in
// Slurm. A test derives from it, one for each subject.
#pragma once

#include <string>
#include <string_view>

#include "sim/operator_scenario.h"

namespace mainspring::sim {

class OperatorStory : public ::testing::Test {
 protected:
  // A NodeSet on the nodes of pool a; `more` is JSON of further fields of its spec.
  void begin(int replicas, const std::string& more = "") {
    const auto made = world.kubectl(
        Method::kPost, kSets.substr(0, kSets.size() - 1),
        fmt::format(R"({{"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet",)"
                    R"("metadata":{{"name":"gpu"}},"spec":{{"controllerRef":{{"name":"c"}},)"
                    R"("replicas":{},"slurmd":{{"image":"i"}},"logfile":{{"image":"i"}},)"
                    R"("template":{{"spec":{{"nodeSelector":{{"pool":"a"}}}}}}{}}}}})",
                    replicas, more));
    ASSERT_EQ(made.status, 201) << made.body;
    world.heal();
    pass(minutes(2));
    ASSERT_EQ(condition("Ready"), "True AllAvailable") << world.safety.account();
  }
  void pass(Duration time) {
    world.pass(time, [] {});
    EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
  }
  void spec(const std::string& json) {
    const auto done =
        world.kubectl(Method::kPatch, kSets + "gpu", fmt::format(R"({{"spec":{}}})", json));
    ASSERT_EQ(done.status, 200) << done.body;
  }
  void cordon_node_of(const std::string& pod, bool cordon) {
    world.kubectl(Method::kPatch, kNodes + std::string(text_at(*find(pod), "/spec/nodeName")),
                  fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", cordon));
  }

  Object find(const std::string& pod) { return world.api.storage().get("pods", "slurm/" + pod); }
  std::size_t pods() { return world.pods_of(*world.nodeset("gpu")).size(); }
  std::string image_of(const std::string& pod) {
    return std::string(text_at(*find(pod), "/spec/containers/0/image"));
  }
  bool drained(const std::string& node) { return world.slurm.model().node(node)->drain; }
  // "True AllAvailable": status and reason.
  std::string condition(std::string_view type) {
    const Object set = world.nodeset("gpu");
    const json::Value* const all = set ? set->at_pointer("/status/conditions") : nullptr;
    for (const json::Value& one : all == nullptr ? json::Value::array() : *all) {
      if (text_at(one, "/type") != type) continue;
      return fmt::format("{} {}", text_at(one, "/status"), text_at(one, "/reason"));
    }
    return "";
  }
  std::string message(std::string_view type) {
    const Object set = world.nodeset("gpu");
    for (const json::Value& one : *set->at_pointer("/status/conditions")) {
      if (text_at(one, "/type") == type) return std::string(text_at(one, "/message"));
    }
    return "";
  }
  // In DaemonSet mode, where names are chance; null: no worker is on the node.
  Object worker_on(std::string_view node) {
    for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) {
      if (text_at(*pod, "/spec/nodeName") == node) return pod;
    }
    return nullptr;
  }
  std::int64_t desired() {
    return world.nodeset("gpu")->at_pointer("/status/desired")->as_int().value_or(-1);
  }
  // Whether an event with that reason says that text.
  bool told(std::string_view reason, std::string_view text) {
    const auto& all = world.api.storage().all("events.events.k8s.io");
    return std::any_of(all.begin(), all.end(), [&](const auto& each) {
      return text_at(*each.second, "/reason") == reason &&
             text_at(*each.second, "/note").find(text) != std::string_view::npos;
    });
  }
  std::string slurm_conf() {
    const Object map = world.api.storage().get("configmaps", "slurm/c-config");
    return std::string(text_at(*map, "/data/slurm.conf"));
  }
  std::uint32_t run_job(const std::string& node, const std::string& partition = "all") {
    // slurmctld would have found it in the files that this Slurm does not read.
    if (partition != "all") {
      EXPECT_FALSE(world.slurm.model().create_partition({.name = partition, .names = {node}}));
    }
    SlurmJob job{.partition = partition, .required = {node}};
    EXPECT_FALSE(world.slurm.model().submit(job));
    pass(seconds(5));
    return job.id;
  }

  OperatorWorld world{3};
};

}  // namespace mainspring::sim
