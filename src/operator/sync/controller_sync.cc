#include "operator/sync/controller_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/names.h"
#include "base/text.h"
#include "control/object_meta.h"
#include "operator/build/config_change.h"
#include "operator/build/jwks.h"
#include "operator/build/sidecars.h"
#include "operator/sync/pod_calls.h"
#include "slurm/conf_lint.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

const kube::Resource kServiceMonitors{"monitoring.coreos.com", "v1", "servicemonitors",
                                      "ServiceMonitor", true};
// Whether Slurm can be reached is known without a call, but nobody announces that it no longer is.
constexpr Duration kLookAgain = seconds(30);
// Also how long it takes to notice that somebody deleted what there is no cache of.
constexpr Duration kKindMayCome = minutes(10);
// Several ConfigMaps, scripts among them.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::size_t kShownFindings = 3;
constexpr std::string_view kRejectedReason = "ConfigurationRejected";

control::ObjectRef ref(const api::Controller& controller) {
  return control::ref_to(api::Controller::kResource, controller.meta);
}

bool rolled_out(const ControllerParts& parts) {
  if (!parts.stateful_set) return false;
  const kube::StatefulSet& set = *parts.stateful_set;
  return set.observed_generation == set.meta.generation && set.updated >= set.spec.replicas &&
         set.ready >= set.spec.replicas;
}

std::map<std::string, std::string> as_map(const json::StringMap& data) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : data) out.emplace(key, value);
  return out;
}

// Whoever is in charge of several slurmctld is found by asking them. Until somebody can, clients
// are sent to the first.
bool nobody_is_active(const World& world, const ControllerParts& parts) {
  if (!parts.stateful_set) return false;
  const auto& pods = world.pods_of(parts.stateful_set->meta.uid);
  return std::none_of(pods.begin(), pods.end(), [](const auto& pod) {
    return pod->meta.labels.contains(api::label::kActive);
  });
}

// What restart_hash() was of the files that the StatefulSet was last rolled for. One of another
// operator's says nothing of it, but then the ConfigMap is still as that operator left it.
std::string live_restart(const ControllerParts& parts) {
  if (!parts.stateful_set) return {};
  const auto noted = parts.stateful_set->meta.annotations.find(api::annotation::kRestartHash);
  if (noted) return std::string(*noted);
  if (!parts.config) return {};
  std::map<std::string, std::string> files = parts.files;
  for (auto& [name, text] : as_map(parts.config->data)) files.insert_or_assign(name, text);
  return build::restart_hash(files);
}

// A partition over a NodeSet that is not there yet.
std::string told_of_later(const slurm::Finding& finding) {
  return fmt::format("{}:{}: {}: there is no node or NodeSet {} yet", finding.file, finding.line,
                     finding.key, quoted(finding.undefined));
}

std::string shown(const std::vector<slurm::Finding>& findings,
                  std::string (*tell)(const slurm::Finding&)) {
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kShownFindings); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", tell(findings[i]));
  }
  if (findings.size() <= kShownFindings) return text;
  return text + fmt::format("; and {} more", findings.size() - kShownFindings);
}

// Whether `whole` says all that `part` says; it may say more, as the API server's defaults do.
bool is_within(const json::Value& part, const json::Value& whole) {
  if (part.is_array()) {
    if (!whole.is_array() || part.size() != whole.size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!is_within(part.at(i), whole.at(i))) return false;
    }
    return true;
  }
  if (!part.is_object()) return part == whole;
  if (!whole.is_object()) return false;
  for (const auto member : part.members()) {
    const json::Value* const found = whole.find(member.key);
    if (found == nullptr || !is_within(member.value, *found)) return false;
  }
  return true;
}

// The Controller as if it named the ConfigMaps that there are copies of, and no others.
api::Controller with_copies(const ControllerParts& parts) {
  api::Controller last = *parts.controller;
  const std::string first = api::approved_map_name(last.meta.name, "");
  api::ControllerSpec& spec = last.spec;
  for (auto* const refs :
       {&spec.config_file_refs, &spec.prolog_script_refs, &spec.epilog_script_refs,
        &spec.prolog_slurmctld_script_refs, &spec.epilog_slurmctld_script_refs}) {
    refs->clear();
  }
  spec.jwks_key_ref.reset();
  for (const auto& map : parts.approved) {
    if (map->meta.name == api::approved_jwks_name(last.meta.name)) {
      spec.jwks_key_ref.emplace();
    } else {
      spec.config_file_refs.push_back({map->meta.name.substr(first.size())});
    }
  }
  return last;
}

}  // namespace

