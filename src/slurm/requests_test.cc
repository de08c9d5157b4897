// slurm/requests_test.cc
//
// Requests as they were sent to a real Slurm, made again from our types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "slurm/accounting_request.h"
#include "slurm/admin_request.h"
#include "slurm/job_request.h"
#include "slurm/node_request.h"

namespace mainspring::slurm {
namespace {

using json::Value;
using testing::HasSubstr;

Value recorded(std::string_view name) {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm/rest/requests.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto all = json::parse(text);
  const Value* body = all ? all->find(name) : nullptr;
  EXPECT_NE(body, nullptr) << name;
  return body == nullptr ? Value() : *body;
}

void expect_sent(std::string_view name, const Value& made) {
  EXPECT_TRUE(made == recorded(name)) << name << ": " << json::to_text(made);
}

JobRequest external(std::string name) {
  return {.name = std::move(name), .partition = "all", .flags = {std::string(kExternalJobFlag)}};
}

TEST(Requests, SubmitABatchJob) {
  JobRequest job{.name = "b1", .partition = "compute"};
  job.current_working_directory = "/tmp";
  job.environment = {"PATH=/bin:/usr/bin"};
  job.user_id = "alice";
  job.memory_per_node = 100;
  job.script = "#!/bin/bash\nhostname; sleep 2";
  expect_sent("job_submit_batch", to_submission(job));
}

TEST(Requests, SubmitExternalJobs) {
  JobRequest job = external("pod-a");
  job.nodes = "1";
  job.tasks = 1;
  job.cpus_per_task = 4;
  job.memory_per_node = 4096;
  job.required_nodes = {"ext1"};
  job.admin_comment = R"({"pods":["ns/pod-a"]})";
  job.user_id = job.group_id = "2001";
  job.current_working_directory = "/tmp";
  expect_sent("job_submit_external", to_submission(job));

  JobRequest gang = external("podgroup");
  gang.nodes = "3";
  gang.tasks_per_node = 1;
  gang.cpus_per_task = 4;
  gang.memory_per_node = 4096;
  gang.constraints = "k8s";
  gang.user_id = gang.group_id = "2001";
  gang.current_working_directory = "/tmp";
  gang.time_limit = 1;
  gang.admin_comment = "x";
  expect_sent("job_submit_external_multi", to_submission(gang));

  JobRequest held = external("held");
  held.nodes = "1";
  held.cpus_per_task = 2;
  held.memory_per_node = 1000;
  held.hold = true;
  held.user_id = held.group_id = "2001";
  held.current_working_directory = "/tmp";
  expect_sent("job_submit_external_hold", to_submission(held));
}

TEST(Requests, AllocateAtOnce) {
  JobRequest job = external("al");
  job.immediate = true;
  job.nodes = "999";
  job.shared = {"none"};
  job.current_working_directory = "/tmp";
  expect_sent("alloc_ext_imm", to_submission(job));
}

TEST(Requests, SubmitAHetJob) {
  JobRequest leader{.name = "h0", .partition = "compute", .nodes = "1"};
  leader.memory_per_node = 100;
  leader.user_id = "alice";
  leader.current_working_directory = "/tmp";
  leader.environment = {"PATH=/bin:/usr/bin"};
  leader.script = "#!/bin/sh\nsleep 5";
  JobRequest part = external("h1");
  part.constraints = "k8s";
  part.nodes = "2";
  part.cpus_per_task = 4;
  part.memory_per_node = 100;
  part.user_id = "alice";
  const std::vector<JobRequest> parts = {leader, part};
  expect_sent("het_mixed", to_submission(std::span<const JobRequest>(parts)));
}

TEST(Requests, ChangeAJobByWhatWasSetOnly) {
  JobRequest change{.comment = "c2", .admin_comment = "updated"};
  change.required_nodes = {"e4"};
  change.priority = 1000;
  change.time_limit = 60;
  expect_sent("job_update", to_json(change));
  expect_sent("job_update2", to_json(JobRequest{.hold = false}));
  EXPECT_TRUE(to_json(JobRequest()).empty());
}

TEST(Requests, CancelMany) {
  expect_sent("jobs_bulk_delete", to_json(JobSelection{.jobs = {"8", "14"}}));
  EXPECT_FALSE(JobSelection{.signal = "KILL"}.selects());
  EXPECT_TRUE(JobSelection{.job_state = JobState(JobState::Base::kPending)}.selects());
}

TEST(Requests, ChangeNodes) {
  expect_sent("node_drain", to_json(NodeUpdate{.state = NodeState::Flag::kDrain,
                                               .reason = "k8s: cordoned",
                                               .comment = "hello",
                                               .extra = R"({"x":1})"}));
  // Slurm takes a plain number where it shows an object; we send the object.
  Value features = recorded("node_features");
  features.set("weight", to_json(Number(5)));
  NodeUpdate update;
  update.features = update.active_features = std::vector<std::string>{"compute", "gpuish"};
  update.weight = 5;
  EXPECT_TRUE(to_json(update) == features);
  expect_sent("node_topo", to_json(NodeUpdate{.topology = "default:s1"}));
  expect_sent("nodes_bulk", to_json(NodeUpdate{.comment = "bulk"}, {"node2", "node3"}));
}

TEST(Requests, MakeNodes) {
  NodeSpec gpus{.name = "ext5", .address = "127.0.0.5"};
  gpus.cpus = 32;
  gpus.sockets = 1;
  gpus.cores_per_socket = 16;
  gpus.threads_per_core = 2;
  gpus.real_memory = 128000;
  gpus.features = {"k8s", "ext"};
  gpus.gres = "gpu:h100:8";
  gpus.gres_conf = "count=8,name=gpu,type=h100,file=/dev/nvidia[0-7]";
  expect_sent("newnode_external_addr", to_json(gpus).value());

  NodeSpec topology{.name = "t1", .address = "127.0.2.1"};
  topology.cpus = 4;
  topology.real_memory = 1000;
  topology.topology = "topo-switch:s1,topo-block:b1";
  expect_sent("newnode_topo", to_json(topology).value());

  NodeSpec cloud{.name = "cl1", .kind = NodeSpec::Kind::kCloud};
  cloud.cpus = 16;
  cloud.real_memory = 64000;
  expect_sent("newnode_cloud", to_json(cloud).value());
}

TEST(Requests, ANodesValuesCannotBeginAnother) {
  const auto refused = [](NodeSpec spec, const char* field) {
    const auto conf = node_conf(spec);
    EXPECT_FALSE(conf) << field;
    if (!conf) EXPECT_THAT(conf.error().message(), HasSubstr(field));
  };
  refused({.name = "n1", .address = "127.0.0.1 State=DOWN"}, "NodeAddr");
  refused({.name = "n1", .address = "127.0.0.1\nNodeName=n2"}, "NodeAddr");
  refused({.name = "n1", .features = {"a b"}}, "Feature");
  refused({.name = "n1", .features = {"a#"}}, "Feature");
  refused({.name = "n1", .gres = "gpu:1\" State=\"DOWN"}, "Gres");
  refused({.name = "n1", .topology = "t:s=1"}, "Topology");
  refused({.name = "n1\\"}, "NodeName");
  refused({.name = ""}, "NodeName");
  refused({.name = "n[1-2]", .gres_conf = "count=1,name=gpu"}, "NodeName");
  NodeSpec negative{.name = "n1"};
  negative.cpus = -1;
  refused(negative, "CPUs");
}

TEST(Requests, PartitionsAndReservations) {
  const std::vector<PartitionSpec> partitions = {
      {.name = "p1", .nodes = "e[1-2]", .max_time = 120}};
  expect_sent("part_create", to_json(std::span<const PartitionSpec>(partitions)));
  ReservationSpec reservation{.name = "r1", .nodes = {"e4"}, .users = {"alice"}};
  reservation.flags = {"IGNORE_JOBS"};
  reservation.start_time = 1794771045;
  reservation.duration = 60;
  expect_sent("resv_create", to_json(reservation));
}

template <class Spec>
Value list(const std::vector<Spec>& specs) {
  return to_json(std::span<const Spec>(specs));
}

TEST(Requests, Accounting) {
  expect_sent(
      "acct_create",
      list<AccountSpec>({{.name = "phys", .description = "physics", .organization = "uni"}}));
  expect_sent("user_create", list<UserSpec>({{.name = "bob", .default_account = "phys"}}));
  expect_sent("assoc_create",
              list<AssociationSpec>({{.account = "phys", .cluster = "cluster_a_sid"},
                                     {.account = "phys",
                                      .cluster = "cluster_a_sid",
                                      .user = "bob",
                                      .qos = {"normal", "high"},
                                      .shares_raw = 3}}));
  expect_sent("qos_create",
              list<QosSpec>({{.name = "high", .description = "hi", .priority = 100}}));
  expect_sent("acct_assoc_create", to_json(AccountAssociation{.accounts = {"chem"},
                                                              .clusters = {"cluster_a_sid"},
                                                              .description = "chem",
                                                              .organization = "uni",
                                                              .fairshare = 10}));
  expect_sent("users_assoc_create", to_json(UserAssociation{.users = {"alice"},
                                                            .accounts = {"chem"},
                                                            .clusters = {"cluster_a_sid"},
                                                            .administrator_level = {"None"},
                                                            .fairshare = 5}));
  expect_sent("job_admin_comment_db", to_json(DbJobUpdate{.admin_comment = "from db"}));
}

}  // namespace
}  // namespace mainspring::slurm
