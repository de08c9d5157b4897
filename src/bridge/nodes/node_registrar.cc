#include "bridge/nodes/node_registrar.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "net/task_group.h"
#include "net/wait.h"
#include "slurm/calls.h"

namespace mainspring::bridge {
namespace {

// Long enough for those that come together, too short for anybody to notice.
constexpr Duration kGather = milliseconds(20);
constexpr std::size_t kMost = 100;

// The same for nodes that one call can make; "" for one that needs a call of its own.
std::string likeness(slurm::NodeSpec spec, const std::string& comment) {
  if (!spec.gres_conf.empty() || !spec.hostname.empty()) return {};
  spec.name = "x";
  spec.address.clear();
  return slurm::node_conf(spec).value_or("") + '\n' + comment;
}

}  // namespace

Task<Result<void>> NodeRegistrar::add(slurm::NodeSpec spec, std::string comment) {
  const net::OneShot<net::Unit> done;
  waiting_.push_back({std::move(spec), std::move(comment), done});
  added_.notify_all();
  MS_CO_CHECK(co_await done.wait());
  co_return Result<void>();
}

Task<Result<void>> NodeRegistrar::run() {
  const net::Context context = co_await net::current_context();
  for (;;) {
    Result<void> woken;
    if (waiting_.empty()) woken = co_await added_.wait();
    if (woken) woken = co_await net::sleep(kGather);
    if (!woken) break;
    // While these are on their way, others come together.
    net::TaskGroup sending(*context.executor, context.scope);
    for (Group& alike : group(std::exchange(waiting_, {}))) sending.spawn(send(std::move(alike)));
    static_cast<void>(co_await sending.join());  // Each of those who wait has been told.
  }
  const Error why(Code::kCancelled, "no more nodes are made: the bridge stops");
  for (const Entry& entry : std::exchange(waiting_, {})) entry.done.set(fail(why));
  co_return fail(why);
}

std::vector<NodeRegistrar::Group> NodeRegistrar::group(std::vector<Entry> entries) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> open;  // Which of them has room.
  for (Entry& entry : entries) {
    const std::string alike = likeness(entry.spec, entry.comment);
    auto [it, is_new] = open.try_emplace(alike, groups.size());
    if (is_new || alike.empty() || groups[it->second].size() == kMost) {
      it->second = groups.size();
      groups.emplace_back();
    }
    groups[it->second].push_back(std::move(entry));
  }
  return groups;
}

Task<Result<void>> NodeRegistrar::send(Group group) {
  const Result<void> made = co_await make(&group);
  // Slurm makes all of them or none; one that is refused must not keep the others out.
  if (!made && group.size() > 1 && !made.error().retryable()) {
    for (Entry& entry : group) MS_CO_CHECK(co_await send({std::move(entry)}));
    co_return Result<void>();
  }
  for (const Entry& entry : group) {
    entry.done.set(made ? Result<net::Unit>(net::Unit{}) : Result<net::Unit>(fail(made.error())));
  }
  co_return Result<void>();
}

// Not by slurm::Nodes, which would read every node again: the cache does that for all of them.
Task<Result<void>> NodeRegistrar::make(const Group* group) {
  slurm::NodeSpec all = group->front().spec;
  std::vector<std::string> names{all.name};
  for (std::size_t i = 1; i < group->size(); ++i) {
    const slurm::NodeSpec& other = (*group)[i].spec;
    all.name += ',' + other.name;
    all.address += ',' + other.address;
    names.push_back(other.name);
  }
  const slurm::Calls calls(client_, {});
  const std::string subject = names.size() == 1
                                  ? "node " + names.front()
                                  : fmt::format("{} nodes from {} on", names.size(), names.front());
  MS_CO_TRY(const json::Value definition, slurm::to_json(all));
  MS_CO_CHECK(
      co_await calls.send(calls.with_body(slurm::Endpoint::kCreateNode, definition, subject)));
  slurm::NodeUpdate mark;
  mark.comment = group->front().comment;
  co_return co_await calls.send(
      calls.with_body(slurm::Endpoint::kUpdateNodes, slurm::to_json(mark, names), subject));
}

}  // namespace mainspring::bridge
