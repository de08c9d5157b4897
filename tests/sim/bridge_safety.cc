#include "sim/bridge_safety.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/meta.h"

namespace mainspring::sim {
namespace {

using http::Method;
using http::Request;
using http::Response;

// Longer than a change takes to reach the bridge on a bad day.
constexpr Duration kRace = seconds(20);
// For a new process to see all that there is, before it can hold what it finds open.
constexpr Duration kAfterStart = seconds(10);
// One answer that was slow because slurmctld was away makes those of its kind rare for minutes.
constexpr Duration kAfterOutage = minutes(4);

// "default/a" of ".../namespaces/default/pods/a" with what follows; nothing where it is another
// kind.
std::string pod_in(std::string_view path, std::string_view subresource) {
  const auto parts = split(path, '/');
  const std::size_t wanted = subresource.empty() ? 7 : 8;
  if (parts.size() != wanted || parts[1] != "api" || parts[5] != "pods") return {};
  if (!subresource.empty() && parts[7] != subresource) return {};
  return storage_key(parts[4], parts[6]);
}

// 17 of "/slurm/v0.0.45/job/17".
std::uint32_t job_in(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() < 5 || parts[3] != "job") return 0;
  return parse_integer<std::uint32_t>(parts[4]).value_or(0);
}

// "n1" of "/slurm/v0.0.45/node/n1".
std::string node_in(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() < 5 || parts[3] != "node") return {};
  return std::string(parts[4]);
}

int cpus_of(const json::Value& pod) {
  return parse_integer<int>(text_at(pod, "/spec/containers/0/resources/requests/cpu")).value_or(0);
}

bool is_terminal(const json::Value& pod) {
  const std::string_view phase = text_at(pod, "/status/phase");
  return phase == "Succeeded" || phase == "Failed";
}

// The key of the pod's PodGroup among all of its kind, with the kind's collection before it; ""
// where it has none.
std::string group_of(const json::Value& pod) {
  const std::string_view label = text_at(pod, "/metadata/labels/scheduling.x-k8s.io~1pod-group");
  const std::string_view name = text_at(pod, "/spec/schedulingGroup/podGroupName");
  if (label.empty() && name.empty()) return "";
  return fmt::format("{} {}",
                     name.empty() ? "podgroups.scheduling.x-k8s.io" : "podgroups.scheduling.k8s.io",
                     storage_key(namespace_of(pod), name.empty() ? label : name));
}

Object find_group(const Storage& storage, std::string_view group) {
  const std::size_t space = group.find(' ');
  if (space == std::string_view::npos) return nullptr;
  return storage.get(group.substr(0, space), group.substr(space + 1));
}

std::size_t least_of(const json::Value& group) {
  const json::Value* least = group.at_pointer("/spec/minMember");
  if (least == nullptr) least = group.at_pointer("/spec/schedulingPolicy/gang/minCount");
  return least == nullptr ? 1 : static_cast<std::size_t>(least->as_int().value_or(1));
}

