#include "slurm/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/hostlist.h"
#include "slurm/tres.h"

namespace mainspring::slurm {
namespace {

using Flag = NodeState::Flag;

std::string subject_of(const std::string& name) { return "node " + name; }

// Whether the state is what asking for `asked` should have led to. Other requests (power, reboot)
// take their time.
bool reached(const NodeState& asked, const NodeState& is) {
  if (asked.has(Flag::kDrain)) return is.has(Flag::kDrain);
  if (asked.has(Flag::kUndrain)) return !is.has(Flag::kDrain);
  if (asked.has(Flag::kResume)) return !is.has(Flag::kDrain) && !is.is_down();
  if (asked.base() == NodeState::Base::kDown) return is.is_down();
  return true;
}

bool same_set(const std::vector<std::string>& asked, const json::StringList& is) {
  return std::set<std::string_view>(asked.begin(), asked.end()) ==
         std::set<std::string_view>(is.begin(), is.end());
}

// Slurm adds where the devices are: "gpu:2(S:0)".
bool same_gres(const std::string& asked, std::string_view is) {
  auto first = parse_gres(asked), second = parse_gres(is);
  if (!first || !second) return asked == is;
  for (auto* list : {&*first, &*second}) {
    for (Gres& gres : *list) gres.sockets.clear();
  }
  return std::is_permutation(first->begin(), first->end(), second->begin(), second->end());
}

// What was asked for and is not so. "" if nothing. All that can be asked for is looked at but
// resume_after, which slurmctld turns into a time of day, and what it does when it comes.
std::string difference(const NodeUpdate& asked, const Node& is) {
  if (asked.state && !reached(*asked.state, is.state)) return "it is " + is.state.to_string();
  // Whose drain it is stands in the reason. Who resumes a node takes the reason away with it.
  const bool keeps_reason = !asked.state || asked.state->has(Flag::kDrain) ||
                            asked.state->base() == NodeState::Base::kDown;
  if (asked.reason && keeps_reason && *asked.reason != is.reason.view()) {
    return fmt::format("its reason is '{}'", is.reason.view());
  }
  const auto differs = [](const std::optional<std::string>& wanted, std::string_view value) {
    return wanted && *wanted != value;
  };
  if (differs(asked.comment, is.comment)) return fmt::format("comment is '{}'", is.comment.view());
  if (differs(asked.extra, is.extra)) return fmt::format("extra is '{}'", is.extra.view());
  if (differs(asked.address, is.address)) return fmt::format("address is '{}'", is.address.view());
  if (differs(asked.hostname, is.hostname)) {
    return fmt::format("hostname is '{}'", is.hostname.view());
  }
  if (asked.gres && !same_gres(*asked.gres, is.gres)) {
    return fmt::format("gres is '{}'", is.gres.view());
  }
  if (asked.features && !same_set(*asked.features, is.features)) return "features are others";
  if (asked.active_features && !same_set(*asked.active_features, is.active_features)) {
    return "active features are others";
  }
  if (asked.weight.set() && asked.weight.value() != is.weight) {
    return fmt::format("weight is {}", is.weight);
  }
  // Slurm completes what it was given.
  if (asked.topology && asked.topology->empty() != is.topology.empty()) {
    return fmt::format("topology is '{}'", is.topology.view());
  }
  return {};
}

}  // namespace

Task<Result<Node>> Nodes::get(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.one<Node>(
      calls_.make(Endpoint::kGetNode, {std::move(name)}, std::move(subject)), "nodes");
}

Task<Result<Listed>> Nodes::list(Source::OnRecord<Node> on_record, std::int64_t since) const {
  co_return co_await calls_.stream<Node>(calls_.make(Endpoint::kListNodes), "nodes", since,
                                         std::move(on_record));
}

Task<Result<void>> Nodes::check_version(NodeUpdate update) const {
  if (!update.topology) co_return Result<void>();
  MS_CO_TRY(const Version spoken, co_await calls_.client().version());
  co_return require(spoken, Feature::kNodeTopology);
}

Task<Result<Node>> Nodes::update(std::string name, NodeUpdate update) const {
  MS_CO_CHECK(co_await check_version(update));
  Call call = calls_.with_body(Endpoint::kUpdateNode, to_json(update), subject_of(name));
  call.path = {name};
  MS_CO_CHECK(co_await calls_.send(std::move(call)));
  MS_CO_TRY(Node is, co_await get(name));
  if (const std::string other = difference(update, is); !other.empty()) {
    co_return fail(not_done(subject_of(name), other));
  }
  co_return is;
}

Task<Result<std::vector<Node>>> Nodes::get_many(std::vector<std::string> names) const {
  // One by one, a few cost slurmrestd less than the list of all.
  constexpr std::size_t kFew = 16;
  std::vector<Node> found;
  if (names.size() <= kFew) {
    for (const std::string& name : names) {
      MS_CO_TRY(Node node, co_await get(name));
      found.push_back(std::move(node));
    }
    co_return found;
  }
  std::unordered_map<std::string_view, std::shared_ptr<const Node>> wanted;
  for (const std::string& name : names) wanted.emplace(name, nullptr);
  MS_CO_CHECK(co_await list([&wanted](std::shared_ptr<const Node> node) {
    const auto it = wanted.find(node->name.view());
    if (it != wanted.end()) it->second = std::move(node);
  }));
  for (const std::string& name : names) {
    const auto& node = wanted[name];
    if (!node) co_return fail(not_there(subject_of(name)));
    found.push_back(*node);
  }
  co_return found;
}

Task<Result<std::vector<Node>>> Nodes::update_many(std::vector<std::string> names,
                                                   NodeUpdate update) const {
  if (names.empty()) co_return std::vector<Node>();
  MS_CO_CHECK(co_await check_version(update));
  std::string subject = fmt::format("{} nodes from {} on", names.size(), names.front());
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kUpdateNodes, to_json(update, names), std::move(subject))));
  MS_CO_TRY(std::vector<Node> all, co_await get_many(std::move(names)));
  std::vector<std::string> others;
  std::string first;
  for (const Node& is : all) {
    const std::string other = difference(update, is);
    if (other.empty()) continue;
    if (others.empty()) first = other;
    others.push_back(is.name.str());
  }
  if (others.empty()) co_return all;
  MS_CO_TRY(const std::string hosts, compress_hostlist(others));
  co_return fail(not_done("nodes " + hosts, fmt::format("of {}, {}", others.front(), first)));
}

