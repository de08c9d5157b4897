// The whole bridge, with more work than there is room for, while everything goes wrong: calls are
// late, refused, lost and doubled, slurmctld and slurmrestd go away, the bridge is killed, people
// cancel jobs, delete pods and cordon nodes, Slurm preempts and suspends, Nodes vanish with their
// machine or without. What must never happen is judged where it would (bridge_safety.h); what must
// be true in the end is checked here.
#include <cstdlib>
#include <map>
#include <set>

#include "base/seeds_testing.h"
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

constexpr int kNodes = 5;
constexpr std::string_view kOurFinalizer = "scheduler.slinky.slurm.net/finalizer";

std::string path_of(const json::Value& pod) {
  return fmt::format("/api/v1/namespaces/default/pods/{}", name_of(pod));
}
bool is_terminal(const json::Value& pod) {
  const std::string_view phase = text_at(pod, "/status/phase");
  return phase == "Succeeded" || phase == "Failed";
}

class Story {
 public:
  explicit Story(std::uint64_t seed) : world_(seed) {
    // Some clusters are older, and in some every job is a user's.
    if (seed % 200 == 0) world_.api.set_minor(34);
    if (seed % 300 == 0) world_.options.config.identities["*"].user = "alice";
    for (int i = 0; i < kNodes; ++i) add_node(i);
  }

  // What went wrong; empty: nothing.
  std::string play(int steps) {
    world_.start();
    world_.pass(seconds(10));
    for (int i = 0; i < steps && fine(); ++i) {
      act();
      world_.pass(milliseconds(world_.chance.below(8000)));
    }
    calm_down();
    expect([this] { return disorder(); });
    world_.kubelet.end_soon();
    expect([this] { return leftover(); });
    if (fine()) check_silence();
    return world_.safety.violation();
  }
  std::string account() const { return world_.safety.account(); }

 private:
  struct Group {
    std::string name;
    bool builtin = false;
    int least = 1;
    int pods = 0;
    bool mixed = false;  // The first pod needs another node than the others.
  };
  // Two nodes for the first pods of mixed gangs, the rest for their others.
  static const char* pool(int node) { return node < 2 ? "a" : "b"; }

  void add_node(int number) {
    const std::string name = fmt::format("n{}", number);
    world_.kubelet.bring_back(name);
    world_.add_node(name);
    world_.patch("/api/v1/nodes/" + name,
                 fmt::format(R"({{"metadata":{{"labels":{{"pool":"{}"}}}}}})", pool(number)));
  }

  bool fine() const { return world_.safety.violation().empty(); }
  void person(const std::string& what) { world_.safety.note("person: " + what); }
  SlurmModel& model() { return world_.slurm.model(); }
  template <class T>
  const T& any(const std::vector<T>& all) {
    return all[world_.chance.below(all.size())];
  }

  void act() {
    const auto kind = world_.chance.below(23);
    if (!world_.alive() && world_.one_in(3)) return world_.start();
    switch (kind) {
      case 0:
        return world_.kill();
      case 1:
        return toggle_slurm();
      case 2:
        person("the API server restarts");
        if (world_.one_in(2)) world_.api.compact();
        return world_.api.drop_watches();
      case 3:
        return cancel_job();
      case 4:
      case 5:
        return delete_pod();
      case 6:
        return toggle_cordon();
      case 7:
        return grow_gang();
      case 8:
      case 9:
      case 10:
        return add_gang();
      case 12:
        return double_job();
      case 13:
        return relabel_pod();
      case 14:
      case 15:
        return take_nodes();
      case 16:
        return toggle_node();
      case 11:
        add_pods();
        world_.pass(milliseconds(world_.chance.below(400)));
        return world_.kill();
      default:
        return add_pods();
    }
  }

