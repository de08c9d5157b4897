// operator/webhook/webhook_config.cc
#include "operator/webhook/webhook_config.h"

#include <fmt/format.h>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/names.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/text.h"
#include "kube/core_objects.h"

namespace mainspring::op {
namespace {

using json::Value;

Value strings(const std::vector<std::string>& items) {
  Value list = Value::array();
  for (const std::string& item : items) list.push_back(item);
  return list;
}

Value expression(std::string_view key, std::string_view op,
                 const std::vector<std::string>& values) {
  Value made = Value::object({{"key", key}, {"operator", op}});
  if (!values.empty()) made.set("values", strings(values));
  return made;
}

// By the label that the API server puts on every namespace.
Value namespace_selector(const WebhookConfig& config, const std::vector<std::string>& without) {
  constexpr std::string_view kName = "kubernetes.io/metadata.name";
  std::vector<std::string> hidden = {"kube-system", "kube-public", "kube-node-lease"};
  hidden.insert(hidden.end(), without.begin(), without.end());
  Value expressions = Value::array({expression(kName, "NotIn", hidden)});
  if (!config.namespaces.empty()) expressions.push_back(expression(kName, "In", config.namespaces));
  return Value::object({{"matchExpressions", std::move(expressions)}});
}

Value client_config(const WebhookConfig& config, const std::string& path) {
  return Value::object({{"service", Value::object({{"name", config.service},
                                                   {"namespace", config.ns},
                                                   {"path", path},
                                                   {"port", config.port}})}});
}

Value rule(const std::string& group, const std::string& version, const std::string& resource,
           const std::vector<std::string>& operations) {
  return Value::object({{"apiGroups", Value::array({group})},
                        {"apiVersions", Value::array({version})},
                        {"resources", Value::array({resource})},
                        {"operations", strings(operations)},
                        {"scope", "Namespaced"}});
}

struct Hook {
  std::string name;
  std::string path;
  Value rule;
  std::string failure_policy;
  std::string side_effects = "None";
  int timeout = 10;
  Value namespaces;
};

Value webhook(const WebhookConfig& config, Hook hook) {
  return Value::object({{"name", hook.name},
                        {"admissionReviewVersions", Value::array({"v1", "v1beta1"})},
                        {"clientConfig", client_config(config, hook.path)},
                        {"failurePolicy", hook.failure_policy},
                        {"matchPolicy", "Equivalent"},
                        {"namespaceSelector", std::move(hook.namespaces)},
                        {"rules", Value::array({std::move(hook.rule)})},
                        {"sideEffects", hook.side_effects},
                        {"timeoutSeconds", hook.timeout}});
}

Value webhook_for(const WebhookConfig& config, const kube::Resource& kind) {
  std::string word = kind.kind;
  for (char& c : word) c = ascii_lower(c);
  return webhook(config, {.name = fmt::format("{}-v1beta1.kb.io", word),
                          .path = fmt::format("/validate-slinky-slurm-net-v1beta1-{}", word),
                          .rule = rule(kind.group, kind.version, kind.plural, {"CREATE", "UPDATE"}),
                          .failure_policy = "Fail",
                          .namespaces = namespace_selector(config, {})});
}

Value webhook_for_config(const WebhookConfig& config) {
  const kube::Resource& kind = kube::ConfigMap::kResource;
  Value made = webhook(
      config, {.name = "config.mainspring.slurm.net",
               .path = "/validate-config",
               .rule = rule(kind.group, kind.version, kind.plural, {"CREATE", "UPDATE", "DELETE"}),
               .failure_policy = "Ignore",
               .timeout = 5,
               .namespaces = namespace_selector(config, {})});
  made["objectSelector"] = Value::object(
      {{"matchExpressions", Value::array({expression(api::label::kConfigOf, "Exists", {})})}});
  return made;
}

// The operator's own pods must come up without asking the operator.
Value webhook_for_bindings(const WebhookConfig& config) {
  return webhook(config, {.name = "podsbinding-v1.kb.io",
                          .path = "/mutate--v1-binding",
                          .rule = rule("", "v1", "pods/binding", {"CREATE"}),
                          .failure_policy = "Ignore",
                          .side_effects = "NoneOnDryRun",
                          .timeout = 5,
                          .namespaces = namespace_selector(config, {config.ns})});
}

Value configuration(const WebhookConfig& config, std::string_view kind, Value webhooks) {
  return Value::object({{"apiVersion", "admissionregistration.k8s.io/v1"},
                        {"kind", kind},
                        {"metadata", Value::object({{"name", config.name}})},
                        {"webhooks", std::move(webhooks)}});
}

}  // namespace

Value validating_webhooks(const WebhookConfig& config) {
  Value webhooks = Value::array({
      webhook_for(config, api::Controller::kResource),
      webhook_for(config, api::NodeSet::kResource),
      webhook_for(config, api::LoginSet::kResource),
      webhook_for(config, api::RestApi::kResource),
      webhook_for(config, api::Accounting::kResource),
      webhook_for(config, api::Token::kResource),
      webhook_for_config(config),
  });
  return configuration(config, "ValidatingWebhookConfiguration", std::move(webhooks));
}

Value mutating_webhooks(const WebhookConfig& config) {
  Value webhooks = Value::array();
  if (config.bindings) webhooks.push_back(webhook_for_bindings(config));
  return configuration(config, "MutatingWebhookConfiguration", std::move(webhooks));
}

}  // namespace mainspring::op
