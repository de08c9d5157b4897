// operator/sync/controller_inputs.h
//
// What a Controller's objects depend on, gathered from the caches, and what of it is not there.
// Reads stores only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/build/controller.h"
#include "operator/sync/world.h"

namespace mainspring::op {

struct ControllerParts {
  ControllerParts(const World& world, std::shared_ptr<const api::Controller> owner);

  std::shared_ptr<const api::Controller> controller;
  std::shared_ptr<const api::Accounting> accounting;
  std::shared_ptr<const kube::SecretObject> slurm_key;
  std::shared_ptr<const kube::SecretObject> jwt_key;
  std::shared_ptr<const kube::ConfigMap> jwks;
  std::shared_ptr<const kube::StatefulSet> stateful_set;  // Null: not there.
  std::shared_ptr<const kube::ConfigMap> config;          // X-config as it is.
  std::vector<std::string> missing;                       // "ConfigMap hpc/prolog", for people.
  build::ControllerInputs inputs;

  // Every file that slurmctld would find: what we generate, and the user's own. Not the two keys: a
  // change of these rolls the pod.
  std::map<std::string, std::string> files;

 private:
  void gather_references(const World& world);
  // Those that slurm.conf had and jobs still name.
  void keep_partitions(const World& world);
  // A slurm.conf that lacks nothing but what the public contract has not is left as it is until
  // there is something else to change: a take-over reconfigures nobody.
  void keep_as_found();
  void gather_files();
};

}  // namespace mainspring::op
