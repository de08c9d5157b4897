// operator/nodeset/order.h
//
// Which of two workers is let go first: the order of the public contract, read out of a worker once
// so that thousands can be sorted. A value, made and used by the planner; points into its worker.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "operator/nodeset/worker_view.h"

namespace mainspring::op {

// The smaller, the more deletable. The first member that differs decides.
struct Deletability {
  bool assigned = false;
  std::uint8_t phase = 0;  // Pending, Unknown, Running.
  bool ready = false;
  std::int32_t cost = 0;  // pod-deletion-cost
  WallTime deadline;      // Of its jobs; the epoch where it has none.
  bool open = true;       // Not cordoned. A pod that drains already goes on before an equal one.
  std::int64_t low_ordinal = 0;
  // How long it has been Ready and has existed; what is not known counts as just now.
  Duration ready_age{};
  Duration age{};
  std::string_view name;  // Only so that the order does not depend on that of a list.

  auto operator<=>(const Deletability&) const = default;
};

Deletability deletability(const api::NodeSet& nodeset, const WorkerView& worker);

}  // namespace mainspring::op
