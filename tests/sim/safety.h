// tests/sim/safety.h
//
// What the operator may never do, checked where its calls arrive: two transports, one in front of
// the API server and one in front of slurmrestd, that pass calls on and judge them by what is true
// at that moment. Also the account of everything that happened, to be read where something did go
// wrong, and what can be wrong with slurmrestd's answers beyond what Faults has. Owned by the test;
// lives on one loop.
//
// The rules:
//  - a pod whose slurmd runs is deleted only right after slurmctld itself said that its node is
//    drained and without a job, also a suspended one, or that there is no such node; and never
//    before the deleting process has seen a list of nodes;
//  - a drain with another's reason is neither lifted nor given a new reason, unless it was the
//    operator itself that drained the node under that reason;
//  - a node is deleted from Slurm only where it is down, and right after slurmctld was asked for
//  it;
//  - a NodeSet that drains before it goes does not take running pods with it.
// Somebody may change a node between the operator's last question and its write. Such a race is
// excused, and only such.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube_api.h"
#include "sim/kubelet.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {

class Safety {
 public:
  // All must outlive it.
  Safety(net::Executor& executor, KubeApi& kube, SlurmApi& slurm, Kubelet& kubelet);
  ~Safety();

  // For the operator, or for Faults before it.
  http::Transport& kube();
  http::Transport& slurm();

  // Another process has taken over: it knows nothing yet.
  void process_started();

  // Slurmrestd's troubles.
  struct Trouble {
    bool hangs = false;        // No call is answered.
    bool empty_nodes = false;  // The list of nodes is empty, and all seems well.
    bool old_nodes = false;    // The list of nodes is one that was given before.
  };
  Trouble trouble;

  void note(const std::string& line);
  void violate(const std::string& what);
  // The first; empty: none.
  const std::string& violation() const { return violation_; }
  std::string account() const;

  int kube_writes = 0;
  int slurm_writes = 0;
  std::map<std::string, int> slurm_looks;  // How often it asked for a node alone.
  // Called after each write of the operator that the API server has answered.
  std::function<void()> after_write;

  // UIDs of NodeSets that may take running pods with them: their deletion policy says so.
  std::set<std::string, std::less<>> reckless;

  // Drained by the operator, and by nobody else since.
  bool drained_by_operator(const std::string& node) const;
  void administrator_drained(const std::string& node);

 private:
  class KubeWire;
  class SlurmWire;
  // What the operator was told of a node when it last asked for it alone.
  struct Look {
    TimePoint at;
    bool present = false;
    bool drained = false;  // And no job on it.
    bool foreign = false;
  };

  std::optional<Look> recent_look(const std::string& node) const;
  void judge_deletion(std::string_view ns, std::string_view name, const json::Value& options);
  void judge_node_deletion(const std::string& node);
  void judge_node_write(const std::string& node, const json::Value& body);
  void judge_going(const json::Value& pod);
  void looked_at(const std::string& node);

  net::Executor& executor_;
  KubeApi& api_;
  SlurmApi& slurm_api_;
  Kubelet& kubelet_;
  std::unique_ptr<KubeWire> kube_;
  std::unique_ptr<SlurmWire> slurm_;
  std::map<std::string, Look> looks_;
  std::set<std::string, std::less<>> drains_;           // Of the operator.
  std::set<std::string, std::less<>> deleted_by_call_;  // UIDs.
  bool listed_ = false;
  std::string violation_;
  std::vector<std::string> account_;
};

}  // namespace mainspring::sim
