// operator/sync/controller_inputs.h
//
// What a Controller's objects depend on, gathered from the caches, and what of it is not there.
// Reads stores only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "operator/build/controller.h"
#include "operator/sync/world.h"

namespace mainspring::op {

// Some partitions that nobody wants any more, closed to new jobs in these files.
struct ClosedPartitions {
  std::string files;  // files_hash()
  std::set<std::string, std::less<>> names;
};

// The copies that slurmctld's pod has of the ConfigMaps that the Controller refers to, by name.
build::ConfigMaps approved_maps_of(const World& world, const api::Controller& controller);

struct ControllerParts {
  // `vacant`: those that slurmctld had closed when no job on its record named them any more.
  ControllerParts(const World& world, std::shared_ptr<const api::Controller> owner,
                  const ClosedPartitions& vacant = {});

  std::shared_ptr<const api::Controller> controller;
  std::shared_ptr<const api::Accounting> accounting;
  std::shared_ptr<const kube::SecretObject> slurm_key;
  std::shared_ptr<const kube::SecretObject> jwt_key;
  std::shared_ptr<const kube::ConfigMap> jwks;
  std::shared_ptr<const kube::StatefulSet> stateful_set;  // Null: not there.
  std::shared_ptr<const kube::ConfigMap> config;          // X-config as it is.
  build::ConfigMaps approved;                             // The copies as they are.
  std::vector<std::string> missing;                       // "ConfigMap hpc/prolog", for people.
  build::ControllerInputs inputs;
  // In X-config as it is. They are kept, unless they are known to be vacant.
  ClosedPartitions closed;
  // slurmctld has taken up X-config as it is.
  bool in_force() const;

  // Every file that slurmctld should find: what we generate, and the user's own. Not the two keys:
  // a change of these rolls the pod.
  std::map<std::string, std::string> files;
  // Every file that was found good last: X-config and the copies as they are. It starts with them.
  std::map<std::string, std::string> found;
  // Those that it should find are among them.
  bool are_written() const;

 private:
  void gather_references(const World& world);
  void gather_found(const World& world);
  void keep_partitions(const ClosedPartitions& vacant);
  // A slurm.conf that lacks nothing but what the public contract has not is left as it is until
  // there is something else to change: a take-over reconfigures nobody.
  void keep_as_found();
  std::map<std::string, std::string> files_of_now() const;
};

}  // namespace mainspring::op
