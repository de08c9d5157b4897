// operator/build/controller_names.h
//
// Keeps the names of several slurmctld resolvable while some of them are away. Pure.
//
// slurm.conf names each by its pod, and while the pod is gone so is its name. Everybody asks the
// first one first, and Debian's Slurm tries a name that does not resolve for ten seconds, at every
// call: when the primary goes, nothing works although its backup does. So each has a Service of its
// own beside its pod, with an address that stays and that refuses at once while nobody is behind
// it; a slice joins these addresses, under the pods' names, to the headless Service. slurm.conf
// stays as the public contract has it, and all of it works while the operator is away.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/controller.h"

namespace mainspring::op::build {

// Kubernetes' own, on every pod of a StatefulSet from its first moment on: the pod's name.
inline constexpr std::string_view kMemberLabel = "statefulset.kubernetes.io/pod-name";

// "X-controller-0", as its pod.
std::string controller_member_name(const api::Controller& controller, std::int32_t index);
// "X-controller-names"
std::string controller_names_name(const api::Controller& controller);

json::Value controller_member_service(const api::Controller& controller, std::int32_t index);
// `addresses`: of the services, in their order.
json::Value controller_names(const api::Controller& controller,
                             const std::vector<std::string>& addresses);

}  // namespace mainspring::op::build
