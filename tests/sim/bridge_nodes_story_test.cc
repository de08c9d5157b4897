// Nodes that come, go, shrink, are cordoned and drained by people, while calls are late, refused
// and lost, slurmctld goes away and the bridge is killed. Whatever happens: no job is ended, no
// drain of an administrator is lifted, nobody else's node is touched; and when all is calm again,
// both sides say the same and nothing more is written.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/seeds_testing.h"
#include "bridge/nodes/node_sync.h"
#include "sim/bridge_scene.h"

namespace mainspring::sim {
namespace {

using ::testing::IsEmpty;

struct Nodes {
  explicit Nodes(bridge::World& world) : tenants(world), sync(world, tenants) {}
  bridge::Tenants tenants;
  bridge::NodeSync sync;
};

Faults::Options faults(std::uint64_t seed) {
  return {.seed = seed,
          .delay_max = milliseconds(200),
          .refuse = 0.03,
          .lose_request = 0.02,
          .lose_answer = 0.03,
          .stale_list = 0.2,
          .break_watch = 0.02};
}

class Story {
 public:
  explicit Story(std::uint64_t seed)
      : chance_(seed), scene_(faults(seed + 1), faults(seed + 2)), seed_(seed) {
    EXPECT_FALSE(scene_.slurm.model().create_node(
        "NodeName=lab NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 Feature=slurm-bridge "
        "State=External"));
    for (int i = 0; i < 6; ++i) add(fmt::format("n{}", i));
  }

