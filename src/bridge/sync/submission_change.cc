// How a job that is there becomes another: what is wanted of one that waits, and whose it is. The
// part of Submission that updates jobs.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "bridge/sync/submission.h"
#include "slurm/errors.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {

JobChanges Submission::changes(const slurm::Job& job, const JobRequests& had,
                               const Prepared& wanted) const {
  const auto parts = parts_of(job);
  const HasNode has_node = [this](std::string_view name) { return has_slurm_node(name); };
  JobChanges out;
  out.parts = wanted.parts;
  if (out.parts.size() != parts.size()) {
    out.anew = fmt::format("it has {} parts and needs {}", parts.size(), wanted.parts.size());
    return out;
  }
  const bool known = had.size() == parts.size();
  const auto owners = owners_in(job);
  const bool as_before = owners && owners->asked == asked_text(out.parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::optional<slurm::JobRequest> before;
    if (known) {
      before = had[i];
    } else if (as_before) {
      before = as_asked(*parts[i], out.parts[i]);
    }
    JobChange change = change_of(*parts[i], before, out.parts[i], has_node);
    if (!change.anew.empty()) {
      out.anew = std::move(change.anew);
      return out;
    }
    // Once it is let go, that is.
    if (parts[i]->hold) out.parts[i].priority = known ? had[i].priority : slurm::Number();
    if (change.none()) continue;
    std::string user = out.parts[i].user_id ? parts[i]->user_name.str() : "";
    out.updates.push_back({parts[i]->id, std::move(change.update), std::move(user)});
  }
  return out;
}

// What an administrator changes slurmctld holds against no association, QOS or partition, and marks
// as beyond limits. So a user's job is changed by its user, but for what is ours alone to write.
Task<Result<void>> Submission::change(JobChanges changes) {
  const slurm::JobRequest nothing;
  for (JobUpdate& one : changes.updates) {
    slurm::JobRequest ours;
    if (!one.user.empty()) {
      ours.admin_comment = std::exchange(one.changes.admin_comment, std::nullopt);
      ours.priority = std::exchange(one.changes.priority, slurm::Number());
    }
    if (one.changes != nothing) {
      MS_CO_CHECK(co_await slurm::Jobs(world_.slurm, {.user = one.user})
                      .update(one.job, std::move(one.changes)));
    }
    if (ours != nothing) {
      MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).update(one.job, std::move(ours)));
    }
  }
  co_return Result<void>();
}

bool is_not_the_users(const Error& error) {
  return slurm::refused_with(error, slurm::Errno::kAccessDenied) ||
         slurm::refused_with(error, slurm::Errno::kUserNotAllowed);
}

bool Submission::has_slurm_node(std::string_view name) const {
  return world_.cache.nodes().get({}, name) != nullptr;
}

bool Submission::is_fixed(const slurm::Job& job) const {
  const auto names = expand_hostlist(job.excluded_nodes);
  return names && !std::all_of(names->begin(), names->end(),
                               [this](const std::string& name) { return has_slurm_node(name); });
}

Task<Result<void>> Submission::own(slurm::JobId job, std::vector<PodPtr> pods) {
  const auto record = world_.cache.jobs().get({}, job.text());
  const auto had = record ? owners_in(*record) : std::nullopt;
  const std::string anew = comment_for(pods, had ? had->asked : "");
  if (!record || !is_het(*record)) {
    MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).update(job, {.admin_comment = anew}));
    MS_CO_CHECK(co_await world_.cache.refresh_job(job));
    co_return Result<void>();
  }
  // Nobody changes parts, so who stays is where it was.
  const JobOwners stay = had ? only(*had, owners_of(pods).uids) : JobOwners();
  const std::string comment = stay.uids.empty() ? anew : to_admin_comment(stay);
  auto parts = parts_of(*record);
  // The first one last: what it says counts, and as long as it says the old, this is done again.
  std::reverse(parts.begin(), parts.end());
  for (const auto& part : parts) {
    if (part->state.has_ended()) continue;
    MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).update(part->id, {.admin_comment = comment}));
    MS_CO_CHECK(co_await world_.cache.refresh_job(part->id));
  }
  co_return Result<void>();
}

}  // namespace mainspring::bridge
