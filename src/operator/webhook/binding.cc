// operator/webhook/binding.cc
#include "operator/webhook/binding.h"

#include "api/names.h"
#include "kube/api.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "net/wait.h"
#include "operator/nodeset/topology.h"

namespace mainspring::op {
namespace {

using control::AdmissionRequest;
using control::AdmissionResponse;
using json::Value;

std::string text_at(const Value& object, std::string_view pointer) {
  const Value* const value = object.at_pointer(pointer);
  return value == nullptr ? std::string() : std::string(value->as_string().value_or(""));
}

// Another pod may have come to the name since the scheduler looked.
bool is_the_worker_meant(const kube::Pod& pod, const std::string& uid) {
  return pod.meta.labels.find(api::label::kName) == api::app::kWorker &&
         (uid.empty() || pod.meta.uid == uid);
}

Value topology_patch(const kube::Pod& pod, std::string_view topology) {
  Value annotations = Value::object();
  annotations.set(api::annotation::kTopology, topology);
  return Value::object({{"metadata", Value::object({{"uid", pod.meta.uid},
                                                    {"annotations", std::move(annotations)}})}});
}

Task<Result<void>> copy_topology(kube::Client* client, std::string ns, std::string name,
                                 std::string uid, std::string node_name) {
  const kube::Api<kube::Pod> pods(*client, ns);
  MS_CO_TRY(const kube::Pod pod, co_await pods.get(name));
  if (!is_the_worker_meant(pod, uid)) co_return Result<void>();
  MS_CO_TRY(const kube::Node node, co_await kube::Api<kube::Node>(*client).get(node_name));
  const std::string_view topology = topology_of(node);
  if (pod.meta.annotations.find(api::annotation::kTopology).value_or("") == topology) {
    co_return Result<void>();
  }
  kube::Patch patch{kube::PatchKind::kMerge, topology_patch(pod, topology)};
  MS_CO_CHECK(co_await pods.patch(name, std::move(patch)));
  co_return Result<void>();
}

}  // namespace

Task<Result<AdmissionResponse>> review_binding(kube::Client* client, Duration limit, Logger log,
                                               AdmissionRequest request) {
  // Some schedulers leave the request's name to the object.
  const std::string name =
      request.name.empty() ? text_at(request.object, "/metadata/name") : request.name;
  const std::string kind = text_at(request.object, "/target/kind");
  const std::string node = text_at(request.object, "/target/name");
  const bool to_a_node = (kind.empty() || kind == "Node") && !node.empty();
  if (request.dry_run || name.empty() || !to_a_node) co_return AdmissionResponse::allow();
  const auto copied = co_await net::with_timeout(
      limit, "copying the node's topology to the pod",
      copy_topology(client, request.ns, name, text_at(request.object, "/metadata/uid"), node));
  if (!copied && copied.error().code() != Code::kNotFound) {
    log.warn("a worker is bound without its node's topology",
             {{"namespace", request.ns}, {"pod", name}, {"node", node}, {"error", copied.error()}});
  }
  co_return AdmissionResponse::allow();
}

}  // namespace mainspring::op
