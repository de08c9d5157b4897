#include "bridge/translate/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/translate/annotations.h"
#include "bridge/translate/pod_needs.h"
#include "slurm/tres.h"

namespace mainspring::bridge {
namespace {

// Slurm counts the CPUs of a task in 16 bits.
constexpr std::int64_t kMostCpus = 65533;

std::string annotation(std::string_view suffix) {
  return std::string(kJobPrefix) + std::string(suffix);
}

Result<void> check_members(const Gang& gang) {
  if (gang.pods.empty()) return fail(Code::kInvalid, "the gang has no pods");
  const std::string& ns = gang.pods.front()->meta.ns;
  for (const PodPtr& pod : gang.pods) {
    if (pod->meta.ns == ns) continue;
    return fail(Code::kInvalid,
                fmt::format("pods of one gang must be in one namespace: {}/{} and {}/{} are not",
                            ns, gang.pods.front()->meta.name, pod->meta.ns, pod->meta.name));
  }
  return {};
}

Result<PodNeeds> needs_of_each(const Gang& gang) {
  PodNeeds needs;
  const kube::PodSpec* known = nullptr;  // Pods of one template share theirs.
  for (const PodPtr& pod : gang.pods) {
    if (&*pod->spec == known) continue;
    known = &*pod->spec;
    MS_TRY(const PodNeeds own, with_context(needs_of(*known), "pod " + pod->meta.name));
    needs.raise_to(own);
  }
  // slurm-bridge's rule: these count where no pod says anything.
  if (needs.cpus == 0) needs.cpus = gang.floor_cpus.value_or(0);
  if (needs.memory_mb == 0) needs.memory_mb = gang.floor_memory_mb.value_or(0);
  return needs;
}

std::int32_t nodes_for(std::int64_t pods, std::int32_t pods_per_node) {
  return static_cast<std::int32_t>((pods + pods_per_node - 1) / pods_per_node);
}

class Translator {
 public:
  Translator(const Gang& gang, const BridgeConfig& config, JobAnnotations asked, PodNeeds needs)
      : gang_(gang),
        config_(config),
        ns_(gang.pods.front()->meta.ns),
        identity_(config.identity_of(ns_)),
        asked_(std::move(asked)),
        needs_(std::move(needs)) {
    out_.pods_per_node = asked_.tasks_per_node.value_or(1);
  }

  Result<Translation> run() && {
    add_fixed();
    add_owner();
    add_queueing();
    MS_CHECK(add_nodes());
    MS_CHECK(add_size());
    for (const std::string& name : asked_.early) {
      const std::string suffix = name.substr(kEarlyJobPrefix.size());
      warn("annotation {} is the name of releases before 1.0: use {}", name, annotation(suffix));
    }
    return std::move(out_);
  }

 private:
  void add_fixed();
  void add_owner();
  void add_queueing();
  Result<void> add_nodes();
  Result<void> add_size();
  Result<void> check_gpus(std::string_view gres, std::int64_t times) const;

  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    out_.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  // What the site has fixed for the namespace, else what was asked for.
  std::optional<std::string> settle(const std::optional<std::string>& fixed,
                                    const std::optional<std::string>& asked,
                                    std::string_view suffix) {
    if (!fixed) return asked;
    if (asked && *asked != *fixed) {
      warn("annotation {} ({}) is not used: for namespace {} it is {}, set by the administrator",
           annotation(suffix), quoted(*asked), ns_, quoted(*fixed));
    }
    return fixed;
  }

  // At least what the kubelet sets aside: with less, others would be promised the same.
  std::int64_t at_least(std::int64_t floor, std::int64_t asked, std::string_view suffix,
                        std::string_view unit) {
    if (asked >= floor) return asked;
    warn("annotation {} is raised from {} to {}{}, which is what the pods request",
         annotation(suffix), asked, floor, unit);
    return floor;
  }