Task<Result<Requeue>> ControllerSync::reconcile(Key key) {
  const ControllerPtr controller = world_.controllers.get(key.view());
  if (!controller || controller->meta.deleting()) {
    // What it owns goes with it.
    if (!controller) memory_.erase(ObjectKey(key.view()));
    co_return Requeue{};
  }
  const Parts parts = gather(controller);
  api::ConfigStatus config = controller->status.config;
  // An object that is refused keeps nobody from the others, nor slurmctld from its files.
  Result<void> laid = co_await groundwork(parts);
  std::optional<Problem> problem = check(*parts);
  if (const auto wait = time_to_gather(*parts)) {
    MS_CO_CHECK(laid);
    co_return Requeue{*wait};
  }
  if (problem) {
    keep_first(laid, co_await restore(parts));
  } else {
    std::optional<ConfigPlan> plan;
    keep_first(laid, co_await keep(parts, &plan));
    if (plan) config = plan->status;
  }
  if (!laid && !problem) {
    // Something is on its way out, or changed under our hands; there is nothing to complain of.
    if (laid.error().code() == Code::kConflict) co_return fail(laid.error());
    const bool invalid = laid.error().code() == Code::kInvalid;
    problem = Problem{invalid ? "InvalidSpec" : "SyncFailed", laid.error()};
  }
  if (problem && problem->reason == kRejectedReason) {
    config.state = kRejected;
    config.message = problem->error.message();
  }
  if (problem) warn(world_, ref(*controller), "SyncFailed", problem->error.to_string());
  MS_CO_CHECK(co_await write_status(parts, std::move(config), problem ? &*problem : nullptr));
  if (problem && !problem->for_others) co_return fail(problem->error);
  MS_CO_CHECK(laid);
  co_return Requeue{kLookAgain};
}

ControllerSync::Parts ControllerSync::gather(const ControllerPtr& controller) {
  Memory& memory = memory_[ObjectKey(controller->meta.key())];
  auto parts = std::make_shared<const ControllerParts>(world_, controller, memory.vacant);
  // One that is wanted again may have jobs by the time it is given up once more.
  if (memory.vacant.files != parts->closed.files) memory.vacant = {};
  std::erase_if(memory.vacant.names,
                [&](const std::string& name) { return !parts->closed.names.contains(name); });
  memory.closed = parts->in_force() ? parts->closed : ClosedPartitions{};
  if (!memory.closed.names.empty()) slurm_queue_.enqueue(controller->meta.key());
  return parts;
}

Task<Result<void>> ControllerSync::groundwork(Parts parts) {
  if (parts->controller->spec.external) co_return Result<void>();
  Result<void> all = co_await services(parts);
  keep_first(all, co_await mark_references(parts->controller));
  co_return all;
}

// NodeSets and RestApi of an installation come right after their Controller. A slurmctld that was
// started in between would have to restart for them, and whoever named them would be told in vain.
std::optional<Duration> ControllerSync::time_to_gather(const ControllerParts& parts) {
  constexpr Duration kGather = seconds(1);
  if (parts.stateful_set || parts.config) return std::nullopt;
  Memory& memory = memory_[ObjectKey(parts.controller->meta.key())];
  if (!memory.first_seen) memory.first_seen = world_.clock.now();
  const Duration left = *memory.first_seen + kGather - world_.clock.now();
  return left > Duration::zero() ? std::optional(left) : std::nullopt;
}

