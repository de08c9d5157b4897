// slurm/node_request.h
//
// What we ask of Slurm about nodes: change one or many, and make new ones. Values; a field that is
// not set is not sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "slurm/number.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct NodeUpdate {
  // DRAIN, UNDRAIN, RESUME, DOWN, ...: one of what NodeState can be made of.
  std::optional<NodeState> state;
  std::optional<std::string> reason, comment, extra, gres;
  // An empty list takes all features away. Partitions made from features (NodeSet) follow only at
  // the next reconfigure.
  std::optional<std::vector<std::string>> features, active_features;
  std::optional<std::string> topology;           // "" takes it out of all topologies.
  std::optional<std::string> address, hostname;  // NodeAddr, NodeHostname
  Number weight;
  Number resume_after;  // seconds
};
json::Value to_json(const NodeUpdate& update);
// The body of POST nodes/: the same for all of `names`.
json::Value to_json(const NodeUpdate& update, const std::vector<std::string>& names);

// A node to be made by POST new/node, which takes a line of slurm.conf. Since that is text inside
// text, every value is checked: nothing can end its value and begin another.
struct NodeSpec {
  enum class Kind : std::uint8_t { kExternal, kCloud, kFuture };

  // One, or a hostlist as long as there is no gres_conf, which would reach the first node only.
  std::string name;
  // An IP address. slurmctld stops for ten seconds at every job start where it cannot resolve one.
  std::string address;
  std::string hostname;
  Kind kind = Kind::kExternal;
  std::optional<std::int64_t> port, cpus, boards, sockets, cores_per_socket, threads_per_core,
      real_memory, tmp_disk, weight;
  std::vector<std::string> features;
  std::string gres;       // "gpu:h100:8"
  std::string gres_conf;  // "count=8,name=gpu,type=h100,file=/dev/nvidia[0-7]"
  std::string topology;   // "topo-switch:s1,topo-block:b1"
};
// kInvalid names the field that Slurm could misread.
Result<std::string> node_conf(const NodeSpec& spec);
Result<json::Value> to_json(const NodeSpec& spec);

}  // namespace mainspring::slurm
