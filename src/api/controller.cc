#include "api/controller.h"

#include <algorithm>
#include <set>

namespace mainspring::api {

bool read(json::Reader& reader, Persistence& out) {
  json::Value object;
  if (!json::read(reader, object)) return false;
  if (const json::Value* const enabled = object.find("enabled")) {
    out.enabled = enabled->as_bool().value_or(true);
  }
  if (const json::Value* const claim = object.find("existingClaim")) {
    out.existing_claim = claim->as_string().value_or("");
  }
  out.claim = std::move(object);
  return true;
}

std::string Controller::cluster_name() const {
  return spec.cluster_name.empty() ? meta.ns + "_" + meta.name : spec.cluster_name;
}

std::int32_t Controller::replicas() const {
  if (spec.external) return 0;
  constexpr std::int32_t kMany = 1000;  // Far beyond sense; keeps the sum from overflowing.
  return spec.ha_enabled ? 1 + std::clamp(spec.ha_backups, 1, kMany) : 1;
}

std::vector<std::string> Controller::config_map_names() const {
  std::set<std::string> names;
  for (const auto* const refs :
       {&spec.config_file_refs, &spec.prolog_script_refs, &spec.epilog_script_refs,
        &spec.prolog_slurmctld_script_refs, &spec.epilog_slurmctld_script_refs}) {
    for (const NameRef& ref : *refs) names.insert(ref.name);
  }
  names.erase("");
  return {names.begin(), names.end()};
}

}  // namespace mainspring::api
