// bridge/translate/placement.h
//
// Where pods may be, by what hardly changes while they wait: node selectors, required affinity,
// taints, host ports, the places of their volumes, resources that Slurm does not count; and where
// they like to be. Pure. Current use is Slurm's business, so a job always gets into its queue; only
// of what Slurm knows nothing of (translate/taken) it counts here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bridge/gang/gang.h"
#include "bridge/translate/taken.h"
#include "kube/node.h"
#include "kube/node_affinity.h"
#include "slurm/node.h"

namespace mainspring::bridge {

// A node of Slurm's partition and the Kubernetes node that it is; null: it is none.
struct Place {
  std::string slurm_name;
  std::shared_ptr<const kube::Node> node;
  // What the gang needs and the node has not, of what Slurm does not count; "": nothing.
  std::string lacks = {};
  // By pods there that are not of the gang, whoever put them there.
  Taken taken = {};
};

// The nodes that the volumes of a pod bind it to; an empty list: anywhere.
using VolumeNodes = std::vector<kube::NodeSelector>;

// Why the pod cannot run there; "" where it can. The cordon is not looked at: it is a drain in
// Slurm.
std::string unfit(const kube::Pod& pod, const VolumeNodes& volumes, const kube::Node& node,
                  std::string_view scheduler_name);

// Why the pods could get GPUs there that Slurm has given to another job; "" where they cannot. A
// device plugin gives a container whichever it likes, so where a slurmd gives out the same ones,
// only a job that has the whole node is safe.
std::string doubtful_gpus(std::span<const PodPtr> pods, bool whole_nodes, const slurm::Node& node);

// Whether the same nodes suit both pods, as far as can be told without looking at nodes.
bool same_wishes(const kube::Pod& a, const VolumeNodes& volumes_of_a, const kube::Pod& b,
                 const VolumeNodes& volumes_of_b);

struct Fit {
  // Slurm's names of the places where not every pod of the gang may be, as one hostlist; "": none.
  std::string excluded;
  std::size_t left = 0;
  // "3 of 8 nodes: node selector disk=ssd; 2 of 8: taint ..." for people.
  std::string why;
  // Some of the places are left out for what others have of them just now.
  bool crowded = false;
};
// `volumes` has an entry for each pod. `each`: how many of the pods come to a node at most.
Fit fit(std::span<const PodPtr> pods, std::span<const VolumeNodes> volumes,
        std::span<const Place> places, std::string_view scheduler_name, std::size_t each = 1);

// Which pod gets which node of the allocation: an index into `nodes` for each pod. The same for the
// same input; pods in their order against nodes in theirs, except where a pod has its node
// already (is bound, names it in the annotation, or `given` does: a name or "" for each pod),
// cannot be there or likes another better. With more pods than nodes several share one, evenly.
// kConflict where it cannot be done.
Result<std::vector<std::size_t>> assign(std::span<const PodPtr> pods,
                                        std::span<const VolumeNodes> volumes,
                                        std::span<const Place> nodes,
                                        std::string_view scheduler_name,
                                        std::span<const std::string> given = {});

}  // namespace mainspring::bridge
