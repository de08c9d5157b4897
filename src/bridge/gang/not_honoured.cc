#include "bridge/gang/not_honoured.h"

#include <fmt/format.h>

namespace mainspring::bridge {

std::vector<std::string> not_honoured(const kube::PodGroup& group) {
  std::vector<std::string> out;
  const auto say = [&](std::string_view field, std::string_view instead) {
    out.push_back(fmt::format("PodGroup {}: {}: {}", group.meta.name, field, instead));
  };
  if (!group.policy.preempts) {
    say("spec.preemptionPolicy Never is not honoured",
        "whom a job may preempt follows from its QOS and partition in Slurm; name a QOS that "
        "preempts nobody, by the annotation slurmjob.slinky.slurm.net/qos");
  }
  if (!group.resource_claims.empty()) {
    say("spec.resourceClaims is not honoured",
        "devices are claimed for each pod when Slurm has chosen them; ask for them in the limits "
        "of a container");
  }
  if (!group.parent.empty()) {
    say("spec.parentCompositePodGroupName is not honoured",
        fmt::format("it does not wait for the other groups of {}", group.parent.view()));
  }
  return out;
}

}  // namespace mainspring::bridge
