// bridge/sync/known_fits.h
//
// KnownFits: where pods like these may be, as it was found when the same was asked before. To look
// at every node of a partition for every pod of a burst would be most of what the bridge does, and
// of plain pods the answer is the same until a node changes: of what others have there they want
// no more than places among the pods that kubelets take, and those are counted here.
//
// Remembers a few questions, the newest. Lives on the control loop; Submission's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "bridge/sync/world.h"
#include "bridge/translate/node_room.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

class KnownFits {
 public:
  // What of a job decides where it may be.
  struct Question {
    std::string partition;
    kube::Shared<kube::PodSpec> spec;  // Of each of its pods.
    std::size_t pods = 0;
    std::size_t each = 1;  // Pods on a node at most.
    NodeRoom room;         // Without nodes that are left out.

    bool operator==(const Question&) const = default;
  };
  struct Answer {
    Fit fit;
    std::size_t places = 0;        // Nodes of the partition.
    std::size_t large_enough = 0;  // Of those that fit.
    std::string less_liked;        // See Prepared.
    // How many pods may come, to whichever nodes, until the answer may be another.
    std::size_t until_full = 0;
  };

  // Must outlive it.
  explicit KnownFits(World& world);
  KnownFits(const KnownFits&) = delete;
  KnownFits& operator=(const KnownFits&) = delete;

  // Valid until the next call. Null where it is not known.
  const Answer* find(const Question& question);
  void keep(Question question, Answer answer);

 private:
  struct Known {
    Question question;
    Answer answer;
    std::uint64_t came;  // As of then.
  };

  std::uint64_t came_ = 0;  // Pods that got a node, whosever.
  std::deque<Known> known_;
};

// Of a job of these pods; none where its answer may change at any time: where pods differ, or have
// volumes, preferences, host ports, CPUs as devices or resources of which Slurm knows nothing.
std::optional<KnownFits::Question> plain_question(const slurm::JobRequest& request,
                                                  const std::string& partition,
                                                  const std::vector<PodPtr>& pods,
                                                  const std::vector<VolumeNodes>& volumes);

}  // namespace mainspring::bridge
