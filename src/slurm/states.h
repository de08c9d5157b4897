// slurm/states.h
//
// NodeState and JobState: what Slurm says a node or a job is doing, and what that means. Slurm has
// one base state and a set of flags; what matters to us is nearly always a combination, and those
// are here and nowhere else. Values of eight bytes, part of the records. A name that we do not know
// (a newer Slurm) is kept as Flag::kOther and decides nothing.
//
// Every question is answered no where Slurm said nothing (a default value, an unknown base): what
// is not known to be drained is not drained.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/reader.h"

namespace mainspring::slurm {

namespace detail {
template <class Flag>
constexpr std::uint32_t bits(std::initializer_list<Flag> flags) {
  std::uint32_t bits = 0;
  for (const Flag flag : flags) bits |= std::uint32_t{1} << static_cast<unsigned>(flag);
  return bits;
}
}  // namespace detail

class NodeState {
 public:
  enum class Base : std::uint8_t {
    kNone,
    kUnknown,  // slurmctld has not heard of it since it started
    kDown,
    kIdle,
    kAllocated,
    kError,
    kMixed,  // some of it is allocated
    kFuture,
    kInvalid,
  };
  enum class Flag : std::uint8_t {
    kBlocked,  // kept free by a job with exclusive topology nearby
    kCloud,
    kCompleting,
    kDrain,
    kDynamicFuture,
    kDynamicNorm,
    kExternal,    // no slurmd: somebody else runs what is placed here
    kInvalidReg,  // slurmd is there with less than was configured
    kFail,
    kMaintenance,
    kPowerDown,  // asked for
    kPowerUp,
    kPoweredDown,
    kRebootRequested,
    kRebootIssued,
    kReserved,
    kResume,
    kNotResponding,
    kPlanned,  // backfill means it for a job
    kPoweringUp,
    kPoweringDown,
    kUndrain,  // kUndrain, kResume and the next four are only asked for, never reported
    kRebootCanceled,
    kPowerDrain,
    kPowerDownAsap,
    kPowerDownForce,
    kOther,
  };

  constexpr NodeState() = default;
  constexpr NodeState(Base base, std::initializer_list<Flag> flags = {})  // NOLINT(*-explicit-*)
      : base_(base) {
    for (const Flag flag : flags) add(flag);
  }
  // What one asks for: DRAIN, RESUME, UNDRAIN, POWER_DOWN have no base.
  constexpr NodeState(Flag flag) { add(flag); }  // NOLINT(google-explicit-constructor)

  constexpr Base base() const { return base_; }
  constexpr bool has(Flag flag) const { return (flags_ & bit(flag)) != 0; }
  constexpr void add(Flag flag) { flags_ |= bit(flag); }
  constexpr void set(Base base) { base_ = base; }

  // Whether slurmctld has an opinion: everything but UNKNOWN, INVALID and nothing at all.
  constexpr bool is_known() const {
    return base_ != Base::kNone && base_ != Base::kUnknown && base_ != Base::kInvalid;
  }
  // Jobs hold resources here, or their epilog has not ended.
  constexpr bool is_busy() const {
    return base_ == Base::kAllocated || base_ == Base::kMixed || has(Flag::kCompleting);
  }
  // Up, and no job holds anything here. Says nothing about drain: see can_take_jobs().
  constexpr bool is_idle() const { return base_ == Base::kIdle && !has(Flag::kCompleting); }
  constexpr bool is_down() const { return base_ == Base::kDown || base_ == Base::kError; }
  // No new job comes here, and some are still at work.
  constexpr bool is_draining() const { return has(Flag::kDrain) && is_busy(); }
  // No new job comes here and none is left. DOWN+DRAIN is drained: slurmctld ends a node's jobs
  // before it calls it DOWN. UNKNOWN+DRAIN is not: after a restart of slurmctld its jobs may not
  // have been looked for yet.
  constexpr bool is_drained() const { return has(Flag::kDrain) && is_known() && !is_busy(); }
  // slurmctld would start a fitting job here as soon as there is room, powering the node up if need
  // be. In a reservation (RESERVED, MAINTENANCE) only a job of that reservation.
  constexpr bool can_take_jobs() const {
    return (base_ == Base::kIdle || base_ == Base::kAllocated || base_ == Base::kMixed) &&
           (flags_ & kClosed) == 0;
  }
  // No slurmd is known to be out of reach. An EXTERNAL node is never asked, so it responds.
  constexpr bool is_responding() const {
    return is_known() && !has(Flag::kNotResponding) && !is_down() && !is_powered_off();
  }
  constexpr bool is_external() const { return has(Flag::kExternal); }
  // Made at run time, so it can be deleted, and a restart from slurm.conf alone would not know it.
  constexpr bool is_dynamic() const {
    return has(Flag::kDynamicNorm) || has(Flag::kDynamicFuture) || has(Flag::kExternal);
  }
  constexpr bool is_failing() const { return has(Flag::kFail); }
  constexpr bool is_rebooting() const {
    return has(Flag::kRebootRequested) || has(Flag::kRebootIssued);
  }
  constexpr bool is_powered_off() const {
    return has(Flag::kPoweredDown) || has(Flag::kPoweringDown);
  }
  constexpr bool is_powering_up() const { return has(Flag::kPoweringUp); }

