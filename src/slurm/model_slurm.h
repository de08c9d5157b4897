// slurm/model_slurm.h
//
// A Slurm in memory behind the Source interface, for tests of the change cache: answers show one
// moment between request and arrival, take their time, come in any order, fail, break off, and now
// and then lack most of what is there. Keeps slurmctld's rule for "unchanged", which counts in
// seconds. Every change gives its object a higher version (a job's priority, a node's weight), so
// that going back in time shows. Owned by a test; runs on a VirtualExecutor.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/virtual_executor.h"
#include "net/wait.h"
#include "slurm/source.h"

namespace mainspring::slurm {

class ModelSlurm final : public Source {
 public:
  struct Faults {
    unsigned failures = 0;  // Chance of each, in percent.
    unsigned lies = 0;      // Lists that lack most, without a word.
    Duration latency{};     // The longest each way; by chance below it.
    Duration list_latency{};
  };

  ModelSlurm(net::VirtualExecutor& executor, Random& random)
      : executor_(executor), random_(random) {}

  Faults faults;
  bool away = false;  // slurmctld does not answer.
  std::map<std::string, int> requests;
  int bulk_ids = 0;  // The most ids in one request for states.

  int total() const {
    int sum = 0;
    for (const auto& [kind, count] : requests) sum += count;
    return sum;
  }

  // Changes, each with a new version.
  void put_job(std::uint32_t id, JobState state, std::string_view nodes = "") {
    Job& job = jobs_.rows[key(id)];
    job.id = JobId(id);
    job.state = state;
    job.nodes = nodes;
    job.priority = ++version_;
    jobs_.changed = now_seconds();
  }
  void comment_job(std::uint32_t id, std::string_view comment) {
    if (!jobs_.rows.contains(key(id))) return;
    Job& job = jobs_.rows[key(id)];
    job.admin_comment = comment;
    job.priority = ++version_;
    jobs_.changed = now_seconds();
  }
  void put_node(const std::string& name, NodeState state, json::StringList partitions = {}) {
    Node& node = nodes_.rows[name];
    node.name = name;
    node.state = state;
    node.partitions = std::move(partitions);
    node.weight = static_cast<std::int32_t>(++version_);
    nodes_.changed = now_seconds();
  }
  void put_partition(const std::string& name) {
    partitions_.rows[name].name = name;
    partitions_.rows[name].priority_tier = static_cast<std::int32_t>(++version_);
    partitions_.changed = now_seconds();
  }
  void put_reservation(const std::string& name) {
    reservations_.rows[name].name = name;
    reservations_.rows[name].core_count = static_cast<std::int32_t>(++version_);
    reservations_.changed = now_seconds();
  }
  void remove_job(std::uint32_t id) { remove(jobs_, key(id)); }
  void remove_node(const std::string& name) { remove(nodes_, name); }
  void remove_partition(const std::string& name) {
    remove(partitions_, name);
    // No change of the nodes to slurmctld.
    for (auto& [_, node] : nodes_.rows) {
      std::vector<std::string_view> left(node.partitions.begin(), node.partitions.end());
      std::erase(left, name);
      node.partitions = json::StringList(left);
    }
  }
  void remove_reservation(const std::string& name) { remove(reservations_, name); }
  void restart() {
    ++boot_time_;
    jobs_.changed = nodes_.changed = partitions_.changed = reservations_.changed = now_seconds();
  }

  // As another server may have it, which was given all of this before we first asked the one
  // before.
  void changed_long_ago() {
    jobs_.changed = nodes_.changed = partitions_.changed = reservations_.changed = 1;
  }

  const std::map<std::string, Job>& all_jobs() const { return jobs_.rows; }
  const std::map<std::string, Node>& all_nodes() const { return nodes_.rows; }
  const std::map<std::string, Partition>& all_partitions() const { return partitions_.rows; }
  const std::map<std::string, Reservation>& all_reservations() const { return reservations_.rows; }

  Task<Result<Listed>> nodes(std::int64_t since, OnRecord<Node> on_record) override {
    return list("nodes", &nodes_, since, std::move(on_record));
  }
  Task<Result<Listed>> jobs(std::int64_t since, OnRecord<Job> on_record) override {
    return list("jobs", &jobs_, since, std::move(on_record));
  }
  Task<Result<Listed>> partitions(std::int64_t since, OnRecord<Partition> on_record) override {
    return list("partitions", &partitions_, since, std::move(on_record));
  }
  Task<Result<Listed>> reservations(std::int64_t since, OnRecord<Reservation> on_record) override {
    return list("reservations", &reservations_, since, std::move(on_record));
  }

