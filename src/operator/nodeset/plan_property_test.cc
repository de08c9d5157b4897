// Whatever the pods and Slurm look like, a plan hurts nobody; and a world that does as it is told
// arrives where the NodeSet wants it, and then is left in peace.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "operator/nodeset/cordon.h"
#include "operator/nodeset/plan_rules_testing.h"

namespace mainspring::op {
namespace {

using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;
using Knowledge = SlurmFacts::Knowledge;
using Phase = kube::PodPhase;
using State = slurm::NodeState;
constexpr auto kDaemonSet = api::ScalingMode::kDaemonSet;
constexpr auto kStatefulSet = api::ScalingMode::kStatefulSet;

// --- Any state whatever -----------------------------------------------------------------------

rc::Gen<State> any_state() {
  return rc::gen::map(rc::gen::pair(rc::gen::element(Base::kIdle, Base::kAllocated, Base::kMixed,
                                                     Base::kDown, Base::kUnknown),
                                    rc::gen::container<std::vector<Flag>>(rc::gen::element(
                                        Flag::kDrain, Flag::kDrain, Flag::kCompleting,
                                        Flag::kMaintenance, Flag::kNotResponding))),
                      [](const std::pair<Base, std::vector<Flag>>& parts) {
                        State state(parts.first);
                        for (const Flag flag : parts.second) state.add(flag);
                        return state;
                      });
}

Sketch any_pod(std::string name, api::ScalingMode mode) {
  Sketch pod{.name = std::move(name), .mode = mode};
  pod.phase = *rc::gen::weightedElement<Phase>({{6, Phase::kRunning},
                                                {2, Phase::kPending},
                                                {1, Phase::kFailed},
                                                {1, Phase::kSucceeded},
                                                {1, Phase::kUnknown}});
  pod.ready =
      pod.phase == Phase::kRunning && *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  pod.terminating = *rc::gen::weightedElement<bool>({{1, true}, {6, false}});
  pod.node = pod.phase == Phase::kPending && *rc::gen::arbitrary<bool>()
                 ? ""
                 : "n" + std::to_string(*rc::gen::inRange(0, 5));
  pod.container_made = pod.phase != Phase::kPending || *rc::gen::arbitrary<bool>();
  pod.kubelet_spoke = *rc::gen::arbitrary<bool>();
  pod.revision = *rc::gen::element<std::string>("v1", "v2");
  pod.cordon = *rc::gen::element<std::string>("", "", "true");
  pod.cordoned_for = *rc::gen::element<std::string>("", "scale-in", "update", "node");
  pod.deadline = *rc::gen::element<std::string>("", "2020-01-01T00:00:00Z");
  pod.knowledge = *rc::gen::weightedElement<Knowledge>(
      {{4, Knowledge::kPresent}, {1, Knowledge::kAbsent}, {1, Knowledge::kUnknown}});
  pod.state = *any_state();
  pod.jobs = *rc::gen::weightedElement<std::optional<std::size_t>>({{4, 0}, {1, 1}, {1, {}}});
  pod.reason = *rc::gen::element<std::string>("", "bad dimm", "slurm-operator: Pod is terminating",
                                              "slurm-operator: Pod (slurm/x) was cordoned");
  pod.ready_since = kNow - seconds(*rc::gen::inRange(0, 120));
  pod.shown = {
      *rc::gen::element<std::string>("SlurmNodeStateIdle", "SlurmNodeStateMixed", "Other")};
  pod.elsewhere = *rc::gen::element<std::string>("", "", "n1");
  return pod;
}

struct AnyView {
  api::NodeSet nodeset = nodeset_of(0);
  std::vector<WorkerView> workers;
  std::vector<Place> places;

