#include "bridge/sync/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "bridge/devices/claim_plan.h"
#include "bridge/devices/inventory.h"
#include "bridge/names.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/annotations.h"
#include "bridge/translate/job.h"
#include "bridge/translate/node_room.h"
#include "bridge/translate/parts.h"
#include "kube/pod_resources.h"
#include "slurm/errors.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {
namespace {

// Where a user says whose an allocation is, see allocate(). slurmctld takes no more in `extra`
// (ESLURM_PATHNAME_TOO_LONG), and as much as one likes in the admin comment.
constexpr std::size_t kLongestExtra = 1024;

// What nobody could claim afterwards must not get a job.
Result<void> check_devices(const kube::Pod& pod, const DeviceClasses& classes) {
  if (!pod.spec->resource_claims.empty()) {
    return fail(Code::kUnsupported,
                fmt::format("spec.resourceClaims: devices are claimed for the pod when Slurm has "
                            "chosen them; ask for them in the limits of a container, as in "
                            "{}gpu.nvidia.com: 1",
                            kDeviceClassPrefix));
  }
  MS_CHECK(device_needs_of(*pod.spec, classes));
  return {};
}

// A user may not write the admin comment; `extra` is theirs and says the same until it is written.
std::string_view comment_of(const slurm::Job& job) {
  return job.admin_comment.empty() ? job.extra.view() : job.admin_comment.view();
}

// Limits, dependencies and the like: slurmctld lets others go ahead of these, too.
bool waits_for_no_node(const slurm::Job& job) {
  constexpr std::string_view kReasons[] = {"QOS", "Assoc", "Dependency", "BeginTime", "Partition"};
  return std::any_of(std::begin(kReasons), std::end(kReasons), [&](std::string_view reason) {
    return job.reason.view().starts_with(reason);
  });
}

void keys_of(const slurm::Job& job, std::vector<std::string>& keys) {
  if (!job.is_external() || job.state.has_ended()) return;
  admin_comment_keys(comment_of(job), keys);
}

std::set<std::string, std::less<>> hosts_in(const std::vector<std::string>& lists) {
  std::set<std::string, std::less<>> hosts;
  for (const std::string& list : lists) {
    for (std::string& host : expand_hostlist(list).value_or(std::vector<std::string>())) {
      hosts.insert(std::move(host));
    }
  }
  return hosts;
}

bool asks_for(const kube::PodSpec& spec, const std::string& resource) {
  const auto totals = kube::pod_requests(spec);
  return totals && totals->contains(resource);
}

}  // namespace

std::optional<JobOwners> owners_in(const slurm::Job& job) {
  if (!job.is_external()) return std::nullopt;
  return parse_admin_comment(comment_of(job));
}

bool is_het(const slurm::Job& job) { return job.het_job_id.value_or(0) != 0; }

slurm::JobId leader_of(const slurm::Job& job) {
  return is_het(job) ? slurm::JobId(static_cast<std::uint32_t>(job.het_job_id.value_or(0)))
                     : job.id;
}

Claim::Claim(const slurm::Job& job)
    : job_(job.id), external_(job.is_external()), owners_(owners_in(job)) {
  if (!owners_) return;
  std::sort(owners_->uids.begin(), owners_->uids.end());
  std::sort(owners_->pods.begin(), owners_->pods.end());
}

bool Claim::denies(const kube::Pod& pod) const {
  if (job_of(pod) != job_) return false;
  if (!external_ || !owners_) return !external_;
  const bool by_uid = !owners_->uids.empty();
  const auto& list = by_uid ? owners_->uids : owners_->pods;
  return !std::binary_search(list.begin(), list.end(),
                             by_uid ? pod.meta.uid : pod.meta.ns + "/" + pod.meta.name);
}

bool is_uncertain(const Error& error) {
  return error.code() == Code::kTimeout || error.code() == Code::kTransient ||
         error.code() == Code::kCancelled || error.code() == Code::kInternal;
}

