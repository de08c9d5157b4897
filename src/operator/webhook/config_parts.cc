// operator/webhook/config_parts.cc
#include "operator/webhook/config_parts.h"

#include <algorithm>

namespace mainspring::op {
namespace {

build::ConfigMaps those_named(const ConfigParts& parts, const std::vector<api::NameRef>& refs) {
  build::ConfigMaps maps;
  for (const api::NameRef& ref : refs) {
    const auto found = parts.config_maps.find(ref.name);
    if (found != parts.config_maps.end()) maps.push_back(found->second);
  }
  return maps;
}

}  // namespace

build::SlurmConfInputs ConfigParts::inputs(const api::Controller& controller) const {
  const api::ControllerSpec& spec = controller.spec;
  return {.controller = controller,
          .accounting = accounting.get(),
          .nodesets = nodesets,
          .config_files = those_named(*this, spec.config_file_refs),
          .prologs = those_named(*this, spec.prolog_script_refs),
          .epilogs = those_named(*this, spec.epilog_script_refs),
          .prologs_slurmctld = those_named(*this, spec.prolog_slurmctld_script_refs),
          .epilogs_slurmctld = those_named(*this, spec.epilog_slurmctld_script_refs)};
}

void ConfigParts::put(std::shared_ptr<const kube::ConfigMap> map) {
  const std::string name = map->meta.name;
  config_maps.insert_or_assign(name, std::move(map));
}

void ConfigParts::put_nodeset(const std::string& name,
                              std::shared_ptr<const api::NodeSet> nodeset) {
  std::erase_if(nodesets, [&](const auto& each) { return each->meta.name == name; });
  if (nodeset) nodesets.push_back(std::move(nodeset));
}

Task<Result<ConfigParts>> read_config_parts(kube::Client* client,
                                            std::shared_ptr<const api::Controller> controller,
                                            std::set<std::string> config_maps) {
  const std::string ns = controller->meta.ns;
  ConfigParts parts;
  for (const std::string& name : config_maps) {
    MS_CO_TRY(auto map, co_await get_if_there<kube::ConfigMap>(client, ns, name));
    if (map) parts.put(std::move(map));
  }
  if (const std::string& name = controller->spec.accounting_ref.name; !name.empty()) {
    MS_CO_TRY(parts.accounting, co_await get_if_there<api::Accounting>(client, ns, name));
  }
  MS_CO_TRY(auto all, co_await kube::Api<api::NodeSet>(*client, ns).list_all());
  for (auto& nodeset : all.items) {
    if (nodeset->meta.deleting()) continue;
    if (nodeset->spec.controller_ref.name != controller->meta.name) continue;
    parts.nodesets.push_back(std::move(nodeset));
  }
  co_return parts;
}

}  // namespace mainspring::op
