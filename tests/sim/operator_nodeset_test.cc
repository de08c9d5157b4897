// The whole operator in simulation: people scale, update, cordon, drain, crash and delete by
// chance; calls are lost, late and refused on both sides; the operator itself dies at any point and
// starts again. No rule of safety.h is ever broken; and when all that ends, the right workers are
// there, the statuses say so, and the operator falls silent.
//
// MAINSPRING_SIM_SEEDS=1000 runs that many seeds, MAINSPRING_SIM_SEED=17 only that one and shows
// what happened.
#include <cstdlib>

#include "base/seeds_testing.h"
#include "sim/operator_scenario.h"

namespace mainspring::sim {
namespace {

// Everything that people and machines do, by chance.
class Everything final : public Scenario {
 public:
  explicit Everything(std::uint64_t seed) : Scenario(seed) {
    if (world_.one_in(4)) wishes_[0].policy = "Immediate";
    if (world_.one_in(2)) wishes_[1].prune = true;
  }

 private:
  void act() override {
    switch (number(24)) {
      case 0:
      case 1:
        return scale();
      case 2:
      case 3:
        return update();
      case 4:
        return switch_something();
      case 5:
      case 6:
        return cordon_node();
      case 7:
      case 8:
        return cordon_pod();
      case 9:
      case 10:
        return drain();
      case 11:
        return break_pod();
      case 12:
        return change_nodes();
      case 13:
        return trouble_slurm();
      case 14:
        return trouble_kube();
      case 15:
        return recreate();
      case 16:
        return world_.kill();
      case 17:
        return end_job();
      case 18:
      case 19:
        return recover();
      default:
        return submit_job();
    }
  }
  void look() override {
    for (auto it = cordoned_.begin(); it != cordoned_.end();) {
      const Object pod = world_.api.storage().get("pods", it->second);
      const bool same = pod && uid_of(*pod) == it->first;
      if (same && text_at(*pod, kCordon) != "true") {
        world_.safety.violate(fmt::format("lifts a person's cordon of {}", it->second));
      }
      if (same && !text_at(*pod, kCause).empty()) {
        world_.safety.violate(fmt::format("takes a person's cordon of {} for its own", it->second));
      }
      it = same ? std::next(it) : cordoned_.erase(it);
    }
  }

  void scale() {
    Wish& wish = any_wish();
    wish.replicas = static_cast<int>(number(6));
    change(wish);
  }
  void update() {
    Wish& wish = any_wish();
    ++wish.image;
    change(wish);
  }
  void switch_something() {
    Wish& wish = any_wish();
    if (world_.one_in(2)) {
      wish.strategy = wish.strategy == "OnDelete" ? "RollingUpdate" : "OnDelete";
    } else {
      wish.daemon = !wish.daemon;
    }
    change(wish);
  }
  void cordon_node() {
    const Object node = world_.any("nodes");
    if (!node) return;
    world_.kubectl(Method::kPatch, kNodes + std::string(name_of(*node)),
                   world_.one_in(2) ? R"({"spec":{"unschedulable":true}})"
                                    : R"({"spec":{"unschedulable":null}})");
  }
  void cordon_pod() {
    const Object pod = world_.any("pods");
    if (!pod || is_being_deleted(*pod)) return;
    const std::string uid(uid_of(*pod));
    const std::string path = kPods + std::string(name_of(*pod));
    if (cordoned_.erase(uid) > 0) {
      world_.kubectl(
          Method::kPatch, path,
          R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-cordon":null}}})");
    } else if (text_at(*pod, kCordon).empty() && text_at(*pod, kCause).empty()) {
      world_.kubectl(
          Method::kPatch, path,
          R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-cordon":"true"}}})");
      cordoned_[uid] = "slurm/" + std::string(name_of(*pod));
    }
  }
  void drain() {
    const std::string name = world_.any_slurm_node();
    const SlurmNode* const node = world_.slurm.model().node(name);
    if (node == nullptr) return;
    const bool foreign = node->drain && !node->reason.starts_with("slurm-operator: ");
    world_.safety.note(fmt::format("person: {} {}", foreign ? "undrains" : "drains", name));
    world_.safety.administrator_drained(name);
    static_cast<void>(world_.slurm.model().update_node(
        name, foreign ? SlurmModel::NodeChange{.state = "RESUME"}
                      : SlurmModel::NodeChange{.state = "DRAIN", .reason = "disk is failing"}));
  }
  void break_pod() {
    const auto all = world_.kubelet.running();
    if (all.empty()) return;
    const std::string& uid = all[number(all.size())];
    if (world_.one_in(3)) return world_.kubelet.fail_pod(uid);
    world_.kubelet.restart_container(uid);
  }
  void change_nodes() {
    const Object node = world_.any("nodes");
    if (node && world_.one_in(2)) {
      const std::string name(name_of(*node));
      world_.kubectl(Method::kDelete, kNodes + name);
      for (const auto& [key, pod] : world_.api.storage().all("pods")) {
        if (text_at(*pod, "/spec/nodeName") != name) continue;
        world_.slurm.model().lose_slurmd(std::string(text_at(*pod, "/spec/hostname")));
      }
      return;
    }
    const char pool = world_.one_in(2) ? 'a' : 'b';
    const int which = static_cast<int>(number(6));
    if (world_.api.storage().get("nodes", fmt::format("{}{}", pool, which))) return;
    world_.safety.note(fmt::format("person: node {}{} is added", pool, which));
    world_.add_node(pool, which);
  }
  void trouble_slurm() {
    const auto which = number(6);
    world_.safety.note(fmt::format("trouble with Slurm {}", which));
    switch (which) {
      case 0:
        return world_.slurm.stop_rest();
      case 1:
        return world_.slurm.stop_controller();
      case 2:
        world_.safety.trouble.hangs = true;
        return;
      case 3:
        world_.safety.trouble.empty_nodes = true;
        return;
      case 4:
        world_.safety.trouble.old_nodes = true;
        return;
      default:
        static_cast<void>(world_.slurm.model().delete_node(world_.any_slurm_node()));
    }
  }
  void trouble_kube() {
    if (world_.one_in(2)) world_.api.compact();
    world_.api.drop_watches();
  }
  void recreate() {
    Wish& wish = any_wish();
    if (wish.wanted) world_.kubectl(Method::kDelete, kSets + wish.name);
    wish.wanted = false;
  }
  // What was broken works again, mostly.
  void recover() {
    world_.safety.trouble = {};
    world_.slurm.start_rest();
    if (!world_.slurm.controller_up()) world_.slurm.start_controller();
    world_.start();
    for (Wish& wish : wishes_) {
      if (!wish.wanted) create(wish);
    }
  }

