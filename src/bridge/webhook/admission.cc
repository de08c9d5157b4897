// bridge/webhook/admission.cc
#include "bridge/webhook/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/translate/annotations.h"

namespace mainspring::bridge {
namespace {

using json::Value;

constexpr std::string_view kDefaultScheduler = "default-scheduler";
// Of the API object by which a kubelet shows a pod of its own.
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::string_view kNodeUsers = "system:node:";

const Value* find(const Value* object, std::string_view key) {
  return object == nullptr ? nullptr : object->find(key);
}

const Value* metadata(const Value& pod, std::string_view map, std::string_view key) {
  return find(find(find(&pod, "metadata"), map), key);
}

std::string_view text(const Value* value) {
  return value == nullptr ? std::string_view() : value->as_string().value_or("");
}

bool has_items(const Value* list) { return list != nullptr && !list->empty(); }

bool same(const Value* a, const Value* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

void refuse(Findings& findings, std::string field, std::string message) {
  findings.problems.push_back({"FieldValueInvalid", std::move(message), std::move(field)});
}

// The names under which the bridge keeps what Slurm decided. Whoever could set them could put his
// pod on another's allocation, and have that job ended with it.
void check_names(Findings& findings, const Value* before, const Value& after) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"labels", kJobIdLabel}, {"annotations", kNodeAnnotation}};
  for (const auto& [map, key] : kNames) {
    const Value* const was = before == nullptr ? nullptr : metadata(*before, map, key);
    if (same(was, metadata(after, map, key))) continue;
    refuse(findings, fmt::format("metadata.{}[{}]", map, key),
           before == nullptr
               ? "is set by the bridge alone, when Slurm has a job for the pod. Remove it"
               : "is changed by the bridge alone. Leave it as it is; to have the pod placed anew, "
                 "delete it and create it again");
  }
}

// Every `resources` of a pod with the field it stands in.
template <class Fn>
void for_each_amounts(const Value& pod, Fn fn) {
  const Value* const spec = pod.find("spec");
  if (const Value* const whole = find(spec, "resources")) fn("spec.resources", *whole);
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value* const containers = find(spec, list);
    if (containers == nullptr) continue;
    std::size_t index = 0;
    for (const Value& container : *containers) {
      const std::string field = fmt::format("spec.{}[{}].resources", list, index++);
      if (const Value* const amounts = container.find("resources")) fn(field, *amounts);
    }
  }
}

// What a pod asks for that Slurm hears of in one way only.
struct Asked {
  bool native_cpu = false;
  std::string dra_cpu;    // The field that asks; "": none.
  std::string gpu_class;  // The class of GPUs; "": none.
  // Resources whose devices Slurm gives out as GPUs, and the field of the first that asks.
  std::map<std::string, std::string, std::less<>> gpus;
};

bool is_some(const Value& amount) {
  const auto text = amount.as_string();
  const auto number = amount.as_int();
  const auto quantity = text ? Quantity::parse(*text) : fail(Code::kInvalid, "");
  return text ? !quantity || !quantity->is_zero() : number.value_or(1) != 0;
}

// Only one container can be told which devices of a class it has.
void note_gpus(Findings& findings, Asked& asked, std::string_view resource,
               const std::string& field) {
  const bool first = asked.gpus.emplace(resource, field).second;
  if (first || !resource.starts_with(kDeviceClassPrefix)) return;
  refuse(findings, fmt::format("{}[{}]", field, resource),
         fmt::format("{} asks for devices of this class already. Let one container have all of "
                     "them",
                     asked.gpus.find(resource)->second));
}

// Slurm counts them as one thing: which of them it has given out nobody would know.
void check_one_kind(Findings& findings, const Asked& asked) {
  if (asked.gpus.size() < 2) return;
  const auto untyped = std::find_if(asked.gpus.begin(), asked.gpus.end(), [](const auto& one) {
    return !one.first.starts_with(kDeviceClassPrefix);
  });
  if (untyped == asked.gpus.end()) return;
  refuse(findings, fmt::format("{}[{}]", untyped->second, untyped->first),
         fmt::format("cannot be counted by Slurm together with other devices. Ask for one kind of "
                     "device, or say what to reserve by the annotation {}gres",
                     kJobPrefix));
}

