#include "bridge/nodes/node_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

using Flag = slurm::NodeState::Flag;
using Kind = SlurmStep::Kind;

// A driver that restarts is back within this, also where its image has to be fetched.
constexpr Duration kPasses = minutes(5);

std::string our_reason(std::string_view text) { return fmt::format("{} {}", kReasonPrefix, text); }

bool is_wanted(const NodeView& view) {
  return view.node && !view.node->meta.deleting() &&
         view.node->meta.labels.contains(kExternalNodeLabel);
}

// Made at run time and without a slurmd: such as we make. Those in slurm.conf cannot be removed.
bool is_made(const slurm::Node& node) {
  return node.state.is_external() && node.state.has(Flag::kDynamicNorm);
}

// What the node was made with. Of one without a mark (another bridge's, or we died before it was
// written) what Slurm shows; GPUs that no device plugin knows are not ours to judge.
NodeMark made_with(const slurm::Node& node, const NodeShape& shape, std::string_view cluster) {
  if (auto mark = parse_mark(node.comment)) return *std::move(mark);
  std::vector<std::string> features(node.features.begin(), node.features.end());
  std::sort(features.begin(), features.end());
  return {std::string(cluster), std::move(features), shape.gpus == 0 ? 0 : gpus_of(node),
          shape.gpu_class,      node.topology.str(), {},
          shape.published_cpus};
}

std::string shrunk(const slurm::Node& node, const NodeShape& shape, const NodeMark& made) {
  const auto text = [](std::int64_t now, std::int64_t then, std::string_view what) {
    return fmt::format("only {} of {} {} can be given to pods", now, then, what);
  };
  if (shape.cpus < node.cpus) return text(shape.cpus, node.cpus, "CPUs");
  if (shape.memory_mb < node.real_memory) return text(shape.memory_mb, node.real_memory, "MB");
  if (shape.gpus < made.gpus) return text(shape.gpus, made.gpus, "GPUs");
  return {};
}

// Slurm keeps a node in the partitions that it was made for until a reconfigure.
bool is_misplaced(const slurm::Node& node, const NodeShape& shape, const NodeMark& made) {
  const auto wanted = [&](const std::string& name) {
    return std::binary_search(shape.partitions.begin(), shape.partitions.end(), name);
  };
  return std::any_of(shape.partitions.begin(), shape.partitions.end(),
                     [&](const std::string& name) {
                       return std::find(made.partitions.begin(), made.partitions.end(), name) ==
                                  made.partitions.end() &&
                              !node.partitions.contains(name);
                     }) ||
         std::any_of(made.partitions.begin(), made.partitions.end(), [&](const std::string& name) {
           return !wanted(name) && node.partitions.contains(name);
         });
}

// DaemonSets have come or grown since it was made. That they have gone or shrunk is no reason.
bool is_crowded(const NodeView& view, const NodeShape& shape) {
  const auto now = shape_of(*view.node, view.name, {}, view.devices, view.daemons);
  return now && (now->cpus < shape.cpus || now->memory_mb < shape.memory_mb);
}

// Why it would be better made anew, in no hurry; "" where it is as it should be.
std::string outgrown(const NodeView& view, const NodeShape& shape, const NodeMark& made) {
  const slurm::Node& node = *view.slurm;
  if (shape.cpus > node.cpus || shape.memory_mb > node.real_memory || shape.gpus > made.gpus) {
    return "more of it can be given to pods";
  }
  if (is_crowded(view, shape)) return "DaemonSets take more of it";
  if (shape.gpu_class != made.gpu_class) return "its devices are of another class";
  // As many CPUs, but which of them Slurm means would not be known.
  if (shape.published_cpus && (node.threads != shape.threads || node.sockets != shape.sockets)) {
    return "its CPUs are arranged otherwise";
  }
  if (is_misplaced(node, shape, made)) return "it belongs to other partitions";
  // As after a signal other than KILL to one of its jobs; nothing else ever brings it back.
  if (node.state.has(Flag::kNotResponding)) return "slurmctld waits for an answer from it";
  return {};
}

