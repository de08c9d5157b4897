// slurm/cache_state.h
//
// The inside of the change cache; only cache*.cc include it. Every kind of request that is made
// again and again is a Turn with its own pace, asleep until it is due: no turn waits for another,
// and at rest nothing ticks. Every kind of object is a Kept: its store, the ledger that keeps its
// answers in order, and the doubt about lists that shrink. All writes to a store go through
// store_answer(), store_list() and store_state().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "net/task_group.h"
#include "net/wait.h"
#include "slurm/alarm.h"
#include "slurm/cache.h"
#include "slurm/ledger.h"
#include "slurm/pace.h"
#include "slurm/single_reads.h"
#include "slurm/suspicion.h"
#include "slurm/waiters.h"

namespace mainspring::slurm {

// One kind of request that is made again and again.
struct Turn {
  Turn(Metrics* metrics, const char* turn_name, PaceOptions options);

  const char* name;
  Pace pace;
  Alarm alarm;
  Counter good, bad;
  // Seen from the thread that writes the metrics page.
  static constexpr Duration::rep kNotYet = -1;
  std::atomic<Duration::rep> confirmed{kNotYet};
};

// One kind of object.
template <class T>
struct Kept {
  Kept(Metrics* metrics, const char* name, PaceOptions options, SuspicionOptions suspicious);

  Store<T> store;
  Ledger ledger;
  Suspicion suspicion;
  Turn turn;
  std::int64_t since = 0;
  TimePoint listed;  // When all of it was asked for last, whether or not it had changed.
  // Changes elsewhere that slurmctld does not count as changes of these, and how many of them the
  // last whole list has seen.
  std::uint64_t implied = 0, listed_implied = 0;
  // How often renew() was called, and how often it had been when the last list that counts began.
  std::uint64_t renewals = 0, listed_renewals = 0;
  // What the last list could not say, as answers were crossing: it is being read by itself.
  std::vector<std::string> unsure;
  Counter events;
  Gauge objects;
};

struct Cache::State {
  State(net::Executor& on, Random& chance, Source& from, CacheOptions how);

  // cache.cc
  Task<Result<void>> run();
  using Act = Task<Result<void>> (State::*)();
  Task<Result<void>> keep(Turn* turn, Act act);
  void answers_again(const Turn& turn);
  std::array<Turn*, 9> turns() {
    return {&nodes.turn,  &jobs.turn,   &partitions.turn, &reservations.turn, &pulse_turn,
            &health_turn, &waited_turn, &owned_turn,      &waited_nodes_turn};
  }
  bool has_reason(const Turn& turn) const;
  TimePoint due(const Turn& turn) const;
  // After what it depends on has changed.
  void wake(Turn& turn) { turn.alarm.set(due(turn)); }
  void hurry(Turn& turn);
  Freshness freshness(const Turn& turn) const;
  Freshness jobs_freshness() const;
  void add_indexes();
  void add_handlers();
  void add_ages();
  template <class T>
  Task<Result<T>> timed(Turn* turn, Task<Result<T>> request);

  // cache_lists.cc
  template <class T>
  Kept<T>& kept();
  template <class T>
  Task<Result<void>> list();
  template <class T>
  Task<Result<bool>> list_once();
  template <class T>
  bool store_list(Kept<T>& into, const Ledger::Read& read,
                  std::vector<std::shared_ptr<const T>> objects);
  Task<Result<void>> confirm(Suspicion* suspicion);
  Task<Result<void>> check_health();
  void restarted();
  void moved();
  void try_again();
  void list_anew();
  void refresh_lists();
  void renew();
  template <class T>
  Task<Result<void>> settle(std::vector<std::string> unsure);
  void read_again(const Job& job) { job_reads.want(job.id.text(), Lane::kNormal); }
  void read_again(const Node& node) { node_reads.want(node.name, Lane::kNormal); }
  void read_again(const Partition&) { hurry(partitions.turn); }
  void read_again(const Reservation&) { hurry(reservations.turn); }

