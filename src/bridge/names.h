// bridge/names.h
//
// The names that pods, nodes and jobs carry for the bridge: the contract with Slinky's
// slurm-bridge, so that its workloads and tools work unchanged. Those under mainspring.slurm.net
// are ours alone.
#pragma once

#include <string_view>

namespace mainspring::bridge {

// On pods.
inline constexpr std::string_view kJobIdLabel = "scheduler.slinky.slurm.net/slurm-jobid";
inline constexpr std::string_view kNodeAnnotation = "slinky.slurm.net/slurm-node";
inline constexpr std::string_view kFinalizer = "scheduler.slinky.slurm.net/finalizer";
// Of releases before 1.0; never set, removed when cleaning up.
inline constexpr std::string_view kEarlyFinalizer = "slinky.slurm.net/finalizer";

// What a workload asks of Slurm: "slurmjob.slinky.slurm.net/timelimit". Releases before 1.0 had
// them under the second prefix.
inline constexpr std::string_view kJobPrefix = "slurmjob.slinky.slurm.net/";
inline constexpr std::string_view kEarlyJobPrefix = "slinky.slurm.net/";
// On a pod template: the pods of its whole "Job" or "JobSet" are one gang.
inline constexpr std::string_view kGangAnnotation = "mainspring.slurm.net/gang";
// Beside the annotations for Slurm: how many pods of the gang share a node; one where it is absent.
inline constexpr std::string_view kTasksPerNodeAnnotation = "mainspring.slurm.net/tasks-per-node";
// The same: "true" makes pods that differ in what they need parts of a het job, so that each gets
// nodes that suit it; "false" never. Where it is absent, that is done where no one kind of node
// suits them all.
inline constexpr std::string_view kHeterogeneousAnnotation = "mainspring.slurm.net/heterogeneous";

// How a pod asks for devices of a class, as a resource of its containers.
inline constexpr std::string_view kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";
// The class whose devices are CPUs.
inline constexpr std::string_view kCpuClass = "dra.cpu";
// On a ResourceClaim that was made for such resources.
inline constexpr std::string_view kExtendedClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";

// On nodes.
inline constexpr std::string_view kSlurmNodeLabel = "slinky.slurm.net/slurm-nodename";
inline constexpr std::string_view kExternalNodeLabel = "scheduler.slinky.slurm.net/external-node";
inline constexpr std::string_view kPartitionsAnnotation =
    "scheduler.slinky.slurm.net/external-node-partitions";
inline constexpr std::string_view kTopologyAnnotation = "topology.slinky.slurm.net/spec";
// With the scheduler's name as its value.
inline constexpr std::string_view kManagedTaint = "slinky.slurm.net/managed-node";
// "2x16x2": sockets, cores of each, threads of each, where the node's CPUs are not simply cores.
inline constexpr std::string_view kCpuTopologyAnnotation = "mainspring.slurm.net/cpu-topology";
// "cpu=500m,memory=2Gi": what of the node is not for Slurm, besides the pods of DaemonSets.
inline constexpr std::string_view kReservedAnnotation = "mainspring.slurm.net/reserved";
// On a node that we cordoned because Slurm does not give it out: why.
inline constexpr std::string_view kCordonAnnotation = "mainspring.slurm.net/cordoned";
// Whether Slurm gives the node to jobs.
inline constexpr std::string_view kSlurmReadyCondition = "SlurmReady";

// How the reasons of our own drains begin. Only those do we lift.
inline constexpr std::string_view kReasonPrefix = "slurm-bridge:";

}  // namespace mainspring::bridge