Asked check_devices(Findings& findings, const Value& pod, const DeviceClasses& classes) {
  Asked asked;
  const auto look = [&](const std::string& field, std::string_view resource, const Value& amount) {
    if (resource == "cpu") asked.native_cpu = true;
    if ((resource == "nvidia.com/gpu" || resource == "amd.com/gpu") && is_some(amount)) {
      note_gpus(findings, asked, resource, field);
    }
    if (!resource.starts_with(kDeviceClassPrefix)) return;
    const std::string_view name = resource.substr(kDeviceClassPrefix.size());
    if (name == kCpuClass) {
      asked.dra_cpu = field;
    } else if (classes.contains(name)) {
      asked.gpu_class = name;
      if (is_some(amount)) note_gpus(findings, asked, resource, field);
    } else {
      std::vector<std::string_view> known{kCpuClass};
      for (const auto& [one, rule] : classes) known.push_back(one);
      refuse(findings, fmt::format("{}[{}]", field, resource),
             fmt::format("Slurm does not know devices of class {}. Those that it can give out are "
                         "{}",
                         quoted(name), fmt::join(known, ", ")));
    }
  };
  for_each_amounts(pod, [&](const std::string& field, const Value& amounts) {
    const Value* const limits = amounts.find("limits");
    const Value* const requests = amounts.find("requests");
    if (limits != nullptr) {
      for (const auto [name, amount] : limits->members()) look(field + ".limits", name, amount);
    }
    if (requests == nullptr) return;
    for (const auto [name, amount] : requests->members()) {
      if (find(limits, name) == nullptr) look(field + ".requests", name, amount);
    }
  });
  if (!asked.dra_cpu.empty() && asked.native_cpu) {
    refuse(findings, asked.dra_cpu,
           fmt::format("the pod asks for CPUs both as cpu and as devices ({}{}). Ask in one of the "
                       "two ways, in all containers; a LimitRange of the namespace may have added "
                       "cpu",
                       kDeviceClassPrefix, kCpuClass));
  }
  return asked;
}

void check_spread(Findings& findings, const Value* spec) {
  const Value* const constraints = find(spec, "topologySpreadConstraints");
  if (constraints == nullptr) return;
  std::size_t index = 0;
  for (const Value& constraint : *constraints) {
    const std::string field = fmt::format("spec.topologySpreadConstraints[{}]", index++);
    if (text(constraint.find("whenUnsatisfiable")) == "ScheduleAnyway") {
      findings.warnings.push_back(field + ": not looked at, Slurm spreads pods by its own rules");
      continue;
    }
    refuse(findings, field,
           fmt::format("Slurm does not spread pods by their labels. Remove it, or make it "
                       "whenUnsatisfiable: ScheduleAnyway; {}exclusive: \"true\" gives every pod a "
                       "node of its own",
                       kJobPrefix));
  }
}

void check_affinity(Findings& findings, const Value* spec) {
  const Value* const affinity = find(spec, "affinity");
  const std::pair<std::string_view, std::string> kinds[] = {
      {"podAffinity", "Make the pods one gang (a PodGroup), or use nodeSelector or nodeAffinity"},
      {"podAntiAffinity",
       fmt::format("Annotate the workload with {}exclusive: \"true\", which gives "
                   "every pod a node of its own, or use nodeSelector or "
                   "nodeAffinity",
                   kJobPrefix)}};
  for (const auto& [kind, instead] : kinds) {
    const Value* const rules = find(affinity, kind);
    const std::string field = fmt::format("spec.affinity.{}", kind);
    if (has_items(find(rules, "requiredDuringSchedulingIgnoredDuringExecution"))) {
      refuse(findings, field + ".requiredDuringSchedulingIgnoredDuringExecution",
             "Slurm does not place pods by the labels of others. " + instead);
    }
    if (has_items(find(rules, "preferredDuringSchedulingIgnoredDuringExecution"))) {
      findings.warnings.push_back(
          field + ".preferredDuringSchedulingIgnoredDuringExecution: not looked at");
    }
  }
}

bool has_controller(const Value& pod) {
  const Value* const owners = find(find(&pod, "metadata"), "ownerReferences");
  return owners != nullptr && std::any_of(owners->begin(), owners->end(), [](const Value& owner) {
           const Value* const controller = owner.find("controller");
           return controller != nullptr && controller->as_bool().value_or(false);
         });
}

Annotations annotations_of(const Value& pod) {
  Annotations annotations;
  const Value* const all = find(find(&pod, "metadata"), "annotations");
  if (all == nullptr) return annotations;
  for (const auto [key, value] : all->members()) annotations.emplace(key, text(&value));
  return annotations;
}

void warn_of_identity(Findings& findings, std::string_view ns, const JobAnnotations& job,
                      const Identity& identity) {
  const auto warn = [&](std::string_view name, const auto& wanted, const auto& given) {
    if (!wanted || !given || *wanted == *given) return;
    findings.warnings.push_back(
        fmt::format("annotation {}{}: not followed; for namespace {} it is always {}", kJobPrefix,
                    name, ns, *given));
  };
  warn("user-id", job.user_id, identity.user);
  warn("group-id", job.group_id, identity.group);
  warn("account", job.account, identity.account);
  warn("qos", job.qos, identity.qos);
  warn("partition", job.partition, identity.partition);
}

