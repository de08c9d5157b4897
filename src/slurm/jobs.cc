#include "slurm/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "slurm/job_resources.h"
#include "slurm/job_written.h"

namespace mainspring::slurm {
namespace {

// A request line of some 4 KB, which every server and proxy takes.
constexpr std::size_t kIdsInAQuery = 250;
constexpr std::size_t kIdsInABody = 1000;

std::string subject_of(JobId id) { return fmt::format("job {}", id.text()); }
std::vector<std::string> path_of(JobId id) { return {std::string(id.text())}; }

// The answer to submit and allocate.
struct Accepted {
  JobId job;
  std::string message;
};
constexpr auto json_fields(json::Tag<Accepted>) {
  return json::fields(json::field("job_id", &Accepted::job),
                      json::field("job_submit_user_msg", &Accepted::message));
}

Result<Submitted> submitted(Answer answer) {
  json::Reader reader;
  MS_TRY(Accepted accepted, json::decode_body<Accepted>(reader, std::move(answer.body)));
  if (!accepted.job) {
    return fail(Code::kInternal, "Slurm accepted the job and did not say which number it has");
  }
  Submitted out{.job = accepted.job, .message = std::move(accepted.message), .warnings = {}};
  for (Complaint& warning : answer.envelope.warnings) {
    out.warnings.push_back(std::move(warning.description));
  }
  return out;
}

bool is_external(const Job& job) { return job.flags.contains("EXTERNAL_JOB"); }

// The first het part's or the array's own number leads to all that a signal would reach.
JobId leader_of(const Job& job) {
  const auto number = job.het_job_id.value_or(0) != 0 ? job.het_job_id : job.array_job_id;
  const std::int64_t leader = number.value_or(0);
  return leader > 0 ? JobId(static_cast<std::uint32_t>(leader)) : job.id;
}

// Where a question about `id` was answered with others than that job: it is gone where they are
// its family, of which slurmctld forgets one after the other; else the answer is another's.
Error answered_with_others(const std::vector<Job>& found, JobId id) {
  if (found.empty() || leader_of(found.front()) == id) return not_there(subject_of(id));
  return {Code::kInternal, fmt::format("slurmrestd was asked for job {} and told of {}", id.text(),
                                       found.front().id.text())};
}

Result<Job> own_of(Result<std::vector<Job>> found, JobId id) {
  MS_CHECK(found);
  const auto own =
      std::find_if(found->begin(), found->end(), [id](const Job& job) { return job.id == id; });
  if (own == found->end()) return fail(answered_with_others(*found, id));
  return std::move(*own);
}

bool asks_for_external(const JobRequest& request) {
  return std::find(request.flags.begin(), request.flags.end(), kExternalJobFlag) !=
         request.flags.end();
}

std::string subject_of(const JobRequest& request) {
  return fmt::format("job '{}'", request.name.value_or(""));
}

bool is_kill(const std::string& signal) {
  return signal == "KILL" || signal == "SIGKILL" || signal == "9";
}

// All that an answer with this job says of it.
Result<json::Value> find_record(std::string_view body, JobId id) {
  MS_TRY(const json::Value answer, json::parse(body));
  if (const json::Value* jobs = answer.find("jobs"); jobs != nullptr) {
    for (const json::Value& job : *jobs) {
      const json::Value* number = job.find("job_id");
      if (number != nullptr && number->as_uint() == id.number()) return job;
    }
  }
  return fail(not_there(subject_of(id)));
}

}  // namespace

Task<Result<Job>> Jobs::get(JobId id) const { co_return own_of(co_await family(id), id); }

Task<Result<std::vector<Job>>> Jobs::family(JobId id) const {
  co_return co_await calls_.list<Job>(calls_.make(Endpoint::kGetJob, path_of(id), subject_of(id)),
                                      "jobs");
}

Task<Result<Listed>> Jobs::list(Source::OnRecord<Job> on_record, std::int64_t since) const {
  co_return co_await calls_.stream<Job>(calls_.make(Endpoint::kListJobs), "jobs", since,
                                        std::move(on_record));
}

Task<Result<std::vector<JobPulse>>> Jobs::states(std::vector<JobId> ids) const {
  std::vector<JobPulse> all;
  Source::OnRecord<JobPulse> keep = [&](const std::shared_ptr<const JobPulse>& pulse) {
    all.push_back(*pulse);
  };
  std::size_t next = 0;
  do {
    Call call = calls_.make(Endpoint::kJobStates);
    const std::size_t end = std::min(ids.size(), next + kIdsInAQuery);
    for (; next < end; ++next) call.query.emplace_back("job_id", ids[next].text());
    MS_CO_CHECK(co_await calls_.stream<JobPulse>(std::move(call), "jobs", 0, keep));
  } while (next < ids.size());
  if (ids.empty()) co_return all;
  // Asked for the first of a family, Slurm gives the whole.
  std::sort(ids.begin(), ids.end());
  std::erase_if(all, [&](const JobPulse& pulse) {
    return !std::binary_search(ids.begin(), ids.end(), pulse.id);
  });
  co_return all;
}

Task<Result<std::vector<NodeAllocation>>> Jobs::resources(JobId id) const {
  MS_CO_TRY(const Version spoken, co_await calls_.client().version());
  if (require(spoken, Endpoint::kGetResources)) {
    co_return co_await calls_.list<NodeAllocation>(
        calls_.make(Endpoint::kGetResources, path_of(id), subject_of(id)), "nodes");
  }
  Call call = calls_.make(Endpoint::kGetJob, path_of(id), subject_of(id));
  MS_CO_TRY(const auto found, co_await calls_.list<JobResources>(std::move(call), "jobs"));
  const auto own = std::find_if(found.begin(), found.end(),
                                [id](const JobResources& job) { return job.id == id; });
  if (own == found.end()) co_return fail(not_there(subject_of(id)));
  co_return allocations_of(*own);
}

Task<Result<Submitted>> Jobs::send_request(Call call, bool external) const {
  if (external) {
    MS_CO_TRY(const Version spoken, co_await calls_.client().version());
    MS_CO_CHECK(require(spoken, Feature::kExternalJobs));
  }
  MS_CO_TRY(Answer answer, co_await calls_.client().send(std::move(call)));
  co_return submitted(std::move(answer));
}

Task<Result<Submitted>> Jobs::submit(JobRequest request) const {
  Call call = calls_.with_body(Endpoint::kSubmitJob, to_submission(request), subject_of(request));
  co_return co_await send_request(std::move(call), asks_for_external(request));
}

Task<Result<Submitted>> Jobs::submit_het(std::vector<JobRequest> parts) const {
  if (parts.empty()) co_return fail(Code::kInvalid, "a het job has at least one part");
  const bool external = std::any_of(parts.begin(), parts.end(), asks_for_external);
  Call call =
      calls_.with_body(Endpoint::kSubmitJob, to_submission(std::span<const JobRequest>(parts)),
                       "het " + subject_of(parts.front()));
  co_return co_await send_request(std::move(call), external);
}

Task<Result<Submitted>> Jobs::allocate_now(JobRequest request) const {
  if (request.user_id || request.group_id) {
    co_return fail(Code::kInvalid,
                   "an allocation belongs to the user of the call: Slurm ignores user_id and "
                   "group_id, so set CallOptions::user instead");
  }
  if (request.script) {
    co_return fail(Code::kInvalid, "an allocation runs no script: submit the job instead");
  }
  // Without it the call would hang until nodes are free.
  request.immediate = true;
  Call call = calls_.with_body(Endpoint::kAllocateJob, to_submission(request), subject_of(request));
  co_return co_await send_request(std::move(call), asks_for_external(request));
}

Task<Result<Job>> Jobs::update(JobId id, JobRequest changes) const {
  Call call = calls_.with_body(Endpoint::kUpdateJob, to_json(changes), subject_of(id));
  call.path = path_of(id);
  MS_CO_CHECK(co_await calls_.send(std::move(call)));
  MS_CO_TRY(Answer answer, co_await calls_.client().send(
                               calls_.make(Endpoint::kGetJob, path_of(id), subject_of(id))));
  MS_CO_TRY(Job is, own_of(decode_list<Job>(answer.body, "jobs"), id));
  MS_CO_TRY(const json::Value record, find_record(answer.body, id));
  if (const std::string other = job_difference(to_json(changes), record); !other.empty()) {
    co_return fail(not_done(subject_of(id), other));
  }
  co_return is;
}

Task<Result<Job>> Jobs::hold(JobId id) const {
  JobRequest changes;
  changes.hold = true;
  co_return co_await update(id, std::move(changes));
}

Task<Result<Job>> Jobs::release(JobId id) const {
  JobRequest changes;
  changes.hold = false;
  co_return co_await update(id, std::move(changes));
}

// That Slurm asks for this right by itself is no help: it hangs where it should refuse.
Task<Result<void>> Jobs::check_owner(JobId id) const {
  const std::string& user = calls_.options().user;
  if (user.empty()) co_return Result<void>();
  MS_CO_TRY(const Job job, co_await get(id));
  if (job.user_name == user) co_return Result<void>();
  co_return fail(Code::kForbidden,
                 fmt::format("job {} belongs to {}: {} may not cancel or signal it", id.text(),
                             job.user_name.view(), user));
}

Task<Result<void>> Jobs::cancel(JobId id) const {
  MS_CO_CHECK(co_await check_owner(id));
  auto done = co_await calls_.send(calls_.make(Endpoint::kCancelJob, path_of(id), subject_of(id)));
  if (!done && refused_with(done.error(), Errno::kAlreadyDone)) co_return Result<void>();
  co_return done;
}

Task<Result<std::vector<NotCanceled>>> Jobs::cancel_by(JobSelection which) const {
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.with_body(
                                     Endpoint::kCancelJobs, to_json(which), "jobs")));
  std::vector<NotCanceled> left;
  for (const JobOutcome& outcome : answer.envelope.outcomes) {
    const auto number = static_cast<Errno>(outcome.number);
    if (number == Errno::kNone || number == Errno::kAlreadyDone) continue;
    left.push_back({outcome.job, outcome_error(Endpoint::kCancelJobs, outcome)});
  }
  co_return left;
}

