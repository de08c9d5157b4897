#include "control/ca_target.h"

#include <fmt/format.h>

#include "base/base64.h"

namespace mainspring::control {

using json::Value;

namespace {

bool is_text(const Value* value, const std::string& text) {
  return value != nullptr && value->as_string() == text;
}

std::optional<kube::Patch> webhooks_patch(const Value& object, const std::string& encoded) {
  const Value* webhooks = object.find("webhooks");
  if (webhooks == nullptr) return std::nullopt;
  Value operations = Value::array();
  for (std::size_t i = 0; i < webhooks->size(); ++i) {
    const Value& webhook = webhooks->at(i);
    const Value* name = webhook.find("name");
    if (name == nullptr || is_text(webhook.at_pointer("/clientConfig/caBundle"), encoded)) continue;
    // Positions may have changed since we looked: then the patch is refused as a whole.
    operations.push_back(Value::object(
        {{"op", "test"}, {"path", fmt::format("/webhooks/{}/name", i)}, {"value", *name}}));
    operations.push_back(
        Value::object({{"op", "add"},
                       {"path", fmt::format("/webhooks/{}/clientConfig/caBundle", i)},
                       {"value", encoded}}));
  }
  if (operations.empty()) return std::nullopt;
  return kube::Patch{kube::PatchKind::kJson, std::move(operations)};
}

std::optional<kube::Patch> crd_patch(const Value& object, const std::string& encoded) {
  if (!is_text(object.at_pointer("/spec/conversion/strategy"), "Webhook")) return std::nullopt;
  if (is_text(object.at_pointer("/spec/conversion/webhook/clientConfig/caBundle"), encoded)) {
    return std::nullopt;
  }
  Value body = Value::object();
  body["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = encoded;
  return kube::Patch{kube::PatchKind::kMerge, std::move(body)};
}

std::optional<kube::Patch> api_service_patch(const Value& object, const std::string& encoded) {
  if (is_text(object.at_pointer("/spec/caBundle"), encoded)) return std::nullopt;
  Value body = Value::object();
  body["spec"]["caBundle"] = encoded;
  // A bundle beside "skip the check" is refused, and we are here so that nobody skips it.
  body["spec"]["insecureSkipTLSVerify"] = nullptr;
  return kube::Patch{kube::PatchKind::kMerge, std::move(body)};
}

}  // namespace

kube::Resource CaTarget::resource() const {
  switch (kind) {
    case Kind::kValidatingWebhooks:
      return {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
              "ValidatingWebhookConfiguration", false};
    case Kind::kMutatingWebhooks:
      return {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
              "MutatingWebhookConfiguration", false};
    case Kind::kCrdConversion:
      return {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
              false};
    case Kind::kApiService:
      break;
  }
  return {"apiregistration.k8s.io", "v1", "apiservices", "APIService", false};
}

std::optional<kube::Patch> ca_patch(CaTarget::Kind kind, const Value& object,
                                    const std::string& bundle) {
  const std::string encoded = base64_encode(bundle);
  switch (kind) {
    case CaTarget::Kind::kValidatingWebhooks:
    case CaTarget::Kind::kMutatingWebhooks:
      return webhooks_patch(object, encoded);
    case CaTarget::Kind::kCrdConversion:
      return crd_patch(object, encoded);
    case CaTarget::Kind::kApiService:
      break;
  }
  return api_service_patch(object, encoded);
}

}  // namespace mainspring::control
