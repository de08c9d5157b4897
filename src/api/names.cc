#include "api/names.h"

#include <fmt/format.h>

namespace mainspring::api {

std::string controller_name(std::string_view owner) { return fmt::format("{}-controller", owner); }
std::string controller_internal_name(std::string_view owner) {
  return fmt::format("{}-controller-internal", owner);
}
std::string controller_config_name(std::string_view owner) {
  return fmt::format("{}-config", owner);
}
std::string approved_map_name(std::string_view owner, std::string_view map) {
  return fmt::format("{}-approved-{}", owner, map);
}
std::string approved_jwks_name(std::string_view owner) {
  return fmt::format("{}-approved.jwks", owner);
}
std::string accounting_name(std::string_view owner) { return fmt::format("{}-accounting", owner); }
std::string restapi_name(std::string_view owner) { return fmt::format("{}-restapi", owner); }
std::string ssh_config_name(std::string_view owner) { return fmt::format("{}-ssh-config", owner); }
std::string ssh_host_keys_name(std::string_view owner) {
  return fmt::format("{}-ssh-host-keys", owner);
}
std::string workers_service_name(std::string_view controller) {
  return fmt::format("slurm-workers-{}", controller);
}
std::string workers_pdb_name(std::string_view controller) {
  return fmt::format("slurm-workers-pdb-{}", controller);
}

json::Value selector_labels(std::string_view app, std::string_view instance) {
  return json::Value::object({{label::kName, app}, {label::kInstance, instance}});
}

json::Value object_labels(std::string_view app, std::string_view component,
                          std::string_view instance) {
  json::Value labels = selector_labels(app, instance);
  labels.set(label::kComponent, component);
  return labels;
}

}  // namespace mainspring::api
