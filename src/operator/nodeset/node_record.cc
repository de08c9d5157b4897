// operator/nodeset/node_record.cc
//
// What the operator writes into Slurm's record of a node: whose pod it is, and topology and
// features of the Kubernetes node. Declared in projection.h.
#include <algorithm>
#include <set>

#include "api/names.h"
#include "base/text.h"
#include "operator/build/worker.h"
#include "operator/nodeset/projection.h"
#include "operator/nodeset/topology.h"

namespace mainspring::op {
namespace {

// A comment is a person's to write too; nothing of ours is longer.
constexpr std::size_t kMaxComment = 4096;

// Slurm reads & | ! [ ] ( ) * , in a constraint as operators; what has one could never be asked
// for.
bool is_feature(std::string_view text) {
  constexpr std::string_view kPunctuation = "_-./:=@+%~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const char lower = ascii_lower(c);
    return (lower >= 'a' && lower <= 'z') || is_ascii_digit(c) ||
           kPunctuation.find(c) != std::string_view::npos;
  });
}

std::string_view topology_for(const WorkerView& worker) {
  return worker.node ? topology_of(*worker.node) : std::string_view();
}

// What Slurm should be told of the topology, if anything, and what the operator notes of it.
struct Place {
  std::optional<std::string> told;
  std::string noted;
};
Place wanted_place(const api::NodeSet& nodeset, const WorkerView& worker, slurm::Version spoken) {
  const slurm::Node& node = *worker.slurm.node;
  const auto before = parse_comment(std::string_view(node.comment));
  Place place{.told = std::nullopt, .noted = before ? before->topology : std::string()};
  if (!worker.node || !refused_topology(*worker.node).empty()) return place;
  if (!slurm::require(spoken, slurm::Feature::kNodeTopology)) return place;
  const std::string_view topology = topology_of(*worker.node);
  if (topology.empty() && place.noted.empty()) return place;
  std::string wanted(topology);
  if (wanted.empty()) wanted = build::topology_of_extra_conf(nodeset);
  if (node.topology != wanted) place.told = std::move(wanted);
  place.noted = std::string(topology);
  return place;
}

}  // namespace

constexpr auto json_fields(json::Tag<PodInfo>) {
  return json::fields(json::field("namespace", &PodInfo::ns), json::field("podName", &PodInfo::pod),
                      json::field("node", &PodInfo::node),
                      json::field("nodeSetName", &PodInfo::nodeset),
                      json::field("nodeSetUID", &PodInfo::nodeset_uid),
                      json::field("topology", &PodInfo::topology));
}

std::string to_comment(const PodInfo& info) {
  json::Value out = json::Value::object({{"namespace", info.ns},
                                         {"podName", info.pod},
                                         {"node", info.node},
                                         {"nodeSetName", info.nodeset},
                                         {"nodeSetUID", info.nodeset_uid}});
  if (!info.topology.empty()) out["topology"] = info.topology;
  return json::to_text(out);
}

std::optional<PodInfo> parse_comment(std::string_view comment) {
  if (!comment.starts_with('{') || comment.size() > kMaxComment) return std::nullopt;
  json::Reader reader;
  auto info = json::decode<PodInfo>(reader, comment);
  // JSON of somebody else's says nothing about pods.
  if (!info || info->ns.empty() || info->pod.empty()) return std::nullopt;
  return *std::move(info);
}

std::optional<std::vector<std::string>> wanted_features(const std::vector<std::string>& features,
                                                        const kube::Node& node) {
  std::vector<std::string> wanted;
  for (const std::string& feature : features) {
    if (!feature.starts_with(api::kFeaturePrefix)) wanted.push_back(feature);
  }
  const auto annotation = node.meta.annotations.find(api::annotation::kFeatures);
  for (const std::string_view piece : split(annotation.value_or(""), ',')) {
    const std::string_view value = trim(piece);
    if (!is_feature(value)) continue;
    std::string feature = std::string(api::kFeaturePrefix) + std::string(value);
    if (std::find(wanted.begin(), wanted.end(), feature) == wanted.end()) {
      wanted.push_back(std::move(feature));
    }
  }
  const std::set<std::string_view> has(features.begin(), features.end());
  if (has == std::set<std::string_view>(wanted.begin(), wanted.end())) return std::nullopt;
  return wanted;
}

bool has_topology(const WorkerView& worker) { return !topology_for(worker).empty(); }

std::optional<slurm::NodeUpdate> wanted_update(const api::NodeSet& nodeset,
                                               const WorkerView& worker, slurm::Version spoken) {
  const kube::Pod& pod = *worker.pod;
  const slurm::Node& node = *worker.slurm.node;
  if (!pod.ready() || !node.state.is_dynamic()) return std::nullopt;
  slurm::NodeUpdate update;
  bool differs = false;
  Place place = wanted_place(nodeset, worker, spoken);
  const std::string comment =
      to_comment({pod.meta.ns, pod.meta.name, std::string(pod.node_name.view()), nodeset.meta.name,
                  nodeset.meta.uid, std::move(place.noted)});
  if (node.comment != comment) {
    update.comment = comment;
    differs = true;
  }
  if (place.told) {
    update.topology = std::move(place.told);
    differs = true;
  }
  if (worker.node) {
    const std::vector<std::string> features(node.features.begin(), node.features.end());
    const std::vector<std::string> active(node.active_features.begin(), node.active_features.end());
    auto available = wanted_features(features, *worker.node);
    auto activated = wanted_features(active, *worker.node);
    if (available || activated) {
      // Both: Slurm would activate all that are available where it is not told which.
      update.features = std::move(available).value_or(features);
      update.active_features = std::move(activated).value_or(active);
      differs = true;
    }
  }
  if (!differs) return std::nullopt;
  return update;
}

}  // namespace mainspring::op
