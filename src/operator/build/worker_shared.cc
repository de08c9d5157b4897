// What all NodeSets of a Controller share, and the sshd configuration of one.
#include <algorithm>
#include <limits>

#include "api/names.h"
#include "control/owners.h"
#include "operator/build/metadata.h"
#include "operator/build/worker.h"

namespace mainspring::op::build {
namespace {

using json::Value;

// The last NodeSet to go takes a shared object with it. None of them controls it, so none fights
// for it. By name, so that the order of a listing makes no change.
Value owners_of(NodeSets nodesets) {
  std::sort(nodesets.begin(), nodesets.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  Value owners = Value::array();
  for (const auto& nodeset : nodesets) {
    kube::OwnerReference owner = control::controller_ref(api::NodeSet::kResource, nodeset->meta);
    owner.controller = false;
    owners.push_back(control::to_json(owner));
  }
  return owners;
}

Value shared_meta(std::string_view name, const api::Controller& controller,
                  const NodeSets& nodesets) {
  const Value labels = Value::object({{api::label::kName, api::app::kWorker},
                                      {api::label::kComponent, "worker"},
                                      {api::label::kCluster, controller.meta.name}});
  return Value::object({{"name", name},
                        {"namespace", controller.meta.ns},
                        {"labels", labels},
                        {"ownerReferences", owners_of(nodesets)}});
}

// "no busy pod may be evicted", by count of the pods themselves.
constexpr std::int32_t kAllOfThem = std::numeric_limits<std::int32_t>::max();

}  // namespace

Value workers_service(const api::Controller& controller, const NodeSets& nodesets) {
  const Value port = Value::object({{"name", api::app::kWorker},
                                    {"protocol", "TCP"},
                                    {"port", api::kSlurmdPort},
                                    {"targetPort", api::app::kWorker}});
  const Value selector = Value::object(
      {{api::label::kName, api::app::kWorker}, {api::label::kCluster, controller.meta.name}});
  const std::string name = api::workers_service_name(controller.meta.name);
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", shared_meta(name, controller, nodesets)},
                        {"spec", Value::object({{"clusterIP", "None"},
                                                {"publishNotReadyAddresses", true},
                                                {"selector", selector},
                                                {"ports", Value::array({port})}})}});
}

Value workers_pdb(const api::Controller& controller, const NodeSets& nodesets) {
  const Value labels = Value::object(
      {{api::label::kPodProtect, "true"}, {api::label::kCluster, controller.meta.name}});
  const std::string name = api::workers_pdb_name(controller.meta.name);
  return Value::object(
      {{"apiVersion", "policy/v1"},
       {"kind", "PodDisruptionBudget"},
       {"metadata", shared_meta(name, controller, nodesets)},
       {"spec", Value::object({{"minAvailable", kAllOfThem},
                               {"selector", Value::object({{"matchLabels", labels}})}})}});
}

std::optional<Value> worker_ssh_config(const api::NodeSet& nodeset) {
  if (!nodeset.spec.ssh_enabled) return std::nullopt;
  std::string text =
      "Include /etc/ssh/sshd_config.d/*.conf\n"
      "UsePAM yes\n"
      "Subsystem sftp internal-sftp\n"
      "AuthenticationMethods publickey password\n";
  text += nodeset.spec.extra_sshd_config;
  if (!text.ends_with('\n')) text += '\n';

  Metadata metadata;
  add(metadata.labels, nodeset.meta.labels);
  add(metadata.annotations, nodeset.meta.annotations);
  const Value ours = api::object_labels(api::app::kWorker, "worker", nodeset.meta.name);
  for (const auto [key, value] : ours.members()) {
    metadata.labels.insert_or_assign(std::string(key), std::string(value.as_string().value_or("")));
  }
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", object_meta(api::ssh_config_name(nodeset.meta.name), nodeset.meta.ns, metadata,
                                api::NodeSet::kResource, nodeset.meta)},
       {"data", Value::object({{"sshd_config", text}})}});
}

}  // namespace mainspring::op::build
