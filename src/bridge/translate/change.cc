#include "bridge/translate/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "bridge/translate/ownership.h"

namespace mainspring::bridge {
namespace {

using slurm::JobRequest;
using slurm::Number;

bool is_set(const std::optional<std::string>& value) { return value.has_value(); }
bool is_set(const std::optional<std::int32_t>& value) { return value.has_value(); }
bool is_set(const Number& value) { return value.set() || value.is_infinite(); }

std::set<std::string_view> names_in(std::string_view list) {
  const auto names = split(list, ',');
  return {names.begin(), names.end()};
}

// slurmctld makes one number of both.
bool has_cpus(const slurm::Job& job, std::optional<std::int32_t> each) {
  const std::int64_t tasks = job.tasks.value_or(0);
  return each && tasks > 0 && job.cpus == Number(*each * tasks);
}

// Whether both comments are of the same pods, whatever the job was asked for with.
bool are_of_same_pods(std::string_view a, std::string_view b) {
  const auto pods_of = [](std::string_view comment) {
    auto owners = parse_admin_comment(comment);
    if (!owners) return std::string(comment);
    owners->asked.clear();
    return to_admin_comment(*owners);
  };
  return a == b || pods_of(a) == pods_of(b);
}

// What is wanted and the record shows was asked for. What is not wanted is not looked at: slurmctld
// fills in much by itself (default account and QOS, a priority that it has computed), which no
// update would take away. But a reservation, features and nodes that are left out come from us.
// What the record does not show is taken to be as it is wanted, where it cannot be changed, and to
// be unknown, where it can.
JobRequest as_recorded(const slurm::Job& job, const JobRequest& wanted) {
  JobRequest had;
  const auto take = [&](auto member, bool is_shown) {
    if (is_shown) had.*member = wanted.*member;
  };
  using J = JobRequest;
  take(&J::name, wanted.name == job.name.view());
  take(&J::account, wanted.account == job.account.view());
  take(&J::partition, names_in(wanted.partition.value_or("")) == names_in(job.partition));
  take(&J::qos, wanted.qos == job.qos.view());
  take(&J::admin_comment,
       are_of_same_pods(wanted.admin_comment.value_or(""), job.admin_comment.view()));
  take(&J::time_limit, wanted.time_limit == job.time_limit);
  take(&J::priority, wanted.priority == job.priority);
  take(&J::memory_per_node, wanted.memory_per_node == job.memory_per_node);
  take(&J::cpus_per_task, has_cpus(job, wanted.cpus_per_task));
  take(&J::tres_per_node, gres_in(wanted.tres_per_node.value_or("")) == gres_in(job.tres_per_node));
  // Of one that waits slurmctld shows a guess, and not how many there may be at most. Where that is
  // another number, the job is for other pods, too.
  const std::int64_t guess = job.node_count.value_or(0);
  if (had.admin_comment && guess >= wanted.minimum_nodes.value_or(1) &&
      guess <= wanted.maximum_nodes.value_or(1)) {
    had.nodes = wanted.nodes;
    had.minimum_nodes = wanted.minimum_nodes;
    had.maximum_nodes = wanted.maximum_nodes;
  }
  had.shared = wanted.shared;
  had.user_id = wanted.user_id;
  had.group_id = wanted.group_id;
  had.mcs_label = wanted.mcs_label;
  had.tasks_per_node = wanted.tasks_per_node;
  // 0: nobody has asked for a number.
  if (job.tasks_per_node.value_or(0) > 0) {
    had.tasks_per_node = static_cast<std::int32_t>(job.tasks_per_node.value_or(1));
  }
  if (!job.excluded_nodes.empty()) had.excluded_nodes = {job.excluded_nodes.str()};
  if (!job.reservation.empty()) had.reservation = job.reservation.str();
  if (!job.features.empty()) had.constraints = job.features.str();
  return had;
}

std::set<std::string> hosts_in(const std::vector<std::string>& lists) {
  std::set<std::string> hosts;
  for (const std::string& list : lists) {
    for (std::string& host : expand_hostlist(list).value_or(std::vector<std::string>{list})) {
      hosts.insert(std::move(host));
    }
  }
  return hosts;
}

class Differ {
 public:
  Differ(const JobRequest& had, const JobRequest& wanted) : had_(had), wanted_(wanted) {}

