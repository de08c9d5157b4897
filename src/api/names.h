// api/names.h
//
// The names, labels and annotations that users and their tools see, all of them part of the public
// contract unless a comment says that they are ours. Pure.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace mainspring::api {

// Objects that belong to a Controller, an Accounting, ...: by the owner's name.
std::string controller_name(std::string_view owner);           // "X-controller"
std::string controller_internal_name(std::string_view owner);  // "X-controller-internal"
std::string controller_config_name(std::string_view owner);    // "X-config"
// "X-approved-M", of the ConfigMap M that a Controller refers to; "X-approved.jwks".
std::string approved_map_name(std::string_view owner, std::string_view map);
std::string approved_jwks_name(std::string_view owner);
std::string accounting_name(std::string_view owner);            // "X-accounting"
std::string restapi_name(std::string_view owner);               // "X-restapi"
std::string ssh_config_name(std::string_view owner);            // "X-ssh-config"
std::string ssh_host_keys_name(std::string_view owner);         // "X-ssh-host-keys"
std::string workers_service_name(std::string_view controller);  // "slurm-workers-C"
std::string workers_pdb_name(std::string_view controller);      // "slurm-workers-pdb-C"

namespace label {
inline constexpr std::string_view kName = "app.kubernetes.io/name";
inline constexpr std::string_view kInstance = "app.kubernetes.io/instance";
inline constexpr std::string_view kComponent = "app.kubernetes.io/component";
inline constexpr std::string_view kCluster = "slinky.slurm.net/cluster";
inline constexpr std::string_view kActive = "controller.slinky.slurm.net/active";
inline constexpr std::string_view kPodName = "nodeset.slinky.slurm.net/pod-name";
inline constexpr std::string_view kPodIndex = "nodeset.slinky.slurm.net/pod-index";
inline constexpr std::string_view kPodHostname = "nodeset.slinky.slurm.net/pod-hostname";
inline constexpr std::string_view kScalingMode = "nodeset.slinky.slurm.net/scaling-mode";
inline constexpr std::string_view kPodProtect = "nodeset.slinky.slurm.net/pod-protect";
inline constexpr std::string_view kRevision = "controller.kubernetes.io/hash";
// Ours: on ConfigMaps that a Controller refers to, so that our webhook sees changes to them and to
// no others. The value is the Controller's name.
inline constexpr std::string_view kConfigOf = "mainspring.slurm.net/config-of";
}  // namespace label

namespace annotation {
inline constexpr std::string_view kPodCordon = "nodeset.slinky.slurm.net/pod-cordon";
inline constexpr std::string_view kPodDeletionCost = "nodeset.slinky.slurm.net/pod-deletion-cost";
inline constexpr std::string_view kPodDeadline = "nodeset.slinky.slurm.net/pod-deadline";
inline constexpr std::string_view kTopology = "topology.slinky.slurm.net/spec";
inline constexpr std::string_view kFeatures = "features.slinky.slurm.net/spec";
inline constexpr std::string_view kNodeCordonReason = "nodeset.slinky.slurm.net/node-cordon-reason";
inline constexpr std::string_view kHostnameOverride = "nodeset.slinky.slurm.net/hostname-override";
inline constexpr std::string_view kSlurmConfigHash = "slinky.slurm.net/slurm-config-hash";
inline constexpr std::string_view kSlurmKeyHash = "slinky.slurm.net/slurm-key-hash";
inline constexpr std::string_view kJwtKeyHash = "slinky.slurm.net/jwt-key-hash";
inline constexpr std::string_view kSlurmdbdConfHash = "slinky.slurm.net/slurmdbd-conf-hash";
inline constexpr std::string_view kSshdConfHash = "slinky.slurm.net/sshd-conf-hash";
inline constexpr std::string_view kSssdConfHash = "slinky.slurm.net/sssd-conf-hash";
inline constexpr std::string_view kSshHostKeysHash = "slinky.slurm.net/ssh-host-keys-hash";
inline constexpr std::string_view kDefaultContainer = "kubectl.kubernetes.io/default-container";
// Ours. Why the operator cordoned a pod ("scale-in", "update", "node", "deletion", ...). A
// pod-cordon without it was set by a person and is left alone.
inline constexpr std::string_view kCordonedFor = "mainspring.slurm.net/cordoned-for";
// Ours. The reason, somebody else's, under which the operator drained the node of a condemned pod:
// the drain is ours to lift while Slurm still shows that text.
inline constexpr std::string_view kDrainedUnder = "mainspring.slurm.net/drained-under";
// Ours, on the ConfigMap X-config: a hash of those settings that only a restart of slurmctld takes
// up; see operator/build/config_change.h.
inline constexpr std::string_view kRestartHash = "mainspring.slurm.net/restart-hash";
// Ours, on slurmctld's pods: the hash of the files that were found to be good. A change to it makes
// the kubelet bring new files into the pod at once, and it is the reconfigure sidecar's leave to
// have slurmctld take them up.
inline constexpr std::string_view kConfigSync = "mainspring.slurm.net/config-sync";
}  // namespace annotation

inline constexpr std::string_view kReservationFinalizer = "nodeset.slinky.slurm.net/reservation";
// Ours: a NodeSet with it drains before it goes.
inline constexpr std::string_view kDrainFinalizer = "mainspring.slurm.net/drain";
inline constexpr std::string_view kWorkerTaint = "nodeset.slinky.slurm.net/worker";
// What the operator writes into Slurm begins so, and nothing else is the operator's to change.
inline constexpr std::string_view kReasonPrefix = "slurm-operator: ";
inline constexpr std::string_view kFeaturePrefix = "k8s/";

// app.kubernetes.io/name of each.
namespace app {
inline constexpr std::string_view kController = "slurmctld";
inline constexpr std::string_view kRestApi = "slurmrestd";
inline constexpr std::string_view kAccounting = "slurmdbd";
inline constexpr std::string_view kWorker = "slurmd";
inline constexpr std::string_view kLogin = "login";
}  // namespace app

inline constexpr int kSlurmctldPort = 6817;
inline constexpr int kSlurmdPort = 6818;
inline constexpr int kSlurmdbdPort = 6819;
inline constexpr int kSlurmrestdPort = 6820;

// What a selector finds the pods of one object by: name and instance, no more.
json::Value selector_labels(std::string_view app, std::string_view instance);
// Those and the component, as they are put on objects.
json::Value object_labels(std::string_view app, std::string_view component,
                          std::string_view instance);

}  // namespace mainspring::api