  void toggle_slurm() {
    if (!world_.slurm.controller_up()) {
      person("slurmctld starts");
      return world_.slurm.start_controller();
    }
    if (!world_.rest_up) {
      person("slurmrestd starts");
      return world_.start_rest();
    }
    const bool all = world_.one_in(2);
    person(all ? "slurmctld stops" : "slurmrestd stops");
    if (all) return world_.slurm.stop_controller();
    world_.stop_rest();
  }
  void cancel_job() {
    if (!world_.slurm.controller_up()) return;
    std::vector<std::uint32_t> live;
    for (const auto& [id, job] : model().jobs()) {
      if (!job.over()) live.push_back(id);
    }
    if (live.empty()) return;
    const std::uint32_t id = any(live);
    person(fmt::format("scancel {}", id));
    static_cast<void>(model().cancel(id));
  }
  void take_nodes() {
    if (!world_.slurm.controller_up()) return;
    std::vector<std::uint32_t> at_work;
    for (const auto& [id, job] : model().jobs()) {
      if (job.state == SlurmJob::State::kRunning) at_work.push_back(id);
    }
    if (at_work.empty()) return;
    const std::uint32_t id = any(at_work);
    const bool ends = world_.one_in(2);
    person(fmt::format("a better job {} {}", ends ? "preempts" : "suspends", id));
    if (ends) return model().preempt(id);
    model().suspend(id);
  }
  // The Node goes with its machine, or its kubelet makes it anew soon.
  void toggle_node() {
    const auto number = static_cast<int>(world_.chance.below(kNodes));
    const std::string name = fmt::format("n{}", number);
    if (missing_.erase(number) > 0) {
      person(name + " is there again");
      return add_node(number);
    }
    if (!missing_.empty()) return;
    const bool lost = world_.one_in(2);
    person(fmt::format("deletes Node {}{}", name, lost ? ", whose machine is gone" : ""));
    ask_kube(world_.api, http::Method::kDelete, "/api/v1/nodes/" + name, "");
    cordoned_.erase(name);
    if (lost) {
      missing_.insert(number);
      return world_.kubelet.lose(name);
    }
    world_.pass(milliseconds(world_.chance.below(20'000)));
    add_node(number);
  }
  // A request that was sent long ago and had got lost arrives after all.
  void double_job() {
    if (!world_.slurm.controller_up() || model().jobs().empty()) return;
    SlurmJob copy = std::prev(model().jobs().end())->second;
    if (copy.leader != 0) return;
    if (copy.over() || world_.safety.doubles.contains(copy.id)) return;
    copy.state = SlurmJob::State::kPending;
    copy.nodes.clear();
    copy.started = 0;
    const std::uint32_t first = copy.id;
    if (model().submit(copy)) return;
    person(fmt::format("job {} is asked for once more, as {}", first, copy.id));
    world_.safety.doubles.insert(copy.id);
  }
  void delete_pod() {
    const auto pods = world_.pods();
    if (pods.empty()) return;
    const Object pod = any(pods);
    const bool at_once = world_.one_in(5);
    person(fmt::format("deletes {}{}", name_of(*pod), at_once ? " at once" : ""));
    ask_kube(world_.api, http::Method::kDelete, path_of(*pod),
             at_once ? R"({"gracePeriodSeconds":0})" : "");
  }
  // From one gang into another, whatever it is doing.
  void relabel_pod() {
    std::vector<Object> labelled;
    for (const Object& pod : world_.pods()) {
      if (!text_at(*pod, "/metadata/labels/scheduling.x-k8s.io~1pod-group").empty()) {
        labelled.push_back(pod);
      }
    }
    std::vector<std::string> names;
    for (const Group& group : groups_) {
      if (!group.builtin) names.push_back(group.name);
    }
    if (labelled.empty()) return;
    const Object pod = any(labelled);
    // This Slurm starts no job with fewer nodes than it wants at best: all have to suit the pod.
    if (pod->at_pointer("/spec/nodeSelector") != nullptr) return;
    const std::string& name = any(names);
    // A gang that needs every node, one of them for each kind of its pods, may never find them.
    const auto members = std::count_if(labelled.begin(), labelled.end(), [&](const Object& one) {
      return text_at(*one, "/metadata/labels/scheduling.x-k8s.io~1pod-group") == name;
    });
    if (members >= 4) return;
    person(fmt::format("says that {} is of {}", name_of(*pod), name));
    world_.patch(path_of(*pod), fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})",
                                            "scheduling.x-k8s.io/pod-group", name));
  }
  void toggle_cordon() {
    const auto number = static_cast<int>(world_.chance.below(kNodes));
    if (missing_.contains(number)) return;
    const std::string name = fmt::format("n{}", number);
    const bool on = cordoned_.erase(name) == 0;
    if (on) cordoned_.insert(name);
    person(fmt::format("{} {}", on ? "cordons" : "uncordons", name));
    world_.patch("/api/v1/nodes/" + name,
                 on ? R"({"spec":{"unschedulable":true}})" : R"({"spec":{"unschedulable":null}})");
  }