Submission::Submission(World& world)
    : world_(world),
      lost_(world, keys_of),
      by_pod_(world.cache.jobs().add_index(&keys_of)),
      by_leader_(world.cache.jobs().add_index(
          [](const slurm::Job& job, std::vector<std::string>& leaders) {
            if (is_het(job)) leaders.emplace_back(leader_of(job).text());
          })),
      waiting_in_(world.cache.jobs().add_index(
          [](const slurm::Job& job, std::vector<std::string>& partitions) {
            if (!job.state.is_pending() || job.hold || waits_for_no_node(job)) return;
            for (const std::string_view name : split(job.partition, ',')) {
              partitions.emplace_back(name);
            }
          })),
      use_(world),
      fits_(world) {}

std::vector<Place> Submission::places(const std::vector<std::string>& slurm_nodes,
                                      const std::vector<PodPtr>& gang) const {
  std::vector<Place> out;
  out.reserve(slurm_nodes.size());
  for (const std::string& name : slurm_nodes) out.push_back({name, world_.kube_node(name)});
  use_.fill(out, gang);
  return out;
}

// Of a partition, or of several with commas between them: Slurm then starts the job where it can
// soonest.
std::vector<std::shared_ptr<const slurm::Node>> Submission::nodes_of(
    std::string_view partitions) const {
  if (partitions.find(',') == std::string_view::npos) {
    return world_.cache.nodes_in_partition(partitions);
  }
  std::map<std::string, std::shared_ptr<const slurm::Node>, std::less<>> found;
  for (const std::string_view name : split(partitions, ',')) {
    for (auto& node : world_.cache.nodes_in_partition(name)) {
      found.emplace(node->name.str(), std::move(node));
    }
  }
  std::vector<std::shared_ptr<const slurm::Node>> out;
  out.reserve(found.size());
  for (auto& [name, node] : found) out.push_back(std::move(node));
  return out;
}

// To Slurm the CPUs of all nodes are alike; as devices only some nodes have theirs.
void Submission::leave_out_without_cpus(std::vector<Place>& places) const {
  for (Place& place : places) {
    if (!place.node) continue;
    if (!publishes_cpus(world_.slices_of(place.node->meta.name))) {
      place.lacks = fmt::format("no CPUs are published there as devices, one each ({})", kCpuClass);
    }
  }
}

Result<Prepared> Submission::prepare(const Gang& gang, const std::vector<VolumeNodes>& volumes,
                                     std::size_t parts) const {
  auto anywhere = prepare_in(nullptr, gang, volumes, parts);
  if (!anywhere || gang.topology_keys.empty() || !anywhere->impossible.empty()) return anywhere;
  return in_one_domain(*std::move(anywhere), gang, volumes, parts);
}

Result<Prepared> Submission::prepare_in(const Domain* domain, const Gang& gang,
                                        const std::vector<VolumeNodes>& volumes,
                                        std::size_t parts) const {
  MS_TRY(const JobAnnotations asked, parse_annotations(gang.annotations));
  MS_TRY(const std::vector<std::size_t> kinds, kinds_of(gang.pods, volumes));
  auto whole = shape(domain, gang, volumes, std::vector<std::size_t>(kinds.size()));
  const bool differ = std::any_of(kinds.begin(), kinds.end(), [](auto kind) { return kind > 0; });
  if (!differ || !asked.heterogeneous.value_or(true)) return whole;
  auto split = shape(domain, gang, volumes, kinds);
  if (asked.heterogeneous) return split;
  const auto can_be = [](const Result<Prepared>& one) {
    return one && one->impossible.empty() && !one->too_large;
  };
  if (parts > 1 && can_be(split)) return split;
  return can_be(whole) || !can_be(split) ? whole : split;
}

