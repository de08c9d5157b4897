#include "operator/sync/controller_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "operator/build/etc_files.h"
#include "operator/build/jwks.h"
#include "operator/build/kept_partitions.h"
#include "operator/build/sidecars.h"
#include "operator/sync/config_plan.h"

namespace mainspring::op {
namespace {

// One key of a Secret or ConfigMap, as a reader of the status would look for it.
template <class Object>
void require_key(const std::shared_ptr<const Object>& object, std::string_view field,
                 const api::KeyRef& ref, std::string_view ns, std::vector<std::string>& missing) {
  if (!object) {
    missing.push_back(
        fmt::format("{}: {} {}/{} does not exist", field, Object::kResource.kind, ns, ref.name));
    return;
  }
  const auto& data = object->data;
  if constexpr (requires { object->find(ref.key); }) {
    if (object->find(ref.key) != nullptr) return;
  } else if (data.contains(ref.key) || object->binary_data.contains(ref.key)) {
    return;
  }
  missing.push_back(fmt::format("{}: {} {}/{} has no key {}", field, Object::kResource.kind, ns,
                                ref.name, ref.key));
}

build::ConfigMaps maps_of(const World& world, std::string_view ns, std::string_view field,
                          const std::vector<api::NameRef>& refs,
                          std::vector<std::string>& missing) {
  build::ConfigMaps found;
  for (const api::NameRef& ref : refs) {
    if (auto map = world.config_maps.get(ns, ref.name)) {
      found.push_back(std::move(map));
    } else {
      missing.push_back(fmt::format("{}: ConfigMap {}/{} does not exist", field, ns, ref.name));
    }
  }
  return found;
}

}  // namespace

build::ConfigMaps approved_maps_of(const World& world, const api::Controller& controller) {
  const std::string& name = controller.meta.name;
  const std::string first = api::approved_map_name(name, "");
  build::ConfigMaps maps;
  for (const auto& map : world.config_maps_of(controller.meta.uid)) {
    if (map->meta.name.starts_with(first) || map->meta.name == api::approved_jwks_name(name)) {
      maps.push_back(map);
    }
  }
  std::sort(maps.begin(), maps.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  return maps;
}

ControllerParts::ControllerParts(const World& world, std::shared_ptr<const api::Controller> owner,
                                 const ClosedPartitions& vacant)
    : controller(std::move(owner)), inputs{.conf = {.controller = *controller}} {
  const api::ControllerSpec& spec = controller->spec;
  const std::string& ns = controller->meta.ns;
  const std::string& name = controller->meta.name;
  stateful_set = world.stateful_sets.get(ns, api::controller_name(name));
  config = world.config_maps.get(ns, api::controller_config_name(name));
  if (!spec.accounting_ref.name.empty()) {
    accounting = world.accountings.get(ns, spec.accounting_ref.name);
    // Not "none": a slurmctld that comes up without accounting gets an id that a slurmdbd which
    // comes later may refuse.
    if (!accounting) {
      missing.push_back(fmt::format("spec.accountingRef: Accounting {}/{} does not exist", ns,
                                    spec.accounting_ref.name));
    }
  }
  inputs.conf.accounting = accounting.get();
  inputs.cluster_domain = world.options.cluster_domain;
  if (!spec.external) {
    gather_references(world);
    gather_found(world);
    keep_partitions(vacant);
    keep_as_found();
  }
  files = files_of_now();
}

void ControllerParts::gather_references(const World& world) {
  const api::ControllerSpec& spec = controller->spec;
  const std::string& ns = controller->meta.ns;
  build::SlurmConfInputs& conf = inputs.conf;
  if (spec.slurm_key_ref) {
    slurm_key = world.secrets.get(ns, spec.slurm_key_ref->name);
    require_key(slurm_key, "spec.slurmKeyRef", *spec.slurm_key_ref, ns, missing);
  }
  if (const api::KeyRef* jwt = api::jwt_key_of(spec)) {
    jwt_key = world.secrets.get(ns, jwt->name);
    require_key(jwt_key, "spec.jwtKeyRef", *jwt, ns, missing);
  }
  if (spec.jwks_key_ref) {
    jwks = world.config_maps.get(ns, spec.jwks_key_ref->name);
    require_key(jwks, "spec.jwksKeyRef", *spec.jwks_key_ref, ns, missing);
  }
  const auto maps = [&](std::string_view field, const std::vector<api::NameRef>& refs) {
    return maps_of(world, ns, field, refs, missing);
  };
  // Those that are going stay in the file until they are gone: jobs may still name their partition.
  conf.nodesets = world.nodesets_of(controller->meta.key());
  conf.config_files = maps("spec.configFileRefs", spec.config_file_refs);
  conf.prologs = maps("spec.prologScriptRefs", spec.prolog_script_refs);
  conf.epilogs = maps("spec.epilogScriptRefs", spec.epilog_script_refs);
  conf.prologs_slurmctld =
      maps("spec.prologSlurmctldScriptRefs", spec.prolog_slurmctld_script_refs);
  conf.epilogs_slurmctld =
      maps("spec.epilogSlurmctldScriptRefs", spec.epilog_slurmctld_script_refs);
  if (const auto before = config ? config->data.find("slurm.conf") : std::nullopt) {
    conf.max_nodes_before = build::max_nodes_in(*before);
  }
  inputs.slurm_key = slurm_key.get();
  inputs.jwt_key = jwt_key.get();
  inputs.jwks = jwks.get();
  // Login pods are joined to it too; see build/login_names.h.
  inputs.search_services = {api::workers_service_name(controller->meta.name)};
  if (!stateful_set) return;
  inputs.live_annotations = &stateful_set->meta.annotations;
  for (const auto& pod : world.pods_of(stateful_set->meta.uid)) {
    if (pod->meta.labels.find(api::label::kActive) == "true") inputs.active_pod = pod->meta.name;
  }
}

void ControllerParts::gather_found(const World& world) {
  if (!config) return;
  approved = approved_maps_of(world, *controller);
  // Before there are copies, slurmctld has the user's own.
  if (approved.empty()) found = files_of_now();
  for (auto& [name, bytes] : build::written_files(*config, approved)) {
    found.insert_or_assign(name, std::move(bytes));
  }
}

bool ControllerParts::are_written() const {
  return std::includes(found.begin(), found.end(), files.begin(), files.end());
}

// What a running slurmctld has is closed first, and while it has not taken that up it still lets
// jobs in. Only what it is known to have closed can be known to be without jobs for good.
void ControllerParts::keep_partitions(const ClosedPartitions& vacant) {
  const std::map<std::string, std::string> wanted = files_of_now();
  if (!config || found == wanted) return;
  closed.files = build::files_hash(found);
  const auto may_go = [&](std::string_view partition) {
    closed.names.emplace(partition);
    return vacant.files == closed.files && vacant.names.contains(partition);
  };
  inputs.conf.kept =
      build::kept_lines(build::read_slurm_conf(found), build::read_slurm_conf(wanted), may_go);
}

bool ControllerParts::in_force() const {
  const api::ConfigStatus& status = controller->status.config;
  return status.state == kApplied && !closed.files.empty() && status.hash == closed.files;
}

void ControllerParts::keep_as_found() {
  const auto before = config ? config->data.find("slurm.conf") : std::nullopt;
  if (!before) return;
  build::SlurmConfInputs as_found = inputs.conf;
  as_found.return_to_service = false;
  if (*before == build::slurm_conf(as_found)) inputs.conf.return_to_service = false;
}

std::map<std::string, std::string> ControllerParts::files_of_now() const {
  std::map<std::string, std::string> all = build::etc_files(inputs.conf);
  if (!jwks) return all;
  std::map<std::string, std::string> keys = build::files_of(*jwks);
  all.insert_or_assign(std::string(build::kJwksFile),
                       std::move(keys[controller->spec.jwks_key_ref->key]));
  return all;
}

}  // namespace mainspring::op