Task<Result<void>> ControllerSync::keep(Parts parts, std::optional<ConfigPlan>* decided) {
  const ControllerPtr& controller = parts->controller;
  if (controller->spec.external) {
    MS_CO_CHECK(co_await config_map(parts));
    decided->emplace();
    co_return Result<void>();
  }
  const ConfigPlan plan = plan_config(facts(*parts));
  // Before anything is written: a template that cannot be built must not leave new files behind.
  MS_CO_TRY(json::Value set, build::controller_stateful_set(parts->inputs, plan.annotation));
  MS_CO_CHECK(co_await approved_maps(parts));
  MS_CO_CHECK(co_await config_map(parts));
  Result<void> all =
      co_await stateful_set(parts, std::move(set), build::restart_hash(parts->files));
  if (!all && all.error().code() == Code::kConflict) co_return all;
  // Files that need new pods have not got them where the StatefulSet is refused.
  if (all || plan.reconfigure()) decided->emplace(plan);
  keep_first(all, co_await service_monitor(parts));
  if (plan.status.state == kApplied && rolled_out(*parts)) {
    keep_first(all, co_await drop_approved_maps(parts));
  }
  // To the sidecar the note on the pods is our leave to have slurmctld take the files up. It comes
  // after news of the files have: a kubelet that had to look before would find the old ones, and
  // look again after a minute.
  if ((plan.reconfigure() || controller->spec.inplace_reconfigure) && parts->are_written()) {
    keep_first(all, co_await bring_files(parts, plan.status.hash));
  }
  if (plan.reconfigure()) slurm_queue_.enqueue(controller->meta.key());
  if (controller->replicas() == 1 || nobody_is_active(world_, *parts)) {
    keep_first(
        all, co_await mark_active(controller, api::controller_name(controller->meta.name) + "-0"));
  }
  co_return all;
}

// Where the files that are wanted are not good, slurmctld keeps those that were so last, also when
// somebody deletes its StatefulSet. The copies say which ConfigMaps these are from: the Controller
// may name others by now.
Task<Result<void>> ControllerSync::restore(Parts parts) {
  const api::Controller& controller = *parts->controller;
  if (controller.spec.external || parts->stateful_set || !parts->config) co_return Result<void>();
  // Whoever wrote this note wrote the copies before; another operator made none.
  const bool has_copies = parts->config->meta.annotations.contains(api::annotation::kRestartHash);
  if (!has_copies || !parts->slurm_key || !parts->jwt_key) co_return Result<void>();
  const api::Controller last = with_copies(*parts);
  build::ControllerInputs inputs{.conf = {.controller = last},
                                 .slurm_key = parts->inputs.slurm_key,
                                 .jwt_key = parts->inputs.jwt_key,
                                 .cluster_domain = parts->inputs.cluster_domain,
                                 .search_services = parts->inputs.search_services};
  const bool in_place = controller.spec.inplace_reconfigure;
  MS_CO_TRY(json::Value set, build::controller_stateful_set(
                                 inputs, in_place ? "" : build::files_hash(parts->found)));
  co_return co_await stateful_set(parts, std::move(set), build::restart_hash(parts->found));
}

std::optional<ControllerSync::Problem> ControllerSync::check(const ControllerParts& parts) {
  if (!parts.missing.empty()) {
    return Problem{"MissingReference",
                   Error(Code::kNotFound, fmt::format("{}", fmt::join(parts.missing, "; "))), true};
  }
  std::vector<slurm::Finding> findings =
      slurm::lint({parts.files.begin(), parts.files.end()}, {.max_bytes = kMostBytes});
  if (auto mixed = build::mixed_privilege(parts.inputs.conf)) {
    findings.insert(findings.begin(), *std::move(mixed));
  }
  const auto jwks = parts.files.find(std::string(build::kJwksFile));
  if (parts.jwks && jwks != parts.files.end()) {
    if (auto wrong = build::check_jwks(jwks->second)) findings.push_back(*std::move(wrong));
  }
  std::erase_if(findings, [](const auto& one) { return one.severity != slurm::Severity::kError; });
  if (findings.empty()) return std::nullopt;
  const bool only_later = std::all_of(findings.begin(), findings.end(),
                                      [](const auto& one) { return !one.undefined.empty(); });
  if (only_later) {
    return Problem{"MissingReference", Error(Code::kNotFound, shown(findings, told_of_later)),
                   true};
  }
  return Problem{kRejectedReason, Error(Code::kInvalid, shown(findings, slurm::to_string)), true};
}

