// bridge/sync/volumes.h
//
// The volumes of pods, as far as they decide where a pod may be: those that are bound to certain
// nodes, and those that wait to be made on the node that the pod will have. Runs on the control
// loop; asks the API server, since few pods have claims.
#pragma once

#include <string>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/sync/world.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

using net::Task;

class Volumes {
 public:
  explicit Volumes(World& world) : world_(world) {}

  // An entry for each pod. kNotFound and kConflict name a claim that is not there, or that nobody
  // binds before a pod uses it and nobody has bound.
  Task<Result<std::vector<VolumeNodes>>> nodes_of(std::vector<PodPtr> pods);

  // Asks for the volumes that are made on a pod's node; true once all are there.
  Task<Result<bool>> ready_on(PodPtr pod, std::string node);

 private:
  Task<Result<VolumeNodes>> of_pod(PodPtr pod);

  World& world_;
};

}  // namespace mainspring::bridge
