// bridge/config.h
//
// What the bridge is told about its site: the configuration file of Slinky's slurm-bridge, with the
// same keys, and what we add. Read once, at the start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_key.h"
#include "base/result.h"
#include "kube/label_selector.h"

namespace mainspring::bridge {

// Who a namespace's pods are to Slurm. What is set here, users cannot change by annotations.
struct Identity {
  std::optional<std::string> user, group, account, qos, partition;
  bool operator==(const Identity&) const = default;
};

// What a PriorityClass is worth in Slurm.
struct SlurmPriority {
  std::optional<std::string> qos;
  std::optional<std::int64_t> priority;
  bool operator==(const SlurmPriority&) const = default;
};

// Whose devices a DeviceClass stands for, and how Slurm's numbers for them are found: Slurm's
// device 0 is the one with the lowest number, and so on.
struct DeviceClassRule {
  std::string driver;
  // One of the two. Devices are named by it and their number: "gpu-" for "gpu-3"; others of the
  // driver are not of the class.
  std::string prefix;
  // The attribute that is their number.
  std::string attribute;
  bool operator==(const DeviceClassRule&) const = default;
};
using DeviceClasses = std::map<std::string, DeviceClassRule, std::less<>>;

struct BridgeConfig {
  std::string scheduler_name = "slurm-bridge-scheduler";  // schedulerName
  // One of the two: slurmRestApi, or slurmCluster (ours): {namespace, name} of a Cluster object
  // that says where Slurm is, with a token.
  std::string slurm_rest_api;
  std::optional<ObjectKey> slurm_cluster;
  std::vector<std::string> managed_namespaces;  // managedNamespaces
  // managedNamespaceSelector; where it is set the list is not looked at.
  std::optional<kube::LabelSelector> managed_namespace_selector;
  std::string mcs_label;                   // mcsLabel; "": none.
  std::string partition = "slurm-bridge";  // partition

  // Ours. Each stands under the key named here.
  bool exclusive_by_default = true;  // exclusiveByDefault: what `exclusive` is where nobody says.
  bool taint_nodes = true;           // taintNodes: keep pods of other schedulers off our nodes.
  bool cordon_nodes = false;         // cordonNodes: cordon what Slurm has drained or put down.
  // identities: {namespace: {user, group, account, qos, partition}}; "*" stands for all others.
  std::map<std::string, Identity, std::less<>> identities;
  // priorityClasses: {name: {qos, priority}}.
  std::map<std::string, SlurmPriority, std::less<>> priority_classes;
  // deviceClasses: {name: {driver, prefix, attribute}}, besides these; dra.cpu is always known.
  DeviceClasses device_classes{{"gpu.example.com", {"gpu.example.com", "", "index"}},
                               {"gpu.nvidia.com", {"gpu.nvidia.com", "gpu-", ""}}};

  // An empty one where the namespace has none.
  const Identity& identity_of(std::string_view ns) const;
};

// kInvalid names the key, its value and what is expected. Unknown keys are an error: a misspelt one
// would silently change who may do what.
Result<BridgeConfig> parse_bridge_config(std::string_view yaml);
// The same with the file's name in errors.
Result<BridgeConfig> read_bridge_config(const std::string& path);

}  // namespace mainspring::bridge
