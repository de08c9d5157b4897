// The verbs of Accounting on past jobs.
#include <fmt/format.h>

#include "slurm/accounts.h"
#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

std::string subject_of(JobId id) { return fmt::format("accounted job {}", id.text()); }

// What was asked for and is not so. "" if nothing.
std::string difference(const DbJobUpdate& asked, const DbJob& is) {
  for (std::string found :
       {text_difference("admin_comment", asked.admin_comment, is.admin_comment),
        text_difference("comment", asked.comment, is.comment),
        text_difference("system_comment", asked.system_comment, is.system_comment),
        text_difference("extra", asked.extra, is.extra)}) {
    if (!found.empty()) return found;
  }
  if (asked.derived_exit_code && is.derived_exit_code.value_or(0) != *asked.derived_exit_code) {
    return fmt::format("derived_exit_code is {}, not {}", is.derived_exit_code.value_or(0),
                       *asked.derived_exit_code);
  }
  return {};
}

}  // namespace

Task<Result<DbJob>> Accounting::job(JobId id) const {
  co_return co_await calls_.one<DbJob>(
      calls_.make(Endpoint::kGetDbJob, {std::string(id.text())}, subject_of(id)), "jobs");
}

Task<Result<void>> Accounting::jobs(DbJobFilter filter, Source::OnRecord<DbJob> on_record) const {
  Call call = calls_.make(Endpoint::kListDbJobs);
  const auto add = [&](const char* key, const std::vector<std::string>& values) {
    for (const std::string& value : values) call.query.emplace_back(key, value);
  };
  add("users", filter.users);
  add("account", filter.accounts);
  add("job_name", filter.names);
  add("partition", filter.partitions);
  add("qos", filter.qos);
  add("state", filter.states);
  add("node", filter.nodes);
  if (!filter.cluster.empty()) call.query.emplace_back("cluster", filter.cluster);
  if (filter.start > 0) call.query.emplace_back("start_time", fmt::format("uts{}", filter.start));
  if (filter.end > 0) call.query.emplace_back("end_time", fmt::format("uts{}", filter.end));
  if (!filter.steps) call.query.emplace_back("skip_steps", "true");
  MS_CO_CHECK(co_await calls_.stream<DbJob>(std::move(call), "jobs", 0, std::move(on_record)));
  co_return Result<void>();
}

Task<Result<DbJob>> Accounting::check_job(JobId id, DbJobUpdate update) const {
  MS_CO_TRY(DbJob is, co_await job(id));
  if (const std::string other = difference(update, is); !other.empty()) {
    co_return fail(not_done(subject_of(id), other));
  }
  co_return is;
}

Task<Result<DbJob>> Accounting::update_job(JobId id, DbJobUpdate update) const {
  const std::string subject = subject_of(id);
  Call call = calls_.with_body(Endpoint::kUpdateDbJob, to_json(update), subject);
  call.path = {std::string(id.text())};
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(std::move(call)));
  if (answer.not_modified) co_return fail(not_there(subject));
  co_return co_await check_job(id, std::move(update));
}

Task<Result<std::vector<DbJob>>> Accounting::update_jobs(std::vector<JobId> ids,
                                                         DbJobUpdate update) const {
  std::vector<DbJob> changed;
  if (ids.empty()) co_return changed;
  const std::string subject = fmt::format("{} accounted jobs", ids.size());
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.with_body(
                                     Endpoint::kUpdateDbJobs, to_json(update, ids), subject)));
  if (answer.not_modified) co_return fail(not_there(subject));
  for (const JobId id : ids) {
    MS_CO_TRY(DbJob one, co_await check_job(id, update));
    changed.push_back(std::move(one));
  }
  co_return changed;
}

}  // namespace mainspring::slurm