template <class List>
bool has(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

std::vector<std::string> uids_of(const SlurmJob& job) {
  const auto comment = json::parse(job.admin_comment.empty() ? job.extra : job.admin_comment);
  const json::Value* const list = comment ? comment->find("uids") : nullptr;
  std::vector<std::string> uids;
  if (list == nullptr) return uids;
  for (const json::Value& uid : *list) uids.emplace_back(uid.as_string().value_or(""));
  return uids;
}

std::uint32_t part_for(SlurmModel& model, std::uint32_t job, std::string_view uid) {
  const SlurmJob* const leader = model.job(job);
  const auto comment =
      leader == nullptr ? fail(Code::kNotFound, "") : json::parse(leader->admin_comment);
  const json::Value* const parts = comment ? comment->find("parts") : nullptr;
  if (parts == nullptr || leader->leader == 0) return job;
  const auto uids = uids_of(*leader);
  const auto at = std::find(uids.begin(), uids.end(), uid);
  if (at == uids.end()) return job;
  const auto index = static_cast<std::size_t>(at - uids.begin());
  return job + static_cast<std::uint32_t>(parts->at(index).as_int().value_or(0));
}

std::uint32_t job_of_pod(const json::Value& pod) {
  const std::string_view mark =
      text_at(pod, "/metadata/labels/scheduler.slinky.slurm.net~1slurm-jobid");
  return parse_integer<std::uint32_t>(mark).value_or(0);
}

class BridgeSafety::KubeWire final : public http::Transport {
 public:
  explicit KubeWire(BridgeSafety& safety) : safety_(safety) {}
  http::Task<Result<Response>> send(Request request) override {
    if (request.method == Method::kGet) co_return co_await safety_.api_.send(std::move(request));
    const std::string path = request.url.path;
    const bool is_event = path.find("/events") != std::string::npos;
    if (!is_event) ++safety_.writes;
    const std::string what = fmt::format("bridge: {} {} {}", http::to_string(request.method), path,
                                         is_event ? "" : request.body);
    if (const std::string key = pod_in(path, ""); request.method == Method::kDelete) {
      const auto options = json::parse(request.body);
      if (!key.empty()) safety_.judge_deletion(key, options ? *options : json::Value());
    }
    auto response = co_await safety_.api_.send(std::move(request));
    if (!is_event) safety_.note(fmt::format("{} -> {}", what, response ? response->status : 0));
    if (const std::string key = pod_in(path, "binding"); !key.empty()) {
      if (response && response->status == 201) safety_.judge_binding(key);
    }
    co_return response;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(Request request) override {
    return safety_.api_.open(std::move(request));
  }
  http::Task<Result<http::Upgraded>> upgrade(Request request) override {
    return safety_.api_.upgrade(std::move(request));
  }

 private:
  BridgeSafety& safety_;
};

class BridgeSafety::SlurmWire final : public http::Transport {
 public:
  explicit SlurmWire(BridgeSafety& safety) : safety_(safety) {}
  http::Task<Result<Response>> send(Request request) override {
    if (request.method == Method::kGet) {
      if (job_in(request.url.path) != 0) ++safety_.job_reads;
      co_return co_await safety_.slurm_api_.send(std::move(request));
    }
    ++safety_.writes;
    const std::string path = request.url.path;
    const std::string what =
        fmt::format("bridge: slurm {} {} {}", http::to_string(request.method), path, request.body);
    if (request.method == Method::kDelete) safety_.judge_cancel(job_in(path));
    if (const std::string node = node_in(path); !node.empty()) {
      const bool opens = request.body.find("UNDRAIN") != std::string::npos ||
                         request.body.find("RESUME") != std::string::npos;
      if (opens || request.method == Method::kDelete) safety_.judge_opening(node);
    }
    auto response = co_await safety_.slurm_api_.send(std::move(request));
    const auto answer = response ? json::parse(response->body) : fail(response.error());
    const json::Value* const id = answer ? answer->find("job_id") : nullptr;
    const auto made = static_cast<std::uint32_t>(id == nullptr ? 0 : id->as_int().value_or(0));
    safety_.note(fmt::format("{} -> {}{}", what, response ? response->status : 0,
                             made == 0 ? "" : fmt::format(" job {}", made)));
    if (made != 0) safety_.judge_request(made);
    if (const std::uint32_t changed = job_in(path); changed != 0) safety_.judge_owners(changed);
    co_return response;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(Request request) override {
    return safety_.slurm_api_.open(std::move(request));
  }
  http::Task<Result<http::Upgraded>> upgrade(Request request) override {
    return safety_.slurm_api_.upgrade(std::move(request));
  }

 private:
  BridgeSafety& safety_;
};

BridgeSafety::BridgeSafety(net::Executor& executor, KubeApi& kube, SlurmApi& slurm,
                           BridgeKubelet& kubelet)
    : executor_(executor),
      api_(kube),
      slurm_api_(slurm),
      kubelet_(kubelet),
      kube_(std::make_unique<KubeWire>(*this)),
      slurm_(std::make_unique<SlurmWire>(*this)) {
  kubelet_.on_note = [this](const std::string& line) { note(line); };
  slurm_api_.model().on_change([this](const SlurmJob& job) {
    constexpr const char* kNames[] = {"waits",        "runs",   "is suspended", "is cancelled",
                                      "is over time", "failed", "is preempted"};
    note(fmt::format("slurm: job {} {} {}", job.id, kNames[static_cast<int>(job.state)],
                     fmt::join(job.nodes, ",")));
  });
}
BridgeSafety::~BridgeSafety() = default;

http::Transport& BridgeSafety::kube() { return *kube_; }
http::Transport& BridgeSafety::slurm() { return *slurm_; }

void BridgeSafety::note(const std::string& line) {
  const auto time = executor_.clock().now().time_since_epoch();
  account_.push_back(fmt::format("{:9.3f} {}", std::chrono::duration<double>(time).count(), line));
}

void BridgeSafety::violate(const std::string& what) {
  note("VIOLATION: " + what);
  if (violation_.empty()) violation_ = what;
}

std::string BridgeSafety::account() const { return fmt::format("{}\n", fmt::join(account_, "\n")); }

const SlurmJob* BridgeSafety::living_job(std::uint32_t id) {
  const SlurmJob* const job = slurm_api_.model().job(id);
  return job == nullptr || job->over() ? nullptr : job;
}

void BridgeSafety::judge_binding(const std::string& key) {
  const Object live = api_.storage().get("pods", key);
  if (!live) return;
  Bound made{key, std::string(text_at(*live, "/spec/nodeName")),
             part_for(slurm_api_.model(), job_of_pod(*live), uid_of(*live)), cpus_of(*live)};
  const SlurmJob* const job = slurm_api_.model().job(made.job);
  // A gang that has grown keeps what its job was asked for: this Slurm changes no such thing.
  if (job != nullptr) made.cpus = std::min(made.cpus, job->cpus_per_node);
  const auto now = executor_.clock().wall_now();
  const bool just_ended =
      job != nullptr && job->over() && WallTime(seconds(job->ended)) + kRace > now;
  const bool holds = job != nullptr && has(job->nodes, made.node) && (!job->over() || just_ended);
  if (!holds) {
    violate(
        fmt::format("{} is bound to {}, which its job {} does not hold", key, made.node, made.job));
  }
  if (!has_finalizers(*live)) violate(fmt::format("{} is bound without our finalizer", key));
  if (job != nullptr) judge_gang(*live, *job);
  for (const auto& [uid, other] : bound_) {
    if (other.job != made.job || other.node != made.node || kubelet_.over(uid)) continue;
    violate(
        fmt::format("{} and {} of job {} are both on {}", key, other.name, made.job, made.node));
  }
  judge_neighbours(made);
  bound_.emplace(uid_of(*live), std::move(made));
}

// Slurm gives a node away the moment that a job ends, so what it says is free may be in use.
void BridgeSafety::judge_neighbours(const Bound& made) {
  int cpus = made.cpus;
  for (const auto& [uid, other] : bound_) {
    if (other.node != made.node || kubelet_.over(uid)) continue;
    cpus += other.cpus;
    if (!is_long_over(other.job)) continue;
    violate(fmt::format("{} is bound to {}, where containers of {} still run, whose job {} is over",
                        made.name, made.node, other.name, other.job));
  }
  const SlurmNode* const node = slurm_api_.model().node(made.node);
  if (node != nullptr && cpus > node->cpus) {
    violate(fmt::format("{} is bound to {}, where containers now use {} of {} CPUs", made.name,
                        made.node, cpus, node->cpus));
  }
}

// For long enough that the bridge must have heard.
bool BridgeSafety::is_long_over(std::uint32_t id) {
  const SlurmJob* const job = slurm_api_.model().job(id);
  if (job == nullptr) return true;
  return job->over() && WallTime(seconds(job->ended)) + kRace < executor_.clock().wall_now();
}

void BridgeSafety::judge_opening(const std::string& node) {
  for (const auto& [uid, one] : bound_) {
    if (one.node != node || kubelet_.over(uid) || !is_long_over(one.job)) continue;
    violate(fmt::format("{} is given to others while {} of job {} runs there", node, one.name,
                        one.job));
  }
}

void BridgeSafety::judge_gang(const json::Value& pod, const SlurmJob& job) {
  const std::string name = group_of(pod);
  const Object group = find_group(api_.storage(), name);
  if (!group || job.nodes.size() >= least_of(*group)) return;
  const auto now = executor_.clock().wall_now();
  for (const auto& [id, other] : slurm_api_.model().jobs()) {
    if (id == job.id || other.nodes.empty()) continue;
    if (other.over() && WallTime(seconds(other.ended)) + kRace < now) continue;
    for (const std::string& uid : uids_of(other)) {
      const auto at = gangs_.find(uid);
      if (at != gangs_.end() && (at->second == name || at->second.empty())) return;
    }
  }
  violate(fmt::format("{} is bound though job {} has {} nodes and its gang needs {}", key_of(pod),
                      job.id, job.nodes.size(), least_of(*group)));
}

void BridgeSafety::judge_limit(const SlurmJob& job) {
  for (const std::string& uid : uids_of(job)) {
    const auto name = gangs_.find(uid);
    const Object group = name == gangs_.end() ? nullptr : find_group(api_.storage(), name->second);
    if (!group) continue;
    const std::string_view limit =
        text_at(*group, "/metadata/annotations/slurmjob.slinky.slurm.net~1timelimit");
    if (limit.empty() || std::to_string(job.time_limit.value_or(0)) == limit) continue;
    violate(fmt::format("job {} has another time limit than its gang, {}", job.id, limit));
  }
}

void BridgeSafety::judge_deletion(const std::string& key, const json::Value& options) {
  const Object live = api_.storage().get("pods", key);
  if (!live || text_at(options, "/preconditions/uid") != uid_of(*live)) return;
  const std::uint32_t id = part_for(slurm_api_.model(), job_of_pod(*live), uid_of(*live));
  if (id == 0) return violate(fmt::format("{} is deleted without a job that ended", key));
  // One that is suspended lives, but has nothing for its pods.
  const SlurmJob* const job = living_job(id);
  if (job != nullptr && job->state != SlurmJob::State::kSuspended) {
    violate(fmt::format("{} is deleted while its job {} lives", key, id));
  }
  // Of a node that was lost and is back nothing has outlived it.
  if (ended_by_bridge_.contains(id) && !kubelet_.over(uid_of(*live))) {
    violate(fmt::format("{} is deleted for job {}, which the bridge itself ended", key, id));
  }
}

void BridgeSafety::judge_request(std::uint32_t id) {
  judge_owners(id);
  const SlurmJob* const job = slurm_api_.model().job(id);
  for (const std::string& uid : uids_of(*job)) {
    const auto since = unwanted_.find(uid);
    if (since != unwanted_.end() && since->second + kRace < executor_.now()) {
      violate(fmt::format("job {} is asked for, for pod {}, which is over", id, uid));
    }
  }
}

// It runs, and says what it said for ever: Slurm takes no change of a job that leaves out a node
// which is no more.
bool BridgeSafety::is_fixed(const SlurmJob& job) {
  return job.state == SlurmJob::State::kRunning &&
         std::any_of(job.excluded.begin(), job.excluded.end(), [this](const std::string& node) {
           return slurm_api_.model().node(node) == nullptr;
         });
}

void BridgeSafety::judge_owners(std::uint32_t id) {
  const SlurmJob* const job = living_job(id);
  if (job == nullptr) return;
  judge_limit(*job);
  const auto uids = uids_of(*job);
  if (uids.empty()) violate(fmt::format("job {} names no pods", id));
  for (const auto& [other, one] : slurm_api_.model().jobs()) {
    if (other == id || one.over() || doubles.contains(id) || doubles.contains(other)) continue;
    if (one.leader != 0 && one.leader == job->leader) continue;
    if (is_fixed(one)) continue;
    for (const std::string& uid : uids_of(one)) {
      if (has(uids, uid)) violate(fmt::format("pod {} has the jobs {} and {}", uid, other, id));
    }
  }
}

void BridgeSafety::judge_cancel(std::uint32_t id) {
  if (living_job(id) == nullptr) return;
  for (const auto& [uid, one] : bound_) {
    const SlurmJob* const part = slurm_api_.model().job(one.job);
    // A part that Slurm ended before gives nothing back with the first.
    const bool ends = one.job == id || (part != nullptr && part->leader == id && !part->over());
    if (!ends || kubelet_.over(uid)) continue;
    violate(fmt::format("job {} is ended while {} may run on {}", id, one.name, one.node));
  }
  for (const auto& [other, one] : slurm_api_.model().jobs()) {
    if (other == id || (one.leader == id && !one.over())) ended_by_bridge_.insert(other);
  }
}

void BridgeSafety::look_at_pods() {
  seen_ = api_.storage().version();
  std::set<std::string, std::less<>> present;
  for (const auto& [key, pod] : api_.storage().all("pods")) {
    present.emplace(uid_of(*pod));
    if (std::string group = group_of(*pod); !group.empty()) {
      const auto [at, is_new] = gangs_.try_emplace(std::string(uid_of(*pod)), group);
      if (!is_new && at->second != group) at->second.clear();
    }
    if (is_being_deleted(*pod) || is_terminal(*pod)) {
      unwanted_.try_emplace(std::string(uid_of(*pod)), executor_.now());
    }
  }
  for (const std::string& uid : known_) {
    if (!present.contains(uid)) unwanted_.try_emplace(uid, executor_.now());
  }
  known_ = std::move(present);
}

void BridgeSafety::look(bool bridge, bool slurm) {
  const TimePoint now = executor_.now();
  if (!slurm) steady_from_ = now + kAfterOutage;
  if (!bridge) steady_from_ = now + kAfterStart;
  std::erase_if(bound_, [this](const auto& one) { return kubelet_.over(one.first); });
  if (api_.storage().version() != seen_) look_at_pods();
  std::map<std::string, TimePoint, std::less<>> open;
  for (const auto& [uid, one] : bound_) {
    if (!known_.contains(uid)) {
      violate(fmt::format("{} is gone while its containers may run", one.name));
    }
    const SlurmNode* const node = slurm_api_.model().node(one.node);
    const SlurmJob* const job = living_job(one.job);
    const bool has_it = job != nullptr && job->state != SlurmJob::State::kSuspended;
    if (now < steady_from_ || has_it || node == nullptr || node->drain) continue;
    const auto before = open_.find(one.node);
    open.emplace(one.node, before == open_.end() ? now : before->second);
    if (open.at(one.node) + kRace < now) {
      violate(fmt::format("{} still runs on {}, which Slurm gives to others", one.name, one.node));
    }
  }
  open_ = std::move(open);
}

}  // namespace mainspring::sim
