// operator/build/pod_parts.h
//
// The parts that pods of Slurm's daemons are put together from: volumes of keys and configuration,
// probes, labels. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "api/common.h"
#include "base/result.h"
#include "operator/build/metadata.h"

namespace mainspring::op::build {

inline constexpr int kSlurmUid = 401;

// What every object of one daemon carries: name, component, instance.
Labels daemon_labels(std::string_view app, std::string_view component, std::string_view instance);

// The metadata of a workload: its kind's, then that of the template, then our labels.
Metadata workload_metadata(const kube::Meta& owner, const api::TemplateMeta& pod_template,
                           const Labels& ours);

// hash_of() one text.
std::string hash_of_text(std::string text);

// Parts of a projected volume: one key as one file. `mode` 0: the volume's.
struct FileItem {
  std::string_view key;
  std::string_view path;
  int mode = 0;
};
json::Value secret_source(std::string_view name, const std::vector<FileItem>& items);
json::Value config_map_source(std::string_view name, const std::vector<FileItem>& items);
json::Value projected_volume(std::string_view name, int mode, json::Value sources);
json::Value memory_volume(std::string_view name);

json::Value mount(std::string_view volume, std::string_view path);
json::Value read_only_mount(std::string_view volume, std::string_view path);

json::Value tcp_port(std::string_view name, int port);
json::Value tcp_probe(int port);
// Six failures in a minute, for start and life.
json::Value patient_tcp_probe(int port);

// runAsNonRoot with this uid as user and group.
json::Value run_as(int uid);

// {metadata: {labels, annotations}, spec}
json::Value pod_template(const Metadata& metadata, json::Value spec);

// An object with the owner among its metadata and no spec yet.
json::Value owned_object(std::string_view api_version, std::string_view kind, json::Value metadata);

}  // namespace mainspring::op::build
