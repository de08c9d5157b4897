#include "bridge/translate/host_ports.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace mainspring::bridge {
namespace {

bool is_any_address(std::string_view ip) { return ip.empty() || ip == "0.0.0.0" || ip == "::"; }

// kube-scheduler's rule: an address of any host takes the port on all of them.
bool same_host_port(const kube::ContainerPort& a, const kube::ContainerPort& b) {
  return a.host_port == b.host_port && a.protocol == b.protocol &&
         (is_any_address(a.host_ip) || is_any_address(b.host_ip) || a.host_ip == b.host_ip);
}

// Of what runs as long as the pod does.
std::vector<const kube::ContainerPort*> host_ports(const kube::PodSpec& spec) {
  std::vector<const kube::ContainerPort*> ports;
  const auto add = [&](const kube::Container& container) {
    for (const kube::ContainerPort& port : container.ports) {
      if (port.host_port != 0) ports.push_back(&port);
    }
  };
  for (const kube::Container& each : spec.containers) add(each);
  for (const kube::Container& each : spec.init_containers) {
    if (each.sidecar) add(each);
  }
  return ports;
}

}  // namespace

bool has_host_ports(const kube::PodSpec& spec) { return !host_ports(spec).empty(); }

std::int32_t shared_host_port(const kube::PodSpec& a, const kube::PodSpec& b) {
  const auto ours = host_ports(a);
  if (ours.empty()) return 0;
  const auto theirs = host_ports(b);
  for (const kube::ContainerPort* port : ours) {
    if (std::any_of(theirs.begin(), theirs.end(), [&](const kube::ContainerPort* other) {
          return same_host_port(*port, *other);
        })) {
      return port->host_port;
    }
  }
  return 0;
}

bool same_host_ports(const kube::PodSpec& a, const kube::PodSpec& b) {
  const auto ours = host_ports(a);
  const auto theirs = host_ports(b);
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const kube::ContainerPort* one, const kube::ContainerPort* other) {
                      return *one == *other;
                    });
}

}  // namespace mainspring::bridge
