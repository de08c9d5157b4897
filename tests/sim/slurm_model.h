// tests/sim/slurm_model.h
//
// A slurmctld in memory: nodes, partitions, jobs and reservations, what may be done to them, and a
// scheduler that starts what fits, in the order it was submitted. Knows no HTTP: slurm_api.h puts
// slurmrestd in front. Time is whatever `now` its owner passes; what happens by itself (starts,
// time limits, old jobs forgotten) happens at the time it was due, when somebody next looks.
//
// It has what external jobs and external nodes need, and of nodes with a slurmd that they register
// and fall silent. The parts of a het job start and are cancelled together. There are no batch
// scripts, no steps, no arrays, no accounting but a limit, and no backfill: a job that cannot start
// lets the next one try.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace mainspring::sim {

// How slurmctld refuses: its number, and what slurmrestd was doing.
struct SlurmRefusal {
  int number = 0;
  std::string_view error;
  std::string description;
  std::string_view source;
  int http_status = 422;
};

struct SlurmNode {
  std::string name, address;
  int cpus = 1, sockets = 1, cores = 1, threads = 1, weight = 1;
  std::int64_t memory = 1;  // MB
  std::vector<std::string> features;
  std::string comment, extra, reason;
  std::int64_t reason_time = 0;
  bool drain = false, down = false;
  bool external = true;    // No slurmd is behind it.
  bool responding = true;  // Its slurmd is there, or nobody asks for one.

  // What jobs hold here.
  int used_cpus = 0;
  std::int64_t used_memory = 0;
  int running = 0;
};

struct SlurmPartition {
  std::string name;
  std::string feature;  // Its nodes are those with it; "": all nodes.
  bool from_rest = false;
  std::vector<std::string> names;  // Of the nodes, for one made by REST.
  // MaxTime in minutes, beyond which a user's own update must not go; none: any.
  std::optional<std::int64_t> most_minutes;
  bool from_file = false;
  bool closed = false;  // State=DRAIN
};

struct SlurmJob {
  enum class State : std::uint8_t {
    kPending,
    kRunning,
    kSuspended,
    kCancelled,
    kTimeout,
    kNodeFail,
    kPreempted,
  };
  std::uint32_t id = 0;
  std::uint32_t leader = 0;  // Of the het job that it is a part of; 0: of none.
  State state = State::kPending;
  std::string name, partition, user, admin_comment, comment, extra;
  std::string account = "root", qos = "normal", gres;
  int nodes_wanted = 1, cpus_per_node = 1, tasks_per_node = 0;
  std::int64_t priority = 1;
  std::optional<std::int64_t> memory_per_node;
  std::optional<std::int64_t> time_limit;  // Minutes.
  std::vector<std::string> required, excluded;
  std::string feature;
  bool held = false;
  std::int64_t submitted = 0, started = 0, ended = 0;  // Unix seconds; 0: not yet.
  std::vector<std::string> nodes;

  bool over() const { return state > State::kSuspended; }
};

struct SlurmReservation {
  std::string name;
  std::vector<std::string> nodes;
  std::string users;
  std::int64_t start = 0, end = 0;
  std::vector<std::string> flags;
};

class SlurmModel {
 public:
  struct Options {
    // Between a submission or something freed and the scheduler's look.
    Duration schedule_delay = milliseconds(500);
    Duration forget_after = seconds(300);  // MinJobAge
    std::vector<SlurmPartition> partitions = {{.name = "all", .feature = ""},
                                              {.name = "external", .feature = "external"}};
  };
  // Sees each job whose state changed, at the time it did: a push, or the account of a test.
  using OnChange = std::function<void(const SlurmJob&)>;

  SlurmModel(WallTime now, Options options);

  void on_change(OnChange action) { on_change_ = std::move(action); }
  // What slurmctld finds in its files whenever it reads them, beside the partitions of Options.
  void set_files(std::function<std::vector<SlurmPartition>()> files) { files_ = std::move(files); }
  // A limit on the running jobs of one user, as a QOS has it; 0: any number.
  void set_most_running(int most) {
    most_running_ = most;
    want_schedule();
  }
  // No user but slurm may use this one.
  void reserve_qos(std::string qos) { reserved_qos_ = std::move(qos); }
  // Lets everything happen that was due by `now`.
  void advance(WallTime now);
  // As after kill -9 and a new start: another run of slurmctld that knows what it had saved.
  void restart(WallTime now);
  // The same of one that finds nothing saved: no node, no job, no reservation. What runs, runs on;
  // jobs are numbered from the beginning.
  void restart_without_state(WallTime now);

  using Refused = std::optional<SlurmRefusal>;  // nullopt: done.

