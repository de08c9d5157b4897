// How a pod takes the place of one that is gone from a gang at work: its job still holds the node,
// and where the cluster is full no other would come free. The part of GangSync that lets pods into
// jobs that run.
#include <algorithm>
#include <map>
#include <utility>

#include "base/hostlist.h"
#include "bridge/sync/gang_sync.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/change.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

using control::Key;

namespace {

// What the job has on each node is enough for what would be asked for now. Where Slurm says it
// otherwise than we would, the pod gets a job of its own.
bool is_enough(const slurm::Job& job, const slurm::JobRequest& wanted) {
  const std::int64_t nodes = std::max<std::int64_t>(job.node_count.value_or(1), 1);
  const std::int64_t cpus =
      std::int64_t{wanted.cpus_per_task.value_or(1)} * wanted.tasks_per_node.value_or(1);
  if (cpus * nodes > job.cpus.value_or(0)) return false;
  // 0 is all that there is.
  const std::int64_t has = job.memory_per_node.value_or(0);
  const std::int64_t wants = wanted.memory_per_node.value_or(has);
  if (has != 0 && (wants == 0 || wants > has)) return false;
  return gres_in(wanted.tres_per_node.value_or("")) == gres_in(job.tres_per_node);
}

// A node that its last pod may have died of.
std::string fault_of(const Place& place) {
  if (!place.node) return "it is not there";
  if (place.node->unschedulable) return "it is cordoned";
  if (!place.node->ready() || is_out_of_service(*place.node)) return "it is not ready";
  return {};
}

}  // namespace

// Of `free` those that may come, in their order, and where; empty where none may.
Task<Result<GangSync::Joining>> GangSync::find_gaps(Key key, JobPtr job, Pods members, Pods free) {
  Joining out;
  const auto names = expand_hostlist(job->nodes);
  if (!names) co_return out;
  const auto each =
      static_cast<std::size_t>(std::max<std::int64_t>(job->tasks_per_node.value_or(1), 1));
  Pods all = call_roll(job->id, job, members).at_work();
  Pods own = all;
  own.insert(own.end(), free.begin(), free.end());
  std::vector<Place> nodes = submission_.places(*names, own);
  std::map<std::string, std::size_t, std::less<>> used;
  std::vector<std::string> given;
  for (const PodPtr& pod : all) {
    // Where one is yet to be bound, nobody else is let in.
    if (stage(*pod) == PodStage::kWaiting) co_return out;
    given.emplace_back(recent_.given(pod->meta.uid, job->id));
    ++used[pod->node_name.empty() ? given.back() : pod->node_name.str()];
  }
  std::size_t room = 0;
  for (Place& place : nodes) {
    place.lacks = fault_of(place);
    const auto taken = place.node ? used.find(place.node->meta.name) : used.end();
    if (place.lacks.empty()) room += each - std::min(each, taken == used.end() ? 0 : taken->second);
  }
  std::erase_if(free, [this](const PodPtr& pod) { return unsure_.contains(pod->meta.uid); });
  if (room == 0 || free.empty()) co_return out;
  free.resize(std::min(free.size(), room));
  auto facts = co_await roots_.find(GangRef::parse(key.name), free.front());
  // Whoever forms them says what is wrong.
  if (!facts || !facts->blocked.empty() || facts->not_served) co_return out;

  all.insert(all.end(), free.begin(), free.end());
  const auto volumes = co_await volumes_.nodes_of(all);
  if (!volumes) co_return out;
  facts->shape.pods = all;
  // The job has its nodes, and they are where they have to be.
  facts->shape.topology_keys.clear();
  const auto prepared = submission_.prepare(facts->shape, *volumes);
  if (!prepared || prepared->parts.size() != 1 || !is_enough(*job, prepared->parts.front())) {
    co_return out;
  }
  given.resize(all.size());
  const auto chosen = assign(all, *volumes, nodes, world_.config.scheduler_name, given);
  if (!chosen) co_return out;
  for (std::size_t i = all.size() - free.size(); i < all.size(); ++i) {
    out.node_of.emplace(all[i]->meta.uid, nodes[(*chosen)[i]].node->meta.name);
  }
  out.pods = std::move(free);
  co_return out;
}

