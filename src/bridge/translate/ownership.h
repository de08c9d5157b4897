// bridge/translate/ownership.h
//
// Whose an external job is, as its admin comment says:
// {"pods":["ns/name"],"uids":["..."],"cluster":"..."}. The pods are what slurm-bridge writes and
// reads; the rest is ours, and makes it certain. All parts of a het job have the same comment, with
// "parts":[0,1,1] for which pod is in which. "asked" stands for what the job was asked for with, so
// that a bridge which starts can tell what its owners have changed since from what an administrator
// has. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/gang/gang.h"

namespace mainspring::bridge {

struct JobOwners {
  std::vector<std::string> pods;  // "ns/name"
  std::vector<std::string> uids;  // In the same order; empty where slurm-bridge wrote it.
  // The Kubernetes that they are in; several may share one Slurm. Empty where not known.
  std::string cluster;
  // In the order of the pods; empty where the job is of one part.
  std::vector<std::int32_t> parts;
  std::string asked;  // See translate/change.h; empty where not known.

  bool operator==(const JobOwners&) const = default;
};

JobOwners owners_of(std::span<const PodPtr> pods);
// Which part of the job the pod of this UID is in; none where the job is not the pod's.
std::optional<std::int32_t> part_of(const JobOwners& owners, std::string_view uid);
// The same without the pods whose UIDs are not among these.
JobOwners only(const JobOwners& owners, std::span<const std::string> uids);
std::string to_admin_comment(const JobOwners& owners);
// None where it is not such a comment.
std::optional<JobOwners> parse_admin_comment(std::string_view comment);
// For slurm::CacheOptions: jobs are found by the UIDs of their pods, and by "ns/name" where there
// are none.
void admin_comment_keys(std::string_view comment, std::vector<std::string>& keys);

}  // namespace mainspring::bridge