  void play(int steps) {
    scene_.start();
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      act();
      scene_.settle(milliseconds(chance_.below(20'000)));
      check();
    }
    calm_down();
  }

 private:
  struct Known {
    int cpus = 8;
    bool labelled = true;
    bool cordoned = false;
  };

  void note(const std::string& what) { story_ += what + "; "; }
  void add(const std::string& name) {
    scene_.add_node(name);
    known_[name] = {};
  }
  std::string any() { return fmt::format("n{}", chance_.below(6)); }
  bool is_given(const std::string& name) {
    const auto it = known_.find(name);
    return it != known_.end() && it->second.labelled;
  }

  void act() {
    const std::string name = any();
    const auto it = known_.find(name);
    const SlurmNode* const node = scene_.slurm_node(name);
    const auto kind = chance_.below(10);
    note(fmt::format("{} {}", kind, name));
    if (kind == 0) return toggle_bridge();
    if (kind == 1) return toggle_slurm();
    if (kind == 2 && node != nullptr) return toggle_drain(name);
    if (kind == 3 && node != nullptr) return toggle_job(name);
    if (kind == 4 && it == known_.end()) return add(name);
    if (it == known_.end()) return;
    Known& known = it->second;
    if (kind == 5) {
      scene_.remove_node(name);
      known_.erase(it);
      drained_.erase(name);
    } else if (kind == 6) {
      known.labelled = !known.labelled;
      drained_.erase(name);
      scene_.change_node(
          name, fmt::format("{{metadata: {{labels: {{scheduler.slinky.slurm.net/external-node: "
                            "{}}}}}}}",
                            known.labelled ? "'true'" : "null"));
    } else if (kind == 7) {
      known.cordoned = !known.cordoned;
      scene_.change_node(
          name, fmt::format("{{spec: {{unschedulable: {}}}}}", known.cordoned ? "true" : "null"));
    } else {
      known.cpus = static_cast<int>(4 + chance_.below(8));
      scene_.change_node(
          name, fmt::format("{{status: {{allocatable: {{cpu: '{}'}}}}}}", known.cpus), "status");
    }
  }
  void toggle_bridge() {
    if (scene_.alive()) return scene_.kill();
    scene_.start();
  }
  void toggle_slurm() {
    if (scene_.slurm.controller_up()) return scene_.slurm.stop_controller();
    scene_.slurm.start_controller();
  }
  void toggle_drain(const std::string& name) {
    if (!scene_.slurm.controller_up() || !is_given(name)) return;
    if (drained_.erase(name) > 0) {
      static_cast<void>(scene_.slurm.model().update_node(name, {.state = "RESUME"}));
      return;
    }
    // What is on its way to Slurm cannot know of this. Somebody who looks after a second and finds
    // something else says it again.
    for (int i = 0; i < 2; ++i) {
      if (scene_.slurm_node(name) == nullptr) return;
      EXPECT_FALSE(scene_.slurm.model().update_node(name, {.state = "DRAIN", .reason = "bad fan"}));
      scene_.settle(seconds(1));
    }
    if (scene_.slurm_node(name) != nullptr) drained_.insert(name);
  }
  void toggle_job(const std::string& name) {
    SlurmModel& model = scene_.slurm.model();
    if (const auto it = jobs_.find(name); it != jobs_.end()) {
      static_cast<void>(model.cancel(it->second));
      jobs_.erase(it);
      return;
    }
    SlurmJob job;
    job.partition = "slurm-bridge";
    job.memory_per_node = 100;
    job.required = {name};
    if (!model.allocate_now(job)) jobs_[name] = job.id;
  }

  void check() {
    SlurmModel& model = scene_.slurm.model();
    for (const auto& [name, id] : jobs_) {
      const SlurmJob* const job = model.job(id);
      ASSERT_TRUE(job != nullptr && !job->over()) << told() << "the job on " << name << " ended";
    }
    for (const std::string& name : drained_) {
      const SlurmNode* const node = model.node(name);
      ASSERT_TRUE(node != nullptr && node->drain && node->reason == "bad fan")
          << told() << "the drain of " << name << " is lost";
    }
    const SlurmNode* const lab = model.node("lab");
    ASSERT_TRUE(lab != nullptr && !lab->drain && lab->comment.empty()) << told() << "lab";
  }
  std::string told() const { return fmt::format("seed {}: {}", seed_, story_); }

  void calm_down() {
    scene_.kube_faults.heal();
    scene_.slurm_faults.heal();
    if (!scene_.slurm.controller_up()) scene_.slurm.start_controller();
    if (!scene_.alive()) scene_.start();
    SlurmModel& model = scene_.slurm.model();
    for (const auto& [name, id] : std::exchange(jobs_, {})) static_cast<void>(model.cancel(id));
    for (const SlurmNode& node : std::vector<SlurmNode>(model.nodes())) {
      if (node.reason != "bad fan") continue;
      static_cast<void>(model.update_node(node.name, {.state = "RESUME"}));
    }
    scene_.settle(minutes(15));
    for (int i = 0; i < 6; ++i) compare(fmt::format("n{}", i));
    scene_.kube_writes.clear();
    scene_.slurm_writes.clear();
    scene_.settle(minutes(15));
    EXPECT_THAT(scene_.kube_writes, IsEmpty()) << told();
    EXPECT_THAT(scene_.slurm_writes, IsEmpty()) << told();
  }
  void compare(const std::string& name) {
    const SlurmNode* const node = scene_.slurm_node(name);
    const auto it = known_.find(name);
    const std::string condition = scene_.node_condition(name, "SlurmReady");
    const std::string taint = scene_.node_at(name, "/spec/taints/0/key");
    if (!is_given(name)) {
      EXPECT_EQ(node, nullptr) << told() << name;
      EXPECT_EQ(condition, "(none)") << told() << name;
      EXPECT_EQ(taint, it == known_.end() ? "(no object)" : "(absent)") << told() << name;
      return;
    }
    const Known& known = it->second;
    if (node == nullptr) {  // One that is cordoned is not made.
      EXPECT_TRUE(known.cordoned) << told() << name;
      EXPECT_EQ(condition, "False NotRegistered") << told() << name;
      return;
    }
    EXPECT_EQ(node->drain, known.cordoned) << told() << name << " " << node->reason;
    // Of one that is cordoned nothing else is looked at until it is back.
    if (!known.cordoned) EXPECT_EQ(node->cpus, known.cpus) << told() << name;
    EXPECT_EQ(condition, known.cordoned ? "False Drained" : "True TakesJobs") << told() << name;
    EXPECT_EQ(taint, "slinky.slurm.net/managed-node") << told() << name;
  }

  Random chance_;
  BridgeScene<Nodes> scene_;
  const std::uint64_t seed_;
  std::string story_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::uint32_t> jobs_;  // By node.
  std::set<std::string> drained_;              // By an administrator.
};

TEST(BridgeNodesStory, BothSidesAgreeInTheEndAndNothingIsLostOnTheWay) {
  for (std::uint64_t seed = 1; seed <= seeds(20) && !HasFailure(); ++seed)
    Story(seed * 100).play(40);
}

}  // namespace
}  // namespace mainspring::sim