Task<Result<std::vector<NotCanceled>>> Jobs::cancel_many(std::vector<JobId> ids) const {
  std::vector<NotCanceled> left;
  std::vector<JobId> own;
  for (const JobId id : ids) {
    if (auto checked = co_await check_owner(id); checked) {
      own.push_back(id);
    } else {
      left.push_back({std::string(id.text()), std::move(checked).error()});
    }
  }
  for (std::size_t next = 0; next < own.size();) {
    JobSelection some;
    const std::size_t end = std::min(own.size(), next + kIdsInABody);
    for (; next < end; ++next) some.jobs.emplace_back(own[next].text());
    MS_CO_TRY(std::vector<NotCanceled> part, co_await cancel_by(std::move(some)));
    std::move(part.begin(), part.end(), std::back_inserter(left));
  }
  co_return left;
}

Task<Result<std::vector<NotCanceled>>> Jobs::cancel_matching(JobSelection which) const {
  if (!which.selects()) {
    co_return fail(Code::kInvalid, "a selection that names nothing would cancel every job");
  }
  if (which.signal && !is_kill(*which.signal)) {
    co_return fail(Code::kInvalid,
                   fmt::format("many jobs are ended by KILL only, not by {}: there may be external "
                               "ones among them",
                               *which.signal));
  }
  if (const std::string& user = calls_.options().user; !user.empty()) {
    if (which.user_name && *which.user_name != user) {
      co_return fail(Code::kForbidden,
                     fmt::format("{} may not cancel the jobs of {}", user, *which.user_name));
    }
    which.user_name = user;
  }
  co_return co_await cancel_by(std::move(which));
}

