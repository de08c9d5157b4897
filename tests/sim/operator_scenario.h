// tests/sim/operator_scenario.h
//
// A story told to the whole operator: NodeSets as their owners want them, what a test does to them
// by chance, and at the end, when all trouble is over, whether the right workers are there, the
// statuses say so, and the operator is silent. A test derives from Scenario and acts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/operator_world.h"

namespace mainspring::sim {

using http::Method;

inline const std::string kSets = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets/";
inline const std::string kPods = "/api/v1/namespaces/slurm/pods/";
inline const std::string kNodes = "/api/v1/nodes/";
inline constexpr std::string_view kCordon =
    "/metadata/annotations/nodeset.slinky.slurm.net~1pod-cordon";
inline constexpr std::string_view kCause =
    "/metadata/annotations/mainspring.slurm.net~1cordoned-for";

// A NodeSet as its owner wants it.
struct Wish {
  std::string name;
  std::string pool;
  bool daemon = false;
  int replicas = 3;
  int image = 1;
  int max_unavailable = 1;
  std::string strategy = "RollingUpdate";
  std::string policy = "Drain";
  bool prune = false;
  bool wanted = true;

  std::string spec() const {
    return fmt::format(
        R"({{"controllerRef":{{"name":"c"}},"replicas":{},"scalingMode":"{}",)"
        R"("slurmd":{{"image":"slurmd:{}"}},"logfile":{{"image":"log"}},)"
        R"("template":{{"spec":{{"nodeSelector":{{"pool":"{}"}}}}}},)"
        R"("updateStrategy":{{"type":"{}","rollingUpdate":{{"maxUnavailable":{}}}}},)"
        R"("deletion":{{"policy":"{}"}},"pruneSlurmNodeRecords":"{}"}})",
        replicas, daemon ? "DaemonSet" : "StatefulSet", image, pool, strategy, max_unavailable,
        policy, prune ? "NodeNotFound" : "Never");
  }
};

inline bool is_ready(const json::Value& object) {
  const json::Value* const all = object.at_pointer("/status/conditions");
  return all != nullptr && std::any_of(all->begin(), all->end(), [](const json::Value& one) {
           return text_at(one, "/type") == "Ready" && text_at(one, "/status") == "True";
         });
}

class Scenario {
 public:
  explicit Scenario(std::uint64_t seed) : world_(seed) {
    wishes_.push_back({.name = "gpu", .pool = "a"});
    wishes_.push_back({.name = "cpu", .pool = "b", .daemon = true, .max_unavailable = 2});
  }
  virtual ~Scenario() = default;

  // Empty: all went well.
  std::string play(int steps, Duration pause) {
    for (Wish& wish : wishes_) create(wish);
    world_.start();
    pass(seconds(25));
    begun_ = true;
    for (int step = 0; step < steps && fine(); ++step) {
      act();
      pass(Duration(static_cast<Duration::rep>(
          world_.chance.below(static_cast<std::uint64_t>(pause.count())))));
    }
    if (fine()) settle();
    return world_.safety.violation();
  }
  std::string account() const { return world_.safety.account(); }

 protected:
  virtual void act() = 0;
  virtual void look() {}

  bool fine() const { return world_.safety.violation().empty(); }
  void pass(Duration time) {
    world_.pass(time, [this] { look(); });
  }
  std::size_t number(std::size_t below) { return world_.chance.below(below); }
  Wish& any_wish() { return wishes_[number(wishes_.size())]; }

