// operator/nodeset/draft.h
//
// A plan in the making: every worker with what is known and decided of it so far. Internal to the
// planner: plan.cc makes one, and scale.cc, daemon.cc and update.cc each add their decisions, in
// this order. A cause, once given, stays: what goes anyway needs no second reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "operator/nodeset/order.h"
#include "operator/nodeset/plan.h"

namespace mainspring::op {

struct Draft {
  enum class Life : std::uint8_t {
    kAlive,
    kEnded,        // Succeeded or Failed; holds its name until it is deleted.
    kTerminating,  // Holds its name too, and needs no decision any more.
  };
  struct Entry {
    const WorkerView* worker = nullptr;
    Deletability order;
    Life life = Life::kAlive;
    bool fits_mode = true;  // Of the scaling mode that the NodeSet has now.
    bool available = false;
    Cause cause = Cause::kNone;
    bool held = false;  // Not where it belongs, or of the other mode, and to go after others.

    bool kept() const { return life == Life::kAlive && fits_mode && cause == Cause::kNone; }
  };

  const NodeSetView& view;
  std::vector<Entry> entries;  // Most deletable first.
  std::vector<Creation> create;
  std::int32_t desired = 0;  // As shown to people.
  std::int32_t slots = 0;    // Pods that there should be; what an update's budget is of.
  std::int32_t held = 0;     // How many are.
};

void plan_replicas(Draft& draft);  // StatefulSet mode.
void plan_daemons(Draft& draft);   // DaemonSet mode.
// Of those that work and whose node, or mode, is not theirs any more, only so many go at a time.
void hold_back(Draft& draft);
void plan_update(Draft& draft);

}  // namespace mainspring::op
