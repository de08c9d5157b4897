// The load of bench/bridge_compare, on the API server that KUBECONFIG names: pods and nodes that
// pretend, many calls at a time, and a watch of what becomes of them. Times are CLOCK_MONOTONIC in
// seconds; answers are lines of JSON.
//
//   bridge_load nodes COUNT                  makes the external nodes k0 and so on
//   bridge_load pods NAME COUNT SCHEDULER [GROUP]
//                                            creates NAME-0 and so on: {"begin", "end"}
//   bridge_load one NAME COUNT SCHEDULER     one after the other, each until a watch shows it
//                                            bound: {"seconds": [...]}
//   bridge_load end NAME COUNT               says that they have succeeded, and deletes them
//   bridge_load remove NAME COUNT            only deletes them
//   bridge_load watch                        TIME bound|deleting|gone NAME, for all that it sees
//   bridge_load queue COUNT                  and
//   bridge_load servers api|slurm|both NAME COUNT    see bridge_servers.h
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/rfc3339.h"
#include "bridge_servers.h"
#include "control/in_parallel.h"
#include "control/reflector.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube_process.h"
#include "net/notify.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::bench {
namespace {

using json::Value;
using net::Task;
using PodPtr = std::shared_ptr<const kube::Pod>;

constexpr Duration kPatience = minutes(2);

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

kube::RawApi pods_of(Process& process) {
  return {process.client, kube::Pod::kResource, std::string(kBridgeNamespace)};
}

void for_all(Process& process, int count, const std::function<Task<Result<void>>(int)>& work) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  must(process.loop.run(control::in_parallel<int>(std::move(numbers), work, kBridgeInFlight)));
}

