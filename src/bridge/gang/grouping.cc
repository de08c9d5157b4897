#include "bridge/gang/grouping.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <tuple>
#include <utility>

#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

constexpr std::array<std::pair<GangKind, std::string_view>, 5> kPrefixes{{
    {GangKind::kPod, "pod/"},
    {GangKind::kPodGroup, "podgroup/"},
    {GangKind::kCoscheduling, "pod-group/"},
    {GangKind::kLeaderWorkerSet, "lws/"},
    {GangKind::kWholeJob, "workload/"},
}};

std::string_view label(const kube::Pod& pod, std::string_view name) {
  return pod.meta.labels.find(name).value_or("");
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Which part of a JobSet, which of its Jobs, which pod of that; a LeaderWorkerSet has the last
// alone.
auto place_of(const kube::Pod& pod) {
  std::string_view index = label(pod, "batch.kubernetes.io/job-completion-index");
  if (index.empty()) index = label(pod, kLwsWorkerIndexLabel);
  if (index.empty()) index = label(pod, "apps.kubernetes.io/pod-index");
  return std::tuple(label(pod, kReplicatedJobLabel),
                    number(label(pod, "jobset.sigs.k8s.io/job-index")), number(index));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "worker-2" before "worker-10".
bool name_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto digits = [](std::string_view text, std::size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
      const std::size_t from = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(from, at - from);
    };
    const std::string_view left = digits(a, i);
    const std::string_view right = digits(b, j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  return std::pair(a.size() - i, a) < std::pair(b.size() - j, b);
}

}  // namespace

std::string GangRef::id() const {
  for (const auto& [one, prefix] : kPrefixes) {
    if (one == kind) return std::string(prefix) + name;
  }
  return "pod/" + name;  // kJob: a pod by itself.
}

GangRef GangRef::parse(std::string_view id) {
  for (const auto& [kind, prefix] : kPrefixes) {
    if (id.starts_with(prefix)) return {kind, std::string(id.substr(prefix.size()))};
  }
  return {GangKind::kPod, std::string(id)};
}

GangRef gang_of(const kube::Pod& pod) {
  if (pod.spec->group && !pod.spec->group->pod_group.empty()) {
    return {GangKind::kPodGroup, pod.spec->group->pod_group.str()};
  }
  if (const auto group = label(pod, kCoschedulingLabel); !group.empty()) {
    return {GangKind::kCoscheduling, std::string(group)};
  }
  if (const auto group = label(pod, kLwsGroupLabel); !group.empty()) {
    return {GangKind::kLeaderWorkerSet, std::string(group)};
  }
  const std::string_view whole = pod.meta.annotations.find(kGangAnnotation).value_or("");
  if (const auto job = label(pod, kJobNameLabel); whole == "Job" && !job.empty()) {
    return {GangKind::kWholeJob, "Job/" + std::string(job)};
  }
  if (const auto set = label(pod, kJobSetNameLabel); whole == "JobSet" && !set.empty()) {
    return {GangKind::kWholeJob, "JobSet/" + std::string(set)};
  }
  return {GangKind::kPod, pod.meta.name};
}

void sort_members(std::vector<PodPtr>& pods) {
  std::sort(pods.begin(), pods.end(), [](const PodPtr& a, const PodPtr& b) {
    const auto left = place_of(*a);
    const auto right = place_of(*b);
    return left != right ? left < right : name_less(a->meta.name, b->meta.name);
  });
}

bool is_of_job(const kube::Pod& pod) {
  const kube::OwnerReference* const owner = pod.meta.controller();
  return owner != nullptr && owner->kind == "Job" && owner->group() == "batch";
}

}  // namespace mainspring::bridge
