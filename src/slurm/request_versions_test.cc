// Every member that a request of ours can have is in the OpenAPI documents of every version that
// has the call, but for those that versions.cc knows as a Feature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "slurm/accounting_request.h"
#include "slurm/admin_request.h"
#include "slurm/job_request.h"
#include "slurm/job_written.h"
#include "slurm/node_request.h"
#include "slurm/openapi_testing.h"

namespace mainspring::slurm {
namespace {

using json::Value;

// What stands in `body` and not in the schema.
void collect_unknown(const OpenApi& openapi, const Value* schema, const Value& body,
                     const std::string& path, std::set<std::string>& out) {
  if (body.is_array()) {
    const Value* items = openapi.at(schema, "[]");
    for (const Value& item : body) collect_unknown(openapi, items, item, path + "[]", out);
    return;
  }
  if (!body.is_object()) return;
  for (const auto [key, value] : body.members()) {
    const std::string here = path.empty() ? std::string(key) : path + "." + std::string(key);
    const Value* known = openapi.at(schema, key);
    if (known == nullptr) {
      out.insert(here);
    } else {
      collect_unknown(openapi, known, value, here, out);
    }
  }
}

JobRequest whole_job() {
  JobRequest job;
  for (auto* text : {&job.name,           &job.account,
                     &job.partition,      &job.qos,
                     &job.wckey,          &job.reservation,
                     &job.licenses,       &job.comment,
                     &job.admin_comment,  &job.extra,
                     &job.dependency,     &job.array,
                     &job.nodes,          &job.tres_per_job,
                     &job.tres_per_node,  &job.tres_per_socket,
                     &job.tres_per_task,  &job.constraints,
                     &job.prefer,         &job.user_id,
                     &job.group_id,       &job.current_working_directory,
                     &job.standard_input, &job.standard_output,
                     &job.standard_error, &job.mail_user,
                     &job.mcs_label,      &job.script}) {
    *text = "1";
  }
  for (auto* number :
       {&job.minimum_nodes, &job.maximum_nodes, &job.tasks, &job.tasks_per_node, &job.cpus_per_task,
        &job.minimum_cpus, &job.threads_per_core, &job.nice, &job.priority_site_factor}) {
    *number = 1;
  }
  for (auto* number : {&job.memory_per_node, &job.memory_per_cpu, &job.time_limit,
                       &job.time_minimum, &job.priority, &job.begin_time, &job.required_switches}) {
    *number = 1;
  }
  for (auto* list :
       {&job.required_nodes, &job.excluded_nodes, &job.flags, &job.shared, &job.environment}) {
    *list = {"1"};
  }
  for (auto* word :
       {&job.hold, &job.immediate, &job.requeue, &job.contiguous, &job.kill_on_node_fail}) {
    *word = true;
  }
  job.deadline = 1;
  return job;
}

NodeUpdate whole_node_update() {
  NodeUpdate update;
  update.state = NodeState::Flag::kDrain;
  for (auto* text : {&update.reason, &update.comment, &update.extra, &update.gres, &update.topology,
                     &update.address, &update.hostname}) {
    *text = "1";
  }
  update.features = update.active_features = std::vector<std::string>{"1"};
  update.weight = update.resume_after = 1;
  return update;
}

JobSelection whole_selection() {
  JobSelection which{.jobs = {"1"}, .nodes = {"1"}, .job_state = JobState::Base::kPending};
  for (auto* text : {&which.account, &which.job_name, &which.partition, &which.qos,
                     &which.reservation, &which.user_name, &which.wckey, &which.signal}) {
    *text = "1";
  }
  which.flags = {"1"};
  return which;
}

ReservationSpec whole_reservation() {
  ReservationSpec spec{.name = "1"};
  spec.nodes = spec.users = spec.accounts = spec.groups = spec.licenses = spec.flags = {"1"};
  spec.partition = spec.features = spec.comment = spec.burst_buffer = "1";
  for (auto* number : {&spec.start_time, &spec.end_time, &spec.duration, &spec.node_count,
                       &spec.core_count, &spec.max_start_delay, &spec.purge_after}) {
    *number = 1;
  }
  return spec;
}

template <class Spec>
Value list_of(const Spec& spec) {
  return to_json(std::span<const Spec>(&spec, 1));
}

struct Sent {
  std::string room, endpoint, method;
  Value body;
};

std::vector<Sent> accounting_requests() {
  const JobId job(1);
  const DbJobUpdate comment{.admin_comment = "1",
                            .comment = "1",
                            .system_comment = "1",
                            .extra = "1",
                            .derived_exit_code = 1};
  AssociationSpec association{.account = "1", .cluster = "1", .user = "1"};
  association.partition = association.parent_account = association.default_qos =
      association.comment = "1";
  association.qos = {"1"};
  association.shares_raw = 1;
  association.priority = association.max_jobs = association.max_submitted =
      association.max_wall_clock = 1;
  QosSpec qos{.name = "1", .description = "1"};
  qos.flags = qos.preempts = qos.preempt_mode = std::vector<std::string>{"1"};
  qos.priority = qos.max_jobs_per_user = qos.max_wall_clock_per_job = 1;
  const AccountAssociation accounts{.accounts = {"1"},
                                    .clusters = {"1"},
                                    .description = "1",
                                    .organization = "1",
                                    .parent = "1",
                                    .default_qos = "1",
                                    .qos = {"1"},
                                    .fairshare = 1};
  const UserAssociation users{.users = {"1"},
                              .accounts = {"1"},
                              .clusters = {"1"},
                              .partitions = {"1"},
                              .administrator_level = {"1"},
                              .qos = {"1"},
                              .default_account = "1",
                              .default_qos = "1",
                              .fairshare = 1};
  return {
      {"slurmdb", "accounts", "post",
       list_of(AccountSpec{.name = "1", .description = "1", .organization = "1"})},
      {"slurmdb", "users", "post",
       list_of(UserSpec{.name = "1",
                        .default_account = "1",
                        .default_wckey = "1",
                        .administrator_level = {"1"}})},
      {"slurmdb", "associations", "post", list_of(association)},
      {"slurmdb", "qos", "post", list_of(qos)},
      {"slurmdb", "wckeys", "post", list_of(WckeySpec{.name = "1", .cluster = "1", .user = "1"})},
      {"slurmdb", "clusters", "post", list_of(ClusterSpec{.name = "1"})},
      {"slurmdb", "tres", "post", list_of(TresSpec{.type = "1", .name = "1"})},
      {"slurmdb", "accounts_association", "post", to_json(accounts)},
      {"slurmdb", "users_association", "post", to_json(users)},
      {"slurmdb", "job/{job_id}", "post", to_json(comment)},
      {"slurmdb", "jobs", "post", to_json(comment, std::span(&job, 1))},
  };
}

std::vector<Sent> all_requests() {
  PartitionSpec partition{.name = "1", .nodes = "1"};
  JobRequest allocation = whole_job();
  allocation.script.reset();
  std::vector<Sent> all = {
      {"slurm", "job/submit", "post", to_submission(whole_job())},
      {"slurm", "job/allocate", "post", to_submission(allocation)},
      {"slurm", "job/{job_id}", "post", to_json(whole_job())},
      {"slurm", "jobs", "delete", to_json(whole_selection())},
      {"slurm", "node/{node_name}", "post", to_json(whole_node_update())},
      {"slurm", "nodes", "post", to_json(whole_node_update(), {"n1"})},
      {"slurm", "new/node", "post", to_json(NodeSpec{.name = "n1"}).value()},
      {"slurm", "partitions", "post", list_of(partition)},
      {"slurm", "reservation", "post", to_json(whole_reservation())},
      {"slurm", "reservations", "post", list_of(whole_reservation())},
  };
  for (Sent& each : accounting_requests()) all.push_back(std::move(each));
  return all;
}

TEST(RequestVersions, EveryMemberIsKnownToEveryVersionButWhatIsAFeature) {
  for (const auto& [name, document] : documents()) {
    SCOPED_TRACE(name);
    const OpenApi openapi(document.first, document.second);
    for (const Sent& sent : all_requests()) {
      SCOPED_TRACE(sent.room + " " + sent.endpoint);
      const Value* schema = openapi.request(sent.room, sent.endpoint, sent.method);
      if (schema == nullptr) {
        // The call is missing, which versions.cc knows; the newest version has all.
        EXPECT_NE(document.second, Version::k45);
        continue;
      }
      std::set<std::string> unknown;
      collect_unknown(openapi, schema, sent.body, "", unknown);
      const bool is_node = sent.endpoint == "node/{node_name}" || sent.endpoint == "nodes";
      if (is_node && !require(document.second, Feature::kNodeTopology)) {
        EXPECT_THAT(unknown, ::testing::ElementsAre("topology_str"));
      } else {
        EXPECT_THAT(unknown, ::testing::IsEmpty());
      }
    }
  }
}

TEST(RequestVersions, EveryMemberOfAnUpdateHasItsLineAmongThoseThatAreReadAgain) {
  std::set<std::string> sent, lines;
  const Value body = to_json(whole_job());
  for (const auto [key, value] : body.members()) sent.emplace(key);
  for (const JobMember& member : job_members()) {
    EXPECT_TRUE(lines.emplace(member.sent).second) << member.sent << " has two";
    EXPECT_TRUE(member.how == Compared::kNever || !member.shown.empty()) << member.sent;
  }
  EXPECT_EQ(sent, lines);
  for (const auto& [name, document] : documents()) {
    SCOPED_TRACE(name);
    const OpenApi openapi(document.first, document.second);
    const Value* record = openapi.answer("slurm", "job/{job_id}", "jobs[]");
    for (const JobMember& member : job_members()) {
      if (member.shown.empty()) continue;
      EXPECT_NE(openapi.at(record, member.shown), nullptr) << member.shown;
    }
  }
}

}  // namespace
}  // namespace mainspring::slurm
