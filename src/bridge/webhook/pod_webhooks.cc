// bridge/webhook/pod_webhooks.cc
#include "bridge/webhook/pod_webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bridge/webhook/admission.h"
#include "control/admission.h"
#include "control/lru_map.h"
#include "kube/api.h"
#include "kube/core_objects.h"
#include "net/wait.h"

namespace mainspring::bridge {
namespace {

using control::AdmissionRequest;
using control::AdmissionResponse;
using Answer = net::Task<Result<AdmissionResponse>>;

// How long a namespace that was managed is taken to be. Only what was not is read again each time:
// the API server's selector lets none of it through.
constexpr Duration kManagedFor = seconds(5);

struct Hooks {
  explicit Hooks(PodWebhookOptions options) : options(std::move(options)) {}
  PodWebhookOptions options;
  control::LruMap<TimePoint> managed_until{1000};
};
using HooksPtr = std::shared_ptr<Hooks>;

net::Task<Result<bool>> is_managed(HooksPtr hooks, std::string ns) {
  const BridgeConfig& config = hooks->options.config;
  if (!config.managed_namespace_selector) {
    const auto& all = config.managed_namespaces;
    co_return std::find(all.begin(), all.end(), ns) != all.end();
  }
  kube::Client& client = hooks->options.client;
  const TimePoint now = client.clock().now();
  const TimePoint* const until = hooks->managed_until.find(ns);
  if (until != nullptr && now < *until) co_return true;
  MS_CO_TRY(const kube::Namespace found,
            co_await net::with_timeout(hooks->options.read_limit, "reading namespace " + ns,
                                       kube::Api<kube::Namespace>(client).get(ns)));
  const bool managed = config.managed_namespace_selector->matches(found.meta.labels);
  if (managed) hooks->managed_until.put(ns, now + kManagedFor);
  co_return managed;
}

Answer mutate(HooksPtr hooks, AdmissionRequest request) {
  const BridgeConfig& config = hooks->options.config;
  if (request.operation != "CREATE" || !request.object.is_object() ||
      is_static(request.object, request.user.username)) {
    co_return AdmissionResponse::allow();
  }
  const PodClaim claim = claim_of(request.object, config);
  bool ours = claim == PodClaim::kOurs;
  if (claim == PodClaim::kOpen) {
    MS_CO_TRY(ours, co_await is_managed(hooks, request.ns));
  }
  if (!ours) co_return AdmissionResponse::allow();
  co_return AdmissionResponse::allow_as(taken_over(std::move(request.object), config));
}

// A pod of a template has no name yet, only how it will begin.
std::string name_of(const AdmissionRequest& request) {
  const json::Value* const begin = request.object.at_pointer("/metadata/generateName");
  const bool named = !request.name.empty() || begin == nullptr;
  return fmt::format("Pod {}/{}", request.ns,
                     named ? request.name : std::string(begin->as_string().value_or("")));
}

Answer validate(HooksPtr hooks, AdmissionRequest request) {
  const PodWebhookOptions& options = hooks->options;
  if (!request.object.is_object() || request.user.username == options.own_user ||
      (request.operation == "CREATE" && is_static(request.object, request.user.username)) ||
      claim_of(request.object, options.config) != PodClaim::kOurs) {
    co_return AdmissionResponse::allow();
  }
  Findings findings =
      request.old_object.is_null()
          ? validate_new(request.object, request.ns, options.config)
          : validate_change(request.old_object, request.object, request.ns, options.config);
  AdmissionResponse response =
      findings.problems.empty()
          ? AdmissionResponse::allow()
          : AdmissionResponse::invalid_fields(name_of(request), std::move(findings.problems));
  response.warnings = std::move(findings.warnings);
  co_return response;
}

}  // namespace

void add_pod_webhooks(http::Router& router, PodWebhookOptions options) {
  const auto hooks = std::make_shared<Hooks>(std::move(options));
  const auto add = [&](const char* path, control::AdmissionKind kind,
                       Answer (*handler)(HooksPtr, AdmissionRequest)) {
    control::AdmissionOptions admission;
    admission.kind = kind;
    admission.metrics = hooks->options.metrics;
    admission.handler = [hooks, handler](AdmissionRequest request) {
      return handler(hooks, std::move(request));
    };
    control::add_admission(router, path, std::move(admission));
  };
  add("/mutate--v1-pod", control::AdmissionKind::kMutating, mutate);
  add("/validate--v1-pod", control::AdmissionKind::kValidating, validate);
}

}  // namespace mainspring::bridge
