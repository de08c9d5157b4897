#include "bridge/translate/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/translate/host_ports.h"
#include "bridge/translate/matching.h"
#include "bridge/translate/pod_needs.h"
#include "kube/pod_resources.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kNoSuchNode = "no Kubernetes node is that Slurm node";

// The API server taints nodes with these for what they suffer from at the moment: cordoned, not
// ready, out of memory. Those are drains in Slurm, and no property of the node.
constexpr std::string_view kConditionTaints = "node.kubernetes.io/";

bool keeps_off(const kube::Taint& taint, std::string_view scheduler_name) {
  if (taint.effect != kube::TaintEffect::kNoSchedule &&
      taint.effect != kube::TaintEffect::kNoExecute) {
    return false;
  }
  const bool ours = taint.key == kManagedTaint && taint.value == scheduler_name;
  return !ours && !taint.key.view().starts_with(kConditionTaints);
}

std::string unmet_selector(const kube::PodSpec& spec, const kube::Meta& node) {
  for (const auto [key, value] : spec.node_selector) {
    if (node.labels.find(key) != value) return fmt::format("node selector {}={}", key, value);
  }
  return "required node affinity";
}

// Whatever others use of it.
std::string lacking(const kube::ResourceTotals& wanted, const kube::Node& node) {
  for (const auto& [resource, amount] : wanted) {
    const auto there = node.allocatable.amount(resource);
    if (there && *there >= amount) continue;
    return fmt::format("{} of {} is wanted, {} is there", amount.to_string(), resource,
                       there ? there->to_string() : "none");
  }
  return {};
}

// Pods that the same nodes suit, as far as can be told without looking at nodes. Pods of one
// template have all of it in the same place, so comparing them is cheap.
struct Wishes {
  const kube::Pod* pod;
  const VolumeNodes* volumes;
  kube::ResourceTotals resources = {};

  bool operator==(const Wishes& other) const {
    const kube::PodSpec& a = *pod->spec;
    const kube::PodSpec& b = *other.pod->spec;
    return (&a == &b || (a.node_selector == b.node_selector && a.affinity == b.affinity &&
                         a.tolerations == b.tolerations && same_host_ports(a, b) &&
                         uncounted(a) == uncounted(b))) &&
           *volumes == *other.volumes;
  }
};

struct Classes {
  std::vector<Wishes> distinct;
  std::vector<std::size_t> of_pod;
};

Classes classify(std::span<const PodPtr> pods, std::span<const VolumeNodes> volumes) {
  Classes classes;
  classes.of_pod.reserve(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const Wishes wishes{pods[i].get(), &volumes[i]};
    const auto known = std::find(classes.distinct.begin(), classes.distinct.end(), wishes);
    classes.of_pod.push_back(static_cast<std::size_t>(known - classes.distinct.begin()));
    if (known == classes.distinct.end()) classes.distinct.push_back(wishes);
  }
  for (Wishes& each : classes.distinct) each.resources = uncounted(*each.pod->spec);
  return classes;
}

std::string unfit_place(const Wishes& wishes, const Place& place, std::string_view scheduler_name) {
  if (!place.node) return std::string(kNoSuchNode);
  if (!place.lacks.empty()) return place.lacks;
  std::string reason = unfit(*wishes.pod, *wishes.volumes, *place.node, scheduler_name);
  if (reason.empty()) reason = lacking(wishes.resources, *place.node);
  return reason;
}

// What others leave of the node is too little for the pod, or for it and those that come with it.
std::string crowded_place(const Wishes& wishes, const Taken& wanted, const Place& place) {
  if (const auto port = taken_port(*wishes.pod->spec, place.taken); port != 0) {
    return fmt::format("host port {} is taken", port);
  }
  return no_room(wanted, place.taken, *place.node);
}

bool has_preferences(const kube::PodSpec& spec) {
  return spec.affinity && !spec.affinity->node.preferred.empty();
}

std::int64_t liking(const kube::PodSpec& spec, const Place& place) {
  return has_preferences(spec) && place.node ? spec.affinity->node.score(place.node->meta) : 0;
}

std::string to_hostlist(const std::vector<std::string>& names) {
  return compress_hostlist(names).value_or(join(names, ","));
}

// "3 of 8 nodes: node selector disk=ssd; 2 of 8 nodes: taint gpu:NoSchedule", most nodes first.
std::string summary(const std::map<std::string, std::size_t>& reasons, std::size_t places) {
  std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  for (const auto& [reason, count] : sorted) {
    if (parts.size() == kShown) {
      parts.push_back(fmt::format("and {} other reasons", sorted.size() - kShown));
      break;
    }
    parts.push_back(fmt::format("{} of {} nodes: {}", count, places, reason));
  }
  return join(parts, "; ");
}

}  // namespace

