// One pod of a NodeSet: its identity stamped on the template, and its claims.
#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "base/text.h"
#include "control/owners.h"
#include "operator/build/worker.h"
#include "operator/nodeset/topology.h"

namespace mainspring::op::build {
namespace {

using json::Value;

constexpr std::size_t kLongestLabel = 63;

std::string padded(const api::NodeSet& nodeset, std::uint32_t ordinal) {
  // Wider than a host name can be is refused by the API server; it must not cost memory first.
  const std::size_t width = std::min<std::size_t>(nodeset.spec.ordinal_padding, kLongestLabel);
  return fmt::format("{:0{}}", ordinal, width);
}

std::string_view name_of(const Value& object) {
  const Value* name = object.at_pointer("/metadata/name");
  return name == nullptr ? std::string_view() : name->as_string().value_or("");
}

std::string claim_name(const api::NodeSet& nodeset, const Value& claim,
                       const WorkerIdentity& identity) {
  const std::string which =
      identity.ordinal ? padded(nodeset, *identity.ordinal) : worker_hostname(nodeset, identity);
  return fmt::format("{}-{}-{}", name_of(claim), nodeset.meta.name, which);
}

// metadata.name is matched even where a node's hostname label is another. The user's own required
// terms have been judged when the node was chosen.
void bind_to(Value& spec, const kube::Node& node) {
  Value field = Value::object({{"key", "metadata.name"}, {"operator", "In"}});
  field["values"].push_back(node.meta.name);
  Value term = Value::object();
  term["matchFields"].push_back(std::move(field));
  Value required = Value::object();
  required["nodeSelectorTerms"].push_back(std::move(term));
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
      std::move(required);
}

void add_claims(Value& spec, const api::NodeSet& nodeset, const WorkerIdentity& identity) {
  for (const Value& claim : nodeset.spec.volume_claim_templates) {
    Value& volumes = spec["volumes"];
    const std::string_view name = name_of(claim);
    // A claim takes the place of a volume of the same name.
    for (std::size_t i = volumes.size(); i-- > 0;) {
      const Value* taken = volumes.at(i).find("name");
      if (taken != nullptr && taken->as_string() == name) volumes.erase_at(i);
    }
    Value volume = Value::object({{"name", name}});
    volume["persistentVolumeClaim"]["claimName"] = claim_name(nodeset, claim, identity);
    volumes.push_back(std::move(volume));
  }
}

std::string_view hostname_said_by(const kube::Node& node) {
  return node.meta.annotations.find(api::annotation::kHostnameOverride).value_or("");
}

// The name in Slurm where it is known already. With the host's network and no node chosen it is
// not.
std::string slurm_name(const api::NodeSet& nodeset, const Value& spec,
                       const WorkerIdentity& identity) {
  const Value* host_network = spec.find("hostNetwork");
  const bool on_host = host_network != nullptr && host_network->as_bool().value_or(false);
  if (!on_host || !identity.ordinal) return worker_hostname(nodeset, identity);
  return identity.node != nullptr ? identity.node->meta.name : std::string();
}

void add_identity_labels(Value& labels, const api::NodeSet& nodeset, const Value& spec,
                         const WorkerIdentity& identity) {
  if (identity.ordinal) {
    labels.set(api::label::kPodName, worker_pod_name(nodeset, *identity.ordinal));
    labels.set(api::label::kPodIndex, padded(nodeset, *identity.ordinal));
  }
  const std::string name = slurm_name(nodeset, spec, identity);
  // The name of a Kubernetes node may be longer than the value of a label.
  if (!name.empty() && name.size() <= kLongestLabel) labels.set(api::label::kPodHostname, name);
  labels.set(api::label::kScalingMode,
             api::to_string(identity.ordinal ? api::ScalingMode::kStatefulSet
                                             : api::ScalingMode::kDaemonSet));
}

}  // namespace

std::string worker_pod_name(const api::NodeSet& nodeset, std::uint32_t ordinal) {
  return fmt::format("{}-{}", nodeset.meta.name, padded(nodeset, ordinal));
}

std::string worker_hostname(const api::NodeSet& nodeset, const WorkerIdentity& identity) {
  if (identity.ordinal) {
    const std::string_view prefix = nodeset.hostname_prefix();
    return prefix.empty() ? worker_pod_name(nodeset, *identity.ordinal)
                          : fmt::format("{}{}", prefix, padded(nodeset, *identity.ordinal));
  }
  // It becomes spec.hostname, for which the API server takes a label and nothing else: a worker of
  // any other name could never be made.
  const std::string_view wish = hostname_said_by(*identity.node);
  if (is_dns1123_label(wish)) return std::string(wish);
  const std::string& node = identity.node->meta.name;
  return node.substr(0, node.find('.'));
}

std::string refused_hostname(const kube::Node& node) {
  const std::string_view said = hostname_said_by(node);
  return said.empty() || is_dns1123_label(said) ? std::string() : quoted(said);
}

Value worker_pod(const api::NodeSet& nodeset, const Value& pod_template,
                 const WorkerIdentity& identity, std::string_view revision_hash) {
  Value pod = pod_template;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Value& spec = pod["spec"];
  spec["hostname"] = worker_hostname(nodeset, identity);
  if (identity.node != nullptr) bind_to(spec, *identity.node);
  add_claims(spec, nodeset, identity);

  Value& meta = pod["metadata"];
  if (identity.ordinal) {
    meta["name"] = worker_pod_name(nodeset, *identity.ordinal);
  } else {
    meta["generateName"] = nodeset.meta.name + "-";
  }
  meta["namespace"] = nodeset.meta.ns;
  meta["ownerReferences"] = Value::array(
      {control::to_json(control::controller_ref(api::NodeSet::kResource, nodeset.meta))});
  Value& labels = meta["labels"];
  add_identity_labels(labels, nodeset, spec, identity);
  labels.set(api::label::kRevision, revision_hash);
  if (identity.node != nullptr) {
    const std::string_view topology = topology_of(*identity.node);
    if (!topology.empty()) meta["annotations"].set(api::annotation::kTopology, topology);
  }
  return pod;
}

Value worker_claim(const api::NodeSet& nodeset, const Value& wish, std::string_view name) {
  Value claim = Value::object({{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}});
  Value meta = Value::object();
  for (const std::string_view field : {"labels", "annotations"}) {
    const Value* value = wish.at_pointer(fmt::format("/metadata/{}", field));
    if (value != nullptr && !value->is_null()) meta.set(field, *value);
  }
  meta["name"] = name;
  meta["namespace"] = nodeset.meta.ns;
  const Value selector = api::selector_labels(api::app::kWorker, nodeset.meta.name);
  for (const auto [key, value] : selector.members()) meta["labels"].set(key, value);
  if (nodeset.spec.delete_claims_when_deleted) {
    meta["ownerReferences"] = Value::array(
        {control::to_json(control::controller_ref(api::NodeSet::kResource, nodeset.meta))});
  }
  claim["metadata"] = std::move(meta);
  if (const Value* spec = wish.find("spec")) claim["spec"] = *spec;
  return claim;
}

std::vector<Value> worker_claims(const api::NodeSet& nodeset, const WorkerIdentity& identity) {
  std::vector<Value> out;
  out.reserve(nodeset.spec.volume_claim_templates.size());
  for (const Value& wish : nodeset.spec.volume_claim_templates) {
    out.push_back(worker_claim(nodeset, wish, claim_name(nodeset, wish, identity)));
  }
  return out;
}

}  // namespace mainspring::op::build
