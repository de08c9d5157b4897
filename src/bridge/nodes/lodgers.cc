#include "bridge/nodes/lodgers.h"

#include <utility>
#include <vector>

#include "bridge/translate/host_ports.h"
#include "bridge/translate/taken.h"
#include "json/fields.h"

namespace mainspring::bridge {
namespace {

kube::Seq<kube::Container> what_they_take(const kube::Seq<kube::Container>& containers) {
  std::vector<kube::Container> out;
  for (const kube::Container& from : containers) {
    kube::Container one;
    one.requests = from.requests;
    one.sidecar = from.sidecar;
    std::vector<kube::ContainerPort> ports;
    for (const kube::ContainerPort& port : from.ports) {
      if (port.host_port == 0) continue;
      ports.push_back(port);
      ports.back().name = {};
    }
    one.ports = std::move(ports);
    if (!one.requests.empty() || !one.ports.empty()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

kube::PodSpec what_it_takes(const kube::PodSpec& spec) {
  kube::PodSpec out;
  out.containers = what_they_take(spec.containers);
  out.init_containers = what_they_take(spec.init_containers);
  out.resources = spec.resources;
  out.overhead = spec.overhead;
  if (!has_host_ports(out) && uncounted(out).empty()) return {};
  return out;
}

bool read(json::Reader& reader, Lodger& out) {
  kube::Pod pod;
  const bool whole = json::read(reader, pod);
  const kube::OwnerReference* const owner = pod.meta.controller();
  out.of_daemon_set = owner != nullptr && owner->kind == "DaemonSet";
  out.of_node = owner != nullptr && owner->kind == "Node";
  out.meta.name = std::move(pod.meta.name);
  out.meta.ns = std::move(pod.meta.ns);
  out.meta.resource_version = std::move(pod.meta.resource_version);
  out.node_name = std::move(pod.node_name);
  out.spec = kube::shared_equal<kube::Shared<kube::PodSpec>>(what_it_takes(*pod.spec));
  return whole;
}

bool can_be_in_the_way(const Lodger& lodger, bool tainted) {
  if (lodger.of_daemon_set) return false;
  return !tainted || lodger.of_node || !lodger.spec->containers.empty() ||
         !lodger.spec->init_containers.empty() || lodger.spec->resources || lodger.spec->overhead;
}

}  // namespace mainspring::bridge
