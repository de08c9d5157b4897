// operator/build/controller.h
//
// The objects of a Controller: services, configuration, slurmctld's StatefulSet, ServiceMonitor.
// Pure: everything they depend on is handed in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "operator/build/slurm_conf.h"

namespace mainspring::op::build {

struct ControllerInputs {
  SlurmConfInputs conf;
  // What the refs name; null where absent.
  const kube::SecretObject* slurm_key = nullptr;
  const kube::SecretObject* jwt_key = nullptr;
  const kube::ConfigMap* jwks = nullptr;
  std::string cluster_domain = "cluster.local";
  // The worker services whose names slurmctld must be able to resolve, and those of login sets.
  std::vector<std::string> search_services;
  // Of the StatefulSet as it is; null where there is none. One that another operator made is taken
  // over as it is found (takeover.h), without what we add to the public contract: search domains,
  // the label "active" on a slurmctld that is alone, our scripts in the sidecars, our term of
  // anti-affinity behind the user's, copies in place of the user's ConfigMaps. They come in when
  // the pod has to roll for another reason.
  const json::StringMap* live_annotations = nullptr;
  // Of several slurmctld the pod of the one in charge; empty: the first.
  std::string active_pod = {};
};

json::Value controller_internal_service(const ControllerInputs& inputs);
Result<json::Value> controller_service(const ControllerInputs& inputs);
// The ConfigMap X-config, with the restart hash among its annotations.
json::Value controller_config_map(const ControllerInputs& inputs);
// Copies of the ConfigMaps that the Controller refers to, for slurmctld's pod. Whoever writes them
// has found these files good.
std::vector<json::Value> controller_approved_maps(const ControllerInputs& inputs);
// `config_hash`: the value of the annotation slurm-config-hash; none where empty.
Result<json::Value> controller_stateful_set(const ControllerInputs& inputs,
                                            const std::string& config_hash);
// Unset where none is wanted.
std::optional<json::Value> controller_service_monitor(const ControllerInputs& inputs);

}  // namespace mainspring::op::build
