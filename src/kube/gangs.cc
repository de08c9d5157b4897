#include "kube/gangs.h"

#include <utility>
#include <vector>

namespace mainspring::kube {

namespace {

using Kind = json::Reader::Kind;

void read_scheduling_policy(json::Reader& reader, GroupPolicy& out) {
  reader.object([&](std::string_view policy) {
    if (policy != "gang" || reader.kind() != Kind::kObject) return;
    out.gang = true;
    reader.object([&](std::string_view key) {
      if (key == "minCount") reader.read(out.min_count);
    });
  });
}

void read_topology(json::Reader& reader, GroupPolicy& out) {
  std::vector<Text> keys;
  reader.object([&](std::string_view member) {
    if (member != "topology") return;
    reader.array([&] {
      reader.object([&](std::string_view key) {
        if (key == "key") read(reader, keys.emplace_back());
      });
    });
  });
  out.topology_keys = std::move(keys);
}

// "PodGroup" in v1alpha2, {"all": {}} since.
void read_disruption_mode(json::Reader& reader, GroupPolicy& out) {
  if (reader.kind() == Kind::kString) {
    std::string_view mode;
    if (reader.read(mode)) out.disrupted_together = mode == "PodGroup";
    return;
  }
  reader.object([&](std::string_view mode) {
    if (reader.kind() == Kind::kObject) out.disrupted_together = mode == "all";
  });
}

void read_preemption_policy(json::Reader& reader, GroupPolicy& out) {
  std::string_view policy;
  if (reader.read(policy)) out.preempts = policy != "Never";
}

// Members that stand beside others in a group's spec. True if the key was one of them.
bool read_policy_member(json::Reader& reader, std::string_view key, GroupPolicy& out) {
  if (key == "schedulingPolicy" || key == "policy") {
    read_scheduling_policy(reader, out);
  } else if (key == "schedulingConstraints") {
    read_topology(reader, out);
  } else if (key == "disruptionMode") {
    read_disruption_mode(reader, out);
  } else if (key == "priorityClassName") {
    read(reader, out.priority_class);
  } else if (key == "priority") {
    read(reader, out.priority);
  } else if (key == "preemptionPolicy") {
    read_preemption_policy(reader, out);
  } else {
    return false;
  }
  return true;
}

// v1alpha2 has podGroupTemplateRef, with the names one level further down.
void read_workload_ref(json::Reader& reader, PodGroup& out) {
  reader.object([&](std::string_view key) {
    if (key == "workload") {
      read_workload_ref(reader, out);
    } else if (key == "workloadName") {
      read(reader, out.workload);
    } else if (key == "templateName" || key == "podGroupTemplateName") {
      read(reader, out.workload_template);
    }
  });
}

void read_pod_group_spec(json::Reader& reader, PodGroup& out) {
  reader.object([&](std::string_view key) {
    if (key == "workloadRef" || key == "podGroupTemplateRef") {
      read_workload_ref(reader, out);
    } else if (key == "parentCompositePodGroupName") {
      read(reader, out.parent);
    } else if (key == "resourceClaims") {
      read(reader, out.resource_claims);
    } else {
      read_policy_member(reader, key, out.policy);
    }
  });
}

}  // namespace

bool read(json::Reader& reader, PodGroup& out) {
  static constexpr auto kFields = json::fields(
      json::field("metadata", &PodGroup::meta), json::field("spec", &read_pod_group_spec),
      json::group("status", json::field("conditions", &PodGroup::conditions)));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, WorkloadGroup& out) {
  return reader.object([&](std::string_view key) {
    if (key == "name") {
      read(reader, out.name);
    } else {
      read_policy_member(reader, key, out.policy);
    }
  });
}

bool read(json::Reader& reader, Workload& out) {
  static constexpr auto kFields = json::fields(
      json::field("metadata", &Workload::meta),
      json::group("spec",
                  json::group("controllerRef", json::field("apiGroup", &Workload::controller_group),
                              json::field("kind", &Workload::controller_kind),
                              json::field("name", &Workload::controller_name)),
                  json::field("podGroups", &Workload::groups),
                  json::field("podGroupTemplates", &Workload::groups),
                  non_empty_field<&Workload::has_composites>("compositePodGroupTemplates")));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, CoschedulingPodGroup::Phase& out) {
  using Phase = CoschedulingPodGroup::Phase;
  return read_word<Phase>(reader, out,
                          {{"Pending", Phase::kPending},
                           {"Scheduling", Phase::kScheduling},
                           {"Running", Phase::kRunning},
                           {"Unknown", Phase::kUnknown},
                           {"Finished", Phase::kFinished},
                           {"Failed", Phase::kFailed}});
}

}  // namespace mainspring::kube
