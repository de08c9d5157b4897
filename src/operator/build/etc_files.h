// operator/build/etc_files.h
//
// What is in slurmctld's /etc/slurm: the generated files and those of every ConfigMap that the
// Controller refers to, scripts too. As the volume of its pod puts them together
// (controller_pod.cc): ConfigMaps by their names, after the generated one, and the last to bring a
// file wins. Whoever judges, hashes or shows the configuration asks for it here. Not the keys.
// Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "operator/build/slurm_conf.h"
#include "slurm/conf_file.h"

namespace mainspring::op::build {

// Bytes by the name of their file.
using Files = std::map<std::string, std::string>;

// What a ConfigMap becomes in a pod, its binary data too.
Files files_of(const kube::ConfigMap& map);
// Every ConfigMap of these that is there, once, by its name.
std::map<std::string_view, const kube::ConfigMap*> maps_by_name(const SlurmConfInputs& inputs);

// As they should be.
Files etc_files(const SlurmConfInputs& inputs);
// As they are: X-config and the copies of the others (controller_approved_maps), by name.
Files written_files(const kube::ConfigMap& config, const ConfigMaps& approved);

// The slurm.conf among them, with what it includes.
slurm::ConfFile read_slurm_conf(const Files& files);
// Those of them that it includes.
std::set<std::string> included_files(const Files& files);

}  // namespace mainspring::op::build