  constexpr bool operator==(const NodeState&) const = default;

  // Slurm's names, the base first.
  std::vector<std::string_view> names() const;
  // As scontrol shows it: "IDLE+DRAIN+DYNAMIC_NORM".
  std::string to_string() const;
  // As sinfo shows it in full, in one word: "DRAINING", "IDLE~", "MIXED*", "RESERVED".
  std::string short_text() const;
  // Adds one name of Slurm's, in any case; an unknown one as kOther.
  void add_name(std::string_view name);

 private:
  static constexpr std::uint32_t bit(Flag flag) { return detail::bits({flag}); }
  static constexpr std::uint32_t kClosed =
      detail::bits({Flag::kDrain, Flag::kFail, Flag::kNotResponding, Flag::kInvalidReg,
                    Flag::kPoweringDown, Flag::kPowerDown, Flag::kRebootIssued});

  std::uint32_t flags_ = 0;
  Base base_ = Base::kNone;
};
static_assert(sizeof(NodeState) == 8);

// The array of names, or one name.
bool read(json::Reader& reader, NodeState& out);
// "IDLE+DRAIN" of scontrol and the words of sinfo, with its suffixes ("idle~", "draining*"). A word
// of sinfo's hides the base: DRAINED is read as IDLE+DRAIN, DRAINING as MIXED+DRAIN.
Result<NodeState> parse_node_state(std::string_view text);

class JobState {
 public:
  enum class Base : std::uint8_t {
    kNone,
    kPending,
    kRunning,
    kSuspended,
    kCompleted,
    kCancelled,
    kFailed,
    kTimeout,
    kNodeFail,
    kPreempted,
    kBootFail,
    kDeadline,
    kOutOfMemory,
  };
  enum class Flag : std::uint8_t {
    kLaunchFailed,
    kCompleting,   // epilog and cleaning up: the nodes are not free yet
    kConfiguring,  // nodes are allocated and boot, or run their prolog
    kExpediting,   // slurmctld is looking whether to start it again at once
    kPowerUpNode,
    kReconfigFail,
    kResizing,
    kRequeued,
    kRequeueFed,
    kRequeueHold,
    kSpecialExit,
    kStopped,  // got SIGSTOP, keeps everything
    kRevoked,  // runs on another cluster of the federation
    kResvDelHold,
    kSignaling,
    kStageOut,  // the nodes are free, the burst buffer is not
    kOther,
  };
  // How a job ended, by whose doing it was.
  enum class Ending : std::uint8_t {
    kNone,     // has not ended
    kSuccess,  // COMPLETED
    kItself,   // FAILED, OUT_OF_MEMORY: it would likely fail again
    kPerson,   // CANCELLED by its user or an administrator
    kLimit,    // TIMEOUT, DEADLINE
    kCluster,  // NODE_FAIL, BOOT_FAIL, PREEMPTED, or it never could be launched: no fault of the
               // job
  };

