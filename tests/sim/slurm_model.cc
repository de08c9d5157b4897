#include "sim/slurm_model.h"

#include <algorithm>
#include <charconv>

#include "base/hostlist.h"
#include "base/text.h"

namespace mainspring::sim {
namespace {

constexpr std::string_view kBusy = "Requested nodes are busy";
constexpr std::string_view kUnavailable = "Requested node configuration is not available";
constexpr std::string_view kBadNode = "Invalid node name specified";
constexpr std::string_view kBadJob = "Invalid job id specified";
constexpr std::string_view kNotResponding = "Not responding";
constexpr std::string_view kAlreadyOver = "Job/step already completing or completed";
constexpr std::string_view kBadQos = "Invalid qos specification";
constexpr std::string_view kDenied = "Access/permission denied";

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), ascii_lower);
  return result;
}

// The words of a node_conf, "NodeName=a CPUs=2", by lower-case key.
std::map<std::string, std::string> words_of(std::string_view definition) {
  std::map<std::string, std::string> words;
  for (const std::string_view word : split(definition, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    words[lower(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  }
  return words;
}

template <class Int>
void take(const std::map<std::string, std::string>& words, const std::string& key, Int& out) {
  const auto it = words.find(key);
  if (it == words.end()) return;
  std::from_chars(it->second.data(), it->second.data() + it->second.size(), out);
}

std::vector<std::string> split_commas(std::string_view text) {
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

template <class List>
bool has(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Whole cores are given: with two threads a core, an odd number of CPUs takes one more.
int whole_cores(int cpus, const SlurmNode& node) {
  return (cpus + node.threads - 1) / node.threads * node.threads;
}

std::int64_t memory_on(const SlurmJob& job, const SlurmNode& node) {
  return job.memory_per_node.value_or(node.memory);
}

bool could_hold(const SlurmJob& job, const SlurmNode& node) {
  return whole_cores(job.cpus_per_node, node) <= node.cpus && memory_on(job, node) <= node.memory &&
         (job.feature.empty() || has(node.features, job.feature));
}

bool has_room(const SlurmJob& job, const SlurmNode& node) {
  return node.used_cpus + whole_cores(job.cpus_per_node, node) <= node.cpus &&
         node.used_memory + memory_on(job, node) <= node.memory;
}

}  // namespace

SlurmModel::SlurmModel(WallTime now, Options options)
    : options_(std::move(options)),
      now_(now),
      boot_time_(unix_seconds(now)),
      nodes_changed_(boot_time_),
      jobs_changed_(boot_time_),
      partitions_changed_(boot_time_),
      reservations_changed_(boot_time_),
      partitions_(options_.partitions) {}

std::int64_t SlurmModel::seconds_now() const { return unix_seconds(now_); }

void SlurmModel::job_changed(const SlurmJob& job) {
  jobs_changed_ = seconds_now();
  if (on_change_) on_change_(job);
}

const SlurmNode* SlurmModel::node(std::string_view name) const {
  const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                               [name](const SlurmNode& one) { return one.name == name; });
  return it == nodes_.end() ? nullptr : &*it;
}

SlurmNode* SlurmModel::find_node(std::string_view name) {
  const SlurmNode* const found = node(name);
  return found == nullptr ? nullptr : &nodes_[static_cast<std::size_t>(found - nodes_.data())];
}

const SlurmJob* SlurmModel::job(std::uint32_t id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const SlurmPartition* SlurmModel::partition(std::string_view name) const {
  for (const SlurmPartition& one : partitions_) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::vector<std::string> SlurmModel::nodes_of(const SlurmPartition& of) const {
  std::vector<std::string> names;
  for (const SlurmNode& one : nodes_) {
    const bool in = of.from_rest ? has(of.names, one.name)
                                 : of.feature.empty() || has(one.features, of.feature);
    if (in) names.push_back(one.name);
  }
  return names;
}

SlurmModel::Refused SlurmModel::create_node(std::string_view definition) {
  constexpr std::string_view kSource = "_create_node";
  const auto refused = [&](int number, std::string_view error) {
    return SlurmRefusal{number, error, "Failure to create node", kSource};
  };
  const auto words = words_of(definition);
  const auto state = words.find("state");
  if (state == words.end() ||
      !has(std::vector<std::string>{"external", "cloud", "future"}, lower(state->second))) {
    return refused(2028, "Invalid node state specified");
  }
  const auto names = words.contains("nodename") ? expand_hostlist(words.at("nodename"))
                                                : Result<std::vector<std::string>>();
  if (!names || names->empty()) return refused(2018, kBadNode);
  const auto addresses = words.contains("nodeaddr") ? expand_hostlist(words.at("nodeaddr")) : names;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (node((*names)[i]) != nullptr) return refused(2168, "Node already exists in the node table");
    SlurmNode made;
    made.name = (*names)[i];
    made.address = addresses && i < addresses->size() ? (*addresses)[i] : made.name;
    take(words, "cpus", made.cpus);
    take(words, "sockets", made.sockets);
    take(words, "corespersocket", made.cores);
    take(words, "threadspercore", made.threads);
    take(words, "realmemory", made.memory);
    take(words, "weight", made.weight);
    if (words.contains("feature")) made.features = split_commas(words.at("feature"));
    nodes_.push_back(std::move(made));
  }
  node_changed();
  want_schedule();
  return std::nullopt;
}

void SlurmModel::register_slurmd(SlurmNode node) {
  SlurmNode* const known = find_node(node.name);
  if (known != nullptr) {
    known->responding = true;
    if (known->down && known->reason == kNotResponding) {
      known->down = false;
      if (!known->drain) known->reason.clear();
    }
  } else {
    node.external = false;
    nodes_.push_back(std::move(node));
  }
  node_changed();
  want_schedule();
}

void SlurmModel::lose_slurmd(const std::string& name) {
  SlurmNode* const found = find_node(name);
  if (found == nullptr) return;
  found->responding = false;
  found->down = true;
  if (found->reason.empty()) found->reason = kNotResponding;
  fail_jobs_on(name);
  node_changed();
}

void SlurmModel::fail_jobs_on(const std::string& node) {
  for (auto& [id, one] : jobs_) {
    if (one.over() || !has(one.nodes, node)) continue;
    for (SlurmJob* const part : parts_of(one)) {
      if (!part->over()) end(*part, SlurmJob::State::kNodeFail);
    }
  }
}

SlurmModel::Refused SlurmModel::delete_node(const std::string& name) {
  const SlurmNode* const found = node(name);
  const auto refused = [&](int number, std::string_view error) {
    return SlurmRefusal{number, error, "Failure to delete node " + name, "op_handler_node"};
  };
  if (found == nullptr) return refused(2018, kBadNode);
  if (found->running > 0) return refused(2016, kBusy);
  nodes_.erase(nodes_.begin() + (found - nodes_.data()));
  for (auto& [id, one] : reservations_) std::erase(one.nodes, name);
  std::erase_if(reservations_, [](const auto& one) { return one.second.nodes.empty(); });
  node_changed();
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::update_node(const std::string& name, const NodeChange& change) {
  SlurmNode* const found = find_node(name);
  const auto refused = [&](int number, std::string_view error) {
    return SlurmRefusal{number, error, "Failure to update node " + name, "_update_node"};
  };
  if (found == nullptr) return refused(2018, kBadNode);
  if (change.state == "RESUME" && !found->drain && !found->down) {
    return refused(2180, "Invalid node state transition");
  }
  if (change.reason) {
    found->reason = *change.reason;
    found->reason_time = seconds_now();
  }
  if (change.comment) found->comment = *change.comment;
  if (change.extra) found->extra = *change.extra;
  if (change.address) found->address = *change.address;
  if (change.weight) found->weight = *change.weight;
  if (change.features) found->features = *change.features;
  if (change.state == "DRAIN") found->drain = true;
  if (change.state == "RESUME" || (change.state == "UNDRAIN" && !found->down)) {
    found->reason.clear();
    found->reason_time = 0;
  }
  if (change.state == "UNDRAIN" || change.state == "RESUME") found->drain = false;
  if (change.state == "RESUME") found->down = false;
  if (change.state == "DOWN") {
    found->down = true;
    fail_jobs_on(name);
  }
  node_changed();
  want_schedule();
  return std::nullopt;
}

bool SlurmModel::is_reserved(const std::string& node) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [&](const auto& one) { return has(one.second.nodes, node); });
}

// Jobs here have no end that would be before a reservation's beginning.
bool SlurmModel::is_closed(const SlurmNode& node) const {
  return node.drain || node.down || !node.responding || is_reserved(node.name);
}

bool SlurmModel::must_wait(const SlurmJob& job) const {
  return std::any_of(job.required.begin(), job.required.end(), [this](const std::string& name) {
    const SlurmNode* const one = node(name);
    return one != nullptr && is_closed(*one);
  });
}

SlurmModel::Fit SlurmModel::place(const SlurmJob& job, std::vector<std::string>& nodes) const {
  const SlurmPartition* const in = partition(job.partition);
  if (in == nullptr) return Fit::kNever;
  int possible = 0;
  const auto wanted = static_cast<std::size_t>(job.nodes_wanted);
  for (const std::string& name : nodes_of(*in)) {
    const SlurmNode& one = *node(name);
    if (!could_hold(job, one) || has(job.excluded, name)) continue;
    if (!job.required.empty() && !has(job.required, name)) continue;
    ++possible;
    if (nodes.size() < wanted && !is_closed(one) && has_room(job, one)) nodes.push_back(name);
  }
  if (possible < job.nodes_wanted) return Fit::kNever;
  return nodes.size() == wanted ? Fit::kNow : Fit::kLater;
}

SlurmModel::Refused SlurmModel::check(const SlurmJob& job, std::string_view description,
                                      std::string_view source) const {
  const auto refused = [&](int number, std::string_view error) {
    return SlurmRefusal{number, error, std::string(description), source};
  };
  constexpr std::size_t kLongestExtra = 1024;
  if (job.extra.size() > kLongestExtra) {
    return refused(2012, "Pathname of a file, directory or other parameter too long");
  }
  if (!reserved_qos_.empty() && job.qos == reserved_qos_ && job.user != "slurm") {
    return refused(2066, kBadQos);
  }
  for (const std::string& name : job.required) {
    if (node(name) == nullptr) return refused(2018, kBadNode);
  }
  const SlurmPartition* const in = partition(job.partition);
  if (in == nullptr) return refused(2000, "Invalid partition name specified");
  if (in->closed) {
    return refused(2070, "Required partition not available (inactive or drain)");
  }
  std::vector<std::string> nodes;
  if (place(job, nodes) == Fit::kNever) return refused(2014, kUnavailable);
  return std::nullopt;
}

bool SlurmModel::is_over_limit(const SlurmJob& job) const {
  if (most_running_ == 0) return false;
  return std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& one) {
           return one.second.state == SlurmJob::State::kRunning && one.second.user == job.user;
         }) >= most_running_;
}

SlurmModel::Refused SlurmModel::submit(SlurmJob& job) {
  if (auto refused = check(job, "Batch job submission failed", "slurm_submit_batch_job()")) {
    return refused;
  }
  job.id = next_id_++;
  job.submitted = seconds_now();
  job_changed(jobs_.emplace(job.id, job).first->second);
  want_schedule();
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::submit_het(std::vector<SlurmJob>& parts) {
  for (const SlurmJob& part : parts) {
    if (auto refused = check(part, "Batch job submission failed", "slurm_submit_batch_het_job()")) {
      return refused;
    }
  }
  const std::uint32_t leader = next_id_;
  for (SlurmJob& part : parts) {
    part.id = next_id_++;
    part.leader = leader;
    part.submitted = seconds_now();
    job_changed(jobs_.emplace(part.id, part).first->second);
  }
  want_schedule();
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::allocate_now(SlurmJob& job) {
  constexpr std::string_view kDescription = "Job allocation request failed";
  constexpr std::string_view kSource = "slurm_allocate_resources_blocking()";
  const auto refused = [&](int number, std::string_view error) {
    return SlurmRefusal{number, error, std::string(kDescription), kSource};
  };
  if (auto wrong = check(job, kDescription, kSource)) return wrong;
  std::vector<std::string> nodes;
  const Fit fit = place(job, nodes);
  const bool overtakes = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& one) {
    return one.second.state == SlurmJob::State::kPending && !one.second.held &&
           one.second.partition == job.partition && !must_wait(one.second) &&
           !is_over_limit(one.second);
  });
  if (overtakes) return refused(2013, "Immediate execution impossible, insufficient priority");
  if (is_over_limit(job)) {
    return refused(2050,
                   "Job violates accounting/QOS policy (job submit limit, user's size and/or "
                   "time limits)");
  }
  if (must_wait(job)) {
    return refused(2068, "Required node not available (down, drained or reserved)");
  }
  if (fit == Fit::kLater) return refused(2016, kBusy);
  job.id = next_id_++;
  job.submitted = seconds_now();
  SlurmJob& kept = jobs_.emplace(job.id, job).first->second;
  start(kept, std::move(nodes));
  return std::nullopt;
}

std::vector<SlurmJob*> SlurmModel::parts_of(SlurmJob& job) {
  if (job.leader == 0) return {&job};
  std::vector<SlurmJob*> parts;
  for (auto& [id, one] : jobs_) {
    if (one.leader == job.leader) parts.push_back(&one);
  }
  return parts;
}

void SlurmModel::occupy(const SlurmJob& job, const std::vector<std::string>& nodes, int sign) {
  for (const std::string& name : nodes) {
    SlurmNode& one = *find_node(name);
    one.used_cpus += sign * whole_cores(job.cpus_per_node, one);
    one.used_memory += sign * memory_on(job, one);
    one.running += sign;
  }
}

// All of them or none.
void SlurmModel::start_together(const std::vector<SlurmJob*>& parts) {
  std::vector<std::vector<std::string>> given;
  for (SlurmJob* const part : parts) {
    std::vector<std::string> nodes;
    if (place(*part, nodes) != Fit::kNow) break;
    occupy(*part, nodes, 1);
    given.push_back(std::move(nodes));
  }
  for (std::size_t i = 0; i < given.size(); ++i) occupy(*parts[i], given[i], -1);
  if (given.size() < parts.size()) return;
  for (std::size_t i = 0; i < given.size(); ++i) start(*parts[i], std::move(given[i]));
}

void SlurmModel::start(SlurmJob& job, std::vector<std::string> nodes) {
  occupy(job, nodes, 1);
  job.nodes = std::move(nodes);
  job.state = SlurmJob::State::kRunning;
  job.started = seconds_now();
  node_changed();
  job_changed(job);
}

void SlurmModel::end(SlurmJob& job, SlurmJob::State state) {
  if (job.state == SlurmJob::State::kRunning) {
    occupy(job, job.nodes, -1);
    node_changed();
    want_schedule();
  }
  job.state = state;
  if (job.over()) job.ended = seconds_now();
  job_changed(job);
}

SlurmModel::Refused SlurmModel::cancel(std::uint32_t id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return SlurmRefusal{2017, kBadJob, std::string(kBadJob), "", 200};
  SlurmJob& job = it->second;
  const bool whole = job.leader == id;
  const auto parts = whole ? parts_of(job) : std::vector<SlurmJob*>{&job};
  if (std::all_of(parts.begin(), parts.end(), [](const SlurmJob* part) { return part->over(); })) {
    return SlurmRefusal{2021, kAlreadyOver, std::string(kAlreadyOver), "", 200};
  }
  if (!whole && job.leader != 0 && job.state == SlurmJob::State::kPending) {
    constexpr std::string_view kNotWhole = "Only the whole het job can be signalled";
    return SlurmRefusal{2108, kNotWhole, std::string(kNotWhole), "", 200};
  }
  for (SlurmJob* const part : parts) {
    if (!part->over()) end(*part, SlurmJob::State::kCancelled);
  }
  return std::nullopt;
}

void SlurmModel::take_nodes(std::uint32_t id, SlurmJob::State state) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  for (SlurmJob* const part : parts_of(it->second)) {
    if (part->state == SlurmJob::State::kRunning) end(*part, state);
  }
}