Task<Result<Node>> Nodes::drain(std::string name, std::string reason) const {
  NodeUpdate change;
  change.state = Flag::kDrain;
  change.reason = std::move(reason);
  co_return co_await update(std::move(name), std::move(change));
}

Task<Result<Node>> Nodes::undrain(std::string name) const {
  NodeUpdate change;
  change.state = Flag::kUndrain;
  co_return co_await update(std::move(name), std::move(change));
}

Task<Result<Node>> Nodes::resume(std::string name) const {
  NodeUpdate change;
  change.state = Flag::kResume;
  auto resumed = co_await update(name, std::move(change));
  if (resumed) co_return resumed;
  // Before 25.05 an invalid transition is an invalid state.
  const bool refused = refused_with(resumed.error(), Errno::kInvalidNodeTransition) ||
                       refused_with(resumed.error(), Errno::kInvalidNodeState);
  if (!refused) co_return resumed;
  MS_CO_TRY(Node is, co_await get(std::move(name)));
  if (!reached(Flag::kResume, is.state)) co_return resumed;
  co_return is;
}

Task<Result<Node>> Nodes::down(std::string name, std::string reason) const {
  NodeUpdate change;
  change.state = NodeState(NodeState::Base::kDown);
  change.reason = std::move(reason);
  co_return co_await update(std::move(name), std::move(change));
}

Task<Result<std::vector<Node>>> Nodes::create(NodeSpec spec) const {
  MS_CO_TRY(const json::Value body, to_json(spec));
  MS_CO_TRY(const std::vector<std::string> names, expand_hostlist(spec.name));
  MS_CO_CHECK(
      co_await calls_.send(calls_.with_body(Endpoint::kCreateNode, body, subject_of(spec.name))));
  std::vector<Node> made;
  if (spec.kind == NodeSpec::Kind::kFuture) co_return made;
  for (const std::string& name : names) {
    auto node = co_await get(name);
    if (!node && node.error().code() == Code::kNotFound) {
      co_return fail(not_done(subject_of(name), "there is none"));
    }
    MS_CO_CHECK(node);
    made.push_back(*std::move(node));
  }
  co_return made;
}

Task<Result<void>> Nodes::remove(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.send(
      calls_.make(Endpoint::kDeleteNode, {std::move(name)}, std::move(subject)));
}

}  // namespace mainspring::slurm
