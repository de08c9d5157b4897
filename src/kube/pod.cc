#include "kube/pod.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace mainspring::kube {

bool read(json::Reader& reader, Protocol& out) {
  return read_word<Protocol>(
      reader, out, {{"TCP", Protocol::kTcp}, {"UDP", Protocol::kUdp}, {"SCTP", Protocol::kSctp}});
}

bool read(json::Reader& reader, RestartPolicy& out) {
  return read_word<RestartPolicy>(reader, out,
                                  {{"Always", RestartPolicy::kAlways},
                                   {"OnFailure", RestartPolicy::kOnFailure},
                                   {"Never", RestartPolicy::kNever}});
}

bool read(json::Reader& reader, PodPhase& out) {
  return read_word<PodPhase>(reader, out,
                             {{"Pending", PodPhase::kPending},
                              {"Running", PodPhase::kRunning},
                              {"Succeeded", PodPhase::kSucceeded},
                              {"Failed", PodPhase::kFailed},
                              {"Unknown", PodPhase::kUnknown}});
}

std::string Volume::claim_name(std::string_view pod_name) const {
  if (kind == Kind::kClaim) return source.str();
  if (kind == Kind::kEphemeralClaim) return std::string(pod_name) + "-" + name.str();
  return {};
}

bool PodSpec::selects(const Meta& node) const {
  return matches_node_selector(node_selector, node) && (!affinity || affinity->node.allows(node));
}

namespace {

// Where in a volume the name of its object stands, by the kind of volume.
struct Source {
  std::string_view member;
  Volume::Kind kind;
  std::string_view name;
};
constexpr Source kSources[] = {
    {"persistentVolumeClaim", Volume::Kind::kClaim, "claimName"},
    {"ephemeral", Volume::Kind::kEphemeralClaim, ""},
    {"configMap", Volume::Kind::kConfigMap, "name"},
    {"secret", Volume::Kind::kSecret, "secretName"},
};

void read_source(json::Reader& reader, const Source& source, Volume& out) {
  if (reader.kind() != json::Reader::Kind::kObject) return;
  out.kind = source.kind;
  reader.object([&](std::string_view key) {
    if (key == source.name) read(reader, out.source);
    if (key == "optional") reader.read(out.optional);
  });
}

void read_projected(json::Reader& reader, std::vector<Volume>& out) {
  reader.object([&](std::string_view key) {
    if (key != "sources") return;
    reader.array([&] {
      reader.object([&](std::string_view member) {
        const bool config = member == "configMap";
        if (!config && member != "secret") return;
        read_source(reader,
                    {member, config ? Volume::Kind::kConfigMap : Volume::Kind::kSecret, "name"},
                    out.emplace_back());
      });
    });
  });
}

// The API server puts the service account's token into every pod, under a name of its own each.
constexpr std::string_view kTokenVolume = "kube-api-access-";

void read_volume(json::Reader& reader, std::vector<Volume>& out) {
  Volume volume;
  std::vector<Volume> projected;
  reader.object([&](std::string_view key) {
    if (key == "name") {
      read(reader, volume.name);
    } else if (key == "projected") {
      read_projected(reader, projected);
    } else {
      for (const Source& source : kSources) {
        if (key == source.member) read_source(reader, source, volume);
      }
    }
  });
  if (volume.name.view().starts_with(kTokenVolume)) return;
  for (Volume& part : projected) {
    part.name = volume.name;
    out.push_back(std::move(part));
  }
  if (projected.empty()) out.push_back(std::move(volume));
}

void read_volumes(json::Reader& reader, PodSpec& out) {
  std::vector<Volume> volumes;
  if (reader.array([&] { read_volume(reader, volumes); })) out.volumes = std::move(volumes);
}

void read_gates(json::Reader& reader, PodSpec& out) {
  std::vector<Text> gates;
  reader.array([&] {
    reader.object([&](std::string_view key) {
      if (key == "name") read(reader, gates.emplace_back());
    });
  });
  out.scheduling_gates = std::move(gates);
}

void read_preemption(json::Reader& reader, PodSpec& out) {
  std::string_view policy;
  if (reader.read(policy)) out.preempts = policy != "Never";
}

void read_scheduling_group(json::Reader& reader, PodSpec& out) {
  SchedulingGroup group = out.group ? *out.group : SchedulingGroup();
  const bool whole = reader.object([&](std::string_view key) {
    if (key == "podGroupName") read(reader, group.pod_group);
  });
  if (whole) out.group = std::move(group);
}

void read_workload_ref(json::Reader& reader, PodSpec& out) {
  SchedulingGroup group = out.group ? *out.group : SchedulingGroup();
  const bool whole = reader.object([&](std::string_view key) {
    if (key == "name") read(reader, group.workload);
    if (key == "podGroup") read(reader, group.workload_pod_group);
    if (key == "podGroupReplicaKey") read(reader, group.replica_key);
  });
  if (whole) out.group = std::move(group);
}

void read_topology_spread(json::Reader& reader, PodSpec& out) {
  reader.array([&] { out.has_topology_spread = true; });
}

// A spec as the API has it.
struct WholeSpec : PodSpec {
  Text node_name;
  Text hostname;
};

constexpr auto kSpecFields = json::fields(
    json::field("nodeName", &WholeSpec::node_name),
    json::field("schedulerName", &PodSpec::scheduler_name),
    json::field("serviceAccountName", &PodSpec::service_account),
    json::field("priorityClassName", &PodSpec::priority_class),
    json::field("hostname", &WholeSpec::hostname), json::field("subdomain", &PodSpec::subdomain),
    json::field("nodeSelector", &PodSpec::node_selector),
    json::field("affinity", &PodSpec::affinity), json::field("resources", &PodSpec::resources),
    json::field("overhead", &PodSpec::overhead),
    json::field("schedulingGroup", &read_scheduling_group),
    json::field("workloadRef", &read_workload_ref),
    json::field("tolerations", &PodSpec::tolerations),
    json::field("containers", &PodSpec::containers),
    json::field("initContainers", &PodSpec::init_containers), json::field("volumes", &read_volumes),
    json::field("resourceClaims", &PodSpec::resource_claims),
    json::field("schedulingGates", &read_gates),
    json::field("terminationGracePeriodSeconds", &PodSpec::grace_seconds),
    json::field("activeDeadlineSeconds", &PodSpec::active_deadline_seconds),
    json::field("priority", &PodSpec::priority),
    json::field("restartPolicy", &PodSpec::restart_policy),
    json::field("preemptionPolicy", &read_preemption),
    json::field("topologySpreadConstraints", &read_topology_spread),
    json::field("hostNetwork", &PodSpec::host_network));

bool read_whole(json::Reader& reader, WholeSpec& out) {
  const bool whole = json::read_fields<kSpecFields>(reader, out);
  share_equal(out.containers);
  share_equal(out.init_containers);
  share_equal(out.tolerations);
  share_equal(out.volumes);
  share_equal(out.node_selector);
  return whole;
}

}  // namespace