  bool is_full() {
    int living = 0;
    for (const Object& pod : world_.pods()) living += is_terminal(*pod) ? 0 : 1;
    return living > 25;
  }
  void add_pods() {
    if (is_full()) return;
    for (auto left = 1 + world_.chance.below(3); left > 0; --left) {
      put_pod(fmt::format("p{}", ++named_), "", "");
    }
  }
  void put_pod(const std::string& name, const std::string& label, const std::string& spec) {
    person("creates " + name);
    const bool limited = world_.one_in(6);
    const bool alone = world_.one_in(2);
    world_.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, labels: {{{}}}, "
        "annotations: {{slurmjob.slinky.slurm.net/exclusive: '{}'{}}}}}, spec: {{schedulerName: "
        "slurm-bridge-scheduler, restartPolicy: Never, {} containers: [{{name: main, image: i, "
        "resources: {{requests: {{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, label, alone, limited ? ", slurmjob.slinky.slurm.net/timelimit: '1'" : "", spec,
        1 + world_.chance.below(8)));
  }
  void add_gang() {
    if (is_full()) return;
    const auto wanted = static_cast<int>(2 + world_.chance.below(3));
    Group group{fmt::format("g{}", ++named_), world_.one_in(2),
                static_cast<int>(1 + world_.chance.below(static_cast<std::uint64_t>(wanted))), 0,
                world_.one_in(3)};
    person(fmt::format("creates PodGroup {} of at least {}", group.name, group.least));
    const std::string limit =
        world_.one_in(2)
            ? fmt::format("slurmjob.slinky.slurm.net/timelimit: '{}'", 3 + world_.chance.below(9))
            : "";
    world_.put(group.builtin
                   ? fmt::format("{{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, "
                                 "metadata: {{name: {}, namespace: default, annotations: {{{}}}}}, "
                                 "spec: {{schedulingPolicy: {{gang: {{minCount: {}}}}}}}}}",
                                 group.name, limit, group.least)
                   : fmt::format("{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, "
                                 "metadata: {{name: {}, namespace: default, annotations: {{{}}}}}, "
                                 "spec: {{minMember: {}}}}}",
                                 group.name, limit, group.least));
    for (int i = 0; i < wanted; ++i) {
      put_member(group);
      if (world_.one_in(3)) world_.pass(milliseconds(world_.chance.below(1000)));
    }
    groups_.push_back(std::move(group));
  }
  void put_member(Group& group) {
    const std::string where =
        !group.mixed ? "" : fmt::format("nodeSelector: {{pool: {}}},", group.pods == 0 ? "a" : "b");
    const std::string name = fmt::format("{}-{}", group.name, group.pods++);
    if (group.builtin) {
      put_pod(name, "",
              fmt::format("schedulingGroup: {{podGroupName: {}}}, {}", group.name, where));
    } else {
      put_pod(name, "scheduling.x-k8s.io/pod-group: " + group.name, where);
    }
  }
  void grow_gang() {
    if (groups_.empty() || is_full()) return;
    Group& group = groups_[world_.chance.below(groups_.size())];
    // Others may have been said to be of it.
    const int members = std::max(group.pods, living_by_gang()[group.name]);
    if (members < (group.mixed ? 4 : kNodes)) put_member(group);
  }

  void calm_down() {
    person("all is well again");
    world_.heal();
    for (const std::string& name : std::set<std::string>(cordoned_)) {
      world_.patch("/api/v1/nodes/" + name, R"({"spec":{"unschedulable":null}})");
    }
    cordoned_.clear();
    for (const int number : missing_) add_node(number);
    missing_.clear();
  }

  // It may take a while until nothing is wrong, but not for ever.
  template <class What>
  void expect(What&& what) {
    for (int left = 90; left > 0 && fine(); --left) {
      world_.pass(seconds(10));
      if (what().empty()) return;
    }
    if (fine()) world_.safety.violate("in the end " + what());
  }

  // Pods of the gang that want to run or do.
  std::map<std::string, int> living_by_gang() {
    std::map<std::string, int> living;
    for (const Object& pod : world_.pods()) {
      if (!is_terminal(*pod)) ++living[gang_of(*pod)];
    }
    return living;
  }
  static std::string gang_of(const json::Value& pod) {
    const std::string_view label = text_at(pod, "/metadata/labels/scheduling.x-k8s.io~1pod-group");
    if (!label.empty()) return std::string(label);
    return std::string(text_at(pod, "/spec/schedulingGroup/podGroupName"));
  }
  // Too few are left of its gang to ask for a job.
  bool lacks_others(const json::Value& pod) {
    for (const Group& group : groups_) {
      if (group.name == gang_of(pod)) return living_by_gang()[group.name] < group.least;
    }
    return false;
  }
  static std::string of(const json::Value& pod, std::string_view what) {
    return fmt::format("{} {}", name_of(pod), what);
  }

  // Whoever is not done runs on a node of its job, or its job waits.
  std::string disorder() {
    std::set<std::uint32_t> wanted;
    std::set<std::string, std::less<>> kept;
    for (const Object& pod : world_.pods()) {
      const std::uint32_t id = part_for(model(), job_of_pod(*pod), uid_of(*pod));
      const SlurmJob* const job = model().job(id);
      const bool lives = job != nullptr && !job->over();
      const bool waits = lives && job->state == SlurmJob::State::kPending;
      const std::string node(text_at(*pod, "/spec/nodeName"));
      if (is_terminal(*pod)) {
        if (has_finalizer(*pod, kOurFinalizer)) return of(*pod, "is over and has our finalizer");
        continue;
      }
      if (is_being_deleted(*pod)) return of(*pod, "is still being deleted");
      if (lives) wanted.insert(job->leader == 0 ? id : job->leader);
      if (node.empty()) {
        if (lives && !waits) return of(*pod, "is not bound though its job runs");
        if (!waits && !lacks_others(*pod)) return of(*pod, "waits for nothing");
      } else if (job == nullptr) {
        kept.insert(node);  // Slurm has forgotten the job: its pods go on, on a node kept for them.
      } else if (!lives) {
        return of(*pod, "runs though its job is over");
      }
    }
    for (const auto& [id, job] : model().jobs()) {
      if (!job.over() && !wanted.contains(job.leader == 0 ? id : job.leader)) {
        return fmt::format("job {} has no pods", id);
      }
    }
    for (const SlurmNode& node : model().nodes()) {
      if (node.drain == kept.contains(node.name)) continue;
      return fmt::format("{} has the wrong drain: {} '{}'", node.name, node.drain, node.reason);
    }
    return {};
  }

  // What is not done, though nothing is in its way: only pods whose gang will never be whole wait.
  std::string leftover() {
    for (const Object& pod : world_.pods()) {
      if (has_finalizer(*pod, kOurFinalizer)) return of(*pod, "has our finalizer");
      if (!is_terminal(*pod) && !lacks_others(*pod)) return of(*pod, "is not over");
    }
    for (const auto& [id, job] : model().jobs()) {
      if (!job.over()) return fmt::format("job {} lives", id);
    }
    for (const SlurmNode& node : model().nodes()) {
      if (node.drain) return fmt::format("{} is drained: {}", node.name, node.reason);
    }
    return {};
  }
  void check_silence() {
    // That the last job is over is news for a moment.
    world_.pass(seconds(10));
    world_.safety.writes = 0;
    world_.pass(minutes(2));
    if (world_.safety.writes > 0) world_.safety.violate("in the end the bridge still writes");
  }

  BridgeWorld world_;
  std::set<std::string> cordoned_;
  std::set<int> missing_;  // Nodes.
  std::vector<Group> groups_;
  int named_ = 0;
};