  AnyView() {
    nodeset.spec.replicas = *rc::gen::inRange(0, 8);
    nodeset.spec.scaling_mode = *rc::gen::element(kStatefulSet, kDaemonSet);
    nodeset.spec.max_unavailable = {.value = *rc::gen::inRange(0, 4), .percent = false};
    nodeset.spec.min_ready_seconds = *rc::gen::element(0, 30);
    nodeset.spec.update_type =
        *rc::gen::element(api::UpdateType::kRollingUpdate, api::UpdateType::kOnDelete,
                          api::UpdateType::kScheduledUpdate);
    if (*rc::gen::weightedElement<bool>({{1, true}, {9, false}})) nodeset.meta.deletion = kNow;
    for (int i = 0; i < 10; ++i) {
      if (*rc::gen::arbitrary<bool>()) continue;
      const auto mode = *rc::gen::weightedElement<api::ScalingMode>(
          {{5, nodeset.spec.scaling_mode}, {1, kStatefulSet}, {1, kDaemonSet}});
      workers.push_back(view_of(any_pod("gpu-" + std::to_string(i), mode)));
    }
    for (int i = 0; i < 5; ++i) {
      const bool runs = *rc::gen::arbitrary<bool>();
      places.push_back({.node = kube_node("n" + std::to_string(i)),
                        .should_run = runs,
                        .should_continue = runs});
    }
  }
  NodeSetView view() const {
    NodeSetView out{.nodeset = nodeset, .revision_hash = "v2", .now = kNow};
    out.workers = workers;
    out.places = places;
    return out;
  }
};

TEST(PlanProperty, HurtsNobodyAndStaysInItsBudgetWhateverItSees) {
  EXPECT_TRUE(rc::check("no plan does harm", [] {
    const AnyView any;
    const NodeSetView view = any.view();
    const Plan plan = make_plan(view);
    expect_harmless(view, plan);
    expect_within_budget(view, plan);
  }));
}

TEST(PlanProperty, DoesNotDependOnTheOrderOfItsInput) {
  EXPECT_TRUE(rc::check("a shuffled view has the same plan", [] {
    AnyView any;
    const NodeSetView view = any.view();
    const auto before = told(view, make_plan(view));
    std::reverse(any.workers.begin(), any.workers.end());
    std::rotate(any.places.begin(), any.places.begin() + 2, any.places.end());
    const auto shift =
        any.workers.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, any.workers.size());
    std::rotate(any.workers.begin(), any.workers.begin() + static_cast<std::ptrdiff_t>(shift),
                any.workers.end());
    const NodeSetView shuffled = any.view();
    RC_ASSERT(told(shuffled, make_plan(shuffled)) == before);
  }));
}

TEST(CordonProperty, NeverLiftsOrRewritesWhatSomebodyElseDid) {
  EXPECT_TRUE(rc::check("foreign reasons survive", [] {
    const WorkerView worker = view_of(any_pod("gpu-0", kStatefulSet));
    const auto cause = *rc::gen::element(Cause::kNone, Cause::kNode, Cause::kPerson,
                                         Cause::kScaleIn, Cause::kUpdate, Cause::kDeletion);
    const SlurmAction action = slurm_action(worker, cause, {});
    const bool acts = action.kind != SlurmAction::Kind::kNone;
    RC_ASSERT(!acts || worker.slurm.present());
    if (!acts) return;
    const std::string_view reason = worker.slurm.node->reason;
    const bool ours = reason.starts_with(api::kReasonPrefix);
    if (action.kind == SlurmAction::Kind::kDrain) {
      RC_ASSERT(cause != Cause::kNone);
      RC_ASSERT(ours || reason.empty() || (condemns(cause) && action.reason == reason));
    } else {
      RC_ASSERT(cause == Cause::kNone && ours);
    }
  }));
}

// --- A world that does as it is told ----------------------------------------------------------

// A kubelet, a scheduler and a Slurm in a few lines, with jobs that come and go.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    nodeset_.spec.max_unavailable = {.value = 1 + number(2), .percent = false};
    nodeset_.spec.update_type =
        chance(4) ? api::UpdateType::kOnDelete : api::UpdateType::kRollingUpdate;
    for (int i = 0; i < 5; ++i) set_place(i, true);
    disturb_spec();
  }

  // Somebody changes his mind, a pod crashes, an administrator steps in, Slurm falls silent.
  void disturb() {
    if (chance(6)) disturb_spec();
    slurm_is_silent_ = chance(4);
    if (pods_.empty()) return;
    Sketch& pod = pods_[random_.below(pods_.size())];
    if (chance(10)) pod.phase = Phase::kFailed;
    if (chance(10)) pod.terminating = true;
    const auto record = slurm_.find(pod.name);
    if (record != slurm_.end() && chance(10)) {
      record->second.state.add(Flag::kDrain);
      record->second.reason = "bad dimm";
    }
  }
  void calm_down() { slurm_is_silent_ = false; }

  void step() {
    now_ += seconds(30);
    move_pods();
    move_jobs();
    const NodeSetView view = look();
    const Plan plan = make_plan(view);
    expect_harmless(view, plan);
    expect_within_budget(view, plan);
    obey(view, plan);
  }

  void expect_arrived() {
    const NodeSetView view = look();
    const Plan plan = make_plan(view);
    RC_ASSERT(told(view, plan).empty());
    RC_ASSERT(static_cast<std::int32_t>(pods_.size()) == plan.desired);
    for (const Sketch& pod : pods_) {
      RC_ASSERT(pod.ready && pod.mode == nodeset_.spec.scaling_mode);
      const bool follows = nodeset_.spec.update_type == api::UpdateType::kRollingUpdate;
      RC_ASSERT(!follows || pod.revision == revision_);
      const Record& record = slurm_.at(pod.name);
      if (record.reason == "bad dimm") continue;
      RC_ASSERT(pod.cordon.empty());
      RC_ASSERT(record.state.can_take_jobs());
    }
  }

 private:
  struct Record {
    State state = Base::kIdle;
    std::string reason;
    WallTime since;
  };

  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  int number(std::uint64_t bound) { return static_cast<int>(random_.below(bound)); }

  void set_place(int i, bool runs) {
    const std::string name = "n" + std::to_string(i);
    places_[name] = {.node = kube_node(name), .should_run = runs, .should_continue = runs};
  }
  void disturb_spec() {
    nodeset_.spec.replicas = number(7);
    if (chance(3)) revision_ = "v" + std::to_string(number(3));
    if (chance(4)) nodeset_.spec.scaling_mode = chance(2) ? kDaemonSet : kStatefulSet;
    set_place(number(5), !chance(3));
  }

  void move_pods() {
    for (Sketch& pod : pods_) {
      if (pod.terminating) {
        const auto record = slurm_.find(pod.name);
        // A pod that ended has no preStop.
        if (record == slurm_.end() || pod.phase != Phase::kRunning) continue;
        const bool drained = record->second.state.has(Flag::kDrain);
        record->second = {Base::kDown, "slurm-operator: Pod is terminating", now_};
        if (drained) record->second.state.add(Flag::kDrain);
      } else if (pod.node.empty()) {
        pod.node = pod.target.empty() ? "kn-" + pod.name : pod.target;
      } else if (pod.phase == Phase::kPending && !chance(3)) {
        pod.phase = Phase::kRunning;
        pod.ready = pod.container_made = true;
        pod.ready_since = now_;
        slurm_.try_emplace(pod.name);
      }
    }
    std::erase_if(pods_, [](const Sketch& pod) { return pod.terminating; });
  }

  void move_jobs() {
    for (Sketch& pod : pods_) {
      const auto record = slurm_.find(pod.name);
      if (record == slurm_.end()) continue;
      State& state = record->second.state;
      if (state.is_busy() && chance(3)) state.set(Base::kIdle);
      if (state.can_take_jobs() && pod.ready && chance(3)) state.set(Base::kAllocated);
      pod.deadline = state.is_busy() ? "2020-01-01T00:00:00Z" : "";
    }
  }

  NodeSetView look() {
    NodeSetView view{.nodeset = nodeset_, .revision_hash = revision_, .now = now_};
    for (Sketch& pod : pods_) {
      const auto record = slurm_.find(pod.name);
      const bool known = record != slurm_.end();
      pod.knowledge = slurm_is_silent_ ? Knowledge::kUnknown
                      : known          ? Knowledge::kPresent
                                       : Knowledge::kAbsent;
      if (known) {
        pod.state = record->second.state;
        pod.reason = record->second.reason;
        pod.reason_since = record->second.since;
      }
      view.workers.push_back(view_of(pod));
    }
    for (const auto& [name, place] : places_) view.places.push_back(place);
    return view;
  }

  void obey(const NodeSetView& view, const Plan& plan) {
    std::vector<Cause> condemned(pods_.size(), Cause::kNone);
    for (const auto& [index, cause] : plan.condemned) condemned[index] = cause;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const Cause cordon = wanted_cordon(view.workers[i], condemned[i]);
      if (cordon != Cause::kPerson) {
        pods_[i].cordon = cordon == Cause::kNone ? "" : "true";
        pods_[i].cordoned_for = to_string(cordon);
      }
      const Cause cause = condemned[i] != Cause::kNone ? condemned[i] : cordon;
      tell_slurm(pods_[i].name, slurm_action(view.workers[i], cause, {}));
    }
    for (const auto& one : plan.remove) pods_[one.worker].terminating = true;
    for (const Creation& one : plan.create) create(one);
  }

  void tell_slurm(const std::string& name, const SlurmAction& action) {
    if (action.kind == SlurmAction::Kind::kNone) return;
    Record& record = slurm_.at(name);
    if (action.kind == SlurmAction::Kind::kDrain) {
      record.state.add(Flag::kDrain);
      record.reason = action.reason;
    } else {
      const bool resumed = action.kind == SlurmAction::Kind::kResume;
      record = {resumed ? State(Base::kIdle) : State(record.state.base()), "", now_};
    }
  }

  void create(const Creation& creation) {
    Sketch pod{.name = {}, .mode = nodeset_.spec.scaling_mode, .phase = Phase::kPending};
    pod.ready = pod.container_made = false;
    pod.node = "";
    pod.revision = revision_;
    pod.created = now_;
    if (creation.node) {
      pod.target = creation.node->meta.name;
      pod.hostname = pod.target;
    }
    pod.name = creation.ordinal ? "gpu-" + std::to_string(*creation.ordinal)
                                : "gpu-x" + std::to_string(++serial_);
    pods_.push_back(pod);
  }

  Random random_;
  api::NodeSet nodeset_ = nodeset_of(0);
  std::string revision_ = "v1";
  std::vector<Sketch> pods_;
  std::map<std::string, Place> places_;
  std::map<std::string, Record> slurm_;
  bool slurm_is_silent_ = false;
  int serial_ = 0;
  WallTime now_ = kNow;
};

TEST(PlanProperty, BringsAWorldThatObeysToWhereItShouldBe) {
  EXPECT_TRUE(rc::check("it converges and is then at rest", [] {
    World world(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < 40; ++i) {
      world.disturb();
      world.step();
    }
    world.calm_down();
    for (int i = 0; i < 80; ++i) world.step();
    world.expect_arrived();
  }));
}

}  // namespace
}  // namespace mainspring::op
