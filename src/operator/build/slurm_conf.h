// operator/build/slurm_conf.h
//
// Writes slurm.conf, cgroup.conf and slurmdbd.conf. Pure: the same objects give the same text, and
// golden files show it. Order of lines and sections is part of the public contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/nodeset.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/core_objects.h"
#include "slurm/conf_lint.h"

namespace mainspring::op::build {

using ConfigMaps = std::vector<std::shared_ptr<const kube::ConfigMap>>;

struct SlurmConfInputs {
  const api::Controller& controller;
  const api::Accounting* accounting = nullptr;  // Null where there is none.
  // All of this Controller, in any order, as NodeSet/Partition lines; those that are gone or whose
  // partition may go are left out by the caller.
  std::vector<std::shared_ptr<const api::NodeSet>> nodesets;
  // Lines of the same kind that nobody wants any more and that jobs still name: kept_partitions.h.
  std::vector<std::string> kept;
  // What the refs name, in any order.
  ConfigMaps config_files;
  ConfigMaps prologs;
  ConfigMaps epilogs;
  ConfigMaps prologs_slurmctld;
  ConfigMaps epilogs_slurmctld;
  // The MaxNodeCount of the slurm.conf before this one.
  std::int64_t max_nodes_before = 0;
  // Whether a worker that was lost and answers again is taken back by slurmctld; see the text.
  bool return_to_service = true;
};

// Where controller.spec.external: the short form that slurmrestd needs.
std::string slurm_conf(const SlurmConfInputs& inputs);
// The MaxNodeCount that we wrote into this slurm.conf; 0 where there is none.
std::int64_t max_nodes_in(std::string_view slurm_conf);
// Empty where a ConfigMap of the user's brings one. Unprivileged workers get the plugin disabled.
std::string cgroup_conf(const SlurmConfInputs& inputs);
// What is wrong where some workers have privilege and others have not: one set of files is for all,
// and with the first of either kind it would turn cgroups on or off under running jobs. Unset where
// the user's own files and settings say how jobs are confined, so that nothing depends on it.
std::optional<slurm::Finding> mixed_privilege(const SlurmConfInputs& inputs);
// kInvalid for a password that no line of the file can hold.
Result<std::string> slurmdbd_conf(const api::Accounting& accounting, const Secret& password);

}  // namespace mainspring::op::build