void check_gang(Findings& findings, const Value& pod) {
  const Value* const gang = metadata(pod, "annotations", kGangAnnotation);
  if (gang == nullptr || text(gang) == "Job" || text(gang) == "JobSet") return;
  refuse(findings, fmt::format("metadata.annotations[{}]", kGangAnnotation),
         fmt::format("is {}: expected Job or JobSet, whose pods then start together",
                     quoted(text(gang))));
}

void check_annotations(Findings& findings, const Value& pod, const Asked& asked,
                       std::string_view ns, const BridgeConfig& config) {
  // Of an owned pod the owner says what to reserve.
  if (has_controller(pod)) return;
  const auto job = parse_annotations(annotations_of(pod));
  if (!job) return refuse(findings, "metadata.annotations", job.error().to_string());
  const auto conflict = [&](std::string_view name, std::string_view with) {
    refuse(findings, fmt::format("metadata.annotations[{}{}]", kJobPrefix, name),
           fmt::format("says again what the pod asks for by {}{}. Remove one of the two",
                       kDeviceClassPrefix, with));
  };
  if (job->cpus_per_task && !asked.dra_cpu.empty()) conflict("cpu-per-task", kCpuClass);
  if (job->gres && !asked.gpu_class.empty()) conflict("gres", asked.gpu_class);
  if (!job->gres) check_one_kind(findings, asked);
  for (const std::string& name : job->early) {
    findings.warnings.push_back(fmt::format("annotation {}: since slurm-bridge 1.0 it is {}{}",
                                            name, kJobPrefix, name.substr(kEarlyJobPrefix.size())));
  }
  warn_of_identity(findings, ns, *job, config.identity_of(ns));
}

bool same_amounts(const Value& before, const Value& after) {
  std::vector<const Value*> was;
  std::vector<const Value*> is;
  for_each_amounts(before, [&](const auto&, const Value& amounts) { was.push_back(&amounts); });
  for_each_amounts(after, [&](const auto&, const Value& amounts) { is.push_back(&amounts); });
  return std::equal(was.begin(), was.end(), is.begin(), is.end(),
                    [](const Value* a, const Value* b) { return *a == *b; });
}

}  // namespace

PodClaim claim_of(const Value& pod, const BridgeConfig& config) {
  const std::string_view name = text(find(pod.find("spec"), "schedulerName"));
  if (name == config.scheduler_name) return PodClaim::kOurs;
  return name.empty() || name == kDefaultScheduler ? PodClaim::kOpen : PodClaim::kOther;
}

bool is_static(const Value& pod, std::string_view user) {
  return user.starts_with(kNodeUsers) && metadata(pod, "annotations", kMirrorAnnotation) != nullptr;
}

Value taken_over(Value pod, const BridgeConfig& config) {
  Value& spec = pod["spec"];
  spec.set("schedulerName", config.scheduler_name);
  spec.erase("nodeName");
  Value toleration = Value::object({{"key", kManagedTaint},
                                    {"operator", "Equal"},
                                    {"value", config.scheduler_name},
                                    {"effect", "NoExecute"}});
  Value& tolerations = spec["tolerations"];
  if (std::find(tolerations.begin(), tolerations.end(), toleration) == tolerations.end()) {
    tolerations.push_back(std::move(toleration));
  }
  return pod;
}

Findings validate_new(const Value& pod, std::string_view ns, const BridgeConfig& config) {
  Findings findings;
  const Value* const spec = pod.find("spec");
  check_names(findings, nullptr, pod);
  if (has_items(find(spec, "resourceClaims"))) {
    refuse(
        findings, "spec.resourceClaims",
        fmt::format("devices are claimed for the pod when Slurm has chosen them. Ask for them in "
                    "the limits of a container instead, as in {}gpu.nvidia.com: 1",
                    kDeviceClassPrefix));
  }
  check_spread(findings, spec);
  check_affinity(findings, spec);
  check_gang(findings, pod);
  const Asked asked = check_devices(findings, pod, config.device_classes);
  check_annotations(findings, pod, asked, ns, config);
  return findings;
}

Findings validate_change(const Value& before, const Value& after, std::string_view ns,
                         const BridgeConfig& config) {
  Findings findings;
  check_names(findings, &before, after);
  if (!same_amounts(before, after)) {
    refuse(findings, "spec",
           "what Slurm has given the pod cannot be resized. Delete it and create it with other "
           "amounts");
  }
  if (annotations_of(before) != annotations_of(after)) {
    Findings others;  // Of a pod that is there.
    if (!same(metadata(before, "annotations", kGangAnnotation),
              metadata(after, "annotations", kGangAnnotation))) {
      check_gang(findings, after);
    }
    Asked asked = check_devices(others, after, config.device_classes);
    asked.gpus.clear();
    check_annotations(findings, after, asked, ns, config);
  }
  return findings;
}

}  // namespace mainspring::bridge
