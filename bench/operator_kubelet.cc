// The nodes of bench/operator_compare: a scheduler and a kubelet that pretend, on the API server
// that KUBECONFIG names.
//
//   operator_kubelet nodes PREFIX FIRST COUNT   makes the Node objects PREFIX-FIRST and so on
//   operator_kubelet serve NAMESPACE PREFIX COUNT
//       gives each pod of the namespace a node of its own (one that names its node gets that), says
//       that it runs, and ends it as soon as it is deleted. Prints a line for all that it sees:
//         TIME added|ready|deleting|gone NAME
//         TIME slurm NAME the states that the pod's conditions show
//         TIME cordon NAME true|false
//       The time is CLOCK_MONOTONIC in seconds.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/rfc3339.h"
#include "control/reflector.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/pods.h"
#include "kube_process.h"
#include "net/notify.h"
#include "net/task_group.h"

namespace mainspring::bench {
namespace {

using json::Value;
using net::Task;
using PodPtr = std::shared_ptr<const kube::Pod>;

constexpr std::size_t kInFlight = 24;
constexpr std::string_view kSlurmState = "SlurmNodeState";
constexpr std::string_view kCordon = "nodeset.slinky.slurm.net/pod-cordon";

void say(std::string_view what, std::string_view name, std::string_view detail = "") {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  fmt::print("{:.6f} {} {} {}\n", std::chrono::duration<double>(now).count(), what, name, detail);
}

Value condition(std::string_view type, std::string_view time) {
  return Value::object({{"type", type}, {"status", "True"}, {"lastTransitionTime", time}});
}

// A node as a kubelet registers it.
Value node(const std::string& name, std::string_view now) {
  Value made = Value::object({{"apiVersion", "v1"}, {"kind", "Node"}});
  made["metadata"]["name"] = name;
  made["metadata"]["labels"]["kubernetes.io/hostname"] = name;
  Value& status = made["status"];
  status["conditions"].push_back(condition("Ready", now));
  for (const char* what : {"capacity", "allocatable"}) {
    status[what] = Value::object({{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}});
  }
  return made;
}

Task<Result<void>> make_some_nodes(kube::RawApi api, std::string prefix, int* next, int end,
                                   std::string now) {
  while (*next < end) {
    const int number = (*next)++;
    const auto made = co_await api.create(node(fmt::format("{}-{}", prefix, number), now), {});
    if (!made && made.error().code() != Code::kAlreadyExists) co_return fail(made.error());
  }
  co_return Result<void>();
}

Task<Result<void>> make_nodes(Process* process, std::string prefix, int first, int count) {
  const kube::RawApi api(process->client, kube::Node::kResource, "");
  const std::string now = format_rfc3339(process->loop.clock().wall_now());
  net::TaskGroup group(process->loop);
  const int end = first + count;
  for (std::size_t lane = 0; lane < kInFlight; ++lane) {
    group.spawn(make_some_nodes(api, prefix, &first, end, now));
  }
  co_return co_await group.join();
}

// What the conditions of a pod say of its Slurm node: "Idle,Drain".
std::string slurm_states(const kube::Pod& pod) {
  std::string all;
  for (const kube::Condition& each : pod.status.conditions) {
    if (!each.type.view().starts_with(kSlurmState)) continue;
    if (!all.empty()) all += ',';
    all += each.type.view().substr(kSlurmState.size());
  }
  return all;
}

class Kubelet {
 public:
  Kubelet(Process& process, std::string ns, const std::string& prefix, int count)
      : process_(process), ns_(std::move(ns)) {
    for (int i = 0; i < count; ++i) free_nodes_.push_back(fmt::format("{}-{}", prefix, i));
  }

  Task<Result<void>> run() {
    pods_.add_handler([this](const PodPtr& before, const PodPtr& after) { see(before, after); });
    control::Reflector<kube::Pod> reflector(kube::Api<kube::Pod>(process_.client, ns_), pods_, {});
    net::TaskGroup group(process_.loop);
    group.spawn(reflector.run());
    for (std::size_t lane = 0; lane < kInFlight; ++lane) group.spawn(work());
    co_return co_await group.join();
  }

 private:
  void see(const PodPtr& before, const PodPtr& after) {
    const kube::Pod& pod = after ? *after : *before;
    const std::string& name = pod.meta.name;
    if (!before) say("added", name);
    if (!after) {
      say("gone", name);
      if (const auto it = places_.find(pod.meta.uid); it != places_.end()) {
        free_nodes_.push_back(std::move(it->second));
        places_.erase(it);
      }
      return;
    }
    if (after->ready() && (!before || !before->ready())) say("ready", name);
    if (const std::string now = slurm_states(pod); !before || slurm_states(*before) != now) {
      if (before || !now.empty()) say("slurm", name, now);
    }
    const auto cordon = [](const kube::Pod& one) {
      return one.meta.annotations.find(kCordon) == std::string_view("true");
    };
    if (cordon(pod) != (before && cordon(*before))) {
      say("cordon", name, cordon(pod) ? "true" : "false");
    }
    if (pod.meta.deleting()) {
      if (!before || !before->meta.deleting()) say("deleting", name), add(after);
    } else if (!before) {
      add(after);
    }
  }

