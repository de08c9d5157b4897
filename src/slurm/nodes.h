// slurm/nodes.h
//
// Nodes: what can be done with nodes. A light handle, made where it is needed; the client must
// outlive it and its calls. A write reads the node again and gives it as it is then, or kConflict
// where Slurm accepted it and it is not so.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "slurm/calls.h"
#include "slurm/node.h"
#include "slurm/node_request.h"

namespace mainspring::slurm {

class Nodes {
 public:
  explicit Nodes(Client& client, CallOptions options = {}) : calls_(client, std::move(options)) {}

  // kNotFound where slurmctld knows no such node.
  Task<Result<Node>> get(std::string name) const;
  // With `since`, none where nothing changed.
  Task<Result<Listed>> list(Source::OnRecord<Node> on_record, std::int64_t since = 0) const;

  Task<Result<Node>> update(std::string name, NodeUpdate update) const;
  // The same for many: one call changes them, and they are read again by one list where they are
  // many. In the order of `names`. kNotFound where Slurm does not know one of them: the others may
  // have been changed. kConflict names those that are not as asked.
  Task<Result<std::vector<Node>>> update_many(std::vector<std::string> names,
                                              NodeUpdate update) const;

  // No new jobs; those that run go on.
  Task<Result<Node>> drain(std::string name, std::string reason) const;
  // Takes jobs again once its slurmd has answered slurmctld: NOT_RESPONDING until then.
  Task<Result<Node>> undrain(std::string name) const;
  // Back to work from drained or down. Good also where it was neither, which Slurm refuses: look at
  // the node for why it takes no jobs.
  Task<Result<Node>> resume(std::string name) const;
  // Ends its jobs at once, as NODE_FAIL.
  Task<Result<Node>> down(std::string name, std::string reason) const;

  // As many as the name is a hostlist of. FUTURE nodes are made and not shown, so none is returned.
  Task<Result<std::vector<Node>>> create(NodeSpec spec) const;  // v0.0.44
  // Dynamic and external nodes only; kConflict while jobs or reservations hold it.
  Task<Result<void>> remove(std::string name) const;

 private:
  // kUnsupported for a field that the version spoken does not have and slurmrestd would pass over.
  Task<Result<void>> check_version(NodeUpdate update) const;
  Task<Result<std::vector<Node>>> get_many(std::vector<std::string> names) const;

  Calls calls_;
};

}  // namespace mainspring::slurm
