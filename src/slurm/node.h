// slurm/node.h
//
// A node as slurmctld knows it, with the fields that operator, bridge and exporter read. What a
// running node changes every few seconds (load, free memory, energy) is left out, so that a node at
// rest equals itself; whoever wants that asks for the raw object.
#pragma once

#include <cstdint>

#include "base/object_key.h"
#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/number.h"
#include "slurm/short_string.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct Node {
  ShortString name, hostname, address;
  NodeState state;
  ShortString reason, reason_user, comment, extra;
  ShortString gres, gres_used, tres, topology, version, reservation;
  json::StringList partitions, features, active_features;
  std::int32_t cpus = 0, alloc_cpus = 0, port = 0, weight = 0, boards = 0, sockets = 0, cores = 0,
               threads = 0;
  std::int64_t real_memory = 0, alloc_memory = 0;  // MB
  Number reason_changed_at;

  KeyView key() const { return {{}, name}; }
  bool operator==(const Node&) const = default;
};

// In the order in which slurmrestd writes them, in which they are read fastest.
constexpr auto json_fields(json::Tag<Node>) {
  using json::field;
  using N = Node;
  return json::fields(
      field("boards", &N::boards), field("cores", &N::cores), field("cpus", &N::cpus),
      field("extra", &N::extra), field("features", &N::features),
      field("active_features", &N::active_features), field("gres", &N::gres),
      field("gres_used", &N::gres_used), field("name", &N::name), field("address", &N::address),
      field("hostname", &N::hostname), field("state", &N::state),
      field("partitions", &N::partitions), field("port", &N::port),
      field("real_memory", &N::real_memory), field("comment", &N::comment),
      field("reason", &N::reason), field("reason_changed_at", &N::reason_changed_at),
      field("reason_set_by_user", &N::reason_user), field("reservation", &N::reservation),
      field("alloc_memory", &N::alloc_memory), field("alloc_cpus", &N::alloc_cpus),
      field("sockets", &N::sockets), field("threads", &N::threads), field("weight", &N::weight),
      field("topology", &N::topology), field("tres", &N::tres), field("version", &N::version));
}

}  // namespace mainspring::slurm
