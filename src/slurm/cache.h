// slurm/cache.h
//
// What Slurm's nodes, jobs, partitions and reservations are right now, kept up to date without a
// watch. One per cluster, shared by every consumer in the process; lives on the control loop.
// Readers take the stores, which behave like those of a Kubernetes watch, and ask freshness()
// before they believe in absence. Writers tell it what they wrote. Nobody polls.
//
// How it keeps up: nodes by a list that answers "unchanged" (304); jobs by the states of all of
// them (jobs/state), and a single read of each whose state changed; jobs and nodes that somebody
// waits for or owns, tightly; pushes from PrologSlurmctld/EpilogSlurmctld where installed; full
// lists rarely. The dearer an answer was, the longer until the next of its kind, so the share of
// slurmctld's and slurmrestd's time that we take stays the same from ten nodes to ten thousand.
//
// What it does not believe without confirmation: a list that is empty or has lost an unusual share
// at once. Then slurmctld is asked whether it is well, and the list again; only the same answer
// twice counts. A restart of slurmctld leads to new lists, never to deletions by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/store.h"
#include "net/executor.h"
#include "slurm/freshness.h"
#include "slurm/source.h"

namespace mainspring::slurm {

// What a push said. It is a hint where to look, never a fact by itself.
struct PushedEvent {
  enum class Kind : std::uint8_t { kJobStarted, kJobEnded, kOther };
  Kind kind = Kind::kOther;
  JobId job;
  std::string nodes;  // Hostlist, may be empty.
};

struct CacheOptions {
  // While somebody waits for a transition, its job or node is asked for this often.
  Duration waiting_pace = milliseconds(150);
  // Jobs that somebody owns (Interest) but nobody waits for.
  Duration owned_pace = seconds(2);
  // The soonest that each is asked for while nobody waits for anything.
  Duration pulse_pace = seconds(10);
  Duration nodes_pace = seconds(30);
  Duration rest_pace = seconds(90);  // Partitions, reservations, health.
  Duration full_jobs_pace = minutes(10);
  // The largest share of time that answers of one kind may take while nobody waits.
  double share = 0.003;
  // The same of the list of nodes, where all of them are looked at all the time. Unset: `share`.
  std::optional<double> nodes_share;
  // The same of the states of all jobs, of which nothing is saved up: they are asked for all the
  // time.
  std::optional<double> pulse_share;
  // Whether the nodes of a job that starts or ends are read at once, or are as the next list says.
  bool nodes_follow_jobs = true;
  // Of how much time that share may be saved up and taken at once. A change after a time without
  // any is then seen at once, and so are a few after it.
  Duration savings{};
  // Stale when not confirmed for this long and something fails, or for three intervals if that is
  // later and nothing seems to.
  Duration stale_after = seconds(60);
  // A list that lost more than this share of its objects, and more than `small`, is confirmed
  // first.
  double suspicious_share = 0.1;
  std::size_t small = 10;
  Duration confirm_after = seconds(1);  // Between the first answer and the second.
  // The values under which a job is found by its admin comment; unset: the whole comment.
  std::function<void(std::string_view comment, std::vector<std::string>& keys)> admin_comment_keys;
  // Which jobs get a full record again when their state changes. Unset: all. Own ids always are.
  // The others keep the rest of their old record, also the nodes that they had or had not: with
  // this set, jobs_on_node() knows only the jobs that are cared about. Whether a node is busy is
  // what the node says.
  std::function<bool(const JobPulse&)> cares_about;
  Logger log;
  Metrics* metrics = nullptr;
};

class Cache {
 public:
  // All must outlive the cache.
  Cache(net::Executor& executor, Random& random, Source& source, CacheOptions options);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Keeps up until cancelled. Failures of Slurm are not its end: they show in freshness().
  // Once.
  Task<Result<void>> run();

  // For readers; what is written there by others than the cache is lost.
  Store<Node>& nodes();
  Store<Job>& jobs();
  Store<Partition>& partitions();
  Store<Reservation>& reservations();

  // By slurmctld's clock, in seconds, when it wrote the list of nodes that is stored: of jobs that
  // started since, the nodes may show nothing. 0 where there is no such time.
  std::int64_t nodes_as_of() const;

  Freshness nodes_freshness() const;
  Freshness jobs_freshness() const;
  Freshness partitions_freshness() const;
  Freshness reservations_freshness() const;
  // How often something was answered again that had failed. Between two looks at how fresh things
  // are both may have happened, and others' calls failed meanwhile, too.
  std::uint64_t recoveries() const;

  // Those that hold resources there, as far as their records are kept up (cares_about).
  std::vector<std::shared_ptr<const Job>> jobs_on_node(std::string_view node) const;
  std::vector<std::shared_ptr<const Job>> jobs_by_admin_comment(std::string_view key) const;
  std::vector<std::shared_ptr<const Node>> nodes_in_partition(std::string_view partition) const;

  // As long as it lives, the job is followed at owned_pace. One for each job we own; all of them
  // are asked for in one request.
  class Interest;
  Interest follow(JobId job);

  // The job as soon as `done` holds for it; null once slurmctld has forgotten it. `done` also sees
  // what is stored now. It is asked when the job's state changed: what else of a job changes is
  // seen with that, by a full list, or by refresh_job(). It must not call the cache. kTimeout after
  // `limit`.
  using JobTest = std::function<bool(const Job&)>;
  Task<Result<std::shared_ptr<const Job>>> wait_for_job(JobId job, JobTest done, Duration limit);
  // The same for a node, of which all is asked for. One that is not there yet is waited for; null
  // where it was there and was deleted.
  using NodeTest = std::function<bool(const Node&)>;
  Task<Result<std::shared_ptr<const Node>>> wait_for_node(std::string node, NodeTest done,
                                                          Duration limit);

  // After our own write: reads it again at once and returns what is there now, so that the writer
  // and everybody else see it before anything further is decided. Null: it is not there.
  Task<Result<std::shared_ptr<const Job>>> refresh_job(JobId job);
  Task<Result<std::shared_ptr<const Node>>> refresh_node(std::string node);
  // Asks for the states of all jobs and reads those that hold resources and were not known to, so
  // that jobs_on_node() has every job that was on a node when this was called. Fails before the
  // first list.
  Task<Result<void>> refresh_jobs();
  // Whatever is stored may be too old to act on, until lists that begin from now on have come: the
  // stores are doubted until then. For whoever begins to write to this Slurm after others. Dear.
  void renew();
  // Asks for all lists whatever their pace, the dear ones not at once if they have just been; for
  // writes that touch many.
  void refresh_lists();

  void pushed(const PushedEvent& event);

  // What has failed is asked for again at once: what it failed for is mended, as far as we know.
  void try_again();
  // The source asks another server from now on. All is asked for again, and what that one calls
  // unchanged is not taken for what we have of the one before. Nothing is forgotten by itself.
  void moved();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Cache::Interest {
 public:
  Interest() = default;
  Interest(Interest&& other) noexcept = default;
  Interest& operator=(Interest&& other) noexcept = default;
  ~Interest() = default;

 private:
  friend class Cache;
  explicit Interest(std::shared_ptr<void> held) : held_(std::move(held)) {}
  std::shared_ptr<void> held_;
};

}  // namespace mainspring::slurm
