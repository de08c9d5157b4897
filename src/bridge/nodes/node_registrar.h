// bridge/nodes/node_registrar.h
//
// NodeRegistrar: makes nodes in Slurm, many with one call where they are alike. A call for one node
// takes slurmctld nearly as long as one for a hundred, and a cluster that is given to Slurm comes
// with all its nodes at once. Owned by NodeSync; lives on the control loop.
#pragma once

#include <string>
#include <vector>

#include "net/notify.h"
#include "slurm/client.h"
#include "slurm/node_request.h"

namespace mainspring::bridge {

using net::Task;

class NodeRegistrar {
 public:
  // The client must outlive it.
  explicit NodeRegistrar(slurm::Client& client) : client_(client) {}
  NodeRegistrar(const NodeRegistrar&) = delete;
  NodeRegistrar& operator=(const NodeRegistrar&) = delete;

  // Done when Slurm has taken the node and its comment. An error may come after the node was made.
  // Look at it in either case.
  Task<Result<void>> add(slurm::NodeSpec spec, std::string comment);

  // Sends what was added, until cancelled.
  Task<Result<void>> run();

 private:
  struct Entry {
    slurm::NodeSpec spec;
    std::string comment;
    net::OneShot<net::Unit> done;
  };
  using Group = std::vector<Entry>;

  static std::vector<Group> group(std::vector<Entry> entries);
  Task<Result<void>> send(Group group);
  Task<Result<void>> make(const Group* group);

  slurm::Client& client_;
  std::vector<Entry> waiting_;
  net::Notify added_;
};

}  // namespace mainspring::bridge