  Task<Result<std::vector<JobPulse>>> job_states(std::vector<JobId> ids, Lane) override {
    bulk_ids = std::max(bulk_ids, static_cast<int>(ids.size()));
    MS_CO_CHECK(co_await travel(ids.empty() ? "pulse" : "states", faults.latency));
    std::vector<JobPulse> states;
    for (const auto& [name, job] : jobs_.rows) {
      if (!ids.empty() && std::find(ids.begin(), ids.end(), job.id) == ids.end()) continue;
      states.push_back({.id = job.id, .state = job.state});
    }
    if (ids.empty() && lies(jobs_.pulse_lied)) states.resize(left(states.size()));
    MS_CO_CHECK(co_await travel("", faults.latency));
    co_return states;
  }
  Task<Result<std::shared_ptr<const Job>>> job(JobId id, Lane) override {
    return one("job", &jobs_, std::string(id.text()));
  }
  Task<Result<std::shared_ptr<const Node>>> node(std::string name, Lane) override {
    return one("node", &nodes_, std::move(name));
  }
  Task<Result<ControllerHealth>> health() override {
    // slurmrestd answers for itself.
    const bool responding = !away;
    ++requests["health"];
    co_return ControllerHealth{.responding = responding, .boot_time = boot_time_};
  }

 private:
  template <class T>
  struct Table {
    std::map<std::string, T> rows;
    std::int64_t changed = 1;
    bool lied = false, pulse_lied = false;
  };

  static std::string key(std::uint32_t id) { return std::string(JobId(id).text()); }
  std::int64_t now_seconds() const {
    return 1'000 + std::chrono::duration_cast<seconds>(executor_.now().time_since_epoch()).count();
  }
  bool happens(unsigned percent) { return percent != 0 && random_.below(100) < percent; }
  // Never twice running, as the second would rightly be believed.
  bool lies(bool& lied) { return lied = !lied && happens(faults.lies); }

  // Of few, nothing: what is lost by ones cannot be told from what ends by ones.
  static std::size_t left(std::size_t rows) { return rows > 40 ? rows / 10 : 0; }

  template <class T>
  void remove(Table<T>& table, const std::string& name) {
    if (table.rows.erase(name) > 0) table.changed = now_seconds();
  }

  Task<Result<void>> travel(std::string_view kind, Duration longest) {
    if (!kind.empty()) ++requests[std::string(kind)];
    const auto range = static_cast<std::uint64_t>(longest.count());
    const Duration delay(static_cast<Duration::rep>(random_.below(range + 1)));
    MS_CO_CHECK(co_await net::sleep(delay));
    if (away) co_return fail(Code::kTransient, "slurmctld is away");
    if (happens(faults.failures)) co_return fail(Code::kTransient, "connection reset");
    co_return Result<void>();
  }

  template <class T>
  Task<Result<Listed>> list(const char* kind, Table<T>* table, std::int64_t since,
                            OnRecord<T> on_record) {
    MS_CO_CHECK(co_await travel(kind, faults.list_latency));
    const Listed unchanged{.not_modified = true, .last_update = since};
    const bool same = since != 0 && since - 1 >= table->changed;
    const Listed listed{.last_update = now_seconds()};
    std::vector<std::shared_ptr<const T>> rows;
    for (const auto& [name, row] : table->rows) rows.push_back(std::make_shared<T>(row));
    if (!same && lies(table->lied)) rows.resize(left(rows.size()));
    MS_CO_CHECK(co_await travel("", faults.list_latency));
    if (same) co_return unchanged;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      on_record(rows[i]);
      if (i == rows.size() / 2) MS_CO_CHECK(co_await travel("", faults.list_latency));
    }
    co_return listed;
  }

  template <class T>
  Task<Result<std::shared_ptr<const T>>> one(const char* kind, Table<T>* table, std::string name) {
    MS_CO_CHECK(co_await travel(kind, faults.latency));
    const auto it = table->rows.find(name);
    std::shared_ptr<const T> row;
    if (it != table->rows.end()) row = std::make_shared<T>(it->second);
    MS_CO_CHECK(co_await travel("", faults.latency));
    if (!row) co_return fail(Code::kNotFound, name + " is not there");
    co_return row;
  }

  net::VirtualExecutor& executor_;
  Random& random_;
  std::int64_t version_ = 0;
  std::int64_t boot_time_ = 1;
  Table<Job> jobs_;
  Table<Node> nodes_;
  Table<Partition> partitions_;
  Table<Reservation> reservations_;
};

}  // namespace mainspring::slurm
