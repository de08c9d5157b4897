#include "bridge/translate/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/rfc3339.h"
#include "slurm/errors.h"

namespace mainspring::bridge {
namespace {

using slurm::Errno;
using slurm::JobState;

struct Meaning {
  std::string_view word;
  std::string_view text;
};

constexpr std::string_view kBadRequest = "no node can ever do what it asks for: ask for less";

// Slurm's words for why a job waits, as squeue shows them. The first that fits counts; a word that
// ends in '*' stands for all that begin like it.
constexpr auto kMeanings = std::to_array<Meaning>({
    {"None", "it has just been submitted"},
    {"Resources", "it starts as soon as enough of a node is free"},
    {"Priority", "others with a higher priority are before it in the queue"},
    {"Dependency", "other jobs must end first"},
    {"DependencyNeverSatisfied", "what it depends on will never happen"},
    {"BeginTime", "its begin time has not come, or Slurm is starting it again after a failure"},
    {"Licenses", "its licenses are in use"},
    {"Reservation", "its reservation has not begun, or is full"},
    {"ReservationDeleted", "its reservation was deleted: ask for another one, or for none"},
    {"ReqNodeNotAvail", "nodes that it could use are down, drained or reserved"},
    {"NodeDown", "a node that it needs is down"},
    {"BadConstraints",
     "no node can do what it asks for at the moment: ask for less, or wait for such a node"},
    {"JobHeldAdmin", "an administrator holds it"},
    {"JobHeldUser", "its owner holds it: scontrol release lets it go"},
    {"JobHoldMaxRequeue", "it was started again too often and is held"},
    {"PartitionDown", "its partition takes no jobs to nodes at the moment"},
    {"PartitionInactive", "its partition is inactive"},
    {"PartitionConfig", "the partition does not allow what it asks for"},
    {"PartitionNodeLimit",
     "it asks for more or fewer nodes than the partition allows, or than are up"},
    {"PartitionTimeLimit", "its time limit is longer than the partition allows: lower timelimit"},
    {"MaxMemPerLimit", "it asks for more memory than the partition allows: lower mem-per-node"},
    {"InvalidAccount", "its account is not known any more: set another one"},
    {"InvalidQOS", "its QOS is not known any more: set another one"},
    {"AccountNotAllowed", "its account may not use the partition"},
    {"QOSNotAllowed", "its QOS may not be used in the partition or by the account"},
    {"QOSUsageThreshold", "the QOS has used up its share"},
    {"QOSMin*", "it asks for less than the QOS demands"},
    {"QOSGrp*", "all jobs of the QOS together are at its limit"},
    {"QOSMax*", "it is beyond a limit of the QOS, or its user is"},
    {"QOS*", "it is beyond a limit of the QOS"},
    {"AssocGrp*", "all jobs of the account together are at its limit"},
    {"AssocMax*", "it is beyond a limit of the account, or its user is"},
    {"Association*", "it is beyond a limit of the account"},
    {"AccountingPolicy", "it is beyond a limit of the account or QOS"},
    {"Max*PerAccount", "jobs of the account are at a limit of the QOS"},
    {"Cleaning", "its last run has not been cleaned up yet"},
    {"Prolog", "its prolog is running"},
    {"SchedDefer", "the scheduler is busy and comes back to it"},
    {"BurstBuffer*", "it waits for a burst buffer"},
    {"FedJobLock", "another cluster of the federation may start it"},
    {"MaxPoweredUpNodes", "no more nodes may be powered up"},
    {"SystemFailure", "Slurm itself has failed to start it"},
});

bool fits(std::string_view pattern, std::string_view word) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == word;
  return word.size() >= pattern.size() - 1 && word.starts_with(pattern.substr(0, star)) &&
         word.ends_with(pattern.substr(star + 1));
}

std::string_view meaning_of(std::string_view reason) {
  const auto* const found =
      std::find_if(kMeanings.begin(), kMeanings.end(),
                   [&](const Meaning& each) { return fits(each.word, reason); });
  return found == kMeanings.end() ? std::string_view() : found->text;
}

std::string subject(const slurm::Job& job) { return fmt::format("Slurm job {}", job.id.text()); }

// What Slurm adds to its reason ("UnavailableNodes:n[1-2]"), where it adds anything.
std::string details_of(const slurm::Job& job) {
  const std::string_view text = job.reason_text;
  return text.empty() || text == "None" || text == job.reason.view() ? ""
                                                                     : fmt::format(" [{}]", text);
}

std::string expected_start(const slurm::Job& job) {
  // 0 until backfill has planned it; what lies before its submission is of an earlier run. The
  // upper bound is what WallTime can hold.
  const std::int64_t start = job.start_time.value_or(0);
  constexpr std::int64_t kLatest = 9'000'000'000;
  if (start <= 0 || start > kLatest || start < job.submit_time.value_or(0)) return "";
  return fmt::format(" Expected to start at {}.", format_rfc3339(WallTime(seconds(start))));
}

std::string_view how_it_ended(JobState state) {
  switch (state.base()) {
    case JobState::Base::kCompleted:
      return "has completed";
    case JobState::Base::kCancelled:
      return "was cancelled";
    case JobState::Base::kFailed:
      return "has failed";
    case JobState::Base::kTimeout:
      return "reached its time limit: raise timelimit if it needs longer";
    case JobState::Base::kNodeFail:
      return "lost a node";
    case JobState::Base::kPreempted:
      return "had to make way for a job of higher priority";
    case JobState::Base::kBootFail:
      return "could not start: a node did not boot";
    case JobState::Base::kDeadline:
      return "could not end before its deadline";
    case JobState::Base::kOutOfMemory:
      return "ran out of memory";
    case JobState::Base::kPending:
      return "was put back into the queue";
    case JobState::Base::kSuspended:
      return "was suspended, and its nodes given to others";
    case JobState::Base::kRunning:
      return "is running";
    case JobState::Base::kNone:
      break;
  }
  return "is in a state that is not known here";
}

struct Remedy {
  Errno number;
  std::string_view text;
  bool lasting = true;
};

constexpr auto kRemedies = std::to_array<Remedy>({
    {Errno::kInvalidPartition,
     "there is no such partition: correct the partition annotation, or "
     "have it made"},
    {Errno::kNoDefaultPartition, "no partition was named and Slurm has no default: name one"},
    {Errno::kAccessDenied,
     "Slurm does not permit it, to the user or to the bridge itself, which must be an "
     "administrator of Slurm"},
    {Errno::kPartitionGroup, "the user is in no group that may use the partition: use another one"},
    {Errno::kTooManyCpus, kBadRequest},
    {Errno::kInvalidNodeCount, "it asks for more or fewer nodes than the partition allows"},
    {Errno::kMaxJobCount, "Slurm holds as many jobs as it may (MaxJobCount): it is tried again",
     false},
    {Errno::kUserNotAllowed,
     "Slurm does not know the user: correct user-id or the identity of the "
     "namespace"},
    {Errno::kImpossible, kBadRequest},
    {Errno::kPartitionImpossible,
     "no node of the partition can do what it asks for: ask for less, "
     "or use another partition"},
    {Errno::kInvalidFeature, "no node has these features: correct the constraints annotation"},
    {Errno::kInvalidTaskMemory, "it asks for more memory than is allowed: lower it"},
    {Errno::kInvalidAccount,
     "Slurm does not know the account, or the user may not use it here: "
     "correct the account annotation, or have the user added to it"},
    {Errno::kInvalidLicenses, "there are no such licenses: correct the licenses annotation"},
    {Errno::kAccountingPolicy,
     "it is beyond a limit of its account or QOS: it is tried again as "
     "other jobs end; if it alone is too large, ask for less",
     false},
    {Errno::kInvalidTimeLimit, "its time limit is longer than allowed: lower timelimit"},
    {Errno::kReservationAccess, "the user may not use the reservation: use another one, or none"},
    {Errno::kInvalidReservation,
     "there is no such reservation: correct the reservation annotation"},
    {Errno::kReservationNotUsable, "the reservation cannot be used at this time"},
    {Errno::kInvalidWckey, "Slurm does not know the wckey for this user: correct the annotation"},
    {Errno::kInvalidQos,
     "Slurm does not know the QOS, or the account may not use it: correct the "
     "qos annotation, or have it allowed"},
    {Errno::kInvalidCpuCount, kBadRequest},
    {Errno::kInvalidGres,
     "no node has such devices, or Slurm does not manage them: correct the "
     "resources or the gres annotation, or add them to GresTypes"},
    {Errno::kInvalidMcsLabel,
     "Slurm does not take the MCS label: correct mcsLabel or MCSParameters"},
    {Errno::kSubmissionsDisabled, "Slurm takes no jobs at the moment: it is tried again", false},
    {Errno::kGroupMissing, "Slurm does not know the group: correct group-id"},
    {Errno::kInvalidGresType, "devices are asked for with and without their type: use one way"},
    {Errno::kPartitionAssociation, "the account may not use the partition: use another one"},
    {Errno::kInsufficientGres, "no node has as many devices: ask for fewer"},
    {Errno::kGroupUnknown, "Slurm does not know the group: correct group-id"},
    {Errno::kUserUnknown,
     "Slurm does not know the user: correct user-id or the identity of the "
     "namespace"},
    {Errno::kInvalidAssociation, "the user has no association with the account: have it added"},
});

const Remedy* remedy_of(const slurm::SlurmError& slurm) {
  const auto* const found = std::find_if(
      kRemedies.begin(), kRemedies.end(),
      [&](const Remedy& each) { return static_cast<std::int32_t>(each.number) == slurm.number; });
  return found == kRemedies.end() ? nullptr : found;
}

// Whether the same call fails again until somebody changes something.
bool is_lasting(Code code) {
  return code == Code::kInvalid || code == Code::kForbidden || code == Code::kUnsupported ||
         code == Code::kTooLarge || code == Code::kNotFound;
}

}  // namespace

