// bridge/translate/host_ports.h
//
// The ports of its node that a pod takes, which no other pod there can have. Pure.
#pragma once

#include "kube/pod.h"

namespace mainspring::bridge {

bool has_host_ports(const kube::PodSpec& spec);
// The port that both want, so that one node cannot have both pods; 0: none.
std::int32_t shared_host_port(const kube::PodSpec& a, const kube::PodSpec& b);
// Whether both want the same ones.
bool same_host_ports(const kube::PodSpec& a, const kube::PodSpec& b);

}  // namespace mainspring::bridge
