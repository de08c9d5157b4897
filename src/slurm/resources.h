// slurm/resources.h
//
// What a running job was given, node by node: cores, memory and which devices. From GET
// resources/{job_id} (v0.0.44 on), whose answer is a hundredth of a job's with all its resources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/fields.h"
#include "slurm/number.h"

namespace mainspring::slurm {

struct GresAllocation {
  std::string name;   // "gpu"
  std::string type;   // "h100"
  std::string index;  // "0-1,3": see parse_index_list().
  std::int64_t count = 0;
  bool operator==(const GresAllocation&) const = default;
};
constexpr auto json_fields(json::Tag<GresAllocation>) {
  using G = GresAllocation;
  return json::fields(json::field("name", &G::name), json::field("type", &G::type),
                      json::field("count", &G::count), json::field("index", &G::index));
}

struct NodeAllocation {
  std::string node;
  std::int32_t sockets_per_node = 0, cores_per_socket = 0;
  std::int64_t mem_alloc = 0;  // MB
  std::string core_bitmap;     // "0x0003": see parse_core_bitmap().
  Number channel;              // NVIDIA IMEX
  std::vector<GresAllocation> gres;
  bool operator==(const NodeAllocation&) const = default;
};
constexpr auto json_fields(json::Tag<NodeAllocation>) {
  using json::field;
  using N = NodeAllocation;
  return json::fields(field("node", &N::node), field("sockets_per_node", &N::sockets_per_node),
                      field("cores_per_socket", &N::cores_per_socket),
                      field("mem_alloc", &N::mem_alloc), field("core_bitmap", &N::core_bitmap),
                      field("channel", &N::channel), field("gres", &N::gres));
}

}  // namespace mainspring::slurm
