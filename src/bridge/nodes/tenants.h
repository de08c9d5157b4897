// bridge/nodes/tenants.h
//
// Tenants: our pods that may be using a node, and whether Slurm knows of it. An external job is
// over the moment that it is cancelled, preempted, put back or out of time, and Slurm gives its
// nodes to the next at once, while its containers still have their grace period. NodeSync keeps
// such nodes drained; GangSync binds nobody onto them before they are free.
//
// Nothing is remembered: it follows from the pods and the jobs, after a restart as before. A job
// that Slurm does not know, or that is another's by now, has no nodes. Lives on the control loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/sync/recent_writes.h"
#include "bridge/sync/world.h"
#include "slurm/job.h"

namespace mainspring::bridge {

using net::Task;

class Tenants {
 public:
  // Must outlive it.
  explicit Tenants(World& world);
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  using JobPtr = std::shared_ptr<const slurm::Job>;
  using NodePtr = std::shared_ptr<const kube::Node>;
  using Pods = std::vector<PodPtr>;

  // Those with a job's mark whose containers may be at work there.
  Pods on(const kube::Node& node) const;

  // The lowest of the jobs that have pods there and the node no more, as far as we know; no job
  // where there is none.
  slurm::JobId overdue(const kube::Node& node) const;
  // Asks Slurm about those of them that have not ended: what we know may be old.
  Task<Result<void>> confirm_overdue(NodePtr node);

  // A job with containers on a node that Slurm has given to another, which is about to bind pods
  // there; no job where there is none.
  struct Arrival {
    JobPtr job;
    NodePtr node;
    // All that have a place there and do not show it yet: the job's own, and others'.
    std::vector<RecentWrites::Unseen> unseen;
  };
  Task<Result<slurm::JobId>> in_the_way(Arrival arrival);

 private:
  slurm::JobId part_for(slurm::JobId job, const kube::Pod& pod) const;
  bool has_its_node(slurm::JobId job, const kube::Pod& pod, std::string_view slurm_node) const;
  bool is_whole_node(const slurm::Job& job, std::string_view slurm_node) const;
  bool is_crowded(const Arrival& arrival) const;
  JobPtr record(slurm::JobId job) const;

  World& world_;
};

// Whether the job has nodes at all: it has started, has not ended and was not sent back.
bool has_nodes(const slurm::Job& job);
// Whether this is one of them.
bool has_node(const slurm::Job& job, std::string_view slurm_node);

// Whether all these pods ask for more than the node has, so that it matters who is really there.
bool is_too_much(const std::vector<PodPtr>& pods, const kube::Node& node);

}  // namespace mainspring::bridge