  void create(Wish& wish) {
    wish.wanted = true;
    if (world_.nodeset(wish.name)) return;
    const auto made =
        world_.kubectl(Method::kPost, kSets.substr(0, kSets.size() - 1),
                       fmt::format(R"({{"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet",)"
                                   R"("metadata":{{"name":"{}"}},"spec":{}}})",
                                   wish.name, wish.spec()));
    ASSERT_EQ(made.status, 201) << made.body;
    const Object set = world_.nodeset(wish.name);
    if (wish.policy == "Immediate") world_.safety.reckless.emplace(uid_of(*set));
  }
  void change(const Wish& wish) {
    if (!world_.nodeset(wish.name)) return;
    world_.kubectl(Method::kPatch, kSets + wish.name, fmt::format(R"({{"spec":{}}})", wish.spec()));
  }
  void submit_job() {
    const std::string node = world_.any_slurm_node();
    SlurmJob job;
    job.partition = "all";
    job.cpus_per_node = static_cast<int>(1 + number(2));
    job.memory_per_node = 100;
    if (world_.one_in(2)) job.required = {node};
    job.time_limit = 1;
    if (node.empty() || world_.slurm.model().submit(job)) return;
    world_.safety.note(fmt::format("person: job {} {}", job.id, job.required.empty() ? "" : node));
  }
  void end_job() {
    for (const auto& [id, job] : world_.slurm.model().jobs()) {
      if (job.over() || !world_.one_in(3)) continue;
      world_.safety.note(fmt::format("person: job {} ends", id));
      static_cast<void>(world_.slurm.model().cancel(id));
      return;
    }
  }

  // All faults and all people are gone: it must come right, and then be quiet.
  void settle() {
    world_.safety.note("---- everything heals");
    world_.heal();
    for (const auto& [name, node] : Objects(world_.api.storage().all("nodes"))) {
      world_.kubectl(Method::kPatch, kNodes + name, R"({"spec":{"unschedulable":null}})");
    }
    std::string wrong = "not looked";
    for (int minute = 0; minute < 15 && fine() && !wrong.empty(); ++minute) {
      for (Wish& wish : wishes_) create(wish);
      for (const auto& [id, job] : std::map(world_.slurm.model().jobs())) {
        if (!job.over()) static_cast<void>(world_.slurm.model().cancel(id));
      }
      if (minute > 0) free_unseen();
      pass(minutes(1));
      wrong = what_is_wrong();
    }
    if (!fine()) return;
    if (!wrong.empty()) return world_.safety.violate("does not come right: " + wrong);
    // Comments in Slurm and a last look at the configuration come after.
    pass(seconds(40));
    const int before = world_.safety.kube_writes + world_.safety.slurm_writes;
    world_.safety.note("---- silence, please");
    pass(seconds(60));
    const int after = world_.safety.kube_writes + world_.safety.slurm_writes;
    if (after != before) world_.safety.violate(fmt::format("{} writes at rest", after - before));
  }

  // A worker that had jobs when Slurm last knew it, or that Slurm never knew, is a person's to
  // delete, who knows that they are over; see docs/nodesets.md.
  void free_unseen() {
    for (const auto& [key, pod] : Objects(world_.api.storage().all("pods"))) {
      const bool known = world_.slurm.model().node(std::string(text_at(*pod, "/spec/hostname")));
      if (known || is_being_deleted(*pod)) continue;
      const json::Value* const all = pod->at_pointer("/status/conditions");
      bool at_work =
          text_at(*pod, "/metadata/labels/nodeset.slinky.slurm.net~1pod-protect") == "true";
      bool known_once = false;
      for (const json::Value& one : all == nullptr ? json::Value::array() : *all) {
        const std::string_view type = text_at(one, "/type");
        known_once |= type.starts_with("SlurmNodeState");
        at_work |= type == "SlurmNodeStateAllocated" || type == "SlurmNodeStateMixed" ||
                   type == "SlurmNodeStateCompleting" || type == "SlurmNodeStateUnknown";
      }
      if (!at_work && (known_once || !is_ready(*pod))) continue;
      world_.kubectl(Method::kDelete, kPods + std::string(name_of(*pod)));
    }
  }