// Of the job or of any other that a signal to it would reach.
Task<Result<bool>> Jobs::may_be_external(JobId id) const {
  MS_CO_TRY(const Version spoken, co_await calls_.client().version());
  if (!require(spoken, Feature::kExternalJobs)) {
    // This version does not show the flag. A Slurm that is as old has no such jobs.
    MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.make(Endpoint::kPing)));
    const std::string& release = answer.envelope.release;
    co_return release.empty() || release >= slurm_release(Version::k43);
  }
  MS_CO_TRY(const Job job, co_await get(id));
  MS_CO_TRY(const std::vector<Job> reached, co_await family(leader_of(job)));
  co_return is_external(job) || std::any_of(reached.begin(), reached.end(), is_external);
}

Task<Result<void>> Jobs::signal(JobId id, std::string signal) const {
  if (is_kill(signal)) co_return co_await cancel(id);
  MS_CO_CHECK(co_await check_owner(id));
  MS_CO_TRY(const bool external, co_await may_be_external(id));
  if (external) {
    co_return fail(Code::kInvalid,
                   fmt::format("job {} is external, or could be, and has no processes to send {} "
                               "to: cancel it",
                               id.text(), signal));
  }
  Call call = calls_.make(Endpoint::kCancelJob, path_of(id), subject_of(id));
  call.query.emplace_back("signal", std::move(signal));
  co_return co_await calls_.send(std::move(call));
}

Task<Result<void>> Jobs::requeue(JobId id, RequeueOptions options) const {
  co_return co_await requeue_many({id}, options);
}

Task<Result<void>> Jobs::requeue_many(std::vector<JobId> ids, RequeueOptions options) const {
  Result<void> done;
  for (std::size_t next = 0; next < ids.size();) {
    std::string subject = ids.size() == 1 ? subject_of(ids.front()) : "jobs";
    json::Value some = json::Value::array();
    const std::size_t end = std::min(ids.size(), next + kIdsInABody);
    for (; next < end; ++next) some.push_back(ids[next].text());
    // Not by GET job/{id}/requeue: a GET whose connection breaks may be sent again on the way, and
    // a job that has been requeued and started again would lose its work once more.
    json::Value body = json::Value::object({{"jobs", std::move(some)}});
    if (options.hold) body["flags"] = json::Value::array({"Hold"});
    auto sent =
        co_await calls_.send(calls_.with_body(Endpoint::kRequeueJobs, body, std::move(subject)));
    if (!sent && done) done = std::move(sent);
  }
  co_return done;
}

}  // namespace mainspring::slurm