// With a part for each kind of pods.
Result<Prepared> Submission::shape(const Domain* domain, const Gang& gang,
                                   const std::vector<VolumeNodes>& volumes,
                                   const std::vector<std::size_t>& kinds) const {
  const bool het = std::any_of(kinds.begin(), kinds.end(), [](auto kind) { return kind > 0; });
  std::vector<Translation> translated;
  if (het) {
    MS_TRY(translated, translate_parts(gang, kinds, world_.config));
  } else {
    MS_TRY(Translation one, translate(gang, world_.config));
    translated.push_back(std::move(one));
  }
  for (const PodPtr& pod : gang.pods) {
    MS_CHECK(
        with_context(check_devices(*pod, world_.config.device_classes), "pod " + pod->meta.name));
  }
  const std::vector<Gang> gangs = het ? split_by_kind(gang, kinds) : std::vector<Gang>{gang};
  Prepared out;
  for (std::size_t i = 0; i < translated.size(); ++i) {
    std::vector<VolumeNodes> own;
    for (std::size_t pod = 0; pod < kinds.size(); ++pod) {
      if (kinds[pod] == i) own.push_back(volumes[pod]);
    }
    slurm::JobRequest& request = translated[i].request;
    place(domain, out, request, gangs[i], own);
    out.parts.push_back(std::move(request));
    for (std::string& warning : translated[i].warnings) {
      const bool known =
          std::find(out.warnings.begin(), out.warnings.end(), warning) != out.warnings.end();
      if (!known) out.warnings.push_back(std::move(warning));
    }
  }
  if (het) {
    leave_to_others(out);
    // It starts by the backfill scheduler alone.
    out.less_liked.clear();
  }
  const std::string comment =
      comment_for(gang.pods, asked_text(out.parts), het ? kinds : std::vector<std::size_t>());
  for (slurm::JobRequest& part : out.parts) part.admin_comment = comment;
  return out;
}

// Leaves out the nodes where the pods cannot be, and says where too few are left.
void Submission::place(const Domain* domain, Prepared& out, slurm::JobRequest& request,
                       const Gang& part, const std::vector<VolumeNodes>& volumes) const {
  const std::string partition = request.partition.value_or(world_.config.partition);
  auto question =
      domain == nullptr ? plain_question(request, partition, part.pods, volumes) : std::nullopt;
  const KnownFits::Answer* const known = question ? fits_.find(*question) : nullptr;
  KnownFits::Answer found =
      known != nullptr ? *known : look_at_nodes(domain, request, part, volumes);
  out.crowded = out.crowded || found.fit.crowded;
  if (!found.fit.excluded.empty()) request.excluded_nodes = {found.fit.excluded};
  const auto least = static_cast<std::size_t>(std::max(request.minimum_nodes.value_or(1), 1));
  if (found.fit.left >= least) {
    out.too_large = out.too_large || found.large_enough < least;
    out.less_liked = found.less_liked;
  } else if (out.impossible.empty()) {
    out.impossible =
        found.places == 0
            ? fmt::format("Slurm's partition {} has no nodes", partition)
            : fmt::format("{} of the {} nodes of Slurm's partition {} suit pod {}, {} needed: {}",
                          found.fit.left, found.places, partition, part.pods.front()->meta.name,
                          least, found.fit.why);
  }
  if (question && known == nullptr) fits_.keep(*std::move(question), std::move(found));
}

KnownFits::Answer Submission::look_at_nodes(const Domain* domain, slurm::JobRequest request,
                                            const Gang& part,
                                            const std::vector<VolumeNodes>& volumes) const {
  std::vector<Place> all;
  for (const auto& node : nodes_of(request.partition.value_or(world_.config.partition))) {
    all.push_back({node->name.str(), world_.kube_node(node->name)});
  }
  KnownFits::Answer out;
  out.until_full = use_.fill(all, part.pods);
  out.places = all.size();
  const std::string cpus = std::string(kDeviceClassPrefix) + std::string(kCpuClass);
  if (std::any_of(part.pods.begin(), part.pods.end(),
                  [&](const PodPtr& pod) { return asks_for(*pod->spec, cpus); })) {
    leave_out_without_cpus(all);
  }
  for (Place& place : all) {
    if (domain != nullptr && place.node && !domain->has(place.node->meta)) {
      place.lacks = "not in " + domain->to_string();
    }
    const auto node = world_.cache.nodes().get({}, place.slurm_name);
    if (!node || !place.lacks.empty()) continue;
    place.lacks = doubtful_gpus(part.pods, !request.shared.empty(), *node);
  }
  const auto each = static_cast<std::size_t>(std::max(request.tasks_per_node.value_or(1), 1));
  out.fit = fit(part.pods, volumes, all, world_.config.scheduler_name, each);
  if (!out.fit.excluded.empty()) request.excluded_nodes = {out.fit.excluded};
  out.large_enough = large_enough(request);
  out.less_liked = less_liked(part, all, request);
  return out;
}