  const Gang& gang_;
  const BridgeConfig& config_;
  const std::string& ns_;
  const Identity& identity_;
  const JobAnnotations asked_;
  const PodNeeds needs_;
  Translation out_;
};

void Translator::add_fixed() {
  slurm::JobRequest& job = out_.request;
  job.flags = {std::string(slurm::kExternalJobFlag)};
  job.current_working_directory = "/tmp";
  // It would come back without its pods, which end with their allocation.
  job.requeue = false;
  if (!config_.mcs_label.empty()) job.mcs_label = config_.mcs_label;
  if (asked_.exclusive.value_or(config_.exclusive_by_default)) job.shared = {"none"};
  job.constraints = asked_.constraints;
  job.licenses = asked_.licenses;
  job.reservation = asked_.reservation;
  job.wckey = asked_.wckey;
  job.name = asked_.job_name;
  if (!job.name && !gang_.job_name.empty()) job.name = gang_.job_name;
}

void Translator::add_owner() {
  slurm::JobRequest& job = out_.request;
  job.user_id = settle(identity_.user, asked_.user_id, "user-id");
  job.account = settle(identity_.account, asked_.account, "account");
  job.partition = settle(identity_.partition, asked_.partition, "partition");
  if (!job.partition) job.partition = config_.partition;
  if (identity_.user && !identity_.group && asked_.group_id) {
    // Slurm believes us who is in which group, so the group is as forgeable as the user.
    warn("annotation {} is not used: users of namespace {} are set by the administrator",
         annotation("group-id"), ns_);
    return;
  }
  job.group_id = settle(identity_.group, asked_.group_id, "group-id");
}

void Translator::add_queueing() {
  slurm::JobRequest& job = out_.request;
  const auto at = config_.priority_classes.find(gang_.priority_class);
  const SlurmPriority worth = at == config_.priority_classes.end() ? SlurmPriority() : at->second;
  job.qos = settle(identity_.qos, asked_.qos, "qos");
  if (!job.qos) job.qos = worth.qos;
  if (worth.priority) job.priority = *worth.priority;
  if (asked_.priority && identity_.user) {
    // In Slurm, too, users do not set the priority of their own jobs.
    warn("annotation {} is not used: users of namespace {} are set by the administrator",
         annotation("priority"), ns_);
  } else if (asked_.priority) {
    job.priority = *asked_.priority;
  }

  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  const std::int64_t deadline = gang_.active_deadline_seconds.value_or(0);
  if (asked_.timelimit_minutes) {
    const std::int32_t minutes = *asked_.timelimit_minutes;
    job.time_limit = minutes == 0 ? slurm::Number::infinite() : slurm::Number(minutes);
  } else if (deadline > 0) {
    job.time_limit = std::min((deadline - 1) / 60 + 1, kLongest);
  }
}

Result<void> Translator::add_nodes() {
  slurm::JobRequest& job = out_.request;
  const std::int32_t nodes = nodes_for(std::ssize(gang_.pods), out_.pods_per_node);
  const bool may_be_fewer = gang_.kind == GangKind::kCoscheduling;
  const std::int32_t fewest =
      may_be_fewer ? std::clamp(nodes_for(gang_.min_members, out_.pods_per_node), 1, nodes) : nodes;
  if (asked_.max_nodes && *asked_.max_nodes < nodes) {
    return fail(
        Code::kInvalid,
        fmt::format("annotation {} is {}, but {} pods at {} a node need {} nodes: raise it, "
                    "or let pods share nodes by {}",
                    annotation("max-nodes"), *asked_.max_nodes, gang_.pods.size(),
                    out_.pods_per_node, nodes, kTasksPerNodeAnnotation));
  }
  job.nodes = std::to_string(nodes);
  job.tasks_per_node = out_.pods_per_node;
  job.minimum_nodes = static_cast<std::int32_t>(
      at_least(fewest, asked_.min_nodes.value_or(fewest), "min-nodes", " nodes"));
  job.maximum_nodes = asked_.max_nodes.value_or(std::max(nodes, *job.minimum_nodes));
  if (*job.minimum_nodes > *job.maximum_nodes) {
    return fail(Code::kInvalid, fmt::format("annotation {} is {}, more than {} ({}): lower it",
                                            annotation("min-nodes"), *job.minimum_nodes,
                                            annotation("max-nodes"), *job.maximum_nodes));
  }
  return {};
}

Result<void> Translator::add_size() {
  slurm::JobRequest& job = out_.request;
  std::int64_t cpus = needs_.cpus;
  if (asked_.cpus_per_task) {
    cpus = at_least(needs_.requested_cpus, *asked_.cpus_per_task, "cpu-per-task", " CPUs");
  }
  if (cpus > kMostCpus) {
    return fail(Code::kInvalid,
                fmt::format("a pod asks for {} CPUs, Slurm gives a task at most {}: "
                            "ask for fewer",
                            cpus, kMostCpus));
  }
  if (cpus > 0) job.cpus_per_task = static_cast<std::int32_t>(cpus);

  // Of a node, so of all pods on it.
  const std::int64_t times = out_.pods_per_node;
  if (asked_.memory_per_node_mb == 0) {
    job.memory_per_node = 0;
  } else if (asked_.memory_per_node_mb) {
    job.memory_per_node = at_least(needs_.requested_memory_mb * times, *asked_.memory_per_node_mb,
                                   "mem-per-node", " MiB");
  } else if (needs_.memory_mb > 0) {
    job.memory_per_node = needs_.memory_mb * times;
  }
  if (asked_.gres) {
    job.tres_per_node = asked_.gres;
    return check_gpus(*asked_.gres, times);
  }
  MS_TRY(const std::string gres, to_gres(needs_.devices, times));
  if (!gres.empty()) job.tres_per_node = gres;
  return {};
}

// With fewer than the containers get, others would be promised the same.
Result<void> Translator::check_gpus(std::string_view gres, std::int64_t times) const {
  std::int64_t wanted = 0;
  for (const auto& [resource, count] : needs_.devices) wanted += count * times;
  if (wanted == 0) return {};
  std::int64_t reserved = 0;
  for (const std::string_view part : split(gres, ',')) {
    const bool whole = part.starts_with("gres/") || part.starts_with("gres:");
    const auto tres = slurm::Tres::parse((whole ? "" : "gres/") + std::string(part));
    if (tres) reserved += tres->gres("gpu");
  }
  if (reserved >= wanted) return {};
  return fail(Code::kInvalid,
              fmt::format("annotation {} is {}, which reserves {} GPUs of a node where the pods "
                          "ask for {}: raise it, or remove it",
                          annotation("gres"), quoted(gres), reserved, wanted));
}

}  // namespace

Result<Translation> translate(const Gang& gang, const BridgeConfig& config) {
  MS_CHECK(check_members(gang));
  MS_TRY(JobAnnotations asked, parse_annotations(gang.annotations));
  MS_TRY(PodNeeds needs, needs_of_each(gang));
  return Translator(gang, config, std::move(asked), std::move(needs)).run();
}

}  // namespace mainspring::bridge
