// operator/nodeset/cordon.h
//
// Which workers take no more jobs, and what to tell Slurm about it. Pure. Whoever drained a node
// lifts it: a reason that does not begin with ours is somebody else's, and is left alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operator/nodeset/worker_view.h"

namespace mainspring::op {

struct CordonOptions {
  // Types of node conditions that explain a cordon where they are True, in this order.
  std::vector<std::string> propagated_conditions;
};

// Whether a pod with this cause is on its way out. kNode and kPerson only keep jobs away.
bool condemns(Cause cause);

// What the pod's annotations should be: cordoned or not, and why. kPerson stays as it is, also of a
// condemned pod: it must outlive a change of mind. `condemned`: kNone where the plan keeps the pod.
Cause wanted_cordon(const WorkerView& worker, Cause condemned);

struct SlurmAction {
  enum class Kind : std::uint8_t {
    kNone,
    kDrain,    // state DRAIN with `reason`
    kUndrain,  // state UNDRAIN: ours is lifted
    kResume,   // state RESUME: the node that our own preStop put down, now that a new pod is ready
  };
  Kind kind = Kind::kNone;
  std::string reason;
  // The reason is another's, whom it must still tell what it told. That the drain is ours is to be
  // noted on the pod first (annotation::kDrainedUnder).
  bool borrowed = false;
};

// `cordon`: the cause of the plan where it condemns the pod, else what wanted_cordon says.
SlurmAction slurm_action(const WorkerView& worker, Cause cordon, const CordonOptions& options);

// Whether the pod's note of a drain under another's reason has become untrue: the pod stays, and
// that drain was lifted, by whomever, or the node has another reason.
bool has_outdated_note(const WorkerView& worker, Cause cordon);

// With our prefix: control characters stripped, newlines and tabs to blanks, trimmed, at most 256
// characters without the prefix; "unknown" where nothing is left.
std::string reason_text(std::string_view text);
// The node's node-cordon-reason, else the conditions that are propagated, else a text of our own.
std::string node_cordon_reason(const kube::Node& node, const kube::Pod& pod,
                               const CordonOptions& options);

}  // namespace mainspring::op
