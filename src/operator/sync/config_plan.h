// operator/sync/config_plan.h
//
// How a configuration gets into force: by a rollout of slurmctld or by a reconfigure, and how far
// that is. A pure decision over what the caches show; ControllerSync gathers and acts.
#pragma once

#include <optional>
#include <string>

#include "api/controller.h"

namespace mainspring::op {

inline constexpr std::string_view kByRollout = "Rollout";
inline constexpr std::string_view kByReconfigure = "Reconfigure";
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kApplied = "Applied";
inline constexpr std::string_view kRejected = "Rejected";

struct ConfigFacts {
  api::ConfigStatus before;  // As in the status.
  std::string hash;          // Of all files that should be in force, the user's too.
  std::string restart;       // restart_hash() of them.
  bool in_place = false;     // spec.inplaceReconfigure: no hash in the template, ever.
  bool has_rest = false;     // Somebody can be asked to reconfigure.

  // The StatefulSet as it is.
  bool exists = false;
  std::string live_annotation;  // slurm-config-hash of its template
  std::string live_restart;     // Of what it was last rolled for; empty where nobody knows.
  bool rolled_out = false;      // All pods are of its newest template, and ready.

  // The ConfigMap is as another operator wrote it, and is what we would write.
  bool as_found = false;
  // When a reconfigure with these files was done in this process, or why it was not.
  std::optional<WallTime> reconfigured;
  bool proven = false;  // And slurmctld has shown that it has read them.
  std::string trouble;
  WallTime now;
};

struct ConfigPlan {
  std::string annotation;  // For the template; empty: none.
  api::ConfigStatus status;
  // Files are to be brought into the pods at once, and taken up.
  bool reconfigure() const { return status.state == kPending && status.method == kByReconfigure; }
};

ConfigPlan plan_config(const ConfigFacts& facts);

}  // namespace mainspring::op
