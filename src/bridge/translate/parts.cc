#include "bridge/translate/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/names.h"
#include "bridge/translate/annotations.h"
#include "bridge/translate/pod_needs.h"

namespace mainspring::bridge {
namespace {

struct Kind {
  const kube::Pod* pod;
  const VolumeNodes* volumes;
  PodNeeds needs;
};

std::size_t count_of(std::span<const std::size_t> kinds) {
  return kinds.empty() ? 0 : *std::max_element(kinds.begin(), kinds.end()) + 1;
}

}  // namespace

Result<std::vector<std::size_t>> kinds_of(std::span<const PodPtr> pods,
                                          std::span<const VolumeNodes> volumes) {
  std::vector<Kind> known;
  std::vector<std::size_t> kinds;
  kinds.reserve(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const kube::Pod& pod = *pods[i];
    // Pods of one template share their spec, and most gangs have one template.
    const bool as_before = i > 0 && &*pod.spec == &*pods[i - 1]->spec;
    PodNeeds needs;
    if (as_before) {
      needs = known[kinds.back()].needs;
    } else {
      MS_TRY(needs, with_context(needs_of(*pod.spec), "pod " + pod.meta.name));
    }
    const auto at = std::find_if(known.begin(), known.end(), [&](const Kind& kind) {
      return kind.needs == needs && same_wishes(*kind.pod, *kind.volumes, pod, volumes[i]);
    });
    kinds.push_back(static_cast<std::size_t>(at - known.begin()));
    if (at == known.end()) known.push_back({&pod, &volumes[i], std::move(needs)});
  }
  return kinds;
}

std::vector<Gang> split_by_kind(const Gang& gang, std::span<const std::size_t> kinds) {
  Gang like = gang;
  like.pods.clear();
  // Any other kind may start with fewer nodes than it has pods.
  if (like.kind == GangKind::kCoscheduling) like.kind = GangKind::kPodGroup;
  std::vector<Gang> parts(count_of(kinds), like);
  for (std::size_t i = 0; i < kinds.size(); ++i) parts[kinds[i]].pods.push_back(gang.pods[i]);
  for (Gang& part : parts) part.min_members = static_cast<std::int32_t>(part.pods.size());
  return parts;
}

Result<std::vector<Translation>> translate_parts(const Gang& gang,
                                                 std::span<const std::size_t> kinds,
                                                 const BridgeConfig& config) {
  if (const std::size_t count = count_of(kinds); count > kMostParts) {
    return fail(Code::kInvalid, fmt::format("the gang has {} kinds of pods, a het job at most {} "
                                            "parts: make more of them alike",
                                            count, kMostParts));
  }
  MS_TRY(const JobAnnotations asked, parse_annotations(gang.annotations));
  if (asked.min_nodes || asked.max_nodes) {
    return fail(Code::kInvalid,
                fmt::format("annotations {0}min-nodes and {0}max-nodes say nothing of a gang whose "
                            "pods differ, each kind of which has nodes of its own: remove them",
                            kJobPrefix));
  }
  std::vector<Translation> parts;
  for (const Gang& part : split_by_kind(gang, kinds)) {
    MS_TRY(Translation translation, translate(part, config));
    parts.push_back(std::move(translation));
  }
  return parts;
}

}  // namespace mainspring::bridge
