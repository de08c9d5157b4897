// bridge/sync/lost_nodes.h
//
// LostNodes: which nodes will not come back with the containers that they had. Where an
// administrator says so (the taint out-of-service) it counts at once. A Node that is not there may
// have been deleted while its kubelet lives, or be about to register anew; so it counts only after
// the time that Kubernetes' own garbage collector gives it, and by the API server's word of that
// moment. After a restart the time begins again. Lives on the control loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "bridge/sync/world.h"

namespace mainspring::bridge {

using net::Task;

class LostNodes {
 public:
  static constexpr Duration kQuarantine = seconds(40);

  // Must outlive it.
  explicit LostNodes(World& world);
  LostNodes(const LostNodes&) = delete;
  LostNodes& operator=(const LostNodes&) = delete;

  // As far as is known; look() finds out.
  bool is_lost(std::string_view node) const;
  // For how long to wait until the next look; nothing where it is known what became of the node.
  Task<Result<std::optional<Duration>>> look(std::string node);

 private:
  struct Absence {
    TimePoint since;
    TimePoint looked;                    // When somebody last wanted to know.
    std::optional<TimePoint> confirmed;  // By the API server.
  };

  bool is_believed(const Absence& absence) const;
  void forget_old();

  World& world_;
  std::map<std::string, Absence, std::less<>> absent_;
};

}  // namespace mainspring::bridge
