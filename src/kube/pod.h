// kube/pod.h
//
// Pod, as operator and bridge read it. Kept by the hundred thousand, so it is built of
// kube/compact.h's parts: about 1 KB for a usual pod. A value; immutable in stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/conditions.h"
#include "kube/container.h"
#include "kube/node_affinity.h"
#include "kube/resource.h"
#include "kube/taints.h"

namespace mainspring::kube {

struct Affinity {
  NodeAffinity node;
  // That there are such rules; what they say is the scheduler's business.
  bool has_pod_affinity = false;
  bool has_pod_anti_affinity = false;

  bool operator==(const Affinity&) const = default;
};

constexpr auto json_fields(json::Tag<Affinity>) {
  return json::fields(json::field("nodeAffinity", &Affinity::node),
                      non_empty_field<&Affinity::has_pod_affinity>("podAffinity"),
                      non_empty_field<&Affinity::has_pod_anti_affinity>("podAntiAffinity"));
}

// A volume and the object behind it. A projected volume is one entry for each ConfigMap and Secret
// that it reads; one that reads neither is kOther.
struct Volume {
  enum class Kind : std::uint8_t { kOther, kClaim, kEphemeralClaim, kConfigMap, kSecret };

  Text name;
  Text source;  // Of a claim, ConfigMap or Secret; empty for the others.
  Kind kind = Kind::kOther;
  bool optional = false;  // The pod starts without its ConfigMap or Secret.

  // The PersistentVolumeClaim behind it, also of an ephemeral one; empty where it is not a claim.
  std::string claim_name(std::string_view pod_name) const;
  bool operator==(const Volume&) const = default;
};

struct PodResourceClaim {
  Text name;
  Text claim;  // One of the two.
  Text claim_template;

  bool operator==(const PodResourceClaim&) const = default;
};

constexpr auto json_fields(json::Tag<PodResourceClaim>) {
  return json::fields(json::field("name", &PodResourceClaim::name),
                      json::field("resourceClaimName", &PodResourceClaim::claim),
                      json::field("resourceClaimTemplateName", &PodResourceClaim::claim_template));
}

// Which gang a pod belongs to, by either of the API's two ways.
struct SchedulingGroup {
  Text pod_group;  // schedulingGroup.podGroupName
  Text workload;   // workloadRef, of Kubernetes 1.35
  Text workload_pod_group;
  Text replica_key;

  bool operator==(const SchedulingGroup&) const = default;
};

enum class RestartPolicy : std::uint8_t { kAlways, kOnFailure, kNever };
bool read(json::Reader& reader, RestartPolicy& out);

// What pods of one template have in common; what each has for itself is in Pod.
struct PodSpec {
  Text scheduler_name;
  Text service_account;
  Text priority_class;
  Text subdomain;
  json::StringMap node_selector;
  Rare<Affinity> affinity;
  Rare<Amounts> resources;  // Of the whole pod.
  Rare<Quantities> overhead;
  Rare<SchedulingGroup> group;
  Seq<Toleration> tolerations;
  Seq<Container> containers;
  Seq<Container> init_containers;
  Seq<Volume> volumes;
  Seq<PodResourceClaim> resource_claims;
  Seq<Text> scheduling_gates;
  std::int64_t grace_seconds = 30;
  std::int64_t active_deadline_seconds = 0;  // 0: none.
  std::optional<std::int32_t> priority;
  RestartPolicy restart_policy = RestartPolicy::kAlways;
  bool preempts = true;
  bool host_network = false;
  bool has_topology_spread = false;

  // nodeSelector and required node affinity; taints, ports and resources are asked elsewhere.
  bool selects(const Meta& node) const;
  bool operator==(const PodSpec&) const = default;
};

bool read(json::Reader& reader, PodSpec& out);

// As Jobs, JobSets and LeaderWorkerSets carry it.
struct PodTemplate {
  json::StringMap labels;
  json::StringMap annotations;
  PodSpec spec;

  bool operator==(const PodTemplate&) const = default;
};

constexpr auto json_fields(json::Tag<PodTemplate>) {
  return json::fields(json::group("metadata", json::field("labels", &PodTemplate::labels),
                                  json::field("annotations", &PodTemplate::annotations)),
                      json::field("spec", &PodTemplate::spec));
}

enum class PodPhase : std::uint8_t { kNone, kPending, kRunning, kSucceeded, kFailed, kUnknown };
bool read(json::Reader& reader, PodPhase& out);

// The claim that was made for an entry of spec.resourceClaims.
struct PodClaimStatus {
  Text name;
  Text claim;

  bool operator==(const PodClaimStatus&) const = default;
};

constexpr auto json_fields(json::Tag<PodClaimStatus>) {
  return json::fields(json::field("name", &PodClaimStatus::name),
                      json::field("resourceClaimName", &PodClaimStatus::claim));
}

struct PodStatus {
  Text reason;
  Text message;
  Text pod_ip;
  Text second_pod_ip;  // Of the other address family.
  Text host_ip;
  Text nominated_node;
  Text extended_resource_claim;  // The claim made for extended resources.
  Conditions conditions;
  Seq<ContainerStatus> containers;
  Seq<ContainerStatus> init_containers;
  Seq<PodClaimStatus> resource_claims;
  std::optional<WallTime> started;
  std::int64_t observed_generation = 0;
  PodPhase phase = PodPhase::kNone;

  bool operator==(const PodStatus&) const = default;
};

namespace detail {
void read_pod_ips(json::Reader& reader, PodStatus& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<PodStatus>) {
  return json::fields(
      json::field("phase", &PodStatus::phase), json::field("reason", &PodStatus::reason),
      json::field("message", &PodStatus::message), json::field("podIP", &PodStatus::pod_ip),
      json::field("podIPs", &detail::read_pod_ips), json::field("hostIP", &PodStatus::host_ip),
      json::field("nominatedNodeName", &PodStatus::nominated_node),
      json::group("extendedResourceClaimStatus",
                  json::field("resourceClaimName", &PodStatus::extended_resource_claim)),
      json::field("conditions", &PodStatus::conditions),
      json::field("containerStatuses", &PodStatus::containers),
      json::field("initContainerStatuses", &PodStatus::init_containers),
      json::field("resourceClaimStatuses", &PodStatus::resource_claims),
      time_field<&PodStatus::started>("startTime"),
      json::field("observedGeneration", &PodStatus::observed_generation));
}

struct Pod {
  inline static const Resource kResource{"", "v1", "pods", "Pod", true};

  Meta meta;
  Text node_name;  // spec.nodeName
  Text hostname;   // spec.hostname
  Shared<PodSpec> spec;
  PodStatus status;

  // Its containers have ended for good: Succeeded or Failed.
  bool terminal() const {
    return status.phase == PodPhase::kSucceeded || status.phase == PodPhase::kFailed;
  }
  bool ready() const { return is_true(status.conditions, "Ready"); }
  void share_with(const Pod& earlier) {
    meta.share_with(earlier.meta);
    share_equal(spec, earlier.spec);
  }

  bool operator==(const Pod&) const = default;
};

namespace detail {
void read_pod_spec(json::Reader& reader, Pod& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<Pod>) {
  return json::fields(json::field("metadata", &Pod::meta),
                      json::field("spec", &detail::read_pod_spec),
                      json::field("status", &Pod::status));
}

}  // namespace mainspring::kube