  void add(PodPtr pod) {
    waiting_.push_back(std::move(pod));
    more_.notify_all();
  }

  Task<Result<void>> work() {
    for (;;) {
      while (waiting_.empty()) MS_CO_CHECK(co_await more_.wait());
      const PodPtr pod = std::move(waiting_.front());
      waiting_.pop_front();
      Result<void> done;
      if (pod->meta.deleting()) {
        done = co_await end(pod);
      } else {
        done = co_await start(pod);
      }
      if (!done && done.error().code() != Code::kNotFound &&
          done.error().code() != Code::kConflict) {
        fmt::print(stderr, "operator_kubelet: {}\n", done.error().to_string());
      }
    }
  }

  std::string choose(const kube::Pod& pod) {
    if (const auto& affinity = pod.spec->affinity; affinity && affinity->node.required) {
      for (const auto& term : affinity->node.required->terms) {
        if (!term.fields.empty()) return term.fields.front().value;
      }
    }
    if (free_nodes_.empty()) return "";
    std::string node = std::move(free_nodes_.front());
    free_nodes_.pop_front();
    places_[pod.meta.uid] = node;
    return node;
  }

  Task<Result<void>> start(PodPtr pod) {
    if (pod->status.phase == kube::PodPhase::kRunning) co_return Result<void>();
    if (pod->node_name.empty()) {
      const std::string node = choose(*pod);
      if (node.empty()) co_return fail(Code::kNotFound, "no node is left for " + pod->meta.name);
      MS_CO_CHECK(
          co_await kube::bind_pod(&process_.client, ns_, pod->meta.name, pod->meta.uid, node));
    }
    const kube::RawApi api(process_.client, kube::Pod::kResource, ns_);
    MS_CO_CHECK(co_await api.patch(pod->meta.name, {kube::PatchKind::kStrategic, running(*pod)},
                                   {.subresource = "status"}));
    co_return Result<void>();
  }

  Task<Result<void>> end(PodPtr pod) {
    const kube::RawApi api(process_.client, kube::Pod::kResource, ns_);
    MS_CO_CHECK(co_await api.remove(pod->meta.name, {.grace_seconds = 0, .uid = pod->meta.uid}));
    co_return Result<void>();
  }

  Value running(const kube::Pod& pod) {
    const std::string now = format_rfc3339(process_.loop.clock().wall_now());
    const int number = ++addresses_;
    const std::string address =
        fmt::format("10.{}.{}.{}", 128 + number / 62500, number / 250 % 250, number % 250 + 1);
    Value patch = Value::object();
    patch["metadata"]["uid"] = pod.meta.uid;
    Value& status = patch["status"];
    status = Value::object({{"phase", "Running"}, {"startTime", now}, {"podIP", address}});
    status["podIPs"].push_back(Value::object({{"ip", address}}));
    for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
      status["conditions"].push_back(condition(type, now));
    }
    const auto add_states = [&](const char* list, const auto& containers) {
      for (const kube::Container& one : containers) {
        Value state =
            Value::object({{"name", one.name.view()}, {"ready", true}, {"restartCount", 0}});
        state["image"] = "bench";
        state["imageID"] = "";
        state["containerID"] = "bench://" + pod.meta.uid;
        state["state"]["running"]["startedAt"] = now;
        status[list].push_back(std::move(state));
      }
    };
    add_states("containerStatuses", pod.spec->containers);
    add_states("initContainerStatuses", pod.spec->init_containers);
    return patch;
  }

  Process& process_;
  const std::string ns_;
  Store<kube::Pod> pods_;
  std::deque<PodPtr> waiting_;
  net::Notify more_;
  std::deque<std::string> free_nodes_;
  std::map<std::string, std::string> places_;  // Nodes that were free, by the pod's UID.
  int addresses_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  const auto number = [&arguments](std::size_t i) { return std::atoi(arguments[i].c_str()); };
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Process process;
  if (arguments.size() == 4 && arguments[0] == "nodes") {
    must(process.loop.run(make_nodes(&process, arguments[1], number(2), number(3))));
  } else if (arguments.size() == 4 && arguments[0] == "serve") {
    Kubelet kubelet(process, arguments[1], arguments[2], number(3));
    must(process.loop.run(kubelet.run()));
  } else {
    std::fputs("operator_kubelet: nodes|serve, see operator_kubelet.cc\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mainspring::bench

int main(int argc, char** argv) {
  return mainspring::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
