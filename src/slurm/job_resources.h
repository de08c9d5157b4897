// slurm/job_resources.h
//
// What a running job was given, found in its own record: for versions of the API that have no
// GET resources/{job_id}. Says the same as that, but for IMEX channels. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/job_id.h"
#include "slurm/resources.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct JobResources {
  struct Core {
    std::uint32_t index = 0;
    json::StringList status;
  };
  struct Socket {
    std::vector<Core> cores;
  };
  struct OnNode {
    std::string name;
    std::int64_t memory = 0;
    std::vector<Socket> sockets;
  };
  JobId id;
  JobState state;
  std::vector<OnNode> nodes;
  std::vector<std::string> gres;  // One for each node, or none.
};

constexpr auto json_fields(json::Tag<JobResources::Core>) {
  using Core = JobResources::Core;
  return json::fields(json::field("index", &Core::index), json::field("status", &Core::status));
}
constexpr auto json_fields(json::Tag<JobResources::Socket>) {
  return json::fields(json::field("cores", &JobResources::Socket::cores));
}
constexpr auto json_fields(json::Tag<JobResources::OnNode>) {
  using N = JobResources::OnNode;
  return json::fields(json::field("name", &N::name),
                      json::group("memory", json::field("allocated", &N::memory)),
                      json::field("sockets", &N::sockets));
}
constexpr auto json_fields(json::Tag<JobResources>) {
  using J = JobResources;
  return json::fields(
      json::field("job_id", &J::id), json::field("job_state", &J::state),
      json::field("gres_detail", &J::gres),
      json::group("job_resources", json::group("nodes", json::field("allocation", &J::nodes))));
}

// kConflict where the job holds nothing, as GET resources says it.
Result<std::vector<NodeAllocation>> allocations_of(const JobResources& job);

}  // namespace mainspring::slurm