  // cache_jobs.cc
  Task<Result<void>> pulse() { return pulse_as(&pulse_turn, Lane::kBackground); }
  Task<Result<void>> pulse_as(Turn* turn, Lane lane);
  Task<Result<bool>> pulse_once(Turn* turn, Lane lane);
  Task<Result<void>> watch_waited();
  Task<Result<void>> watch_owned();
  Task<Result<void>> watch(Turn* turn, std::vector<JobId> ids, Lane lane);
  bool absorb_lost(const std::vector<JobPulse>& states, const Ledger::Read& read);
  void absorb_states(const std::vector<JobPulse>& states, const Ledger::Read& read);
  bool keeps_disagreeing(const Job& stored, const JobPulse& pulse);
  bool store_state(const Job& stored, const JobPulse& pulse, const Ledger::Read& read);
  void read_changed(const std::vector<JobId>& changed);
  Task<Result<void>> refresh_jobs();
  bool is_tight(JobId id) const;
  bool cares(const JobPulse& pulse) const;

  // cache_objects.cc
  template <class T>
  Task<Result<bool>> read_one(std::string key, Lane lane);
  template <class T>
  bool store_answer(Kept<T>& into, const Ledger::Read& read, std::string_view key,
                    std::shared_ptr<const T> object);
  Task<Result<void>> watch_nodes();
  void on_job(const std::shared_ptr<const Job>& before, const std::shared_ptr<const Job>& after);
  void read_nodes_of(std::string_view hostlist, Lane lane);
  Task<Result<std::shared_ptr<const Job>>> wait_for_job(JobId id, JobTest done, Duration limit);
  Task<Result<std::shared_ptr<const Node>>> wait_for_node(std::string name, NodeTest done,
                                                          Duration limit);
  template <class T>
  Task<Result<std::shared_ptr<const T>>> refresh(SingleReads* reads, std::string key);
  void pushed(const PushedEvent& event);
  Task<Result<void>> follow_push(PushedEvent event);

  net::Executor& executor;
  Random& random;
  Source& source;
  const CacheOptions options;

  Kept<Node> nodes;
  Kept<Job> jobs;
  Kept<Partition> partitions;
  Kept<Reservation> reservations;
  Turn pulse_turn, health_turn, waited_turn, owned_turn, waited_nodes_turn;
  Suspicion pulse_suspicion;
  Counter job_good, job_bad, node_good, node_bad;
  Counter pushes;

  std::int64_t boot_time = 0;
  std::uint64_t recoveries = 0;
  Store<Job>::IndexId by_node{}, by_comment{};
  Store<Node>::IndexId by_partition{};
  Waiters<Job> job_waiters;
  Waiters<Node> node_waiters;
  std::size_t pushes_followed = 0;
  // By job number, how many own it. Shared with them, so that they may outlive the cache.
  std::shared_ptr<std::map<std::uint32_t, std::size_t>> owned =
      std::make_shared<std::map<std::uint32_t, std::size_t>>();
  // Jobs whose full record keeps saying another state than the pulse does.
  struct Puzzle {
    JobState pulse, record;
    int times = 0;
  };
  std::unordered_map<std::uint32_t, Puzzle> puzzles;

  Metrics::Refresh ages;
  SingleReads job_reads, node_reads;
  // Last: whatever still runs is destroyed before what it uses.
  net::TaskGroup group;
};

template <class T>
Task<Result<T>> Cache::State::timed(Turn* turn, Task<Result<T>> request) {
  const TimePoint began = executor.now();
  Result<T> answer = co_await std::move(request);
  turn->pace.spent(executor.now() - began);
  (answer ? turn->good : turn->bad).add();
  co_return answer;
}

template <class T>
Kept<T>& Cache::State::kept() {
  if constexpr (std::is_same_v<T, Node>) return nodes;
  if constexpr (std::is_same_v<T, Job>) return jobs;
  if constexpr (std::is_same_v<T, Partition>) return partitions;
  if constexpr (std::is_same_v<T, Reservation>) return reservations;
}

}  // namespace mainspring::slurm