  std::map<std::string, std::string> cordoned_;  // By people: UID to key.
};

// Nothing but rolling updates and jobs, while calls fail and the operator crashes.
class Updates final : public Scenario {
 public:
  explicit Updates(std::uint64_t seed) : Scenario(seed) {
    wishes_[0].replicas = 4;
    wishes_[0].max_unavailable = static_cast<int>(1 + number(2));
    world_.safety.after_write = [this] {
      if (begun_) check_budget();
    };
  }

 private:
  void act() override {
    switch (number(8)) {
      case 0: {
        Wish& wish = any_wish();
        ++wish.image;
        return change(wish);
      }
      case 1:
        return world_.kill();
      case 2:
      case 3:
        return world_.start();
      case 4:
        return world_.api.drop_watches();
      case 5:
        return end_job();
      default:
        return submit_job();
    }
  }
  void check_budget() {
    for (const Wish& wish : wishes_) {
      const Object set = world_.nodeset(wish.name);
      int available = 0;
      for (const Object& pod : world_.pods_of(*set)) {
        const bool open = text_at(*pod, kCordon).empty();
        if (open && is_ready(*pod) && !is_being_deleted(*pod)) ++available;
      }
      const int slots = wish.daemon ? 4 : wish.replicas;
      if (slots - available <= wish.max_unavailable) continue;
      world_.safety.violate(fmt::format("takes {} of {} workers of {} away, not {}",
                                        slots - available, slots, wish.name, wish.max_unavailable));
    }
  }
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// The whole account of a seed that fails is long: it goes into a file, and its end is shown.
template <class What>
void run_seeds(std::uint64_t usual, int steps, Duration pause) {
  const std::uint64_t only = from_environment("MAINSPRING_SIM_SEED", 0);
  const std::uint64_t first = only != 0 ? only : from_environment("MAINSPRING_SIM_FIRST", 1);
  const std::uint64_t count =
      only != 0 ? 1 : from_environment("MAINSPRING_SIM_SEEDS", seeds(usual));
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    What scenario(seed);
    const std::string wrong = scenario.play(steps, pause);
    if (only != 0) fmt::print("{}", scenario.account());
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << scenario.account();
  }
}

TEST(OperatorSim, KeepsJobsAliveWhateverHappensAndComesRightInTheEnd) {
  run_seeds<Everything>(4, 80, seconds(4));
}

TEST(OperatorSim, AnUpdateNeverTakesMoreWorkersAwayThanItMay) {
  run_seeds<Updates>(2, 40, seconds(8));
}

}  // namespace
}  // namespace mainspring::sim
