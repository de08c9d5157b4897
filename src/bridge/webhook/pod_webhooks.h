// bridge/webhook/pod_webhooks.h
//
// The admission webhooks of the bridge, under the paths of slurm-bridge:
//
//   /mutate--v1-pod    new pods of managed namespaces become Slurm's, and get what they need for it
//   /validate--v1-pod  what Slurm cannot do is refused; what the bridge has noted stays as it is
//
// Which pods are sent here is in the chart: those of managed namespaces and those that name our
// scheduler, no others. Whether a namespace is managed is asked again here, so that a webhook
// configuration that sends too much makes nobody's pods Slurm's.
//
// The handlers run on the serving loop. A namespace is read only where namespaces are selected by
// labels; one that cannot be read is no answer, and the failure policy decides.
#pragma once

#include <string>

#include "base/metrics.h"
#include "bridge/config.h"
#include "http/router.h"
#include "kube/client.h"

namespace mainspring::bridge {

struct PodWebhookOptions {
  BridgeConfig config;
  // As whom the bridge writes: "system:serviceaccount:slinky:slurm-bridge".
  std::string own_user;
  // On the serving loop. Must outlive the router.
  kube::Client& client;
  Duration read_limit = seconds(3);
  Metrics* metrics = nullptr;  // Must outlive the router.
};

void add_pod_webhooks(http::Router& router, PodWebhookOptions options);

}  // namespace mainspring::bridge
