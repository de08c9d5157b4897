#include "bridge/sync/lost_nodes.h"

#include <utility>

#include "bridge/gang/pod_stage.h"
#include "kube/api.h"

namespace mainspring::bridge {
namespace {

// What the API server said is no longer of this moment after that.
constexpr Duration kBelieved = seconds(10);
// Where it has the Node and the watch has not, or does not answer.
constexpr Duration kAgain = seconds(2);
// Nobody has pods there any more.
constexpr Duration kForgotten = minutes(10);

}  // namespace

LostNodes::LostNodes(World& world) : world_(world) {
  world_.nodes.add_handler([this](const auto& /*before*/, const auto& after) {
    if (after) absent_.erase(after->meta.name);
  });
}

bool LostNodes::is_believed(const Absence& absence) const {
  return absence.confirmed && world_.manager.executor().now() < *absence.confirmed + kBelieved;
}

bool LostNodes::is_lost(std::string_view node) const {
  if (const auto found = world_.nodes.get({}, node)) return is_out_of_service(*found);
  const auto absence = absent_.find(node);
  return absence != absent_.end() && is_believed(absence->second);
}

void LostNodes::forget_old() {
  const TimePoint now = world_.manager.executor().now();
  std::erase_if(absent_, [&](const auto& one) { return one.second.looked + kForgotten < now; });
}

Task<Result<std::optional<Duration>>> LostNodes::look(std::string node) {
  if (world_.nodes.get({}, node)) co_return std::optional<Duration>();
  const TimePoint now = world_.manager.executor().now();
  if (!absent_.contains(node)) forget_old();
  Absence& absence = absent_.try_emplace(node, Absence{now, now, {}}).first->second;
  absence.looked = now;
  if (is_believed(absence)) co_return std::optional<Duration>();
  if (const TimePoint due = absence.since + kQuarantine; now < due) co_return due - now;

  const auto answer = co_await kube::Api<kube::Node>(world_.kube, "").get(node);
  const bool is_absent = !answer && answer.error().code() == Code::kNotFound;
  if (!answer && !is_absent) {
    if (answer.error().code() == Code::kCancelled) co_return fail(answer.error());
    world_.log.warn("it cannot be asked whether a node is gone for good",
                    {{"node", node}, {"error", answer.error()}});
  }
  // The map may have changed while the question was out.
  const auto found = absent_.find(node);
  if (found == absent_.end()) co_return std::optional<Duration>();
  if (is_absent) {
    found->second.confirmed = world_.manager.executor().now();
    co_return std::optional<Duration>();
  }
  if (answer) found->second.since = world_.manager.executor().now();
  co_return kAgain;
}

}  // namespace mainspring::bridge
