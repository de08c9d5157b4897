#include "operator/build/login_names.h"

#include <algorithm>

#include "api/names.h"
#include "base/text.h"
#include "operator/build/pod_parts.h"

namespace mainspring::op::build {
namespace {

using json::Value;

constexpr std::size_t kMaxHostname = 63;
constexpr std::size_t kMaxEndpoints = 1000;  // More the API refuses in one slice.

bool is_ipv6(std::string_view address) { return address.find(':') != std::string_view::npos; }

std::string_view address_of(const kube::Pod& pod, bool ipv6) {
  for (const std::string_view address :
       {std::string_view(pod.status.pod_ip), std::string_view(pod.status.second_pod_ip)}) {
    if (!address.empty() && is_ipv6(address) == ipv6) return address;
  }
  return {};
}

Value endpoint_of(const kube::Pod& pod, std::string_view address, const std::string& hostname) {
  return Value::object({{"addresses", Value::array({address})},
                        // Not only when ready: srun waits for answers also while sshd restarts.
                        {"conditions", Value::object({{"ready", true}})},
                        {"hostname", hostname},
                        {"targetRef", Value::object({{"kind", "Pod"},
                                                     {"namespace", pod.meta.ns},
                                                     {"name", pod.meta.name},
                                                     {"uid", pod.meta.uid}})}});
}

}  // namespace

std::string login_names_name(std::string_view loginset, bool ipv6) {
  return std::string(loginset) + (ipv6 ? "-login-names-ipv6" : "-login-names");
}

std::string pod_hostname(const kube::Pod& pod) {
  std::string_view name = pod.meta.name;
  if (!std::string_view(pod.hostname).empty()) name = pod.hostname;
  // A pod in the host's network has the host's name, of which Slurm takes the first label.
  if (pod.spec->host_network) {
    name = pod.node_name;
    name = name.substr(0, name.find('.'));
  }
  // As the kubelet cuts names that are too long for a hostname.
  name = name.substr(0, kMaxHostname);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.remove_suffix(1);
  return is_dns1123_label(name) ? std::string(name) : std::string();
}

Value login_names(const api::LoginSet& loginset, const Pods& pods, bool ipv6) {
  Metadata metadata;
  metadata.labels = daemon_labels(api::app::kLogin, api::app::kLogin, loginset.meta.name);
  metadata.labels["kubernetes.io/service-name"] =
      api::workers_service_name(loginset.spec.controller_ref.name);
  metadata.labels["endpointslice.kubernetes.io/managed-by"] = std::string(kSliceManager);
  Value slice =
      owned_object("discovery.k8s.io/v1", "EndpointSlice",
                   object_meta(login_names_name(loginset.meta.name, ipv6), loginset.meta.ns,
                               metadata, api::LoginSet::kResource, loginset.meta));
  slice["addressType"] = ipv6 ? "IPv6" : "IPv4";

  Pods sorted = pods;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  Value endpoints = Value::array();
  for (const auto& pod : sorted) {
    const std::string_view address = address_of(*pod, ipv6);
    const std::string hostname = pod_hostname(*pod);
    if (address.empty() || hostname.empty() || pod->meta.deleting() || pod->terminal()) continue;
    if (endpoints.size() == kMaxEndpoints) break;
    endpoints.push_back(endpoint_of(*pod, address, hostname));
  }
  slice["endpoints"] = std::move(endpoints);
  return slice;
}

}  // namespace mainspring::op::build