Value external_node(int number, std::string_view time) {
  Value node = Value::object({{"apiVersion", "v1"}, {"kind", "Node"}});
  const std::string name = fmt::format("k{}", number);
  node["metadata"]["name"] = name;
  node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
  node["metadata"]["labels"]["scheduler.slinky.slurm.net/external-node"] = "true";
  Value& status = node["status"];
  status["conditions"].push_back(
      Value::object({{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", time}}));
  for (const char* what : {"capacity", "allocatable"}) {
    status[what] = Value::object({{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "500"}});
  }
  // Slurm's NodeAddr, which must lead nowhere outside this machine.
  const std::string address = fmt::format("127.1.{}.{}", number / 250, number % 250 + 1);
  status["addresses"].push_back(Value::object({{"type", "InternalIP"}, {"address", address}}));
  return node;
}

// The API server calls every new node not ready, and nobody else is there to say otherwise.
Task<Result<void>> make_node(Process* process, int number, std::string time) {
  const kube::RawApi api(process->client, kube::Node::kResource, "");
  MS_CO_CHECK(co_await api.create(external_node(number, time), {}));
  Value ready = Value::object();
  ready["spec"]["taints"] = Value();
  MS_CO_CHECK(co_await api.patch(fmt::format("k{}", number),
                                 {kube::PatchKind::kMerge, std::move(ready)}, {}));
  co_return Result<void>();
}

Task<Result<void>> create_pod(Process* process, Value pod) {
  MS_CO_CHECK(co_await pods_of(*process).create(std::move(pod), {}));
  co_return Result<void>();
}

Task<Result<void>> end_pod(Process* process, std::string name, bool succeeded) {
  const kube::RawApi api = pods_of(*process);
  if (succeeded) {
    Value status = Value::object();
    status["status"]["phase"] = "Succeeded";
    MS_CO_CHECK(co_await api.patch(name, {kube::PatchKind::kStrategic, std::move(status)},
                                   {.subresource = "status"}));
  }
  const auto gone = co_await api.remove(name, {.grace_seconds = 0});
  if (!gone && gone.error().code() != Code::kNotFound) co_return fail(gone.error());
  co_return Result<void>();
}

void create_pods(Process& process, const std::string& name, int count, const std::string& scheduler,
                 const std::string& group) {
  Value line;
  line["begin"] = now();
  for_all(process, count, [&](int number) {
    return create_pod(&process, bridge_pod(fmt::format("{}-{}", name, number), scheduler, group));
  });
  line["end"] = now();
  print_line(line);
}

// A watch of all pods.
class Eyes {
 public:
  using OnPod = std::function<void(const PodPtr& before, const PodPtr& after)>;

  Eyes(Process& process, OnPod on_pod)
      : reflector_(kube::Api<kube::Pod>(process.client, std::string(kBridgeNamespace)), pods_, {}),
        group_(process.loop) {
    pods_.add_handler(std::move(on_pod));
    group_.spawn(reflector_.run());
  }
  Task<Result<void>> run() { return group_.join(); }

 private:
  Store<kube::Pod> pods_;
  control::Reflector<kube::Pod> reflector_;
  net::TaskGroup group_;
};

void say(std::string_view what, const kube::Pod& pod) {
  fmt::print("{:.6f} {} {}\n", now(), what, pod.meta.name);
}

void watch(Process& process) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Eyes eyes(process, [](const PodPtr& before, const PodPtr& after) {
    if (!after) return say("gone", *before);
    if (!after->node_name.empty() && (!before || before->node_name.empty())) say("bound", *after);
    if (after->meta.deleting() && (!before || !before->meta.deleting())) say("deleting", *after);
  });
  must(process.loop.run(eyes.run()));
}

struct Bound {
  std::map<std::string, double> at;
  net::Notify news;
};

Task<Result<void>> until_bound(Bound* bound, std::string name) {
  while (!bound->at.contains(name)) MS_CO_CHECK(co_await bound->news.wait());
  co_return Result<void>();
}

Task<Result<void>> one_by_one(Process* process, std::string name, int count, std::string scheduler,
                              Bound* bound, Value* times) {
  for (int i = 0; i < count; ++i) {
    const std::string pod = fmt::format("{}-{}", name, i);
    const double begin = now();
    MS_CO_CHECK(co_await create_pod(process, bridge_pod(pod, scheduler)));
    MS_CO_CHECK(co_await net::with_timeout(kPatience, "for " + pod, until_bound(bound, pod)));
    times->push_back(bound->at[pod] - begin);
    // Not in step with anybody who looks now and then.
    MS_CO_CHECK(co_await net::sleep(milliseconds(5 + i * 7 % 40)));
  }
  co_return Result<void>();
}

void create_one_by_one(Process& process, const std::string& name, int count,
                       const std::string& scheduler) {
  Bound bound;
  const Eyes eyes(process, [&bound](const PodPtr&, const PodPtr& after) {
    if (!after || after->node_name.empty()) return;
    bound.at.emplace(after->meta.name, now());
    bound.news.notify_all();
  });
  Value line;
  line["seconds"] = Value::array();
  must(process.loop.run(one_by_one(&process, name, count, scheduler, &bound, &line["seconds"])));
  print_line(line);
}

int run(const std::vector<std::string>& words) {
  const auto text = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  const auto number = [&](std::size_t i) { return std::atoi(text(i).c_str()); };
  const std::string verb = text(0);
  Process process;
  if (verb == "nodes") {
    const std::string time = format_rfc3339(process.loop.clock().wall_now());
    for_all(process, number(1), [&](int i) { return make_node(&process, i, time); });
  } else if (verb == "pods") {
    create_pods(process, text(1), number(2), text(3), text(4));
  } else if (verb == "one") {
    create_one_by_one(process, text(1), number(2), text(3));
  } else if (verb == "end" || verb == "remove") {
    for_all(process, number(2), [&](int i) {
      return end_pod(&process, fmt::format("{}-{}", text(1), i), verb == "end");
    });
  } else if (verb == "watch") {
    watch(process);
  } else if (verb == "queue") {
    queue_jobs(process, number(1));
  } else if (verb == "servers") {
    ask_servers(process, text(1), text(2), number(3));
  } else {
    std::fputs("bridge_load: see bridge_load.cc\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mainspring::bench

int main(int argc, char** argv) {
  return mainspring::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