ConfigFacts ControllerSync::facts(const ControllerParts& parts) const {
  const api::Controller& controller = *parts.controller;
  const std::map<std::string, std::string>& files = parts.files;
  ConfigFacts facts;
  facts.before = controller.status.config;
  facts.hash = build::files_hash(files);
  facts.restart = build::restart_hash(files);
  facts.in_place = controller.spec.inplace_reconfigure;
  facts.has_rest = !world_.restapis_of(controller.meta.key()).empty();
  facts.now = world_.clock.wall_now();
  if (const auto& set = parts.stateful_set) {
    facts.exists = true;
    facts.live_annotation =
        set->spec.template_annotations.find(api::annotation::kSlurmConfigHash).value_or("");
    facts.live_restart = live_restart(parts);
    facts.rolled_out = rolled_out(parts);
  }
  if (parts.config && !parts.config->meta.annotations.contains(api::annotation::kRestartHash)) {
    std::map<std::string, std::string> ours = {
        {"slurm.conf", build::slurm_conf(parts.inputs.conf)}};
    if (std::string cgroup = build::cgroup_conf(parts.inputs.conf); !cgroup.empty()) {
      ours.emplace("cgroup.conf", std::move(cgroup));
    }
    facts.as_found = as_map(parts.config->data) == ours;
  }
  if (const auto it = memory_.find(controller.meta.key()); it != memory_.end()) {
    const Memory& memory = it->second;
    if (memory.brought == facts.hash) facts.trouble = memory.trouble;
    if (memory.brought == facts.hash && memory.taken_up == facts.hash) {
      facts.reconfigured = memory.taken_up_at;
      facts.proven = memory.proven;
    }
  }
  return facts;
}

Task<Result<void>> ControllerSync::services(Parts parts) {
  const kube::Meta& meta = parts->controller->meta;
  const std::string internal = api::controller_internal_name(meta.name);
  MS_CO_CHECK(co_await ensure(&world_, ref(*parts->controller), kube::Service::kResource,
                              build::controller_internal_service(parts->inputs),
                              seen(world_.services, meta.ns, internal)));
  MS_CO_TRY(json::Value client, build::controller_service(parts->inputs));
  MS_CO_CHECK(co_await ensure(&world_, ref(*parts->controller), kube::Service::kResource,
                              std::move(client),
                              seen(world_.services, meta.ns, api::controller_name(meta.name))));
  co_return co_await members(parts->controller);
}

// Before the slurm.conf that may name files of theirs.
Task<Result<void>> ControllerSync::approved_maps(Parts parts) {
  const std::string& ns = parts->controller->meta.ns;
  for (json::Value& map : build::controller_approved_maps(parts->inputs)) {
    const std::string name(map.at_pointer("/metadata/name")->as_string().value_or(""));
    MS_CO_CHECK(co_await ensure(&world_, ref(*parts->controller), kube::ConfigMap::kResource,
                                std::move(map), seen(world_.config_maps, ns, name)));
  }
  co_return Result<void>();
}

// Those that no pod has in a volume any more.
Task<Result<void>> ControllerSync::drop_approved_maps(Parts parts) {
  const api::Controller& controller = *parts->controller;
  std::set<std::string> needed;
  for (const std::string& name : controller.config_map_names()) {
    needed.insert(api::approved_map_name(controller.meta.name, name));
  }
  if (parts->jwks) needed.insert(api::approved_jwks_name(controller.meta.name));
  for (const auto& map : parts->approved) {
    if (needed.contains(map->meta.name)) continue;
    MS_CO_CHECK(
        co_await ensure_absent(&world_, ref(controller), kube::ConfigMap::kResource, map->meta));
  }
  co_return Result<void>();
}

Task<Result<void>> ControllerSync::config_map(Parts parts) {
  std::optional<kube::Meta> live;
  if (parts->config) live = parts->config->meta;
  MS_CO_CHECK(co_await ensure(&world_, ref(*parts->controller), kube::ConfigMap::kResource,
                              build::controller_config_map(parts->inputs), std::move(live)));
  co_return Result<void>();
}

