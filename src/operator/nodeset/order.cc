#include "operator/nodeset/order.h"

#include "api/names.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "operator/nodeset/plan.h"

namespace mainspring::op {

namespace {

// As Kubernetes reads its own pod-deletion-cost: "+1", "01" and what is no number are 0.
std::int32_t deletion_cost(const kube::Pod& pod) {
  const std::string_view text =
      pod.meta.annotations.find(api::annotation::kPodDeletionCost).value_or("0");
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits.starts_with('0')) return 0;
  return parse_integer<std::int32_t>(text).value_or(0);
}

// Upstream writes a job without a time limit as one of 292 years, beyond what WallTime can hold.
// That is the busiest of pods, and must not read as one without a deadline.
bool is_beyond_time(std::string_view text) {
  constexpr std::string_view kLastYear = "2262";
  const std::string_view year = text.substr(0, text.find('-'));
  for (const char c : year) {
    if (!is_ascii_digit(c)) return false;
  }
  return year.size() >= kLastYear.size() && year >= kLastYear;
}

WallTime job_deadline(const kube::Pod& pod) {
  const auto text = pod.meta.annotations.find(api::annotation::kPodDeadline);
  if (!text) return {};
  if (const auto time = parse_rfc3339(*text)) return *time;
  return is_beyond_time(*text) ? WallTime::max() : WallTime();
}

std::uint8_t phase_rank(kube::PodPhase phase) {
  if (phase == kube::PodPhase::kUnknown) return 1;
  return phase == kube::PodPhase::kRunning ? 2 : 0;
}

// Any fixed moment serves to turn "more recently" into "younger": only differences count. The
// epoch stands for never, which comes first.
Duration age_at_the_end_of_time(WallTime since) {
  return since == WallTime() ? Duration::min() : -since.time_since_epoch();
}

}  // namespace

Deletability deletability(const api::NodeSet& nodeset, const WorkerView& worker) {
  const kube::Pod& pod = *worker.pod;
  const auto* const ready = kube::find_condition(pod.status.conditions, "Ready");
  const bool is_ready = pod.ready();
  const auto ordinal = ordinal_of(nodeset, pod);
  return {.assigned = !pod.node_name.empty(),
          .phase = phase_rank(pod.status.phase),
          .ready = is_ready,
          .cost = deletion_cost(pod),
          .deadline = job_deadline(pod),
          .open = pod.meta.annotations.find(api::annotation::kPodCordon) != "true",
          .low_ordinal = ordinal ? -std::int64_t{*ordinal} : 1,
          .ready_age = age_at_the_end_of_time(is_ready ? ready->transition : WallTime()),
          .age = age_at_the_end_of_time(pod.meta.created),
          .name = pod.meta.name};
}

bool more_deletable(const api::NodeSet& nodeset, const WorkerView& a, const WorkerView& b) {
  return deletability(nodeset, a) < deletability(nodeset, b);
}

}  // namespace mainspring::op