// A job that waits for pods of two gangs, since somebody changed what says of which they are, stays
// with the gang that has more of them.
bool GangSync::is_anothers(const Key& key, const Roll& roll) {
  const std::size_t here = roll.waiting.size();
  const std::size_t there = roll.others_waiting.size();
  if (here != there) return here < there;
  const PodPtr& other = roll.others_waiting.front();
  return Key{other->meta.ns, gang_of(*other).id()} < key;
}

// The job's word first: a pod that it names is taken for its own again.
Task<Result<control::Requeue>> GangSync::leave(slurm::JobId job, Roll roll) {
  auto left = co_await submission_.own(job, roll.others_waiting);
  if (!left && is_fixed(left.error())) {
    // It would name both gangs for ever.
    Pods all = std::move(roll.waiting);
    all.insert(all.end(), roll.others_waiting.begin(), roll.others_waiting.end());
    MS_CO_CHECK(co_await ask_anew(job, std::move(all), std::string(kFixed)));
    co_return control::Requeue{Duration::zero()};
  }
  MS_CO_CHECK(left);
  MS_CO_CHECK(co_await for_all(std::move(roll.waiting),
                               [this](PodPtr pod) { return unmark(std::move(pod)); }));
  co_return control::Requeue{Duration::zero()};
}

// Null where nobody may be let into the job: a gang all of whose members are ending begins anew,
// in a het job each node is for pods of one kind, and one that cannot be changed names nobody new.
GangSync::JobPtr GangSync::joinable(slurm::JobId job, const Pods& members) const {
  JobPtr record = world_.cache.jobs().get({}, job.text());
  if (!record || is_het(*record) || !record->state.is_running()) return nullptr;
  if (submission_.is_fixed(*record)) return nullptr;
  if (living_in(job, members) == 0) return nullptr;
  return record;
}

// A job that waits, for pods that another job of the gang has nodes for by now. They would wait for
// ever where the cluster is full, and their gang for them.
Task<Result<bool>> GangSync::withdraw(Key key, Gathered* gathered) {
  for (const auto& [job, pods] : gathered->by_job) {
    const auto record = world_.cache.jobs().get({}, job.text());
    if (!record || !record->state.is_pending()) continue;
    const bool wait = std::all_of(pods.begin(), pods.end(), [this](const PodPtr& pod) {
      return stage(*pod) == PodStage::kWaiting;
    });
    if (!wait || world_.pods.find(by_job_, job.text()).size() > pods.size()) continue;
    for (const auto& [other, members] : gathered->by_job) {
      const JobPtr running = joinable(other, members);
      if (!running) continue;
      MS_CO_TRY(const Joining joining, co_await find_gaps(key, running, members, pods));
      if (joining.pods.size() < pods.size()) continue;
      // The marks first: a job that is found without them is adopted again.
      MS_CO_CHECK(co_await for_all(pods, [this](PodPtr pod) { return unmark(std::move(pod)); }));
      MS_CO_CHECK(co_await finish(job));
      co_return true;
    }
  }
  co_return false;
}

Task<Result<void>> GangSync::join(Key key, slurm::JobId job, Pods* members, Pods* free) {
  if (free->empty()) co_return Result<void>();
  const JobPtr record = joinable(job, *members);
  if (!record) co_return Result<void>();
  sort_members(*free);
  MS_CO_TRY(Joining joining, co_await find_gaps(std::move(key), record, *members, *free));
  if (joining.pods.empty()) co_return Result<void>();
  Pods all = *members;
  for (const Member& other : call_roll(job, record, *members).others) all.push_back(other.pod);
  all.insert(all.end(), joining.pods.begin(), joining.pods.end());
  // The job's word first: a pod that is marked with a job that does not name it is a stranger to
  // it.
  auto owned = co_await submission_.own(job, std::move(all));
  // The list of nodes is a moment behind. They get a job of their own.
  if (!owned && is_fixed(owned.error())) co_return Result<void>();
  MS_CO_CHECK(owned);
  MS_CO_CHECK(co_await for_all(joining.pods, [this, job, &joining](PodPtr pod) {
    std::string node = joining.node_of.at(pod->meta.uid);
    recent_.give(pod, job, node);
    return mark_pod(&world_, std::move(pod), job, std::move(node));
  }));
  std::erase_if(*free, [&](const PodPtr& pod) { return joining.node_of.contains(pod->meta.uid); });
  members->insert(members->end(), joining.pods.begin(), joining.pods.end());
  co_return Result<void>();
}

}  // namespace mainspring::bridge
