// tests/sim/bridge_kubelet.h
//
// The kubelets of nodes whose pods the bridge binds. They look after everything in tick(), at a
// pace that a seed decides: a pod that is bound starts, runs, and ends by itself or some time after
// it was deleted; what the API server is told of that comes later than it happens. Owned by the
// test; lives on one loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "sim/kube_api.h"

namespace mainspring::sim {

class BridgeKubelet {
 public:
  // Both must outlive it.
  BridgeKubelet(net::Executor& executor, KubeApi& kube, std::uint64_t seed)
      : executor_(executor), kube_(kube), random_(seed) {}

  std::function<void(const std::string& line)> on_note = [](const std::string&) {};

  void tick();
  // What starts from now on ends only where it is deleted.
  void run_on() { endless_ = true; }
  // From now on nothing runs for long: for the end of a story.
  void end_soon() { hurry_ = true; }

  // What is deleted does not end until this is taken back.
  void linger(bool on) {
    linger_ = on;
    seen_ = 0;
  }
  // The machine is gone, with all that ran there; nobody says so.
  void lose(std::string_view node);
  // It is there again, as new: its kubelet finds nothing of what it is told to have running.
  void bring_back(std::string_view node);

  // Whether the containers of a pod that was bound have all ended, or never will have begun.
  bool over(std::string_view uid) const;

 private:
  enum class Stage { kBound, kRunning, kEnded, kReported };
  struct Life {
    Stage stage = Stage::kBound;
    TimePoint due;
    std::string path, node;
    bool stopping = false;
    bool removed = false;
    int exit_code = 0;
  };

  void look_at(const json::Value& pod);
  void go_on(Life& life, bool deleting);
  void stop(Life& life);
  void report(const Life& life, std::string_view phase, const std::string& state);
  TimePoint in(Duration most);

  net::Executor& executor_;
  KubeApi& kube_;
  Random random_;
  bool endless_ = false;
  bool hurry_ = false;
  bool linger_ = false;
  // There is nothing to do before one of these passes.
  std::uint64_t seen_ = 0;
  TimePoint next_{};
  std::map<std::string, Life, std::less<>> lives_;  // By UID.
  std::set<std::string, std::less<>> lost_;         // Nodes.
};

}  // namespace mainspring::sim
