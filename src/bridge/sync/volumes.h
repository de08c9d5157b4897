// bridge/sync/volumes.h
//
// The volumes of pods, as far as they decide where a pod may be: those that are bound to certain
// nodes, and those that are chosen or made only once the pod has its node. Runs on the control
// loop; asks the API server, since few pods have claims.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/sync/world.h"
#include "bridge/translate/placement.h"
#include "bridge/translate/volume_choice.h"
#include "kube/storage.h"

namespace mainspring::bridge {

using net::Task;

class Volumes {
 public:
  explicit Volumes(World& world) : world_(world) {}

  // An entry for each pod. kNotFound and kConflict name a claim that is not there, or that has no
  // volume and will not get one by waiting for the pod.
  Task<Result<std::vector<VolumeNodes>>> nodes_of(std::vector<PodPtr> pods);

  // Asks for the volumes that are chosen or made on a pod's node. What is still not there, in words
  // for the pod's owner; "": nothing. kConflict where the node has no volume for it.
  Task<Result<std::string>> missing_on(PodPtr pod, std::string node);

 private:
  // Read at most once for all pods of a call.
  struct Storage {
    std::map<std::string, kube::StorageClass> classes;
    std::optional<std::vector<VolumePtr>> volumes;
  };
  // `storage` is the caller's.
  Task<Result<VolumeNodes>> of_pod(PodPtr pod, Storage* storage);
  Task<Result<std::optional<kube::NodeSelector>>> of_claim(kube::PersistentVolumeClaim claim,
                                                           Storage* storage);
  // kConflict where the claim is bound without a pod, or nobody binds it.
  Task<Result<kube::StorageClass>> class_of(kube::PersistentVolumeClaim claim, Storage* storage);
  Task<Result<std::vector<VolumePtr>>> volumes_in(Storage* storage);
  Task<Result<void>> choose(kube::PersistentVolumeClaim claim, std::string node, Storage* storage);
  Task<Result<void>> give(VolumePtr volume, kube::PersistentVolumeClaim claim);

  World& world_;
};

}  // namespace mainspring::bridge