  Refused create_node(std::string_view definition);
  // As `slurmd -Z` does when it starts. What is known of a node that was there before stays, with
  // ReturnToService=1: one that only did not respond is up again, one that was put down is not.
  void register_slurmd(SlurmNode node);
  // The slurmd is gone, with its node or with its pod: its jobs fail and the node goes down.
  void lose_slurmd(const std::string& name);
  Refused delete_node(const std::string& name);
  struct NodeChange {
    std::optional<std::string> state, reason, comment, extra, address;
    std::optional<int> weight;
    std::optional<std::vector<std::string>> features;
  };
  Refused update_node(const std::string& name, const NodeChange& change);

  // The job gets its id here.
  Refused submit(SlurmJob& job);
  // One job of several parts, which have numbers in a row.
  Refused submit_het(std::vector<SlurmJob>& parts);
  Refused allocate_now(SlurmJob& job);
  // A node that it requires is drained, down or reserved.
  bool must_wait(const SlurmJob& job) const;
  Refused cancel(std::uint32_t id);
  // What Slurm itself does to a job that runs, in favour of others: ends it, or takes its nodes
  // from it and leaves it where it is. Nothing where it does not run.
  void preempt(std::uint32_t id) { take_nodes(id, SlurmJob::State::kPreempted); }
  void suspend(std::uint32_t id) { take_nodes(id, SlurmJob::State::kSuspended); }
  struct JobChange {
    std::optional<bool> hold;
    std::optional<std::string> admin_comment, comment, extra;
    std::optional<std::int64_t> time_limit;
    // Of one that waits.
    std::optional<int> nodes_wanted;
    std::optional<std::int64_t> memory_per_node, priority;
    std::optional<std::string> partition, feature, account, qos;
    std::optional<std::vector<std::string>> excluded;
  };
  // Slurm's policy holds for users; what an administrator (`admin`) writes is not held against it.
  Refused update_job(std::uint32_t id, const JobChange& change, bool admin = true);

  Refused write_reservation(SlurmReservation reservation);
  Refused delete_reservation(const std::string& name);
  Refused create_partition(SlurmPartition partition);
  Refused delete_partition(const std::string& name);
  void reconfigure();

  // Null where there is none.
  const SlurmNode* node(std::string_view name) const;
  const SlurmJob* job(std::uint32_t id) const;
  const std::vector<SlurmNode>& nodes() const { return nodes_; }
  const std::map<std::uint32_t, SlurmJob>& jobs() const { return jobs_; }
  const std::vector<SlurmPartition>& partitions() const { return partitions_; }
  const std::map<std::string, SlurmReservation>& reservations() const { return reservations_; }
  std::vector<std::string> nodes_of(const SlurmPartition& partition) const;

  std::int64_t boot_time() const { return boot_time_; }
  // The second of the last change of each kind, as update_time sees it. That a node came or went is
  // no change of the partitions to it.
  std::int64_t nodes_changed() const { return nodes_changed_; }
  std::int64_t jobs_changed() const { return jobs_changed_; }
  std::int64_t partitions_changed() const { return partitions_changed_; }
  std::int64_t reservations_changed() const { return reservations_changed_; }

 private:
  bool is_reserved(const std::string& node) const;
  bool is_closed(const SlurmNode& node) const;
  enum class Fit : std::uint8_t { kNow, kLater, kNever };

  SlurmNode* find_node(std::string_view name);
  const SlurmPartition* partition(std::string_view name) const;
  // Which nodes it would get; why not, if none.
  Fit place(const SlurmJob& job, std::vector<std::string>& nodes) const;
  Refused check(const SlurmJob& job, std::string_view description, std::string_view source) const;
  std::optional<std::pair<int, std::string_view>> why_not_for_users(const SlurmJob& job,
                                                                    const JobChange& change) const;
  bool is_over_limit(const SlurmJob& job) const;
  std::vector<SlurmJob*> parts_of(SlurmJob& job);
  void start_together(const std::vector<SlurmJob*>& parts);
  void occupy(const SlurmJob& job, const std::vector<std::string>& nodes, int sign);
  void start(SlurmJob& job, std::vector<std::string> nodes);
  void end(SlurmJob& job, SlurmJob::State state);
  void fail_jobs_on(const std::string& node);
  void take_nodes(std::uint32_t id, SlurmJob::State state);
  void schedule();
  void want_schedule();
  std::optional<WallTime> next_due() const;
  void happen();
  std::int64_t seconds_now() const;
  void node_changed() { nodes_changed_ = seconds_now(); }
  void job_changed(const SlurmJob& job);

  Options options_;
  OnChange on_change_;
  std::function<std::vector<SlurmPartition>()> files_;
  WallTime now_;
  std::int64_t boot_time_;
  std::int64_t nodes_changed_, jobs_changed_, partitions_changed_, reservations_changed_;
  std::vector<SlurmNode> nodes_;
  std::vector<SlurmPartition> partitions_;
  std::map<std::uint32_t, SlurmJob> jobs_;
  std::map<std::string, SlurmReservation> reservations_;
  std::uint32_t next_id_ = 1;
  int most_running_ = 0;
  std::string reserved_qos_;
  std::optional<WallTime> schedule_at_;
};

}  // namespace mainspring::sim
