// operator/webhook/webhooks.h
//
// The admission webhooks of the operator: what a user may not write is refused before it is stored,
// with every field that is wrong at once. Paths are those of the public contract.
//
//   /validate-slinky-slurm-net-v1beta1-KIND: for each of the six kinds
//   /validate-config: ConfigMaps that have the label mainspring.slurm.net/config-of
//   /mutate--v1-binding: gives worker pods their node's topology (binding.h)
//
// What the API server asks of them is in charts/mainspring/templates/webhooks.yaml.
//
// Two things are never refused: what is being deleted, and a change that leaves the spec as it is
// (finalizers, labels), so that no rule can wedge an object that exists.
//
// The handlers run on the serving loop. What depends on other objects they ask of the API server,
// in bounded time; where it does not answer they judge by what they have and say so in a warning.
// So they fail only where the request itself makes no sense.
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "http/router.h"
#include "kube/client.h"

namespace mainspring::op {

struct WebhookOptions {
  // On the serving loop, and one that may write without leading. Must outlive the router.
  kube::Client& client;
  // For all that one review reads.
  Duration read_limit = seconds(3);
  Metrics* metrics = nullptr;  // Must outlive the router.
  Logger log = {};
};

void add_webhooks(http::Router& router, WebhookOptions options);

}  // namespace mainspring::op