// Features that others have added stay.
std::vector<std::string> wanted_features(const slurm::Node& node, const NodeShape& shape,
                                         const NodeMark& made) {
  std::vector<std::string> features = shape.partitions;
  for (const std::string_view one : node.features) {
    const auto has = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    if (!has(made.partitions) && !has(features)) features.emplace_back(one);
  }
  return features;
}

std::optional<slurm::NodeUpdate> wanted_update(const slurm::Node& node, const NodeShape& shape,
                                               NodeMark made) {
  slurm::NodeUpdate update;
  bool differs = false;
  const auto features = wanted_features(node, shape, made);
  const auto is_same = [&](const json::StringList& list) {
    return list.size() == features.size() &&
           std::all_of(features.begin(), features.end(),
                       [&](const std::string& one) { return list.contains(one); });
  };
  if (!is_same(node.features) || !is_same(node.active_features)) {
    update.features = update.active_features = features;
    differs = true;
  }
  if (made.topology != shape.topology || (node.topology.empty() && !shape.topology.empty())) {
    update.topology = shape.topology;
    differs = true;
  }
  if (node.address != shape.address) {
    update.address = shape.address;
    differs = true;
  }
  if (!is_misplaced(node, shape, made)) made.partitions = shape.partitions;
  made.topology = shape.topology;
  made.published_cpus = made.published_cpus || shape.published_cpus;
  if (const std::string comment = to_comment(made); node.comment != comment) {
    update.comment = comment;
    differs = true;
  }
  if (!differs) return std::nullopt;
  return update;
}

bool has_gpus(const kube::Quantities& amounts) {
  for (const char* const resource : {"nvidia.com/gpu", "amd.com/gpu"}) {
    const auto amount = amounts.amount(resource);
    if (amount && !amount->is_zero()) return true;
  }
  return false;
}

// Slurm removes none that is in a reservation.
bool is_removable(const slurm::Node& node) { return node.reservation.empty(); }

SlurmStep step(Kind kind, std::string why) {
  SlurmStep next;
  next.kind = kind;
  next.why = std::move(why);
  return next;
}

// `cause`: why it should be drained; "" where it should not.
SlurmStep drain_step(const slurm::Node& node, const std::string& cause) {
  // Whoever put it down takes it back, and the reason says who that was.
  if (node.state.is_down() && !is_our_reason(node.reason)) return {};
  const bool drained = node.state.has(Flag::kDrain);
  const bool ours = drained && is_our_reason(node.reason);
  if (cause.empty()) return ours ? step(Kind::kUndrain, {}) : SlurmStep{};
  if (drained && (!ours || node.reason == cause)) return {};
  return step(Kind::kDrain, cause);
}

std::string cause_of(const NodeView& view) {
  if (std::string cause = drain_cause(*view.node); !cause.empty()) return cause;
  return view.hold.empty() ? std::string() : our_reason(view.hold);
}

// Its Kubernetes node is gone, or is no longer given to Slurm.
SlurmStep removal_step(const NodeView& view, const NodeRules& rules) {
  const auto mark = parse_mark(view.slurm->comment);
  if (!mark || mark->cluster != rules.cluster) return {};
  const std::string why = view.node ? fmt::format("Kubernetes node {} is no longer given to Slurm",
                                                  view.node->meta.name)
                                    : "its Kubernetes node is gone";
  const slurm::NodeState& state = view.slurm->state;
  const bool unused = state.is_drained() || state.is_down();
  if (unused && view.hold.empty() && is_removable(*view.slurm)) {
    return step(Kind::kRemove, why);
  }
  return drain_step(*view.slurm, our_reason(why));
}

std::vector<NodeProblem> missing_partitions(const NodeShape& shape, const NodeRules& rules) {
  std::vector<NodeProblem> problems;
  for (const std::string& name : shape.partitions) {
    if (rules.has_partition(name)) continue;
    problems.push_back(
        {"UnknownPartition", fmt::format("Slurm has no partition {}; create it, or correct the "
                                         "annotation {}",
                                         quoted(name), kPartitionsAnnotation)});
  }
  return problems;
}