Task<Result<void>> ControllerSync::stateful_set(Parts parts, json::Value desired,
                                                std::string restart) {
  const api::Controller& controller = *parts->controller;
  if (controller.spec.ha_enabled && controller.spec.persistence) {
    const std::string& name = controller.spec.persistence->existing_claim;
    const auto claim = world_.claims.get(controller.meta.ns, name);
    const auto& modes = claim ? claim->access_modes : kube::Seq<kube::Text>();
    if (claim && std::find(modes.begin(), modes.end(), "ReadWriteMany") == modes.end()) {
      co_return fail(Code::kInvalid,
                     fmt::format("spec.persistence.existingClaim: claim {} cannot be shared by "
                                 "several slurmctld; it needs access mode ReadWriteMany",
                                 name));
    }
  }
  std::optional<kube::Meta> live;
  if (parts->stateful_set) {
    live = parts->stateful_set->meta;
    const std::string internal = api::controller_internal_name(controller.meta.name);
    if (parts->stateful_set->service_name != internal && !live->deleting()) {
      // The name cannot be changed. The pods stay, and the new one takes them as its own.
      const kube::RawApi sets(world_.client, kube::StatefulSet::kResource, live->ns);
      MS_CO_CHECK(co_await sets.remove(
          live->name, {.propagation = kube::Propagation::kOrphan, .uid = live->uid}));
      world_.applier.forget(kube::StatefulSet::kResource, live->key());
      co_return fail(Code::kConflict, fmt::format("StatefulSet {} has another service name; it is "
                                                  "made again around its pods",
                                                  live->name));
    }
  }
  desired["metadata"]["annotations"].set(api::annotation::kRestartHash, restart);
  MS_CO_CHECK(co_await keep_claims(parts, &desired));
  MS_CO_CHECK(co_await ensure(&world_, ref(controller), kube::StatefulSet::kResource,
                              std::move(desired), std::move(live)));
  co_return Result<void>();
}

// The API server takes no other claim templates, and would refuse all of the StatefulSet for them.
// They are read once: no cache has them.
Task<Result<void>> ControllerSync::keep_claims(Parts parts, json::Value* desired) {
  if (!parts->stateful_set || parts->stateful_set->meta.deleting()) co_return Result<void>();
  const kube::Meta& live = parts->stateful_set->meta;
  const ObjectKey key(parts->controller->meta.key());
  if (memory_[key].claims_of != live.uid) {
    const kube::RawApi sets(world_.client, kube::StatefulSet::kResource, live.ns);
    MS_CO_TRY(const std::string text, co_await sets.get(live.name, {}));
    MS_CO_TRY(const json::Value set, json::parse(text));
    const json::Value* const claims = set.at_pointer("/spec/volumeClaimTemplates");
    memory_[key].claims = claims == nullptr ? json::Value() : *claims;
    memory_[key].claims_of = live.uid;
  }
  Memory& memory = memory_[key];
  const json::Value* const wanted = desired->at_pointer("/spec/volumeClaimTemplates");
  const bool none = wanted == nullptr && memory.claims.is_null();
  if (none || (wanted != nullptr && is_within(*wanted, memory.claims))) co_return Result<void>();
  (*desired)["spec"].erase("volumeClaimTemplates");
  for (const json::Value& claim : memory.claims) {
    json::Value kept = claim;
    kept.erase("status");
    (*desired)["spec"]["volumeClaimTemplates"].push_back(std::move(kept));
  }
  const api::Controller& controller = *parts->controller;
  if (std::exchange(memory.told_of_claims, controller.meta.generation) !=
      controller.meta.generation) {
    warn(
        world_, ref(controller), "PersistenceNotChanged",
        fmt::format("spec.persistence: the claim templates of StatefulSet {} cannot be changed, so "
                    "slurmctld keeps its claim as it is. Change the PersistentVolumeClaim itself, "
                    "or delete the StatefulSet with --cascade=orphan",
                    live.name));
  }
  co_return Result<void>();
}

