// Making a NodeSet's pods so: creating, cordoning, and removing those that no Slurm has to be asked
// about.
#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "control/in_parallel.h"
#include "control/object_meta.h"
#include "control/owners.h"
#include "operator/build/worker.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/cordon.h"
#include "operator/nodeset/projection.h"
#include "operator/sync/nodeset_sync.h"
#include "operator/sync/pod_calls.h"

namespace mainspring::op {
namespace {

using control::EventType;

constexpr std::size_t kAtOnce = 16;
// Each new pod makes work for schedulers, kubelets and us: with few creations at a time, that work
// gets before the rest of them.
constexpr std::size_t kCreationsAtOnce = 64;
// Of one pass; the events of these lead to the next.
constexpr std::size_t kMostChanges = 500;

// The cordon of a pod and nothing else of what is shown on it.
PodProjection as_it_is(const kube::Pod& pod) {
  PodProjection same;
  same.protect = pod.meta.labels.find(api::label::kPodProtect) == "true";
  if (const auto deadline = pod.meta.annotations.find(api::annotation::kPodDeadline)) {
    same.deadline = std::string(*deadline);
  }
  return same;
}

control::ObjectRef ref(const api::NodeSet& nodeset) {
  return control::ref_to(api::NodeSet::kResource, nodeset.meta);
}

// What people are told when a pod begins to drain; null where nothing.
const char* event_reason(Cause cause) {
  switch (cause) {
    case Cause::kScaleIn:
      return "ScalingDown";
    case Cause::kUpdate:
      return "RollingUpdate";
    case Cause::kHostname:
      return "HostnameMismatch";
    case Cause::kNode:
      return "NodeCordon";
    default:
      return nullptr;
  }
}

// Whether the object may exist although the call failed.
bool may_have_happened(const Error& error) {
  return error.code() == Code::kTimeout || error.code() == Code::kTransient ||
         error.code() == Code::kCancelled;
}

}  // namespace

Task<Result<void>> NodeSetSync::act(NodeSetPtr nodeset, ControllerPtr controller, NodeSetView* view,
                                    const Plan* plan) {
  Result<void> all = co_await create_pods(nodeset, controller, view, plan);
  keep_first(all, co_await renew_claims(nodeset, view, plan));
  keep_first(all, co_await let_go(nodeset, view, plan));
  co_return all;
}

// One step that fails keeps nobody from the others: a pod that a quota or somebody's webhook
// refuses is no reason to leave a cordon undone.
Task<Result<void>> NodeSetSync::let_go(NodeSetPtr nodeset, const NodeSetView* view,
                                       const Plan* plan) {
  Result<void> all = co_await own_claims(nodeset, view, plan);
  keep_first(all, co_await cordon_pods(view, plan));
  keep_first(all, co_await remove_pods(nodeset, view, plan));
  co_return all;
}

Task<Result<void>> NodeSetSync::create_pods(NodeSetPtr nodeset, ControllerPtr controller,
                                            NodeSetView* view, const Plan* plan) {
  if (plan->create.empty()) co_return Result<void>();
  MS_CO_TRY(const json::Value* made, shared_.pod_template(*nodeset, *controller));
  const auto pod_template = std::make_shared<const json::Value>(*made);
  std::vector<Creation> wanted = plan->create;
  wanted.resize(std::min(wanted.size(), kMostChanges));
  world_.events.event(ref(*nodeset), EventType::kNormal, "ScalingUp", "ScaleUp",
                      fmt::format("Creating {} of {} pods", wanted.size(), plan->desired));
  Made made_pods;
  auto all = co_await control::in_parallel<Creation>(
      std::move(wanted),
      [this, nodeset, pod_template, hash = view->revision_hash, &made_pods](Creation one) {
        return create_pod(nodeset, pod_template, hash, std::move(one), &made_pods);
      },
      kCreationsAtOnce, control::AtFailure::kStop);
  say_created(*nodeset, std::move(made_pods.names));
  if (made_pods.waits) keep_first(all, fail(*std::move(made_pods.waits)));
  co_return all;
}

// A claim of that name may be an earlier pod's. One that goes, or goes with a pod that is gone,
// would keep the new pod from ever starting, or be taken from under it.
Task<Result<void>> NodeSetSync::make_claims(NodeSetPtr nodeset, build::WorkerIdentity identity) {
  for (json::Value& claim : build::worker_claims(*nodeset, identity)) {
    const json::Value* const given = claim.at_pointer("/metadata/name");
    const std::string name(given == nullptr ? "" : given->as_string().value_or(""));
    const kube::Api<kube::PersistentVolumeClaim> claims(world_.client, nodeset->meta.ns);
    const auto made = co_await claims.create(std::move(claim), {});
    if (made) continue;
    if (made.error().code() != Code::kAlreadyExists) co_return fail(made.error());
    MS_CO_TRY(const kube::PersistentVolumeClaim there, co_await claims.get(name));
    const auto& owners = there.meta.owners;
    const bool goes_along = std::any_of(owners.begin(), owners.end(), [](const auto& owner) {
      return owner.kind == kube::Pod::kResource.kind;
    });
    if (!there.meta.deleting() && !goes_along) continue;
    co_return fail(
        Code::kConflict,
        fmt::format("PersistentVolumeClaim {} is {}; its worker is made when it is gone. "
                    "Where that takes long, see what holds it (metadata.finalizers)",
                    name, there.meta.deleting() ? "being deleted" : "to go with an earlier pod"));
  }
  co_return Result<void>();
}

// All in one: a NodeSet has room for some events, and one for each pod would leave none for those
// that say what is wrong.
void NodeSetSync::say_created(const api::NodeSet& nodeset, std::vector<std::string> names) {
  constexpr std::size_t kNamed = 10;
  if (names.empty()) return;
  const std::size_t count = names.size();
  names.resize(std::min(count, kNamed));
  world_.events.event(ref(nodeset), EventType::kNormal, "SuccessfulCreate", "Create",
                      fmt::format("Created {} {}{}", count == 1 ? "Pod" : "Pods",
                                  fmt::join(names, ", "), count > kNamed ? ", ..." : ""));
}

Task<Result<void>> NodeSetSync::create_pod(NodeSetPtr nodeset,
                                           std::shared_ptr<const json::Value> pod_template,
                                           std::string revision_hash, Creation creation,
                                           Made* made_pods) {
  build::WorkerIdentity identity{creation.ordinal, creation.node.get()};
  std::shared_ptr<const kube::Node> pinned;
  if (nodeset->spec.pin_to_node && creation.ordinal) {
    const auto name = nodeset->status.ordinal_to_node.find(std::to_string(*creation.ordinal));
    if (name) pinned = world_.nodes.get({}, *name);
    if (pinned && shared_.fits(*nodeset, pinned)) identity.node = pinned.get();
  }
  const std::string uid = nodeset->meta.uid;
  if (const auto claims = co_await make_claims(nodeset, identity); !claims) {
    warn(world_, ref(*nodeset), "FailedCreate", claims.error().to_string());
    if (claims.error().code() != Code::kConflict) co_return fail(claims.error());
    // It keeps none of the others.
    made_pods->waits = claims.error();
    co_return Result<void>();
  }
  json::Value pod = build::worker_pod(*nodeset, *pod_template, identity, revision_hash);
  const auto note = [&](std::string_view annotation, const std::string& hash) {
    if (!hash.empty()) pod["metadata"]["annotations"].set(annotation, hash);
  };
  note(api::annotation::kSlurmKeyHash, shared_.slurm_key_hash(*nodeset));
  note(api::annotation::kSssdConfHash, shared_.sssd_conf_hash(*nodeset));
  shared_.expectations.expect_creation(uid);
  const kube::Api<control::ObjectMeta> pods(world_.client, kube::Pod::kResource, nodeset->meta.ns);
  const auto made = co_await pods.create(std::move(pod), {});
  if (made) {
    made_pods->names.push_back(made->meta.name);
    co_return Result<void>();
  }
  // A pod with an ordinal cannot come twice: trying again finds it. One without may have been made
  // all the same, and is waited for.
  if (creation.ordinal || !may_have_happened(made.error())) {
    shared_.expectations.creation_failed(uid);
  }
  // The pod of that name is there: the cache was behind, and shows it soon.
  if (made.error().code() == Code::kAlreadyExists) co_return Result<void>();
  warn(world_, ref(*nodeset), "FailedCreate", made.error().to_string());
  co_return fail(made.error());
}

Task<Result<void>> NodeSetSync::cordon_pods(const NodeSetView* view, const Plan* plan) {
  std::vector<Cause> condemned(view->workers.size(), Cause::kNone);
  for (const Condemned& one : plan->condemned) condemned[one.worker] = one.cause;
  std::vector<PodChange> lifted;
  std::vector<PodChange> cordoned;
  for (std::size_t i = 0; i < view->workers.size(); ++i) {
    const WorkerView& worker = view->workers[i];
    if (worker.pod->meta.deleting()) continue;
    const Cause cordon = wanted_cordon(worker, condemned[i]);
    json::Value patch = metadata_patch(*worker.pod, as_it_is(*worker.pod), cordon);
    if (patch.is_null()) continue;
    // Only on what was seen: a person may have cordoned it since, and that must stay.
    patch["metadata"]["resourceVersion"] = worker.pod->meta.resource_version;
    (cordon == Cause::kNone ? lifted : cordoned)
        .push_back(
            {worker.pod->meta.ns, worker.pod->meta.name, std::move(patch), event_reason(cordon)});
  }
  // Those that are kept after all come first, and what comes of it leads to the next pass: while
  // both are cordoned, more workers are missing than may be.
  if (!lifted.empty()) co_return co_await patch_pods(std::move(lifted));
  cordoned.resize(std::min(cordoned.size(), kMostChanges));
  for (const PodChange& change : cordoned) {
    if (change.event == nullptr) continue;
    world_.events.event(ref(view->nodeset), EventType::kNormal, change.event, "Drain",
                        fmt::format("Draining pod {}", change.name));
  }
  co_return co_await patch_pods(std::move(cordoned));
}

Task<Result<void>> NodeSetSync::patch_pods(std::vector<PodChange> changes) {
  co_return co_await control::in_parallel<PodChange>(
      std::move(changes),
      [this](PodChange change) {
        return patch_pod(&world_, std::move(change.ns), std::move(change.name),
                         {kube::PatchKind::kMerge, std::move(change.patch)}, "");
      },
      kAtOnce);
}

// A claim that was deleted before its pod started: nobody else makes it again, and without it the
// pod never starts. One that is being deleted is waited for, and who is to go needs none.
Task<Result<void>> NodeSetSync::renew_claims(NodeSetPtr nodeset, const NodeSetView* view,
                                             const Plan* plan) {
  Result<void> all;
  if (nodeset->spec.volume_claim_templates.empty()) co_return all;
  std::vector<bool> goes(view->workers.size(), false);
  for (const Condemned& one : plan->condemned) goes[one.worker] = true;
  for (const Removal& one : plan->remove) goes[one.worker] = true;
  for (std::size_t i = 0; i < view->workers.size(); ++i) {
    const auto pod = view->workers[i].pod;
    if (goes[i] || !waits_to_start(*pod) || view->now - pod->meta.created < kClaimsSeen) continue;
    for (NamedClaim& claim : claims_of(*nodeset, *pod)) {
      if (world_.claims.get(pod->meta.ns, claim.name)) continue;
      const kube::Api<kube::PersistentVolumeClaim> claims(world_.client, pod->meta.ns);
      const auto made = co_await claims.create(std::move(claim.object), {});
      if (made) {
        world_.events.event(ref(*nodeset), EventType::kNormal, "SuccessfulCreate", "Create",
                            fmt::format("Created PersistentVolumeClaim {} again, which was gone: "
                                        "pod {} waits for it",
                                        claim.name, pod->meta.name));
      } else if (made.error().code() != Code::kAlreadyExists) {
        warn(world_, ref(*nodeset), "FailedCreate", made.error().to_string());
        keep_first(all, fail(made.error()));
      }
    }
  }
  co_return all;
}

Task<Result<void>> NodeSetSync::own_claims(NodeSetPtr nodeset, const NodeSetView* view,
                                           const Plan* plan) {
  Result<void> all;
  if (nodeset->spec.volume_claim_templates.empty()) co_return all;
  std::vector<bool> scaled_in(view->workers.size(), false);
  for (const Condemned& one : plan->condemned) {
    scaled_in[one.worker] = one.cause == Cause::kScaleIn;
  }
  for (std::size_t i = 0; i < view->workers.size(); ++i) {
    const auto pod = view->workers[i].pod;
    // Who takes the claims of a pod that goes was settled before it was deleted.
    if (pod->meta.deleting()) continue;
    for (const kube::Volume& volume : pod->spec->volumes) {
      const auto claim = world_.claims.get(pod->meta.ns, volume.claim_name(pod->meta.name));
      if (!claim) continue;
      if (is_anothers(*nodeset, *pod, *claim)) {
        warn(world_, ref(*nodeset), "ConflictingController",
             fmt::format("PersistentVolumeClaim {} of pod {} belongs to {} {}, so that its "
                         "retention is not ours to decide",
                         claim->meta.name, pod->meta.name, claim->meta.controller()->kind,
                         claim->meta.controller()->name));
      }
      if (auto owners = wanted_owners(*nodeset, *pod, scaled_in[i], *claim)) {
        keep_first(all, co_await give_claim(claim, *std::move(owners)));
      }
    }
  }
  co_return all;
}

Task<Result<void>> NodeSetSync::give_claim(std::shared_ptr<const kube::PersistentVolumeClaim> claim,
                                           kube::Seq<kube::OwnerReference> owners) {
  json::Value body = json::Value::object();
  body["metadata"]["uid"] = claim->meta.uid;
  body["metadata"]["resourceVersion"] = claim->meta.resource_version;
  json::Value& list = body["metadata"]["ownerReferences"] = json::Value::array();
  for (const kube::OwnerReference& owner : owners) list.push_back(control::to_json(owner));
  const kube::RawApi api(world_.client, kube::PersistentVolumeClaim::kResource, claim->meta.ns);
  MS_CO_CHECK(co_await api.patch(claim->meta.name, {kube::PatchKind::kMerge, std::move(body)}, {}));
  co_return Result<void>();
}

Task<Result<void>> NodeSetSync::remove_pods(NodeSetPtr nodeset, const NodeSetView* view,
                                            const Plan* plan) {
  using Evidence = Removal::Evidence;
  Result<void> all;
  for (const Removal& one : plan->remove) {
    if (one.evidence != Evidence::kNeverRan && one.evidence != Evidence::kEnded) continue;
    const auto pod = view->workers[one.worker].pod;
    if (!shared_.claims_settled(*nodeset, *pod, one.cause)) continue;
    if (!shared_.may_delete(*nodeset)) break;
    keep_first(all, co_await delete_pod(&shared_, pod, nodeset, PodVersion::kAsSeen));
  }
  co_return all;
}

}  // namespace mainspring::op