SlurmStep waiting(std::string why) { return step(Kind::kNone, std::move(why)); }

SlurmStep waiting(std::vector<NodeProblem> problems) {
  SlurmStep next = waiting(problems.front().note);
  next.problems = std::move(problems);
  return next;
}

SlurmStep creation_step(const NodeView& view, const NodeRules& rules) {
  // Slurm can make no node that is drained, so it might start a job before we have drained it.
  if (std::string cause = cause_of(view); !cause.empty()) return waiting(std::move(cause));
  const auto shape =
      shape_of(*view.node, view.name, rules.config.partition, view.devices, view.daemons);
  if (!shape) return waiting({{"NotRegistered", shape.error().message()}});
  if (auto problems = missing_partitions(*shape, rules); !problems.empty()) {
    return waiting(std::move(problems));
  }
  SlurmStep next = step(Kind::kCreate, {});
  next.spec = spec_of(*shape);
  next.comment = to_comment(mark_of(*shape, rules.cluster, view.daemons));
  return next;
}

std::vector<NodeProblem> missing_gpus(const slurm::Node& node, const NodeMark& made) {
  const std::int64_t shown = gpus_of(node);
  if (made.gpus <= shown) return {};
  return {{"NoGpusInSlurm",
           fmt::format("Slurm shows {} of the node's {} GPUs: set GresTypes=gpu in slurm.conf, "
                       "restart slurmctld, and delete the node in Slurm; it is registered again at "
                       "once",
                       shown, made.gpus)}};
}

// What a DRA driver had published of it and does not now; "" where all is there.
std::string unpublished(const NodeView& view, const NodeShape& shape, const NodeMark& made) {
  if (made.published_cpus && !shape.published_cpus) return "its CPUs are not published any more";
  if (!made.gpu_class.empty() && !view.devices.classes.contains(made.gpu_class)) {
    return fmt::format("no devices of class {} are published any more", made.gpu_class);
  }
  return {};
}

// It has been drained for this reason for so long that it will not pass.
bool has_lasted(const slurm::Node& node, const std::string& reason, WallTime now) {
  if (node.reason != reason || !node.reason_changed_at.set()) return false;
  const WallTime since{std::chrono::seconds(node.reason_changed_at.value_or(0))};
  return since + kPasses <= now;
}

// It is drained for `cause`, for having become smaller, or not at all; and made anew, once nobody
// uses it, where Slurm cannot change it.
SlurmStep size_step(const NodeView& view, const NodeShape& shape, const NodeMark& made,
                    std::string cause, WallTime now) {
  const slurm::Node& node = *view.slurm;
  const bool drained = node.state.has(Flag::kDrain);
  const bool theirs = (drained || node.state.is_down()) && !is_our_reason(node.reason);
  const bool free = node.state.is_idle() && is_removable(node) && cause.empty() && !theirs;
  // What restarts shows none of its devices for a while: no reason to go without. Of a device
  // plugin the capacity says whether it will be back, of a DRA driver nothing does.
  const std::string away = unpublished(view, shape, made);
  const std::string less = away.empty() ? shrunk(node, shape, made) : away;
  const bool passing = away.empty()
                           ? shape.gpus == 0 && made.gpus > 0 && has_gpus(view.node->capacity)
                           : !has_lasted(node, our_reason(less), now);
  const bool waits = passing && !away.empty() && cause.empty();
  if (!less.empty()) {
    if (free && drained && !passing) return step(Kind::kRemove, "made anew: " + less);
    if (cause.empty()) cause = our_reason(less);
  } else if (const std::string better = outgrown(view, shape, made); free && !better.empty()) {
    return step(Kind::kRemove, "made anew: " + better);
  }
  SlurmStep next = drain_step(node, cause);
  if (waits) next.again = kPasses;
  return next;
}

