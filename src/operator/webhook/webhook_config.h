// operator/webhook/webhook_config.h
//
// The objects that tell the API server to ask us: a ValidatingWebhookConfiguration and a
// MutatingWebhookConfiguration. Pure; caBundle is left to control/webhook_certs.h.
//
// They are made so that an operator that is down costs little: only changes to our own six kinds
// wait for it. ConfigMaps are seen only with our label, bindings only where that is switched on,
// and both go through when nobody answers. Namespaces of the cluster itself are left out
// altogether.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace mainspring::op {

struct WebhookConfig {
  std::string name = "mainspring";  // Of both objects.
  // The Service in front of the server.
  std::string service;
  std::string ns;
  int port = 443;
  std::vector<std::string> namespaces = {};  // Only these; empty: all but the cluster's own.
  bool bindings = false;
};

json::Value validating_webhooks(const WebhookConfig& config);
// Without webhooks where bindings are off.
json::Value mutating_webhooks(const WebhookConfig& config);

}  // namespace mainspring::op
