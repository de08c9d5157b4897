#include "bridge/sync/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "base/quantity.h"
#include "bridge/gang/not_honoured.h"

namespace mainspring::bridge {
namespace {

constexpr Duration kKeep = milliseconds(1500);
constexpr Duration kKeepKinds = seconds(30);
constexpr std::size_t kMostKept = 2000;
constexpr int kHighest = 32;  // Owners above owners.
constexpr std::string_view kJobSetGang = "JobSet/";

Annotations copy(const json::StringMap& map) {
  Annotations out;
  for (const auto [key, value] : map) out.emplace(key, value);
  return out;
}

void merge(Annotations& into, const json::StringMap& from) {
  for (const auto [key, value] : from) into.insert_or_assign(std::string(key), std::string(value));
}

// Cores and MiB, rounded up.
void set_floors(Gang& shape, const kube::Quantities& amounts) {
  const auto whole = [&](std::string_view resource) -> std::int64_t {
    const auto amount = amounts.amount(resource);
    if (!amount) return 0;
    return amount->value().value_or(0);
  };
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  if (const std::int64_t cpus = whole("cpu"); cpus > 0) shape.floor_cpus = cpus;
  if (const std::int64_t bytes = whole("memory"); bytes > 0) {
    shape.floor_memory_mb = (bytes + kMiB - 1) / kMiB;
  }
}

bool is_workload(const kube::OwnerReference& owner) {
  return (owner.group() == "batch" && owner.kind == "Job") ||
         (owner.group() == "jobset.x-k8s.io" && owner.kind == "JobSet") ||
         (owner.group() == "leaderworkerset.x-k8s.io" && owner.kind == "LeaderWorkerSet");
}

}  // namespace

Roots::Roots(World& world)
    : world_(world),
      by_job_set_(world.pods.add_index([](const kube::Pod& pod, std::vector<std::string>& values) {
        const GangRef gang = gang_of(pod);
        if (gang.kind != GangKind::kWholeJob || !gang.name.starts_with(kJobSetGang)) return;
        values.push_back(pod.meta.ns + "/" + gang.name.substr(kJobSetGang.size()));
      })) {}

Task<Result<std::shared_ptr<const kube::Discovery>>> Roots::kinds() {
  const TimePoint now = world_.manager.executor().now();
  if (!kinds_ || kinds_until_ <= now) {
    MS_CO_TRY(kube::Discovery found, co_await kube::discover(&world_.kube));
    kinds_ = std::make_shared<const kube::Discovery>(std::move(found));
    kinds_until_ = now + kKeepKinds;
  }
  co_return kinds_;
}

Task<Result<std::optional<kube::Resource>>> Roots::served(std::string group, std::string plural) {
  MS_CO_TRY(const auto kinds, co_await this->kinds());
  if (const auto* found = kinds->find(group, plural)) co_return std::optional(found->resource);
  if (!kinds->complete(group)) {
    co_return fail(
        Code::kTransient,
        fmt::format("the API server could not say whether it serves {}.{}", plural, group));
  }
  co_return std::optional<kube::Resource>();
}

Task<Result<kube::Resource>> Roots::resource_of(kube::OwnerReference owner) {
  const std::string group(owner.group());
  if (group == "batch" && owner.kind == "Job") co_return kube::Job::kResource;
  MS_CO_TRY(const auto kinds, co_await this->kinds());
  const auto* found = kinds->preferred(group, owner.kind);
  if (found == nullptr) {
    co_return fail(Code::kUnsupported,
                   fmt::format("the API server serves no {} of {}", owner.kind, owner.api_version));
  }
  co_return found->resource;
}

template <class T>
Task<Result<std::shared_ptr<const T>>> Roots::get(kube::Resource resource, std::string ns,
                                                  std::string name) {
  // By type, too: some are read both as they are and as anything.
  const std::string key = resource.path(ns, name) + "?" + typeid(T).name();
  const TimePoint now = world_.manager.executor().now();
  if (const auto it = kept_.find(key); it != kept_.end() && it->second.until > now) {
    co_return std::static_pointer_cast<const T>(it->second.object);
  }
  auto read = co_await kube::Api<T>(world_.kube, resource, ns).get(name);
  std::shared_ptr<const T> object;
  if (read) {
    object = std::make_shared<const T>(*std::move(read));
  } else if (read.error().code() != Code::kNotFound) {
    co_return fail(std::move(read).error());
  }
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_.insert_or_assign(key, Kept{now + kKeep, object});
  co_return object;
}

Task<Result<Roots::Chain>> Roots::climb(PodPtr pod) {
  Chain chain;
  chain.annotations = copy(pod->meta.annotations);
  bool found_workload = false;
  const kube::OwnerReference* owner = pod->meta.controller();
  std::shared_ptr<const kube::Dynamic> above;
  for (int height = 0; owner != nullptr; ++height) {
    if (height == kHighest) {
      co_return fail(Code::kInvalid,
                     fmt::format("pod {}: more than {} owners above each other; one owns itself",
                                 pod->meta.name, kHighest));
    }
    const kube::OwnerReference one = *owner;
    MS_CO_TRY(const kube::Resource resource, co_await resource_of(one));
    auto object = co_await get<kube::Dynamic>(resource, pod->meta.ns, one.name);
    if (!object) {
      // Owners of kinds that we know must be readable; of others only the nearest.
      if (object.error().code() == Code::kForbidden && height > 0 && !is_workload(one)) break;
      co_return fail(std::move(object).error());
    }
    if (!*object || (*object)->meta.uid != one.uid) {
      co_return fail(Code::kNotFound, fmt::format("{} {}, which owns pod {}, is not there",
                                                  one.kind, one.name, pod->meta.name));
    }
    if (one.kind == "Job" && one.group() == "batch") {
      MS_CO_TRY(chain.job, co_await get<kube::Job>(kube::Job::kResource, pod->meta.ns, one.name));
    }
    if (is_workload(one) || !found_workload) chain.annotations = copy((*object)->meta.annotations);
    found_workload = found_workload || is_workload(one);
    above = *std::move(object);
    owner = above->meta.controller();
  }
  co_return chain;
}

Task<Result<GangFacts>> Roots::of_pod(PodPtr sample) {
  GangFacts facts;
  MS_CO_TRY(Chain chain, co_await climb(sample));
  facts.shape.annotations = std::move(chain.annotations);
  facts.shape.kind = chain.job ? GangKind::kJob : GangKind::kPod;
  if (chain.job) {
    facts.shape.active_deadline_seconds = chain.job->active_deadline_seconds;
    if (chain.job->pod.spec.resources)
      set_floors(facts.shape, chain.job->pod.spec.resources->limits);
  }
  co_return facts;
}

Task<Result<GangFacts>> Roots::of_whole_job(GangRef gang, PodPtr sample) {
  GangFacts facts;
  MS_CO_TRY(Chain chain, co_await climb(sample));
  facts.shape.annotations = std::move(chain.annotations);
  facts.shape.kind = GangKind::kWholeJob;
  const std::string name = gang.name.substr(gang.name.find('/') + 1);
  facts.shape.job_name = name;
  if (chain.job) facts.shape.active_deadline_seconds = chain.job->active_deadline_seconds;
  if (gang.name.starts_with("Job/")) {
    if (chain.job) facts.shape.min_members = pods_to_come(*chain.job);
    co_return facts;
  }
  MS_CO_TRY(const auto resource, co_await served("jobset.x-k8s.io", "jobsets"));
  if (!resource) {
    facts.not_served = true;
    co_return facts;
  }
  MS_CO_TRY(const auto set, co_await get<kube::JobSet>(*resource, sample->meta.ns, name));
  if (!set) co_return fail(Code::kNotFound, fmt::format("JobSet {} is not there", name));
  facts.shape.min_members = pods_to_come(*set, progress_of(sample->meta.ns, name));
  co_return facts;
}

JobSetProgress Roots::progress_of(const std::string& ns, const std::string& job_set) const {
  JobSetProgress progress;
  const std::string key = ns + "/" + job_set;
  for (const PodPtr& pod : world_.pods.find(by_job_set_, key)) {
    // Those of a run before the last restart go.
    if (pod->meta.deleting()) continue;
    progress.begun.emplace(pod->meta.labels.find(kReplicatedJobLabel).value_or(""));
    if (pod->status.phase != kube::PodPhase::kSucceeded) continue;
    ++progress.succeeded[std::string(pod->meta.labels.find(kJobNameLabel).value_or(""))];
  }
  return progress;
}

Task<Result<GangFacts>> Roots::of_leader_worker_set(PodPtr sample) {
  GangFacts facts;
  const std::string name(sample->meta.labels.find(kLwsNameLabel).value_or(""));
  MS_CO_TRY(const auto resource, co_await served("leaderworkerset.x-k8s.io", "leaderworkersets"));
  if (!resource || name.empty()) {
    facts.not_served = true;
    co_return facts;
  }
  MS_CO_TRY(const auto set, co_await get<kube::LeaderWorkerSet>(*resource, sample->meta.ns, name));
  if (!set) co_return fail(Code::kNotFound, fmt::format("LeaderWorkerSet {} is not there", name));
  facts.shape.kind = GangKind::kLeaderWorkerSet;
  facts.shape.annotations = copy(set->meta.annotations);
  // With LeaderReady the workers are made once the leader runs, so it does not wait for them.
  facts.shape.min_members = set->startup_policy == "LeaderReady" ? 1 : set->size;
  facts.shape.job_name =
      fmt::format("{}-{}", name, sample->meta.labels.find(kLwsGroupIndexLabel).value_or("0"));
  co_return facts;
}

Task<Result<GangFacts>> Roots::of_coscheduling(GangRef gang, PodPtr sample) {
  using Phase = kube::CoschedulingPodGroup::Phase;
  GangFacts facts;
  MS_CO_TRY(const auto resource, co_await served("scheduling.x-k8s.io", "podgroups"));
  if (!resource) {
    facts.not_served = true;
    co_return facts;
  }
  MS_CO_TRY(const auto group,
            co_await get<kube::CoschedulingPodGroup>(*resource, sample->meta.ns, gang.name));
  if (!group) {
    facts.blocked = fmt::format("PodGroup {}, named by the label {}, is not there", gang.name,
                                kCoschedulingLabel);
    co_return facts;
  }
  facts.shape.kind = GangKind::kCoscheduling;
  facts.shape.annotations = copy(group->meta.annotations);
  facts.shape.min_members = std::max(group->min_member, 1);
  set_floors(facts.shape, group->min_resources);
  if (group->phase != Phase::kPending && group->phase != Phase::kScheduling) {
    facts.blocked = fmt::format(
        "PodGroup {} has been scheduled already or is over, so it takes no more pods", gang.name);
  }
  co_return facts;
}

Task<Result<FoundPodGroup>> Roots::pod_group(GangRef gang, std::string ns) {
  FoundPodGroup found;
  MS_CO_TRY(const auto resource, co_await served("scheduling.k8s.io", "podgroups"));
  if (!resource) co_return found;
  found.resource = *resource;
  MS_CO_TRY(found.object, co_await get<kube::PodGroup>(*resource, std::move(ns), gang.name));
  co_return found;
}

Task<Result<GangFacts>> Roots::of_pod_group(GangRef gang, PodPtr sample) {
  GangFacts facts;
  MS_CO_TRY(const FoundPodGroup found, co_await pod_group(gang, sample->meta.ns));
  if (!found.object) {
    facts.blocked =
        found.resource.plural.empty()
            ? fmt::format(
                  "the pod is of PodGroup {}, and this API server serves no PodGroups of "
                  "scheduling.k8s.io",
                  gang.name)
            : fmt::format("PodGroup {}, named by spec.schedulingGroup, is not there", gang.name);
    co_return facts;
  }
  const kube::PodGroup& group = *found.object;
  facts.shape.kind = GangKind::kPodGroup;
  facts.shape.job_name = gang.name;
  facts.shape.min_members = group.policy.gang ? std::max(group.policy.min_count, 1) : 1;
  facts.shape.priority_class = group.policy.priority_class.str();
  for (const kube::Text& key : group.policy.topology_keys) {
    facts.shape.topology_keys.push_back(key.str());
  }
  facts.not_honoured = not_honoured(group);
  // Nearer to the user wins: the Workload over the Job over the PodGroup that was made from them.
  facts.shape.annotations = copy(group.meta.annotations);
  if (sample->meta.controller() != nullptr) {
    MS_CO_TRY(const Chain chain, co_await climb(sample));
    for (const auto& [key, value] : chain.annotations) {
      facts.shape.annotations.insert_or_assign(key, value);
    }
    if (chain.job) facts.shape.active_deadline_seconds = chain.job->active_deadline_seconds;
  }
  if (!group.workload.empty()) {
    MS_CO_TRY(const auto workloads, co_await served("scheduling.k8s.io", "workloads"));
    if (workloads) {
      MS_CO_TRY(const auto workload,
                co_await get<kube::Workload>(*workloads, sample->meta.ns, group.workload.str()));
      if (workload) merge(facts.shape.annotations, workload->meta.annotations);
    }
  }
  co_return facts;
}

Task<Result<GangFacts>> Roots::of_kind(GangRef gang, PodPtr sample) {
  switch (gang.kind) {
    case GangKind::kPodGroup:
      co_return co_await of_pod_group(std::move(gang), std::move(sample));
    case GangKind::kCoscheduling:
      co_return co_await of_coscheduling(std::move(gang), std::move(sample));
    case GangKind::kLeaderWorkerSet:
      co_return co_await of_leader_worker_set(std::move(sample));
    case GangKind::kWholeJob:
      co_return co_await of_whole_job(std::move(gang), std::move(sample));
    case GangKind::kPod:
    case GangKind::kJob:
      break;
  }
  co_return co_await of_pod(std::move(sample));
}

Task<Result<GangFacts>> Roots::find(GangRef gang, PodPtr sample) {
  MS_CO_TRY(GangFacts facts, co_await of_kind(std::move(gang), sample));
  if (facts.shape.priority_class.empty()) {
    facts.shape.priority_class = sample->spec->priority_class.str();
  }
  co_return facts;
}

}  // namespace mainspring::bridge