// Nodes that are not left out and have what the job wants of each. Whether it is free is Slurm's
// business, and so is what it makes of a job that is larger than all of them.
std::size_t Submission::large_enough(const slurm::JobRequest& request) const {
  const NodeRoom room(request);
  const auto nodes = nodes_of(request.partition.value_or(world_.config.partition));
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](const auto& node) { return room.could_be(*node); }));
}

// Where the first choice is: only where it is idle, so that the preference costs nothing.
std::string Submission::less_liked(const Gang& gang, const std::vector<Place>& places,
                                   const slurm::JobRequest& request) const {
  const kube::PodSpec& spec = *gang.pods.front()->spec;
  if (!spec.affinity || spec.affinity->node.preferred.empty()) return {};
  const std::set<std::string, std::less<>> excluded = hosts_in(request.excluded_nodes);
  std::map<std::int64_t, std::vector<std::string>> by_score;
  for (const Place& place : places) {
    const auto node = world_.cache.nodes().get({}, place.slurm_name);
    if (!place.node || !node || excluded.contains(place.slurm_name)) continue;
    if (!node->state.can_take_jobs() || node->state.base() != slurm::NodeState::Base::kIdle) {
      continue;
    }
    by_score[spec.affinity->node.score(place.node->meta)].push_back(place.slurm_name);
  }
  const auto least = static_cast<std::size_t>(std::max(request.minimum_nodes.value_or(1), 1));
  if (by_score.size() < 2 || by_score.rbegin()->second.size() < least) return {};
  std::vector<std::string> less;
  for (auto at = by_score.begin(); at != std::prev(by_score.end()); ++at) {
    less.insert(less.end(), at->second.begin(), at->second.end());
  }
  return compress_hostlist(less).value_or(join(less, ","));
}

// Slurm decides; but each of its refusals is a failed job in its accounting, and may have cost
// somebody a job that could be preempted. So it is not asked where others wait in the partition or
// too few nodes there have room, whichever of them those get who were asked for just before.
bool Submission::may_start_now(const slurm::JobRequest& request) {
  // An allocation is in its user's own group, and a priority is an administrator's to give.
  if (request.group_id || (request.user_id && request.priority.set())) return false;
  if (request.user_id && request.admin_comment.value_or("").size() > kLongestExtra) return false;
  const std::string partitions = request.partition.value_or(world_.config.partition);
  for (const std::string_view name : split(partitions, ',')) {
    if (!world_.cache.jobs().find(waiting_in_, name).empty()) return false;
  }
  const NodeRoom room(request);
  const Demand others = under_way();
  const std::int64_t least = request.minimum_nodes.value_or(1);
  std::vector<std::int64_t> until_full;
  std::int64_t sum = 0;
  for (const auto& node : nodes_of(partitions)) {
    // Whatever those get, it has room.
    if (std::ssize(until_full) >= least + others.nodes || (least == 1 && sum > others.nodes)) {
      return true;
    }
    if (!room.is_now(*node)) continue;
    const std::int64_t count = others.until_full(room, *node, just_taken(node->name));
    if (count > 0) until_full.push_back(count);
    sum += count;
  }
  return others.leaves(least, std::move(until_full));
}

Demand Submission::under_way() {
  Demand all;
  std::erase_if(under_way_, [&](const std::weak_ptr<const Demand>& each) {
    const auto one = each.lock();
    if (one) all.add(*one);
    return !one;
  });
  return all;
}

// By jobs that have started since slurmctld wrote the list of nodes.
JustTaken Submission::just_taken(std::string_view node) const {
  JustTaken taken;
  for (const auto& job : world_.cache.jobs_on_node(node)) {
    if (job->start_time.value_or(0) >= world_.cache.nodes_as_of()) taken.add(*job);
  }
  return taken;
}

Task<Result<Started>> Submission::start(Prepared wanted) {
  JobRequests parts = std::move(wanted.parts);
  if (parts.size() == 1) {
    MS_CO_TRY(Started made, co_await start_whole(parts.front(), std::move(wanted.less_liked)));
    made.parts = std::move(parts);
    co_return made;
  }
  MS_CO_TRY(const slurm::Submitted submitted, co_await slurm::Jobs(world_.slurm).submit_het(parts));
  co_return Started{submitted.job, std::move(parts), nullptr};
}

