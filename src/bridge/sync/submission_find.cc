// How the job of a pod is found again, by what jobs say of pods. The part of Submission that looks
// before anything is asked for.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/hostlist.h"
#include "bridge/sync/submission.h"
#include "bridge/translate/annotations.h"

namespace mainspring::bridge {
namespace {

// Under which a job of its may be found: as we name pods, and as slurm-bridge does.
std::array<std::string, 2> names_of(const kube::Pod& pod) {
  return {pod.meta.uid, pod.meta.ns + "/" + pod.meta.name};
}

// Whether what the job says of the pod under this key is true. What a user wrote (`extra`) counts
// only where the pod's job would be that user's. By its name slurm-bridge may mean an earlier pod.
bool is_word_of(const slurm::Job& job, std::string_view key, const kube::Pod& pod,
                const std::optional<std::string>& user) {
  if (job.admin_comment.empty()) {
    return key == pod.meta.uid && user &&
           (*user == job.user_name.view() || *user == std::to_string(job.user_id));
  }
  const std::int64_t created =
      std::chrono::duration_cast<seconds>(pod.meta.created.time_since_epoch()).count();
  return key == pod.meta.uid || job.submit_time.value_or(0) >= created;
}

void take_first(slurm::JobId& first, slurm::JobId other) {
  if (!first || other < first) first = other;
}

}  // namespace

std::optional<std::string> Submission::user_of(const Gang& gang) const {
  const auto& identity = world_.config.identity_of(gang.pods.front()->meta.ns);
  if (identity.user) return identity.user;
  const auto asked = parse_annotations(gang.annotations);
  return asked ? asked->user_id : std::nullopt;
}

// Whose the pod's job would be; none where nobody says, or where that stands on its owner.
std::optional<std::string> Submission::known_user(const kube::Pod& pod,
                                                  const std::optional<std::string>& user) const {
  const auto& identity = world_.config.identity_of(pod.meta.ns);
  return identity.user ? identity.user : user;
}

void Submission::disown(slurm::JobId job, const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) left_[pod->meta.uid].insert(job);
}

void Submission::forget(std::string_view uid) {
  if (const auto at = left_.find(uid); at != left_.end()) left_.erase(at);
}

bool Submission::has_left(const kube::Pod& pod, slurm::JobId job) const {
  const auto at = left_.find(pod.meta.uid);
  return at != left_.end() && at->second.contains(job);
}

// Several Kubernetes may share one Slurm, and have pods of the same names. Where the job has no
// nodes yet, those count that it could get.
bool Submission::may_be_here(const slurm::Job& job) const {
  const auto is_ours = [this](std::string_view name) { return world_.kube_node(name) != nullptr; };
  if (job.nodes.empty()) {
    const auto nodes = nodes_of(job.partition);
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const auto& node) { return is_ours(node->name); });
  }
  const auto names = expand_hostlist(job.nodes);
  return names && std::any_of(names->begin(), names->end(), is_ours);
}

bool Submission::is_elsewhere(const slurm::Job& job) const {
  const auto owners = owners_in(job);
  return owners && owners->uids.empty() && !job.nodes.empty() && !may_be_here(job);
}

bool Submission::is_job_of(const slurm::Job& job, std::string_view key, const kube::Pod& pod,
                           const std::optional<std::string>& user) const {
  if (!is_word_of(job, key, pod, user) || has_left(pod, leader_of(job))) return false;
  return key == pod.meta.uid || may_be_here(job);
}

slurm::JobId Submission::find(const std::vector<PodPtr>& pods,
                              const std::optional<std::string>& user) const {
  const std::set<slurm::JobId> all = find_all(pods, user);
  return all.empty() ? slurm::JobId() : *all.begin();
}

std::set<slurm::JobId> Submission::find_all(const std::vector<PodPtr>& pods,
                                            const std::optional<std::string>& user) const {
  std::set<slurm::JobId> all;
  for (const PodPtr& pod : pods) {
    const auto whose = known_user(*pod, user);
    for (const std::string& key : names_of(*pod)) {
      for (const auto& job : world_.cache.jobs().find(by_pod_, key)) {
        if (is_job_of(*job, key, *pod, whose)) all.insert(leader_of(*job));
      }
    }
  }
  return all;
}

Task<Result<slurm::JobId>> Submission::find_lost(std::vector<PodPtr> pods,
                                                 std::optional<std::string> user) {
  MS_CO_TRY(const auto all, co_await lost_.list());
  slurm::JobId first;
  for (const PodPtr& pod : pods) {
    const auto whose = known_user(*pod, user);
    for (const std::string& key : names_of(*pod)) {
      const auto [begin, end] = all->equal_range(key);
      for (auto at = begin; at != end; ++at) {
        if (is_job_of(*at->second, key, *pod, whose)) take_first(first, leader_of(*at->second));
      }
    }
  }
  co_return first;
}

}  // namespace mainspring::bridge