std::string pod_of(const std::string& name) {
  return fmt::format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: "
      "{{schedulerName: slurm-bridge-scheduler, containers: [{{name: main, image: i, resources: "
      "{{requests: {{cpu: '8', memory: 1Gi}}}}}}]}}}}",
      name);
}

TEST(BridgeGangs, AJobOfTheSameNumberIsNotTheirsWhereSlurmHasLostItsState) {
  BridgeWorld world(1);
  world.heal();
  world.kubelet.run_on();
  const auto find = [&](const char* name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  };
  world.add_node("n0");
  world.put(pod_of("first"));
  world.pass(seconds(30));
  ASSERT_EQ(job_of_pod(*find("first")), 1U) << world.safety.account();

  world.slurm.model().restart_without_state(world.executor.clock().wall_now());
  world.add_node("n1");
  world.put(pod_of("second"));
  world.pass(minutes(3));
  ASSERT_EQ(job_of_pod(*find("second")), 1U) << world.safety.account();
  EXPECT_EQ(text_at(*find("second"), "/spec/nodeName"), "n1");

  ASSERT_FALSE(world.slurm.model().cancel(1));
  world.pass(minutes(3));
  EXPECT_FALSE(find("second")) << world.safety.account();
  ASSERT_TRUE(find("first")) << world.safety.account();
  EXPECT_FALSE(is_being_deleted(*find("first"))) << world.safety.account();
  EXPECT_EQ(world.slurm.model().node("n0"), nullptr) << "a node that is in use is given to others";
}

TEST(BridgeGangs, JobsOfPodsThatItDoesNotSeeAreNotEnded) {
  BridgeWorld world(1);
  world.heal();
  world.kubelet.run_on();
  world.add_node("n0");
  world.put(pod_of("runs"));
  world.pass(seconds(30));
  ASSERT_EQ(world.slurm.model().node("n0")->running, 1) << world.safety.account();

  world.kill();
  world.options.config.scheduler_name = "another";
  world.start();
  world.pass(minutes(5));
  EXPECT_EQ(world.slurm.model().node("n0")->running, 1) << world.safety.account();
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(BridgeGangs, NothingIsLostOrGivenTwiceWhateverHappensAndAllComesRightInTheEnd) {
  const std::uint64_t only = from_environment("MAINSPRING_SIM_SEED", 0);
  const std::uint64_t first = only != 0 ? only : from_environment("MAINSPRING_SIM_FIRST", 1);
  const std::uint64_t count = only != 0 ? 1 : from_environment("MAINSPRING_SIM_SEEDS", seeds(4));
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Story story(seed * 100);
    const std::string wrong = story.play(60);
    if (only != 0) fmt::print("{}", story.account());
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << story.account();
  }
}

}  // namespace
}  // namespace mainspring::sim
