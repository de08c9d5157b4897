// bridge/sync/pod_writes.h
//
// The few writes to pods that the bridge makes: our guard, which keeps a pod until Slurm has heard
// of its end; a job's mark and a node, with the binding; the end of all; why a pod waits. The life
// of one that starts at once is three calls: guard, bind, let go. Each names the pod's UID, so that
// another pod of the same name is never meant, and one that is gone is no failure. Runs on the
// control loop; `world` must outlive the tasks.
#pragma once

#include <string>

#include "bridge/gang/gang.h"
#include "bridge/sync/world.h"
#include "slurm/job_id.h"

namespace mainspring::bridge {

using net::Task;

// Marks the pod as the job's, with its node where one is known, our finalizer and our toleration.
// No call where it is so already, unless the finalizer is to be sure.
Task<Result<void>> mark_pod(World* world, PodPtr pod, slurm::JobId job, std::string node,
                            bool surely = false);
// Finalizer and toleration alone, without which no pod may be bound. No call where the pod shows
// both, unless it is to be sure.
Task<Result<void>> guard_pod(World* world, PodPtr pod, bool surely);
// Takes the mark off again, with the finalizer.
Task<Result<void>> unmark_pod(World* world, PodPtr pod);
// The finalizers alone.
Task<Result<void>> let_pod_go(World* world, PodPtr pod);
// With the mark and the node's name on it, in one step, where the server takes labels with a
// binding. False where the pod has a node already or is going: its events tell which.
Task<Result<bool>> bind_pod(World* world, PodPtr pod, slurm::JobId job, std::string node);
// Where it still has the mark of the job that it is deleted for.
Task<Result<void>> delete_pod(World* world, PodPtr pod);
// PodScheduled is False, for this reason. No call where the pod shows it already.
Task<Result<void>> show_waiting(World* world, PodPtr pod, std::string text);

// The job whose mark the pod has; no job where it has none, or one that is no number.
slurm::JobId job_of(const kube::Pod& pod);

}  // namespace mainspring::bridge