std::optional<std::pair<int, std::string_view>> SlurmModel::why_not_for_users(
    const SlurmJob& job, const JobChange& change) const {
  if (change.admin_comment || change.priority) return std::pair(2002, kDenied);
  if (change.qos && *change.qos == reserved_qos_) return std::pair(2066, kBadQos);
  const SlurmPartition* const in = partition(job.partition);
  const bool longer = in != nullptr && in->most_minutes && change.time_limit > in->most_minutes;
  if (longer && job.time_limit < change.time_limit) return std::pair(2002, kDenied);
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::update_job(std::uint32_t id, const JobChange& change, bool admin) {
  const auto refused = [&](int number, std::string_view error, int status) {
    return SlurmRefusal{number, error, "Job update requested failed", "slurm_update_job2()",
                        status};
  };
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return refused(2017, kBadJob, 404);
  SlurmJob& job = it->second;
  if (job.over()) return refused(2084, "Job has already finished", 422);
  for (const auto* const names : {&job.required, &job.excluded}) {
    for (const std::string& name : *names) {
      if (node(name) == nullptr) return refused(2018, kBadNode, 422);
    }
  }
  const auto why_not = admin ? std::nullopt : why_not_for_users(job, change);
  if (why_not) return refused(why_not->first, why_not->second, 422);
  if (change.admin_comment) job.admin_comment = *change.admin_comment;
  if (change.comment) job.comment = *change.comment;
  if (change.extra) job.extra = *change.extra;
  if (change.time_limit) job.time_limit = *change.time_limit;
  if (job.state == SlurmJob::State::kPending) {
    if (change.nodes_wanted) job.nodes_wanted = *change.nodes_wanted;
    if (change.excluded) job.excluded = *change.excluded;
    if (change.partition) job.partition = *change.partition;
    if (change.feature) job.feature = *change.feature;
    if (change.memory_per_node) job.memory_per_node = change.memory_per_node;
    if (change.account) job.account = *change.account;
    if (change.qos) job.qos = change.qos->empty() ? "normal" : *change.qos;
    if (change.priority) job.priority = *change.priority;
    want_schedule();
  }
  if (change.hold && job.state == SlurmJob::State::kPending) {
    job.held = *change.hold;
    want_schedule();
  }
  job_changed(job);
  return std::nullopt;
}

void SlurmModel::reconfigure() {
  boot_time_ = seconds_now();
  std::erase_if(partitions_,
                [](const SlurmPartition& one) { return one.from_rest || one.from_file; });
  for (SlurmPartition& one : files_ ? files_() : std::vector<SlurmPartition>()) {
    one.from_file = true;
    partitions_.push_back(std::move(one));
  }
  partitions_changed_ = seconds_now();
  node_changed();
  want_schedule();
}

void SlurmModel::restart(WallTime now) {
  advance(now);
  reconfigure();
  jobs_changed_ = boot_time_;
  reservations_changed_ = boot_time_;
}

void SlurmModel::restart_without_state(WallTime now) {
  advance(now);
  nodes_.clear();
  jobs_.clear();
  reservations_.clear();
  next_id_ = 1;
  restart(now);
}

void SlurmModel::want_schedule() {
  if (!schedule_at_) schedule_at_ = now_ + options_.schedule_delay;
}

void SlurmModel::schedule() {
  for (auto& [id, job] : jobs_) {
    if (job.state != SlurmJob::State::kPending || job.held || is_over_limit(job)) continue;
    if (job.leader == 0 || job.leader == id) start_together(parts_of(job));
  }
}

std::optional<WallTime> SlurmModel::next_due() const {
  std::optional<WallTime> due = schedule_at_;
  const auto also = [&due](WallTime time) { due = due ? std::min(*due, time) : time; };
  for (const auto& [id, job] : jobs_) {
    if (job.state == SlurmJob::State::kRunning && job.time_limit) {
      also(WallTime(seconds(job.started) + minutes(*job.time_limit)));
    }
    if (job.over()) also(WallTime(seconds(job.ended)) + options_.forget_after);
  }
  return due;
}

// What is due now.
void SlurmModel::happen() {
  if (schedule_at_ && *schedule_at_ <= now_) {
    schedule_at_.reset();
    schedule();
  }
  for (auto& [id, job] : jobs_) {
    if (job.state == SlurmJob::State::kRunning && job.time_limit &&
        WallTime(seconds(job.started) + minutes(*job.time_limit)) <= now_) {
      end(job, SlurmJob::State::kTimeout);
    }
  }
  const std::size_t forgotten = std::erase_if(jobs_, [this](const auto& one) {
    return one.second.over() && WallTime(seconds(one.second.ended)) + options_.forget_after <= now_;
  });
  if (forgotten > 0) jobs_changed_ = seconds_now();
}

void SlurmModel::advance(WallTime now) {
  for (auto due = next_due(); due && *due <= now; due = next_due()) {
    now_ = std::max(now_, *due);
    happen();
  }
  now_ = std::max(now_, now);
}

}  // namespace mainspring::sim