bool read(json::Reader& reader, PodSpec& out) {
  WholeSpec spec;
  const bool whole = read_whole(reader, spec);
  out = std::move(spec);
  return whole;
}

namespace detail {

void read_pod_spec(json::Reader& reader, Pod& out) {
  WholeSpec spec;
  read_whole(reader, spec);
  out.node_name = std::move(spec.node_name);
  out.hostname = std::move(spec.hostname);
  out.spec = shared_equal<Shared<PodSpec>>(static_cast<PodSpec&&>(spec));
}

void read_container_restart(json::Reader& reader, Container& out) {
  std::string_view policy;
  if (reader.read(policy)) out.sidecar = policy == "Always";
}

void read_container_state(json::Reader& reader, ContainerStatus& out) {
  static constexpr auto kInside =
      json::fields(json::field("reason", &ContainerStatus::reason),
                   json::field("message", &ContainerStatus::message),
                   json::field("exitCode", &ContainerStatus::exit_code),
                   time_field<&ContainerStatus::finished>("finishedAt"));
  reader.object([&](std::string_view state) {
    if (reader.kind() != json::Reader::Kind::kObject) return;
    out.state = state == "waiting"      ? ContainerState::kWaiting
                : state == "running"    ? ContainerState::kRunning
                : state == "terminated" ? ContainerState::kTerminated
                                        : out.state;
    json::read_fields<kInside>(reader, out);
  });
}

void read_container_id(json::Reader& reader, ContainerStatus& out) {
  std::string_view id;
  if (reader.read(id)) out.has_id = !id.empty();
}

void read_pod_ips(json::Reader& reader, PodStatus& out) {
  std::size_t index = 0;
  reader.array([&] {
    reader.object([&](std::string_view key) {
      if (key == "ip" && index == 1) read(reader, out.second_pod_ip);
    });
    ++index;
  });
}

}  // namespace detail

}  // namespace mainspring::kube
