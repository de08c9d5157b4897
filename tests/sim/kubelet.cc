#include "sim/kubelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "sim/meta.h"

namespace mainspring::sim {
namespace {

using http::Method;

constexpr std::string_view kPreStopReason = "slurm-operator: Pod is terminating";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";

std::string path_of(const json::Value& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", namespace_of(pod), name_of(pod));
}

bool flag_at(const json::Value& object, std::string_view pointer) {
  const json::Value* const found = object.at_pointer(pointer);
  return found != nullptr && found->as_bool().value_or(false);
}

bool tolerates_cordon(const json::Value& pod) {
  const json::Value* const all = pod.at_pointer("/spec/tolerations");
  return all != nullptr && std::any_of(all->begin(), all->end(), [](const json::Value& one) {
           return text_at(one, "/key") == "node.kubernetes.io/unschedulable";
         });
}

// Node affinity as our pods have it: the name of one node, or none.
bool fits(const json::Value& pod, const json::Value& node) {
  const std::string_view only =
      text_at(pod,
              "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
              "nodeSelectorTerms/0/matchFields/0/values/0");
  if (!only.empty() && only != name_of(node)) return false;
  const std::string_view pool = text_at(pod, "/spec/nodeSelector/pool");
  if (!pool.empty() && pool != text_at(node, "/metadata/labels/pool")) return false;
  return !flag_at(node, "/spec/unschedulable") || tolerates_cordon(pod);
}

}  // namespace

http::Response ask_kube(KubeApi& api, Method method, const std::string& path, std::string body,
                        std::string_view type) {
  http::Request request;
  request.method = method;
  request.url = *http::Url::parse("https://sim" + path);
  request.headers.set("Content-Type", std::string(type));
  request.body = std::move(body);
  return api.answer(request);
}

void Kubelet::note(const Life& life, std::string_view what) {
  on_note(fmt::format("kubelet: {} {}", name_of(*life.pod), what));
}

void Kubelet::wait(Life& life, Duration least, Duration most) {
  const auto spread = static_cast<std::uint64_t>((most - least).count());
  life.due =
      executor_.clock().now() + least + Duration(static_cast<Duration::rep>(random_.below(spread)));
}

void Kubelet::tick() {
  for (auto& [uid, life] : lives_) life.seen = false;
  const Objects pods = kube_.storage().all("pods");
  for (const auto& [key, pod] : pods) {
    if (!text_at(*pod, "/spec/hostname").empty()) look_at(pod);
  }
  for (auto it = lives_.begin(); it != lives_.end();) {
    if (it->second.seen) {
      ++it;
    } else {
      bury(it->second);
      it = lives_.erase(it);
    }
  }
  roll_out("statefulsets.apps", "statefulsets");
  roll_out("deployments.apps", "deployments");
}

void Kubelet::look_at(const Object& pod) {
  const auto [it, is_new] = lives_.try_emplace(std::string(uid_of(*pod)));
  Life& life = it->second;
  life.pod = pod;
  life.seen = true;
  if (is_new) {
    life.slurm_node = text_at(*pod, "/spec/hostname");
    const auto other = registers_as.find(life.slurm_node);
    if (other != registers_as.end()) life.slurm_node = other->second;
    wait(life, milliseconds(50), milliseconds(800));
  }
  if (is_being_deleted(*pod) && life.stage != Stage::kStopping) return stop(life);
  if (executor_.clock().now() >= life.due) go_on(life);
}

void Kubelet::go_on(Life& life) {
  const std::string_view host = text_at(*life.pod, "/spec/nodeName");
  if (!host.empty() && !kube_.find({"", "v1", "nodes", "Node", false}, "", host)) {
    // The pod garbage collector comes round now and then.
    if (random_.below(40) != 0) return;
    note(life, "goes with its node");
    ask_kube(kube_, Method::kDelete, path_of(*life.pod), R"({"gracePeriodSeconds":0})");
    return;
  }
  switch (life.stage) {
    case Stage::kUnbound:
      return bind(life);
    case Stage::kBound:
      report(life, "Pending", false, R"("waiting":{"reason":"ContainerCreating"})");
      life.stage = Stage::kWaiting;
      return wait(life, milliseconds(200), seconds(3));
    case Stage::kWaiting:
      return start_slurmd(life);
    case Stage::kRunning:
      report(life, "Running", true,
             fmt::format(R"("running":{{"startedAt":"{}"}})",
                         format_rfc3339(executor_.clock().wall_now())));
      life.stage = Stage::kReady;
      return;
    case Stage::kStopping:
      return finish(life);
    case Stage::kReady:
    case Stage::kEnded:
      return;
  }
}

void Kubelet::bind(Life& life) {
  std::string best;
  std::size_t fewest = 0;
  for (const auto& [name, node] : kube_.storage().all("nodes")) {
    if (!fits(*life.pod, *node)) continue;
    const auto there = static_cast<std::size_t>(
        std::count_if(lives_.begin(), lives_.end(), [&, at = name_of(*node)](const auto& other) {
          return text_at(*other.second.pod, "/spec/nodeName") == at;
        }));
    if (!best.empty() && there >= fewest) continue;
    best = name_of(*node);
    fewest = there;
  }
  if (best.empty()) return wait(life, milliseconds(500), seconds(2));
  ask_kube(kube_, Method::kPost, path_of(*life.pod) + "/binding",
           fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}"}},)"
                       R"("target":{{"kind":"Node","name":"{}"}}}})",
                       name_of(*life.pod), best),
           "application/json");
  note(life, "is bound to " + best);
  life.stage = Stage::kBound;
  wait(life, milliseconds(100), seconds(1));
}