// Of a node of ours that is in Slurm and belongs there.
SlurmStep upkeep_step(const NodeView& view, const NodeRules& rules) {
  const auto mark = parse_mark(view.slurm->comment);
  auto shape = shape_of(*view.node, view.name, rules.config.partition, view.devices,
                        mark ? mark->daemons : Reserve{});
  if (!shape) {
    SlurmStep next = drain_step(*view.slurm, cause_of(view));
    next.problems.push_back({"NotUpdated", shape.error().message()});
    return next;
  }
  const NodeMark made = made_with(*view.slurm, *shape, rules.cluster);
  std::vector<NodeProblem> problems = missing_partitions(*shape, rules);
  // It stays where it is until it can be where it belongs.
  if (!problems.empty()) shape->partitions = made.partitions;
  for (NodeProblem& one : missing_gpus(*view.slurm, made)) problems.push_back(std::move(one));
  SlurmStep next = size_step(view, *shape, made, cause_of(view), rules.now);
  if (next.kind == Kind::kNone) {
    if (auto update = wanted_update(*view.slurm, *shape, made)) {
      next = step(Kind::kUpdate, {});
      next.update = *std::move(update);
    }
  }
  next.problems = std::move(problems);
  return next;
}

// Conditions that the node lifecycle controller and cloud providers tell by taints, and those of
// autoscalers that are about to take the node away.
bool means_trouble(const kube::Taint& taint) {
  constexpr std::string_view kTroubles[] = {
      "node.kubernetes.io/not-ready",
      "node.kubernetes.io/unreachable",
      "node.kubernetes.io/memory-pressure",
      "node.kubernetes.io/disk-pressure",
      "node.kubernetes.io/pid-pressure",
      "node.kubernetes.io/network-unavailable",
      "node.kubernetes.io/out-of-service",
      "node.cloudprovider.kubernetes.io/uninitialized",
      "node.cloudprovider.kubernetes.io/shutdown",
      "ToBeDeletedByClusterAutoscaler",
      "karpenter.sh/disrupted",
  };
  return taint.effect != kube::TaintEffect::kPreferNoSchedule &&
         std::find(std::begin(kTroubles), std::end(kTroubles), taint.key.view()) !=
             std::end(kTroubles);
}

}  // namespace

bool is_our_reason(std::string_view reason) { return reason.starts_with(kReasonPrefix); }

std::string drain_cause(const kube::Node& node) {
  const auto cause = [&](std::string_view is) {
    return our_reason(fmt::format("Corresponding Kubernetes node ({}) {}", node.meta.name, is));
  };
  // Our own cordon follows Slurm, so Slurm cannot follow it.
  if (node.unschedulable && !node.meta.annotations.contains(kCordonAnnotation)) {
    return cause("is unschedulable");
  }
  if (!node.ready()) return cause("is not ready");
  for (const char* const type :
       {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}) {
    if (kube::is_true(node.conditions, type)) return cause(fmt::format("has {}", type));
  }
  for (const kube::Taint& taint : node.taints) {
    if (means_trouble(taint)) return cause(fmt::format("has the taint {}", taint.key.view()));
  }
  return {};
}

SlurmStep slurm_step(const NodeView& view, const NodeRules& rules) {
  const bool wanted = is_wanted(view);
  if (!view.slurm) return wanted ? creation_step(view, rules) : SlurmStep{};
  if (!is_made(*view.slurm)) {
    return view.node ? drain_step(*view.slurm, cause_of(view)) : SlurmStep{};
  }
  if (!wanted) return removal_step(view, rules);
  const auto mark = parse_mark(view.slurm->comment);
  if (mark && mark->cluster != rules.cluster) {
    return waiting({{"SlurmNameTaken",
                     fmt::format("the Slurm node {} belongs to another Kubernetes cluster; give "
                                 "this one another name by the label {}",
                                 view.name, kSlurmNodeLabel)}});
  }
  return upkeep_step(view, rules);
}

}  // namespace mainspring::bridge
