#include "bridge/gang/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bridge/gang/pod_stage.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kOutOfMemory = "OOMKilled";

// The pod's own reason, as of an eviction, else that of the container that failed.
std::string_view reason_of(const kube::Pod& pod) {
  if (!pod.status.reason.empty()) return pod.status.reason;
  for (const auto* containers : {&pod.status.init_containers, &pod.status.containers}) {
    for (const kube::ContainerStatus& one : *containers) {
      if (one.state == kube::ContainerState::kTerminated && one.exit_code != 0) return one.reason;
    }
  }
  return {};
}

}  // namespace

void Outcome::add(const kube::Pod& pod, bool lost) {
  if (!seen_.insert(pod.meta.uid).second) return;
  bool out_of_memory = false;
  for (const auto* containers : {&pod.status.init_containers, &pod.status.containers}) {
    for (const kube::ContainerStatus& one : *containers) {
      restarts_ += one.restarts;
      out_of_memory = out_of_memory || one.reason == kOutOfMemory;
      if (one.finished) ended_ = std::max(ended_.value_or(*one.finished), *one.finished);
    }
  }
  if (out_of_memory) ++out_of_memory_;
  if (pod.status.started)
    began_ = std::min(began_.value_or(*pod.status.started), *pod.status.started);
  const int code = lost ? std::max(exit_code_of(pod), 1) : exit_code_of(pod);
  if (code == 0) return;
  ++failed_;
  if (code <= exit_code_) return;
  exit_code_ = code;
  if (lost) {
    worst_ = fmt::format("pod {}/{} was lost with node {}", pod.meta.ns, pod.meta.name,
                         pod.node_name.view());
    return;
  }
  const std::string_view reason = reason_of(pod);
  worst_ = fmt::format("pod {}/{} failed with exit code {}{}{}", pod.meta.ns, pod.meta.name, code,
                       reason.empty() ? "" : ": ", reason);
}

std::string Outcome::text() const {
  std::string text = worst_;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += "; ";
    text += part;
  };
  if (seen_.size() > 1) {
    add(fmt::format("of {} pods {} succeeded", seen_.size(), seen_.size() - failed_));
  }
  if (out_of_memory_ > 1) add(fmt::format("{} {}", out_of_memory_, kOutOfMemory));
  if (restarts_ > 0) add(fmt::format("{} restart{}", restarts_, restarts_ == 1 ? "" : "s"));
  if (began_ && ended_ && *began_ <= *ended_) {
    add(fmt::format("{} s",
                    std::chrono::duration_cast<std::chrono::seconds>(*ended_ - *began_).count()));
  }
  return text;
}

}  // namespace mainspring::bridge