  constexpr JobState() = default;
  constexpr JobState(Base base, std::initializer_list<Flag> flags = {})  // NOLINT(*-explicit-*)
      : base_(base) {
    for (const Flag flag : flags) add(flag);
  }

  constexpr Base base() const { return base_; }
  constexpr bool has(Flag flag) const { return (flags_ & bit(flag)) != 0; }
  constexpr void add(Flag flag) { flags_ |= bit(flag); }
  constexpr void set(Base base) { base_ = base; }

  // Waits, for the first time or again. With COMPLETING its last run still holds nodes.
  constexpr bool is_pending() const { return base_ == Base::kPending; }
  // Nodes are allocated; they boot or run their prolog.
  constexpr bool is_starting() const {
    return base_ == Base::kRunning && (flags_ & kNotReady) != 0 && !has(Flag::kStopped) &&
           !is_completing();
  }
  // Nodes are allocated and ready, and it is at work.
  constexpr bool is_running() const {
    return base_ == Base::kRunning && (flags_ & (kNotReady | bit(Flag::kStopped))) == 0 &&
           !is_completing();
  }
  constexpr bool is_suspended() const {
    return (base_ == Base::kSuspended || (base_ == Base::kRunning && has(Flag::kStopped))) &&
           !is_completing();
  }
  constexpr bool is_completing() const { return has(Flag::kCompleting); }
  // It has left the queue: nodes were allocated, or it ended without.
  constexpr bool has_left_queue() const { return base_ != Base::kNone && !is_pending(); }
  // Nodes are allocated, ready or not, at work or not, or not yet given back.
  constexpr bool holds_resources() const {
    return base_ == Base::kRunning || base_ == Base::kSuspended || is_completing();
  }
  // This run is over but the job is not: Slurm is about to put it back into the queue, under the
  // same id, possibly held. While that is being looked into, it may be.
  constexpr bool will_come_back() const { return is_final_base() && (flags_ & kComesBack) != 0; }
  // It will not run again and its ending stands. May still hold nodes (COMPLETING).
  constexpr bool has_ended() const { return is_final_base() && !will_come_back(); }
  // Ended, with its nodes given back: nothing of it is left but its record.
  constexpr bool is_over() const { return has_ended() && !holds_resources(); }
  // Waits, and will until somebody releases it. Other holds are a priority of 0: see Job::hold.
  constexpr bool is_held_by_state() const { return is_pending() && (flags_ & kHolds) != 0; }
  Ending ending() const;

  constexpr bool operator==(const JobState&) const = default;

  std::vector<std::string_view> names() const;
  // All of it, as Slurm's logs have it: "RUNNING,CONFIGURING".
  std::string to_string() const;
  // As squeue shows it, in one word and in two letters: "COMPLETING" and "CG".
  std::string_view short_text() const;
  std::string_view code() const;
  void add_name(std::string_view name);

 private:
  static constexpr std::uint32_t bit(Flag flag) { return detail::bits({flag}); }
  constexpr bool is_final_base() const { return base_ > Base::kSuspended; }
  static constexpr std::uint32_t kNotReady = detail::bits({Flag::kConfiguring, Flag::kPowerUpNode});
  static constexpr std::uint32_t kHolds =
      detail::bits({Flag::kRequeueHold, Flag::kSpecialExit, Flag::kResvDelHold});
  static constexpr std::uint32_t kComesBack =
      detail::bits({Flag::kRequeued, Flag::kRequeueFed, Flag::kRequeueHold, Flag::kSpecialExit,
                    Flag::kExpediting});

  std::uint32_t flags_ = 0;
  Base base_ = Base::kNone;
};
static_assert(sizeof(JobState) == 8);

bool read(json::Reader& reader, JobState& out);
// "RUNNING,CONFIGURING", "RUNNING+CONFIGURING", or one word or code of squeue's. A flag alone hides
// the base: "COMPLETING" has none.
Result<JobState> parse_job_state(std::string_view text);

}  // namespace mainspring::slurm