  std::string what_is_wrong() {
    for (const Wish& wish : wishes_) {
      const Object set = world_.nodeset(wish.name);
      if (!set) return wish.name + " is not there";
      if (is_being_deleted(*set)) return wish.name + " is still being deleted";
      if (std::string wrong = wrong_pods(wish, *set); !wrong.empty()) return wrong;
      if (std::string wrong = wrong_status(wish, *set); !wrong.empty()) return wrong;
    }
    for (const SlurmNode& node : world_.slurm.model().nodes()) {
      if (std::string wrong = wrong_drain(node); !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string wrong_pods(const Wish& wish, const json::Value& set) {
    const auto pods = world_.pods_of(set);
    std::set<std::string> wanted;
    if (wish.daemon) {
      for (const auto& [name, node] : world_.api.storage().all("nodes")) {
        if (text_at(*node, "/metadata/labels/pool") == wish.pool) wanted.insert(name);
      }
    }
    const std::size_t count = wish.daemon ? wanted.size() : static_cast<std::size_t>(wish.replicas);
    if (pods.size() != count) {
      return fmt::format("{} has {} pods, not {}", wish.name, pods.size(), count);
    }
    std::set<std::string> hosts;
    for (const Object& pod : pods) {
      const std::string name(name_of(*pod));
      if (is_being_deleted(*pod)) return name + " is being deleted";
      if (!is_ready(*pod)) return name + " is not ready";
      const std::string host(text_at(*pod, "/spec/hostname"));
      if (!hosts.insert(host).second) return name + " has another's name";
      if (world_.slurm.model().node(host) == nullptr) return name + " is not known to Slurm";
      if (wish.daemon && text_at(*pod, "/spec/nodeName") != host) return name + " is misplaced";
      if (!wish.daemon && !host.starts_with(wish.name + "-")) return name + " has a wrong name";
      const std::string image = fmt::format("slurmd:{}", wish.image);
      if (wish.strategy == "RollingUpdate" && text_at(*pod, "/spec/containers/0/image") != image) {
        return name + " is of an old revision";
      }
    }
    return wish.daemon && hosts != wanted ? wish.name + " is on the wrong nodes" : "";
  }

  std::string wrong_status(const Wish& wish, const json::Value& set) {
    const std::int64_t count = static_cast<std::int64_t>(world_.pods_of(set).size());
    const auto at = [&](std::string_view field) {
      const json::Value* const found = set.at_pointer(field);
      return found == nullptr ? -1 : found->as_int().value_or(-1);
    };
    if (at("/status/observedGeneration") != at("/metadata/generation")) {
      return wish.name + ": the status is of an older generation";
    }
    for (const char* const field : {"replicas", "readyReplicas", "availableReplicas", "desired"}) {
      if (at(fmt::format("/status/{}", field)) != count) {
        return fmt::format("{}: status.{} is not {}", wish.name, field, count);
      }
    }
    for (const auto& [type, wanted] :
         {std::pair("Ready", wish.strategy == "RollingUpdate" ? "True" : ""),
          std::pair("Progressing", "False"), std::pair("Degraded", "False"),
          std::pair("SlurmReachable", "True")}) {
      const json::Value* const all = set.at_pointer("/status/conditions");
      for (const json::Value& one : all == nullptr ? json::Value::array() : *all) {
        if (text_at(one, "/type") != type || *wanted == '\0') continue;
        if (text_at(one, "/status") != wanted) {
          return fmt::format("{}: {} is {}: {}", wish.name, type, text_at(one, "/status"),
                             text_at(one, "/message"));
        }
      }
    }
    return "";
  }

  std::string wrong_drain(const SlurmNode& node) {
    const json::Value* owner = nullptr;
    for (const auto& [key, pod] : world_.api.storage().all("pods")) {
      if (text_at(*pod, "/spec/hostname") == node.name) owner = pod.get();
    }
    const bool ours =
        world_.safety.drained_by_operator(node.name) || node.reason.starts_with("slurm-operator: ");
    if (owner == nullptr || !ours || text_at(*owner, kCordon) == "true") return "";
    if (!node.drain && !node.down) return "";
    return fmt::format("{} stays closed by us: '{}'", node.name, node.reason);
  }

  OperatorWorld world_;
  std::vector<Wish> wishes_;
  bool begun_ = false;
};

}  // namespace mainspring::sim