std::string waiting_text(const slurm::Job& job) {
  const std::string_view reason = job.reason.empty() ? "None" : job.reason.view();
  const std::string_view meaning = meaning_of(reason);
  return fmt::format("{} is waiting: {}{}{}.{}", subject(job), reason,
                     meaning.empty() ? "" : fmt::format(" ({})", meaning), details_of(job),
                     expected_start(job));
}

std::string ended_text(const slurm::Job& job) {
  std::string text =
      fmt::format("{} {} ({})", subject(job), how_it_ended(job.state), job.state.to_string());
  if (job.state.will_come_back()) {
    text = fmt::format("{} was put back into the queue ({})", subject(job), job.state.to_string());
  }
  if (job.exit_code.value_or(0) != 0) {
    text += fmt::format(", exit code {}", job.exit_code.value_or(0));
  }
  if (job.exit_signal.value_or(0) != 0) {
    text += fmt::format(", signal {}", job.exit_signal.value_or(0));
  }
  const std::string_view comment = job.system_comment;
  return text + details_of(job) + (comment.empty() ? "" : fmt::format(": {}", comment));
}

Refusal refusal_text(const Error& error) {
  const slurm::SlurmError* const slurm = slurm::slurm_error(error);
  const Remedy* const remedy = slurm == nullptr ? nullptr : remedy_of(*slurm);
  if (remedy != nullptr) {
    return {fmt::format("Slurm refused the job: {} (\"{}\", Slurm error {})", remedy->text,
                        slurm->text, slurm->number),
            remedy->lasting};
  }
  const std::string said = error.to_string();
  switch (error.code()) {
    case Code::kTransient:
    case Code::kTimeout:
      return {"Slurm could not be asked for a job, which is tried again: " + said, false};
    case Code::kThrottled:
      return {"Slurm cannot take the job now, it is tried again: " + said, false};
    case Code::kUnauthorized:
      return {"Slurm does not accept the bridge's token, an administrator must look at it: " + said,
              false};
    default:
      break;
  }
  // What does not come from Slurm is our own word on the workload.
  return {slurm == nullptr ? said : "Slurm refused the job: " + said, is_lasting(error.code())};
}

}  // namespace mainspring::bridge
