// tests/sim/kubelet.h
//
// The parts of a cluster that make pods of slurmd live: a scheduler, a kubelet on every node, the
// slurmd in each pod, and what reports Deployments and StatefulSets as rolled out. All of it is
// looked after in tick(), at a pace that a seed decides. Owned by the test; lives on one loop.
//
// A pod is bound, waits, runs and registers its node in Slurm, becomes Ready; when it is deleted
// its preStop puts the node down, and after a while it is gone. Pods on a node that was removed are
// removed with it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "sim/kube_api.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {

// What an administrator does with kubectl: `path` and a merge patch, at once.
http::Response ask_kube(KubeApi& api, http::Method method, const std::string& path,
                        std::string body = "",
                        std::string_view type = "application/merge-patch+json");

class Kubelet {
 public:
  // All must outlive it.
  Kubelet(net::Executor& executor, KubeApi& kube, SlurmApi& slurm, std::uint64_t seed)
      : executor_(executor), kube_(kube), slurm_(slurm), random_(seed) {}

  // Called for a pod that is being deleted, before anything is done about it, and for a pod that
  // is gone without having been seen so.
  std::function<void(const json::Value& pod)> on_going;
  std::function<void(const std::string& line)> on_note = [](const std::string&) {};

  // The names under which slurmd registers where these are others than the pods' host names.
  std::map<std::string, std::string, std::less<>> registers_as;

  void tick();

  // Its slurmd ends and is started again in the same pod.
  void restart_container(const std::string& uid);
  // The pod ends for good, as when the kubelet evicts it.
  void fail_pod(const std::string& uid);

  // Whether a slurmd runs, or may run, in the pod.
  bool runs(std::string_view uid) const;
  // Of pods whose slurmd is up.
  std::vector<std::string> running() const;

 private:
  enum class Stage { kUnbound, kBound, kWaiting, kRunning, kReady, kEnded, kStopping };
  struct Life {
    Stage stage = Stage::kUnbound;
    TimePoint due;
    Object pod;  // As it was seen last.
    std::string slurm_node;
    int restarts = 0;
    bool seen = false;  // In this tick.
  };

  void look_at(const Object& pod);
  void go_on(Life& life);
  void bind(Life& life);
  void start_slurmd(Life& life);
  void stop(Life& life);
  void finish(Life& life);
  void bury(const Life& life);
  void report(const Life& life, std::string_view phase, bool ready, std::string_view state);
  void roll_out(std::string_view collection, const std::string& path);
  void wait(Life& life, Duration least, Duration most);
  void note(const Life& life, std::string_view what);

  net::Executor& executor_;
  KubeApi& kube_;
  SlurmApi& slurm_;
  Random random_;
  std::map<std::string, Life, std::less<>> lives_;  // By UID.
};

}  // namespace mainspring::sim
