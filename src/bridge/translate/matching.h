// bridge/translate/matching.h
//
// Matching: pods onto the nodes of an allocation. Plain order first, which is what nearly every
// gang gets; where that does not work, Kuhn's augmenting paths, which find a way if there is one.
// (With host ports and several pods a node they may miss one.) Pure and deterministic; used by
// translate/placement only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

class Matching {
 public:
  using Suits = std::function<bool(std::size_t pod, std::size_t node)>;
  using Score = std::function<std::int64_t(std::size_t pod, std::size_t node)>;

  // All must outlive it.
  Matching(std::span<const PodPtr> pods, std::span<const Place> nodes, Suits suits);

  // Pods that have a node keep it; `given` is as assign()'s. kConflict where it is none of these.
  Result<void> pin(std::span<const std::string> given);
  // The others in their order. False, and nothing done, where one cannot be where that puts it.
  bool in_order();
  // The others in their order, each where it likes to be most of what is left. False as above.
  bool by_score(const Score& score);
  // The others wherever there is a way. False: left_over() has no place.
  bool search();

  std::size_t left_over() const { return left_over_; }
  std::vector<std::size_t> result() && { return std::move(node_of_); }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  bool clashes(std::size_t pod, std::size_t node, std::size_t except = kNowhere) const;
  void put(std::size_t pod, std::size_t node);
  void take(std::size_t pod);
  bool find_place(std::size_t pod, std::vector<bool>& seen);
  bool make_room(std::size_t pod, std::size_t node, std::vector<bool>& seen);

  std::span<const PodPtr> pods_;
  std::span<const Place> nodes_;
  Suits suits_;
  std::size_t most_ = 1;                           // Pods on a node.
  std::vector<std::size_t> node_of_;               // By pod.
  std::vector<bool> pinned_;                       // By pod.
  std::vector<std::vector<std::size_t>> pods_of_;  // By node.
  std::size_t left_over_ = kNowhere;
};

}  // namespace mainspring::bridge
