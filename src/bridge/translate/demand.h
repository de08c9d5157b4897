// bridge/translate/demand.h
//
// Demand: what allocations take together that Slurm was asked for a moment ago, and that are not
// seen on any node yet. Each of them may get any node with room. Whoever asks next must find room
// whichever they get: for one that finds none slurmctld preempts others before it refuses it (see
// node_room.h). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "bridge/translate/node_room.h"
#include "slurm/job_request.h"
#include "slurm/node.h"

namespace mainspring::bridge {

struct Demand {
  std::int64_t nodes = 0;  // That they get at most.
  JustTaken each;          // What one of them has of a node at most.

  static Demand of(const slurm::JobRequest& request);
  void add(const Demand& other);

  // How many of them it takes to leave the node without `room`; 0 where it has none. One more than
  // there are where all of them do not.
  std::int64_t until_full(const NodeRoom& room, const slurm::Node& node, JustTaken besides) const;
  // Whether at least so many nodes have room in any case; of each it is said how many it takes to
  // fill it.
  bool leaves(std::int64_t least, std::vector<std::int64_t> until_full) const;
};

}  // namespace mainspring::bridge
