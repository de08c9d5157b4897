// operator/build/login_names.h
//
// Makes the names of login pods resolvable from slurmctld and the workers. Pure.
//
// slurmctld looks up the host that a client gave as its own, and while a name does not resolve,
// everything in slurmctld can stand still. Pods of a Deployment have no DNS names: a hostname in
// the template would be the same for all of them. But DNS serves what EndpointSlices say, and a
// slice may be written by anyone: ours joins the login pods, each with its own hostname, to the
// headless Service of the workers, in which all pods of the cluster search for names anyway. So no
// template changes and nothing restarts, neither for a second replica, nor for a new LoginSet, nor
// at a take-over.
#pragma once

#include <memory>
#include <vector>

#include "api/loginset.h"
#include "kube/pod.h"

namespace mainspring::op::build {

using Pods = std::vector<std::shared_ptr<const kube::Pod>>;

inline const kube::Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices",
                                            "EndpointSlice", true};
// Which of them are ours.
inline constexpr std::string_view kSliceManager = "mainspring";

// "X-login-names", and "X-login-names-ipv6": a slice has addresses of one family.
std::string login_names_name(std::string_view loginset, bool ipv6);

// The hostname that a pod gives as its own; empty where it is not known yet.
std::string pod_hostname(const kube::Pod& pod);

// One slice of one family with those of the pods that have an address and are not on their way out.
// Without endpoints where there are none.
json::Value login_names(const api::LoginSet& loginset, const Pods& pods, bool ipv6);

}  // namespace mainspring::op::build