Task<Result<Started>> Submission::start_whole(slurm::JobRequest request, std::string less_liked) {
  std::vector<slurm::JobRequest> tries;
  if (!less_liked.empty()) {
    tries.push_back(request);
    tries.front().excluded_nodes.push_back(std::move(less_liked));
  }
  tries.push_back(request);
  for (std::size_t i = 0; i < tries.size(); ++i) {
    if (!may_start_now(tries[i])) continue;
    const auto taken = std::make_shared<const Demand>(Demand::of(tries[i]));
    under_way_.emplace_back(taken);
    auto allocated = co_await allocate(std::move(tries[i]));
    if (allocated) co_return Started{*allocated, {}, taken};
    const bool liked =
        i + 1 < tries.size() && slurm::refused_with(allocated.error(), slurm::Errno::kImpossible);
    if (!liked && !slurm::may_start_later(allocated.error())) {
      co_return fail(std::move(allocated).error());
    }
  }
  MS_CO_TRY(const slurm::Submitted submitted,
            co_await slurm::Jobs(world_.slurm).submit(std::move(request)));
  co_return Started{submitted.job, {}, nullptr};
}

Task<Result<slurm::JobId>> Submission::allocate(slurm::JobRequest request) {
  const std::string user = request.user_id.value_or("");
  const std::optional<std::string> comment = request.admin_comment;
  if (!user.empty()) {
    // Belongs to whoever allocates it, who is not to write what is for administrators.
    request.extra = std::move(request.admin_comment);
    request.admin_comment.reset();
    request.user_id.reset();
  }
  MS_CO_TRY(const slurm::Submitted allocated,
            co_await slurm::Jobs(world_.slurm, {.user = user}).allocate_now(std::move(request)));
  if (user.empty()) co_return allocated.job;
  const auto noted =
      co_await slurm::Jobs(world_.slurm).update(allocated.job, {.admin_comment = comment});
  // The job is there, and says the same in `extra`: a second one would be worse.
  if (!noted) {
    world_.log.warn("a job has no admin comment",
                    {{"job", allocated.job.text()}, {"error", noted.error()}});
  }
  co_return allocated.job;
}

std::string Submission::comment_for(const std::vector<PodPtr>& pods, std::string asked,
                                    const std::vector<std::size_t>& kinds) const {
  JobOwners owners = owners_of(pods);
  owners.cluster = world_.cluster_id();
  owners.asked = std::move(asked);
  for (const std::size_t kind : kinds) owners.parts.push_back(static_cast<std::int32_t>(kind));
  return to_admin_comment(owners);
}

std::vector<std::shared_ptr<const slurm::Job>> Submission::parts_of(const slurm::Job& job) const {
  auto parts = is_het(job) ? world_.cache.jobs().find(by_leader_, leader_of(job).text())
                           : std::vector<std::shared_ptr<const slurm::Job>>();
  if (parts.empty()) return {std::make_shared<const slurm::Job>(job)};
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  return parts;
}

Task<Result<bool>> Submission::in_step(std::shared_ptr<const slurm::Job> job) {
  if (!is_het(*job)) co_return true;
  const auto owners = owners_in(*job);
  const std::size_t count = owners && !owners->parts.empty()
                                ? static_cast<std::size_t>(*std::max_element(owners->parts.begin(),
                                                                             owners->parts.end())) +
                                      1
                                : 1;
  const auto is_so = [&] {
    const auto parts = parts_of(*job);
    const auto any = [&](auto&& test) { return std::any_of(parts.begin(), parts.end(), test); };
    return parts.size() >= count &&
           !(any([](const auto& part) { return part->state.is_pending(); }) &&
             any([](const auto& part) { return part->state.holds_resources(); }));
  };
  if (is_so()) co_return true;
  // slurmctld numbers them in a row.
  for (std::uint32_t i = 0; i < count; ++i) {
    MS_CO_CHECK(co_await world_.cache.refresh_job(slurm::JobId(leader_of(*job).number() + i)));
  }
  const auto now = world_.cache.jobs().get({}, leader_of(*job).text());
  // What is over may be forgotten part by part.
  co_return is_so() || (now && now->state.has_ended());
}

}  // namespace mainspring::bridge