  // Slurm takes an empty one for none, or for what the job would have without it.
  template <auto Member>
  void clearable() {
    if (had_.*Member == wanted_.*Member) return;
    out_.update.*Member = (wanted_.*Member).value_or("");
  }
  template <auto Member>
  void changeable(std::string_view name) {
    if (had_.*Member == wanted_.*Member) return;
    if (is_set(wanted_.*Member)) {
      out_.update.*Member = wanted_.*Member;
    } else {
      ask_anew(name, "be taken back");
    }
  }
  template <auto Member>
  void fixed(std::string_view name) {
    if (had_.*Member != wanted_.*Member) ask_anew(name, "be changed");
  }

  // That a node which is left out was deleted is no change, and as an update would be refused.
  void excluded_nodes(const HasNode& has_node) {
    std::set<std::string> had = hosts_in(had_.excluded_nodes);
    std::erase_if(had, [&](const std::string& host) { return !has_node(host); });
    if (had == hosts_in(wanted_.excluded_nodes)) return;
    out_.update.excluded_nodes = wanted_.excluded_nodes;
    if (wanted_.excluded_nodes.empty()) out_.update.excluded_nodes = {""};
  }
  // Slurm holds each against the others.
  void node_counts() {
    if (had_.nodes == wanted_.nodes && had_.minimum_nodes == wanted_.minimum_nodes &&
        had_.maximum_nodes == wanted_.maximum_nodes) {
      return;
    }
    out_.update.nodes = wanted_.nodes;
    out_.update.minimum_nodes = wanted_.minimum_nodes;
    out_.update.maximum_nodes = wanted_.maximum_nodes;
  }

  JobChange take() && { return std::move(out_); }

 private:
  void ask_anew(std::string_view name, std::string_view what) {
    if (out_.anew.empty()) out_.anew = fmt::format("the {} of a job cannot {}", name, what);
  }

  const JobRequest& had_;
  const JobRequest& wanted_;
  JobChange out_;
};

}  // namespace

std::vector<std::string> gres_in(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view part : split(text, ',')) {
    std::string one(part);
    std::replace(one.begin(), one.end(), '=', ':');
    if (one.starts_with("gres/") || one.starts_with("gres:")) one.erase(0, 5);
    if (!one.empty()) out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string asked_text(std::span<const JobRequest> parts) {
  std::string all;
  for (JobRequest part : parts) {
    part.admin_comment.reset();
    part.excluded_nodes.clear();
    part.nodes.reset();
    part.minimum_nodes.reset();
    part.maximum_nodes.reset();
    all += json::to_text(slurm::to_json(part)) + '\n';
  }
  return fmt::format("{:08x}", fnv1a_32(all));
}

JobRequest as_asked(const slurm::Job& job, const JobRequest& wanted) {
  JobRequest had = wanted;
  const JobRequest shown = as_recorded(job, wanted);
  had.admin_comment = shown.admin_comment;
  had.excluded_nodes = shown.excluded_nodes;
  had.nodes = shown.nodes;
  had.minimum_nodes = shown.minimum_nodes;
  had.maximum_nodes = shown.maximum_nodes;
  return had;
}

JobChange change_of(const slurm::Job& job, const std::optional<JobRequest>& had,
                    const JobRequest& wanted, const HasNode& has_node) {
  const JobRequest before = had ? *had : as_recorded(job, wanted);
  using J = JobRequest;
  Differ differ(before, wanted);
  differ.fixed<&J::user_id>("user");
  differ.fixed<&J::group_id>("group");
  differ.fixed<&J::shared>("exclusiveness");
  differ.fixed<&J::tasks_per_node>("number of pods on a node");
  differ.fixed<&J::mcs_label>("MCS label");
  differ.clearable<&J::qos>();
  differ.clearable<&J::reservation>();
  differ.clearable<&J::constraints>();
  differ.changeable<&J::name>("name");
  differ.changeable<&J::account>("account");
  differ.changeable<&J::partition>("partition");
  differ.changeable<&J::wckey>("wckey");
  differ.changeable<&J::licenses>("licenses");
  differ.changeable<&J::time_limit>("time limit");
  differ.changeable<&J::cpus_per_task>("CPUs");
  differ.changeable<&J::memory_per_node>("memory");
  differ.changeable<&J::tres_per_node>("devices");
  differ.changeable<&J::admin_comment>("comment");
  // Of one that is held Slurm would say that it is held; its priority is the hold itself.
  if (!job.hold) differ.changeable<&J::priority>("priority");
  differ.excluded_nodes(has_node);
  differ.node_counts();
  JobChange change = std::move(differ).take();
  // What it is asked for with now, but never for its own sake: that would be a call for every job.
  if (!had && change.update != JobRequest()) change.update.admin_comment = wanted.admin_comment;
  return change;
}

}  // namespace mainspring::bridge
