// kube/pod_resources.h
//
// How much of everything a pod needs at once, by the rules of kube-scheduler: containers and
// sidecars add up; an init container counts where it alone, with the sidecars that started before
// it, needs more; amounts of the whole pod stand in for cpu, memory and huge pages; overhead comes
// on top. Pure. A resize that is still under way is not looked at: this is what the spec asks for.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/quantity.h"
#include "base/result.h"
#include "kube/pod.h"

namespace mainspring::kube {

using ResourceTotals = std::map<std::string, Quantity, std::less<>>;

Result<ResourceTotals> pod_requests(const PodSpec& spec);
// A resource without a limit in any container is absent. Overhead is added where there is a limit.
Result<ResourceTotals> pod_limits(const PodSpec& spec);

}  // namespace mainspring::kube