Task<Result<void>> ControllerSync::service_monitor(Parts parts) {
  const kube::Meta& meta = parts->controller->meta;
  std::optional<json::Value> desired = build::controller_service_monitor(parts->inputs);
  const ObjectKey key(meta.key());
  const kube::Api<control::ObjectMeta> monitors(world_.client, kServiceMonitors, meta.ns);
  const std::string name = api::controller_name(meta.name);
  if (desired) {
    const std::optional<TimePoint> no_kind = memory_[key].no_kind;
    if (no_kind && world_.clock.now() - *no_kind < kKindMayCome) co_return Result<void>();
    if (memory_[key].monitor && world_.clock.now() - memory_[key].looked >= kKindMayCome) {
      const auto found = co_await monitors.get(name);
      if (!found && found.error().code() != Code::kNotFound) co_return fail(found.error());
      memory_[key].monitor = found ? std::optional(found->meta) : std::nullopt;
      memory_[key].looked = world_.clock.now();
    }
    auto applied = co_await world_.applier.apply(
        {kServiceMonitors, *std::move(desired), memory_[key].monitor});
    if (!applied && applied.error().code() == Code::kNotFound) {
      memory_[key].monitor.reset();
      memory_[key].no_kind = world_.clock.now();
      co_return Result<void>();
    }
    if (!applied) co_return fail(std::move(applied).error());
    if (!memory_[key].monitor) memory_[key].looked = world_.clock.now();
    memory_[key].monitor = applied->meta;
    memory_[key].no_kind.reset();
    memory_[key].no_monitor = false;
    co_return Result<void>();
  }
  if (memory_[key].no_monitor) co_return Result<void>();
  const auto found = co_await monitors.get(name);
  if (!found && found.error().code() != Code::kNotFound) co_return fail(found.error());
  if (found && found->meta.controller() != nullptr && found->meta.controller()->uid == meta.uid) {
    MS_CO_CHECK(
        co_await ensure_absent(&world_, ref(*parts->controller), kServiceMonitors, found->meta));
  }
  memory_[key].monitor.reset();
  memory_[key].no_monitor = true;
  co_return Result<void>();
}

Task<Result<void>> ControllerSync::mark_references(ControllerPtr controller) {
  for (const std::string& name : controller->config_map_names()) {
    const auto map = world_.config_maps.get(controller->meta.ns, name);
    if (!map) continue;
    // One that serves several Controllers keeps the first: the label is for our webhook to see it.
    const auto of = map->meta.labels.find(api::label::kConfigOf);
    if (of && world_.controllers.get(controller->meta.ns, *of)) continue;
    json::Value body = json::Value::object();
    body["metadata"]["labels"].set(api::label::kConfigOf, controller->meta.name);
    const kube::RawApi maps(world_.client, kube::ConfigMap::kResource, controller->meta.ns);
    const auto done = co_await maps.patch(name, {kube::PatchKind::kMerge, std::move(body)}, {});
    if (!done && done.error().code() != Code::kNotFound) co_return fail(done.error());
  }
  co_return Result<void>();
}

// The kubelet looks at a pod's volumes again when the pod changes, not only once a minute.
Task<Result<void>> ControllerSync::bring_files(Parts parts, std::string hash) {
  const ObjectKey key(parts->controller->meta.key());
  if (!parts->stateful_set) co_return Result<void>();
  const auto pods = world_.pods_of(parts->stateful_set->meta.uid);
  const kube::RawApi api(world_.client, kube::Pod::kResource, key.ns);
  for (const auto& pod : pods) {
    if (pod->meta.annotations.find(api::annotation::kConfigSync) == std::string_view(hash))
      continue;
    json::Value body = json::Value::object();
    body["metadata"]["annotations"].set(api::annotation::kConfigSync, hash);
    const auto done =
        co_await api.patch(pod->meta.name, {kube::PatchKind::kMerge, std::move(body)}, {});
    if (!done && done.error().code() != Code::kNotFound) co_return fail(done.error());
  }
  Memory& memory = memory_[key];
  if (memory.brought != hash) {
    memory.brought = std::move(hash);
    memory.brought_at = world_.clock.now();
    // Back to files that were taken up before is a change all the same.
    memory.taken_up.clear();
    memory.read_before = 0;
    memory.trouble.clear();
    memory.failures = 0;
  }
  co_return Result<void>();
}

}  // namespace mainspring::op
