#include "bridge/nodes/daemons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bridge/names.h"
#include "kube/pod_resources.h"
#include "kube/taints.h"

namespace mainspring::bridge {
namespace {

constexpr std::int64_t kCpuStep = 100;
constexpr std::int64_t kMemoryStep = 128;

std::int64_t round_up(std::int64_t amount, std::int64_t step) {
  return (amount + step - 1) / step * step;
}

kube::Taint our_taint(const BridgeConfig& config) {
  kube::Taint taint;
  taint.key = kManagedTaint;
  taint.value = config.scheduler_name;
  taint.effect = kube::TaintEffect::kNoExecute;
  return taint;
}

// The conditions of a node come and go, and pods of DaemonSets stay through all of them.
bool repels(const kube::Taint& taint, const kube::PodSpec& spec) {
  if (taint.effect == kube::TaintEffect::kPreferNoSchedule) return false;
  return !taint.key.view().starts_with("node.kubernetes.io/") &&
         !kube::tolerates(spec.tolerations, taint);
}

Error unreadable(std::string_view text) {
  return Error(Code::kInvalid,
               fmt::format("annotation {}: {} is not an amount of each resource, as in "
                           "\"cpu=500m,memory=2Gi\"",
                           kReservedAnnotation, quoted(text)));
}

}  // namespace

bool runs_on(const Daemon& daemon, const kube::Node& node, const BridgeConfig& config) {
  if (daemon.meta.deleting() || !daemon.spec.selects(node.meta)) return false;
  if (config.taint_nodes && repels(our_taint(config), daemon.spec)) return false;
  return std::none_of(node.taints.begin(), node.taints.end(),
                      [&](const kube::Taint& taint) { return repels(taint, daemon.spec); });
}

Reserve reserve_of(const std::vector<std::shared_ptr<const Daemon>>& daemons,
                   const kube::Node& node, const BridgeConfig& config) {
  Reserve sum;
  for (const auto& daemon : daemons) {
    if (!runs_on(*daemon, node, config)) continue;
    const auto requests = kube::pod_requests(daemon->spec);
    if (!requests) continue;  // The API server takes no such pod either.
    const auto amount = [&](std::string_view resource) {
      const auto found = requests->find(resource);
      return found == requests->end() ? Quantity() : found->second;
    };
    sum.cpu_milli += amount("cpu").milli_value().value_or(0);
    sum.memory_mb += round_up(amount("memory").value().value_or(0), 1 << 20) >> 20;
  }
  return {round_up(sum.cpu_milli, kCpuStep), round_up(sum.memory_mb, kMemoryStep)};
}

Result<SetAside> set_aside_on(const kube::Node& node) {
  SetAside out;
  const auto text = node.meta.annotations.find(kReservedAnnotation);
  if (!text) return out;
  for (const std::string_view part : split(*text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return fail(unreadable(*text));
    const std::string_view resource = trim(part.substr(0, equals));
    const auto amount = Quantity::parse(trim(part.substr(equals + 1)));
    if (!amount || amount->is_negative()) return fail(unreadable(*text));
    if (resource != "cpu" && resource != "memory") return fail(unreadable(*text));
    (resource == "cpu" ? out.cpu : out.memory) = *amount;
  }
  return out;
}

}  // namespace mainspring::bridge