void Kubelet::start_slurmd(Life& life) {
  // slurmd tries until slurmctld answers.
  if (!slurm_.controller_up()) return wait(life, seconds(1), seconds(2));
  SlurmNode node;
  node.name = life.slurm_node;
  node.address = node.name;
  node.cpus = 2;
  node.memory = 1000;
  slurm_.model().register_slurmd(std::move(node));
  note(life, "runs");
  report(life, "Running", false,
         fmt::format(R"("running":{{"startedAt":"{}"}})",
                     format_rfc3339(executor_.clock().wall_now())));
  life.stage = Stage::kRunning;
  wait(life, milliseconds(300), seconds(3));
}

void Kubelet::report(const Life& life, std::string_view phase, bool ready, std::string_view state) {
  std::string conditions;
  for (const char* const type : {"Ready", "ContainersReady"}) {
    conditions +=
        fmt::format(R"({}{{"type":"{}","status":"{}","lastTransitionTime":"{}"}})",
                    conditions.empty() ? "" : ",", type, ready ? "True" : "False",
                    format_rfc3339(std::chrono::floor<seconds>(executor_.clock().wall_now())));
  }
  const bool made = phase != "Pending";
  ask_kube(
      kube_, Method::kPatch, path_of(*life.pod) + "/status",
      fmt::format(R"({{"status":{{"phase":"{}","conditions":[{}],"containerStatuses":[)"
                  R"({{"name":"slurmd","image":"i","imageID":"","ready":{},"restartCount":{},)"
                  R"("containerID":"{}","state":{{{}}}}}]}}}})",
                  phase, conditions, ready, life.restarts, made ? "containerd://1" : "", state),
      kStrategic);
}

void Kubelet::stop(Life& life) {
  if (on_going) on_going(*life.pod);
  const bool up = life.stage == Stage::kRunning || life.stage == Stage::kReady;
  // preStop asks slurmctld, and is not waited for where that does not answer.
  if (up && slurm_.controller_up()) {
    static_cast<void>(slurm_.model().update_node(
        life.slurm_node, {.state = "DOWN", .reason = std::string(kPreStopReason)}));
  }
  note(life, "is stopping");
  life.stage = Stage::kStopping;
  wait(life, milliseconds(200), seconds(4));
}

void Kubelet::finish(Life& life) {
  ask_kube(kube_, Method::kDelete, path_of(*life.pod),
           fmt::format(R"({{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}})",
                       uid_of(*life.pod)));
}

void Kubelet::bury(const Life& life) {
  note(life, "is gone");
  if (life.stage != Stage::kStopping && on_going) on_going(*life.pod);
  const bool taken = std::any_of(lives_.begin(), lives_.end(), [&](const auto& other) {
    return &other.second != &life && other.second.slurm_node == life.slurm_node &&
           (other.second.stage == Stage::kRunning || other.second.stage == Stage::kReady);
  });
  if (!taken) slurm_.model().lose_slurmd(life.slurm_node);
}

void Kubelet::restart_container(const std::string& uid) {
  const auto it = lives_.find(uid);
  if (it == lives_.end() || it->second.stage != Stage::kReady) return;
  Life& life = it->second;
  ++life.restarts;
  note(life, "crashes");
  slurm_.model().lose_slurmd(life.slurm_node);
  report(life, "Running", false, R"("waiting":{"reason":"CrashLoopBackOff"})");
  life.stage = Stage::kWaiting;
  wait(life, seconds(1), seconds(10));
}

void Kubelet::fail_pod(const std::string& uid) {
  const auto it = lives_.find(uid);
  if (it == lives_.end() || it->second.stage != Stage::kReady) return;
  Life& life = it->second;
  note(life, "fails");
  slurm_.model().lose_slurmd(life.slurm_node);
  report(life, "Failed", false, R"("terminated":{"exitCode":1})");
  life.stage = Stage::kEnded;
}

bool Kubelet::runs(std::string_view uid) const {
  const auto it = lives_.find(uid);
  if (it == lives_.end()) return false;
  const Stage stage = it->second.stage;
  // The crashed container of a pod that goes on runs again soon.
  return stage == Stage::kRunning || stage == Stage::kReady ||
         (stage == Stage::kWaiting && it->second.restarts > 0);
}

std::vector<std::string> Kubelet::running() const {
  std::vector<std::string> all;
  for (const auto& [uid, life] : lives_) {
    if (life.stage == Stage::kReady) all.push_back(uid);
  }
  return all;
}

void Kubelet::roll_out(std::string_view collection, const std::string& path) {
  const Objects all = kube_.storage().all(collection);
  for (const auto& [key, object] : all) {
    const json::Value* const generation = object->at_pointer("/metadata/generation");
    const json::Value* const seen = object->at_pointer("/status/observedGeneration");
    if (generation == nullptr || (seen != nullptr && *seen == *generation)) continue;
    ask_kube(kube_, Method::kPatch,
             fmt::format("/apis/apps/v1/namespaces/{}/{}/{}/status", namespace_of(*object), path,
                         name_of(*object)),
             fmt::format(R"({{"status":{{"observedGeneration":{},"replicas":1,"updatedReplicas":1,)"
                         R"("readyReplicas":1,"availableReplicas":1}}}})",
                         generation->as_int().value_or(1)));
  }
}

}  // namespace mainspring::sim
