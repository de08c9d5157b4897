#include "sim/bridge_kubelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/rfc3339.h"
#include "sim/kubelet.h"
#include "sim/meta.h"

namespace mainspring::sim {
namespace {

constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";

}  // namespace

bool BridgeKubelet::over(std::string_view uid) const {
  const auto it = lives_.find(uid);
  return it != lives_.end() && it->second.stage >= Stage::kEnded;
}

void BridgeKubelet::lose(std::string_view node) {
  on_note(fmt::format("kubelet: {} is lost", node));
  lost_.emplace(node);
  for (auto& [uid, life] : lives_) {
    if (life.node != node) continue;
    life.stage = Stage::kReported;
    life.removed = true;
  }
}

void BridgeKubelet::bring_back(std::string_view node) {
  if (lost_.erase(std::string(node)) == 0) return;
  on_note(fmt::format("kubelet: {} is back", node));
  for (auto& [uid, life] : lives_) {
    if (life.node != node) continue;
    life.stage = Stage::kEnded;
    life.exit_code = 137;
    life.removed = false;
    life.due = in(seconds(3));
  }
  seen_ = 0;
}

TimePoint BridgeKubelet::in(Duration most) {
  return executor_.now() + milliseconds(random_.below(static_cast<std::uint64_t>(
                               std::chrono::duration_cast<milliseconds>(most).count())));
}

void BridgeKubelet::tick() {
  if (!hurry_ && kube_.storage().version() == seen_ && executor_.now() < next_) return;
  seen_ = kube_.storage().version();
  next_ = TimePoint::max();
  std::vector<Object> pods;
  for (const auto& [key, pod] : kube_.storage().all("pods")) {
    if (!text_at(*pod, "/spec/nodeName").empty()) pods.push_back(pod);
  }
  for (const Object& pod : pods) look_at(*pod);
}

void BridgeKubelet::look_at(const json::Value& pod) {
  const auto [it, is_new] = lives_.try_emplace(std::string(uid_of(pod)));
  Life& life = it->second;
  if (is_new) {
    life.path = fmt::format("/api/v1/namespaces/{}/pods/{}", namespace_of(pod), name_of(pod));
    life.node = text_at(pod, "/spec/nodeName");
    life.due = in(seconds(3));
    if (lost_.contains(life.node)) {
      life.stage = Stage::kReported;
      life.removed = true;
    }
  }
  const bool deleting = is_being_deleted(pod);
  if (deleting && life.stage == Stage::kRunning && !life.stopping && !linger_) stop(life);
  if (hurry_ && life.stage == Stage::kRunning) life.due = std::min(life.due, in(seconds(20)));
  if (life.stage == Stage::kReported && deleting && !life.removed) {
    life.removed = true;
    ask_kube(
        kube_, http::Method::kDelete, life.path,
        fmt::format(R"({{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}})", it->first));
    return;
  }
  if (life.due <= executor_.now()) go_on(life, deleting);
  if (life.stage != Stage::kReported) next_ = std::min(next_, life.due);
}

// Most end when they are asked to; some take all the time they get, and more.
void BridgeKubelet::stop(Life& life) {
  life.stopping = true;
  life.due = std::min(life.due, in(random_.below(3) == 0 ? seconds(150) : seconds(8)));
}

void BridgeKubelet::go_on(Life& life, bool deleting) {
  switch (life.stage) {
    case Stage::kBound:
      if (deleting) {
        life.stage = Stage::kEnded;
        life.exit_code = 137;
        on_note(fmt::format("kubelet: {} never starts", life.path));
        return;
      }
      life.stage = Stage::kRunning;
      life.due = in(random_.below(5) == 0 ? minutes(60) : seconds(60));
      if (endless_) life.due = TimePoint::max();
      on_note(fmt::format("kubelet: {} runs", life.path));
      return report(life, "Running",
                    fmt::format(R"("running":{{"startedAt":"{}"}})",
                                format_rfc3339(executor_.clock().wall_now())));
    case Stage::kRunning:
      life.stage = Stage::kEnded;
      life.exit_code = random_.below(3) == 0 ? static_cast<int>(1 + random_.below(140)) : 0;
      life.due = in(seconds(2));
      on_note(fmt::format("kubelet: the containers of {} have ended", life.path));
      return;
    case Stage::kEnded: {
      life.stage = Stage::kReported;
      // Kubelets before 1.27 leave the phase of a pod that is being deleted as it was.
      const bool early = deleting && random_.below(3) == 0;
      return report(
          life,
          early                 ? "Running"
          : life.exit_code == 0 ? "Succeeded"
                                : "Failed",
          fmt::format(R"("terminated":{{"exitCode":{},"reason":"Over","finishedAt":"{}"}})",
                      life.exit_code, format_rfc3339(executor_.clock().wall_now())));
    }
    case Stage::kReported:
      return;
  }
}

void BridgeKubelet::report(const Life& life, std::string_view phase, const std::string& state) {
  on_note(fmt::format("kubelet: says {} of {}", phase, life.path));
  ask_kube(kube_, http::Method::kPatch, life.path + "/status",
           fmt::format(R"({{"status":{{"phase":"{}","containerStatuses":[{{"name":"main",)"
                       R"("image":"i","imageID":"","ready":false,"restartCount":0,)"
                       R"("containerID":"containerd://1","state":{{{}}}}}]}}}})",
                       phase, state),
           kStrategic);
}

}  // namespace mainspring::sim