std::string unfit(const kube::Pod& pod, const VolumeNodes& volumes, const kube::Node& node,
                  std::string_view scheduler_name) {
  const kube::PodSpec& spec = *pod.spec;
  if (!spec.selects(node.meta)) return unmet_selector(spec, node.meta);
  for (const kube::Taint& taint : node.taints) {
    if (!keeps_off(taint, scheduler_name) || kube::tolerates(spec.tolerations, taint)) continue;
    return fmt::format("taint {}{}{}", taint.key.view(), taint.value.empty() ? "" : "=",
                       taint.value.view());
  }
  const bool reaches_all =
      std::all_of(volumes.begin(), volumes.end(),
                  [&](const kube::NodeSelector& allowed) { return allowed.matches(node.meta); });
  return reaches_all ? "" : "a volume of the pod cannot be reached from there";
}

std::string doubtful_gpus(std::span<const PodPtr> pods, bool whole_nodes, const slurm::Node& node) {
  if (whole_nodes || node.state.is_external()) return {};
  for (const PodPtr& pod : pods) {
    const auto needs = needs_of(*pod->spec);
    if (!needs) continue;
    for (const auto& [resource, count] : needs->devices) {
      if (resource.starts_with(kDeviceClassPrefix)) continue;
      return fmt::format(
          "a slurmd gives out the GPUs there, and which of them {} means is not known: ask for "
          "GPUs of a DRA driver, or for whole nodes",
          resource);
    }
  }
  return {};
}

bool same_wishes(const kube::Pod& a, const VolumeNodes& volumes_of_a, const kube::Pod& b,
                 const VolumeNodes& volumes_of_b) {
  return Wishes{&a, &volumes_of_a} == Wishes{&b, &volumes_of_b};
}

Fit fit(std::span<const PodPtr> pods, std::span<const VolumeNodes> volumes,
        std::span<const Place> places, std::string_view scheduler_name, std::size_t each) {
  const Classes classes = classify(pods, volumes);
  std::vector<const kube::PodSpec*> specs;
  specs.reserve(pods.size());
  for (const PodPtr& pod : pods) specs.push_back(&*pod->spec);
  const Taken wanted = most_of(specs, each);
  std::vector<std::string> excluded;
  std::map<std::string, std::size_t> reasons;
  bool crowded = false;
  for (const Place& place : places) {
    for (const Wishes& wishes : classes.distinct) {
      std::string reason = unfit_place(wishes, place, scheduler_name);
      if (reason.empty()) {
        reason = crowded_place(wishes, wanted, place);
        crowded = crowded || !reason.empty();
      }
      if (reason.empty()) continue;
      excluded.push_back(place.slurm_name);
      ++reasons[std::move(reason)];
      break;
    }
  }
  return {.excluded = excluded.empty() ? "" : to_hostlist(excluded),
          .left = places.size() - excluded.size(),
          .why = summary(reasons, places.size()),
          .crowded = crowded};
}

Result<std::vector<std::size_t>> assign(std::span<const PodPtr> pods,
                                        std::span<const VolumeNodes> volumes,
                                        std::span<const Place> nodes,
                                        std::string_view scheduler_name,
                                        std::span<const std::string> given) {
  const Classes classes = classify(pods, volumes);
  const auto reason_against = [&](const Wishes& wishes, const Place& node) {
    std::string reason = unfit_place(wishes, node, scheduler_name);
    if (!reason.empty()) return reason;
    return crowded_place(wishes, {.pods = 1, .resources = wishes.resources}, node);
  };
  std::vector<std::vector<bool>> suits;  // By class and node.
  for (const Wishes& wishes : classes.distinct) {
    std::vector<bool>& row = suits.emplace_back();
    row.reserve(nodes.size());
    for (const Place& node : nodes) row.push_back(reason_against(wishes, node).empty());
  }
  Matching matching(pods, nodes, [&](std::size_t pod, std::size_t node) {
    return suits[classes.of_pod[pod]][node];
  });
  MS_CHECK(matching.pin(given));
  const bool prefer = std::any_of(pods.begin(), pods.end(),
                                  [](const PodPtr& pod) { return has_preferences(*pod->spec); });
  if (prefer && matching.by_score([&](std::size_t pod, std::size_t node) {
        return liking(*pods[pod]->spec, nodes[node]);
      })) {
    return std::move(matching).result();
  }
  if (matching.in_order() || matching.search()) return std::move(matching).result();
  const std::size_t left_over = matching.left_over();
  std::map<std::string, std::size_t> reasons;
  for (const Place& node : nodes) {
    const Wishes& wishes = classes.distinct[classes.of_pod[left_over]];
    std::string reason = reason_against(wishes, node);
    ++reasons[reason.empty() ? "needed for other pods of the job" : std::move(reason)];
  }
  return fail(Code::kConflict,
              fmt::format("pod {} cannot be on any node of its Slurm job: {}",
                          pods[left_over]->meta.name, summary(reasons, nodes.size())));
}

}  // namespace mainspring::bridge
