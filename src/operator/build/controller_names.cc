#include "operator/build/controller_names.h"

#include <fmt/format.h>

#include "api/names.h"
#include "operator/build/controller_pod.h"
#include "operator/build/login_names.h"
#include "operator/build/pod_parts.h"

namespace mainspring::op::build {
namespace {

using json::Value;

Metadata metadata_of(const api::Controller& controller) {
  Metadata metadata = controller_metadata(controller, {});
  // What a ServiceMonitor would find there it finds at the client Service already.
  metadata.labels.insert_or_assign(std::string(kMonitorLabel), "false");
  return metadata;
}

Value meta_of(const api::Controller& controller, const std::string& name,
              const Metadata& metadata) {
  return object_meta(name, controller.meta.ns, metadata, api::Controller::kResource,
                     controller.meta);
}

}  // namespace

std::string controller_member_name(const api::Controller& controller, std::int32_t index) {
  return fmt::format("{}-{}", api::controller_name(controller.meta.name), index);
}

std::string controller_names_name(const api::Controller& controller) {
  return api::controller_name(controller.meta.name) + "-names";
}

Value controller_member_service(const api::Controller& controller, std::int32_t index) {
  const std::string name = controller_member_name(controller, index);
  Value selector = api::selector_labels(api::app::kController, controller.meta.name);
  selector.set(kMemberLabel, name);
  Value service = owned_object("v1", "Service", meta_of(controller, name, metadata_of(controller)));
  service["spec"] = Value::object(
      {{"ports", Value::array({Value::object({{"name", api::app::kController},
                                              {"protocol", "TCP"},
                                              {"port", api::kSlurmctldPort},
                                              {"targetPort", api::app::kController}})})},
       {"selector", std::move(selector)},
       // A slurmctld that starts looks for the others before any of them is ready.
       {"publishNotReadyAddresses", true}});
  return service;
}

Value controller_names(const api::Controller& controller,
                       const std::vector<std::string>& addresses) {
  Metadata metadata = metadata_of(controller);
  metadata.labels["kubernetes.io/service-name"] =
      api::controller_internal_name(controller.meta.name);
  metadata.labels["endpointslice.kubernetes.io/managed-by"] = std::string(kSliceManager);
  Value slice = owned_object("discovery.k8s.io/v1", "EndpointSlice",
                             meta_of(controller, controller_names_name(controller), metadata));
  const bool ipv6 = !addresses.empty() && addresses.front().find(':') != std::string::npos;
  slice["addressType"] = ipv6 ? "IPv6" : "IPv4";
  Value endpoints = Value::array();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    endpoints.push_back(Value::object(
        {{"addresses", Value::array({addresses[i]})},
         {"conditions", Value::object({{"ready", true}})},
         {"hostname", controller_member_name(controller, static_cast<std::int32_t>(i))}}));
  }
  slice["endpoints"] = std::move(endpoints);
  return slice;
}

}  // namespace mainspring::op::build
