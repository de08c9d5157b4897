// bridge/webhook/admission.h
//
// What becomes of a pod that is about to be stored: whether it is Slurm's to place, what we add to
// it, and what cannot be let in. Pure: the pod as JSON in, the pod or findings out.
//
// Pods that name another scheduler are not looked at. A change that leaves our names, the job
// annotations and the amounts as they are is never refused, so no rule can wedge a pod that exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/config.h"
#include "json/value.h"
#include "kube/status.h"

namespace mainspring::bridge {

enum class PodClaim : std::uint8_t {
  kOurs,   // It names our scheduler.
  kOpen,   // It names none, or the cluster's: ours where its namespace is managed.
  kOther,  // It names another one.
};
PodClaim claim_of(const json::Value& pod, const BridgeConfig& config);

// A kubelet's word for a pod of its own, which no scheduler places. Of anybody else it is none: the
// pod would be on a node that Slurm has given to others.
bool is_static(const json::Value& pod, std::string_view user);

// The new pod as it is stored: with our scheduler's name, on no node yet, tolerating the taint of
// our nodes.
json::Value taken_over(json::Value pod, const BridgeConfig& config);

struct Findings {
  std::vector<kube::StatusCause> problems;  // Each refuses the pod and says what to do instead.
  std::vector<std::string> warnings;
};

// Both for pods that are ours. Annotations are judged on pods without an owner only: those of all
// others are not looked at, their owner's are.
Findings validate_new(const json::Value& pod, std::string_view ns, const BridgeConfig& config);
// Not for changes that the bridge makes.
Findings validate_change(const json::Value& before, const json::Value& after, std::string_view ns,
                         const BridgeConfig& config);

}  // namespace mainspring::bridge
