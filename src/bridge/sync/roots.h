// bridge/sync/roots.h
//
// What the objects above a pod say about its gang: how many pods make it whole, and what the
// workload asks of Slurm. Read when a gang is about to be submitted and now and then while it
// waits, not watched: kinds of others may be installed at any time, and a gang that runs asks for
// nothing more. Answers are kept for a moment, so that the thousand pods of one Job cost one read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/gang/gang_size.h"
#include "bridge/gang/grouping.h"
#include "bridge/sync/world.h"
#include "kube/batch.h"
#include "kube/discovery.h"
#include "kube/dynamic.h"
#include "kube/gangs.h"

namespace mainspring::bridge {

using net::Task;

// What Gang has besides its pods.
struct GangFacts {
  Gang shape;
  // Set: the gang cannot be scheduled until somebody changes that, in words for its owner.
  std::string blocked;
  // What its owners ask for and do not get, in words for them.
  std::vector<std::string> not_honoured;
  // The kind that would make a gang of the pods is not installed: each is one by itself.
  bool not_served = false;
};

// The built-in PodGroup, and by which version this server has it; null where there is none.
struct FoundPodGroup {
  std::shared_ptr<const kube::PodGroup> object;
  kube::Resource resource;
};

class Roots {
 public:
  explicit Roots(World& world);

  // `sample` is any pod of the gang. kNotFound where an owner is gone, kInvalid where owners go in
  // circles.
  Task<Result<GangFacts>> find(GangRef gang, PodPtr sample);

  // For a gang that is one.
  Task<Result<FoundPodGroup>> pod_group(GangRef gang, std::string ns);

 private:
  struct Kept {
    TimePoint until;
    std::shared_ptr<const void> object;
  };

  Task<Result<GangFacts>> of_kind(GangRef gang, PodPtr sample);
  Task<Result<GangFacts>> of_pod_group(GangRef gang, PodPtr sample);
  Task<Result<GangFacts>> of_coscheduling(GangRef gang, PodPtr sample);
  Task<Result<GangFacts>> of_leader_worker_set(PodPtr sample);
  Task<Result<GangFacts>> of_whole_job(GangRef gang, PodPtr sample);
  Task<Result<GangFacts>> of_pod(PodPtr sample);
  JobSetProgress progress_of(const std::string& ns, const std::string& job_set) const;

  // Null where the kind is not served, or there is none of that name.
  template <class T>
  Task<Result<std::shared_ptr<const T>>> get(kube::Resource resource, std::string ns,
                                             std::string name);
  // What the server serves, as of some seconds ago.
  Task<Result<std::shared_ptr<const kube::Discovery>>> kinds();
  // As this server serves it; none where it does not.
  Task<Result<std::optional<kube::Resource>>> served(std::string group, std::string plural);
  Task<Result<kube::Resource>> resource_of(kube::OwnerReference owner);
  // The annotations of the highest workload above the pod, and of the Job among its owners.
  struct Chain {
    Annotations annotations;
    std::shared_ptr<const kube::Job> job;
  };
  Task<Result<Chain>> climb(PodPtr pod);

  World& world_;
  Store<kube::Pod>::IndexId by_job_set_;  // Of pods whose gang is the whole of it.
  std::map<std::string, Kept> kept_;
  std::shared_ptr<const kube::Discovery> kinds_;
  TimePoint kinds_until_{};
};

}  // namespace mainspring::bridge
