#include "bridge/sync/known_fits.h"

#include <algorithm>
#include <utility>

#include "bridge/names.h"
#include "bridge/translate/host_ports.h"
#include "bridge/translate/taken.h"
#include "kube/pod_resources.h"

namespace mainspring::bridge {
namespace {

// Workloads that are asked about in turns.
constexpr std::size_t kMostKnown = 16;

// Whatever of a Slurm node decides whether jobs could ever be there. What is in use, and whether it
// is drained, is Slurm's business.
bool same_node(const slurm::Node& a, const slurm::Node& b) {
  return a.partitions == b.partitions && a.cpus == b.cpus && a.real_memory == b.real_memory &&
         a.gres == b.gres && a.state.is_external() == b.state.is_external();
}

// Wants nothing of a node that comes and goes without Slurm's doing, but a place among its pods.
bool is_plain(const kube::PodSpec& spec) {
  if (has_host_ports(spec) || (spec.affinity && !spec.affinity->node.preferred.empty())) {
    return false;
  }
  const auto totals = kube::pod_requests(spec);
  return totals && std::all_of(totals->begin(), totals->end(), [](const auto& one) {
           return is_in_slurms_books(one.first) && !one.first.ends_with(kCpuClass);
         });
}

}  // namespace

KnownFits::KnownFits(World& world) {
  const auto forget = [this](const auto&, const auto&) { known_.clear(); };
  world.nodes.add_handler(forget);
  world.daemons.add_handler(forget);
  world.cache.nodes().add_handler([this](const auto& before, const auto& after) {
    if (!before || !after || !same_node(*before, *after)) known_.clear();
  });
  world.lodgers.add_handler([this](const auto&, const auto& after) { came_ += after ? 1 : 0; });
  world.pods.add_handler([this](const auto& before, const auto& after) {
    const bool had = before && !before->node_name.empty();
    came_ += !had && after && !after->node_name.empty() ? 1 : 0;
  });
}

const KnownFits::Answer* KnownFits::find(const Question& question) {
  const auto at = std::find_if(known_.begin(), known_.end(),
                               [&](const Known& one) { return one.question == question; });
  if (at == known_.end()) return nullptr;
  if (came_ - at->came <= at->answer.until_full) return &at->answer;
  known_.erase(at);
  return nullptr;
}

void KnownFits::keep(Question question, Answer answer) {
  // Who left it out for being full may be gone at any time.
  if (answer.fit.crowded) return;
  if (known_.size() == kMostKnown) known_.pop_front();
  known_.push_back({std::move(question), std::move(answer), came_});
}

std::optional<KnownFits::Question> plain_question(const slurm::JobRequest& request,
                                                  const std::string& partition,
                                                  const std::vector<PodPtr>& pods,
                                                  const std::vector<VolumeNodes>& volumes) {
  const auto& spec = pods.front()->spec;
  const bool alike =
      std::all_of(pods.begin(), pods.end(), [&](const PodPtr& pod) { return pod->spec == spec; }) &&
      std::all_of(volumes.begin(), volumes.end(),
                  [](const VolumeNodes& nodes) { return nodes.empty(); });
  if (!alike || !is_plain(*spec)) return std::nullopt;
  const auto each = static_cast<std::size_t>(std::max(request.tasks_per_node.value_or(1), 1));
  return KnownFits::Question{partition, spec, pods.size(), each, NodeRoom(request)};
}

}  // namespace mainspring::bridge
