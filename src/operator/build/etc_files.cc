#include "operator/build/etc_files.h"

#include <optional>

#include "base/base64.h"

namespace mainspring::op::build {
namespace {

constexpr std::string_view kSlurmConf = "slurm.conf";

// They are all in one folder, whatever path stands behind Include.
slurm::ConfFile read(const Files& files, std::set<std::string>* included) {
  const auto text_of = [&](std::string_view name) -> std::optional<std::string_view> {
    const auto found = files.find(std::string(name.substr(name.rfind('/') + 1)));
    if (found == files.end()) return std::nullopt;
    if (included != nullptr) included->insert(found->first);
    return found->second;
  };
  const auto conf = files.find(std::string(kSlurmConf));
  return slurm::read_conf(kSlurmConf, conf == files.end() ? "" : std::string_view(conf->second),
                          text_of);
}

void add(Files& to, const Files& from) {
  for (const auto& [name, bytes] : from) to.insert_or_assign(name, bytes);
}

}  // namespace

Files files_of(const kube::ConfigMap& map) {
  Files files;
  for (const auto& [name, text] : map.data) files.emplace(name, text);
  for (const auto& [name, text] : map.binary_data) {
    // The API server takes no other.
    if (auto bytes = base64_decode(text)) files.emplace(name, *std::move(bytes));
  }
  return files;
}

std::map<std::string_view, const kube::ConfigMap*> maps_by_name(const SlurmConfInputs& inputs) {
  std::map<std::string_view, const kube::ConfigMap*> by_name;
  for (const ConfigMaps* maps : {&inputs.config_files, &inputs.prologs, &inputs.epilogs,
                                 &inputs.prologs_slurmctld, &inputs.epilogs_slurmctld}) {
    for (const auto& map : *maps) by_name.emplace(map->meta.name, map.get());
  }
  return by_name;
}

Files etc_files(const SlurmConfInputs& inputs) {
  Files files = {{std::string(kSlurmConf), slurm_conf(inputs)}};
  if (std::string cgroup = cgroup_conf(inputs); !cgroup.empty()) {
    files.emplace("cgroup.conf", std::move(cgroup));
  }
  for (const auto& [name, map] : maps_by_name(inputs)) add(files, files_of(*map));
  return files;
}

Files written_files(const kube::ConfigMap& config, const ConfigMaps& approved) {
  Files files = files_of(config);
  for (const auto& map : approved) add(files, files_of(*map));
  return files;
}

slurm::ConfFile read_slurm_conf(const Files& files) { return read(files, nullptr); }

std::set<std::string> included_files(const Files& files) {
  std::set<std::string> names;
  static_cast<void>(read(files, &names));
  return names;
}

}  // namespace mainspring::op::build
