// slurm/records_test.cc
//
// Answers recorded from Slurm 26.05 and 24.11 become the facts that they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "slurm/accounting.h"
#include "slurm/job.h"
#include "slurm/job_pulse.h"
#include "slurm/node.h"
#include "slurm/partition.h"
#include "slurm/reservation.h"
#include "slurm/resources.h"
#include "slurm/tres.h"

namespace mainspring::slurm {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::string recorded(const std::string& name) {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm/rest/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The records at `path` of a recorded answer: a list, or one object.
template <class T>
std::vector<T> records(const std::string& name, std::string_view pointer) {
  const auto parsed = json::parse(recorded(name));
  EXPECT_TRUE(parsed) << name;
  const json::Value* found = parsed ? parsed->at_pointer(pointer) : nullptr;
  EXPECT_NE(found, nullptr) << name << pointer;
  std::vector<T> out;
  if (found == nullptr) return out;
  json::Reader reader;
  reader.open(json::to_text(*found));
  if (found->is_array()) {
    read(reader, out);
  } else {
    read(reader, out.emplace_back());
  }
  const auto done = reader.finish();
  EXPECT_TRUE(done) << name << ": " << (done ? "" : done.error().message());
  return out;
}

TEST(Records, NodesOfSlurm2605) {
  const auto nodes = records<Node>("nodes", "/nodes");
  ASSERT_THAT(nodes, SizeIs(4));
  const Node& node = nodes[0];
  EXPECT_EQ(node.name, "node1");
  EXPECT_EQ(node.key(), (KeyView{"", "node1"}));
  EXPECT_EQ(node.address, "127.0.0.1");
  EXPECT_TRUE(node.state.is_idle() && node.state.is_dynamic() && !node.state.is_external());
  EXPECT_THAT(node.partitions, ElementsAre("all", "compute"));
  EXPECT_EQ(node.cpus, 8);
  EXPECT_EQ(node.real_memory, 16000);
  EXPECT_EQ(Tres::parse(node.tres).value().count("mem"), 16000);
  EXPECT_EQ(node.version, "26.05.5");

  const Node& unreachable = nodes[2];
  EXPECT_EQ(unreachable.name, "e4");
  EXPECT_TRUE(unreachable.state.is_external());
  EXPECT_FALSE(unreachable.state.can_take_jobs());
  const Node& gpus = nodes[3];
  EXPECT_EQ(gpus.name, "ext5");
  EXPECT_EQ(parse_gres(gpus.gres).value().at(0).count, 8);
  EXPECT_EQ(parse_gres(gpus.gres_used).value().at(0).count, 2);
  EXPECT_EQ(gpus.alloc_cpus, 4);
  EXPECT_NE(nodes[0], nodes[1]);
  EXPECT_EQ(nodes[0], Node(nodes[0]));
}

TEST(Records, ADrainedNodeSaysWhyAndSinceWhen) {
  const Node node = records<Node>("node_drained", "/nodes").at(0);
  EXPECT_TRUE(node.state.is_drained());
  EXPECT_EQ(node.reason, "k8s: cordoned");
  EXPECT_EQ(node.comment, "hello");
  EXPECT_EQ(node.extra, R"({"x":1})");
  EXPECT_EQ(node.reason_user, "slurm");
  EXPECT_GT(node.reason_changed_at.value_or(0), 1'700'000'000);
}

TEST(Records, NodesOfSlurm2411) {
  const Node node = records<Node>("nodes_24.11", "/nodes").at(0);
  EXPECT_EQ(node.name, "node1");
  EXPECT_TRUE(node.state.is_idle());
  EXPECT_EQ(node.topology, "");
}

TEST(Records, Jobs) {
  const auto jobs = records<Job>("jobs", "/jobs");
  ASSERT_THAT(jobs, SizeIs(5));
  EXPECT_EQ(jobs[1].id, JobId(4));
  EXPECT_EQ(jobs[1].state.ending(), JobState::Ending::kCluster);
  EXPECT_EQ(jobs[1].exit_code, Number());
  EXPECT_EQ(jobs[1].exit_signal, Number(1));
  // The parts of a het job know their leader and each other.
  EXPECT_EQ(jobs[3].id, JobId(9));
  EXPECT_EQ(jobs[3].het_job_id, Number(8));
  EXPECT_EQ(jobs[3].het_job_offset(), Number(1));
  EXPECT_EQ(jobs[3].het_job_ids, "8-9");
  EXPECT_EQ(jobs[4].het_job_offset(), Number());
}

TEST(Records, AJobWithGpus) {
  const Job job = records<Job>("job_gpu", "/jobs").at(0);
  EXPECT_EQ(job.key(), (KeyView{"", "2"}));
  EXPECT_TRUE(job.state.is_running());
  EXPECT_TRUE(job.is_external());
  EXPECT_EQ(job.name, "pod-b");
  EXPECT_EQ(job.nodes, "ext5");
  EXPECT_EQ(job.required_nodes, "ext5");
  EXPECT_THAT(job.gres_detail, ElementsAre("gpu:h100:2(IDX:0-1)"));
  EXPECT_EQ(Tres::parse(job.tres_allocated).value().gres("gpu"), 2);
  EXPECT_EQ(job.tres_per_node, "gres/gpu:2");
  EXPECT_TRUE(job.time_limit.is_infinite());
  EXPECT_EQ(job.memory_per_node, Number(4096));
  EXPECT_FALSE(job.memory_per_cpu.set());
  EXPECT_EQ(job.user_id, 2001);
  EXPECT_EQ(job.user_name, "alice");
  EXPECT_EQ(job.reason, "None");
  EXPECT_EQ(job.start_time, Number(1794770901));
}

TEST(Records, ThePulseHasTheIdOfTheRecord) {
  const auto pulses = records<JobPulse>("jobs_state", "/jobs");
  ASSERT_THAT(pulses, SizeIs(13));
  const auto jobs = records<Job>("jobs", "/jobs");
  std::size_t found = 0;
  for (const JobPulse& pulse : pulses) {
    for (const Job& job : jobs) {
      if (job.id != pulse.id) continue;
      ++found;
      EXPECT_EQ(job.state, pulse.state) << job.id.text();
      EXPECT_EQ(job.het_job_offset().set(), pulse.is_het_part) << job.id.text();
    }
  }
  EXPECT_EQ(found, jobs.size());
}

TEST(Records, ThePulseOfArrays) {
  json::Reader reader;
  reader.open(R"([{"job_id":"21_3","state":["RUNNING"]},{"job_id":"20_4","state":["PENDING"]},
                  {"job_id":7,"state":["PENDING"]}])");
  std::vector<JobPulse> pulses;
  read(reader, pulses);
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(pulses[0].id, JobId(21));
  EXPECT_EQ(pulses[0].array_task, Number(3));
  EXPECT_TRUE(pulses[1].is_array);
  EXPECT_EQ(pulses[2].id, JobId(7));
  EXPECT_FALSE(json::decode<JobPulse>(reader, R"({"job_id":"x","state":[]})"));
}

TEST(Records, Partitions) {
  const auto partitions = records<Partition>("partitions", "/partitions");
  const Partition& all = partitions.at(0);
  EXPECT_EQ(all.name, "all");
  EXPECT_EQ(all.state, PartitionState::kUp);
  EXPECT_TRUE(all.is_default() && all.takes_jobs() && all.starts_jobs());
  EXPECT_EQ(all.nodes, "node[1-3]");
  EXPECT_EQ(all.node_sets, "ALL");
  EXPECT_EQ(all.node_count, 3);
  EXPECT_EQ(all.cpus, 24);
  EXPECT_TRUE(all.max_time.is_infinite());
  EXPECT_FALSE(all.default_time.set());
  EXPECT_EQ(all.priority_tier, 1);
  EXPECT_FALSE(partitions.at(1).is_default());
}

TEST(Records, Reservations) {
  const Reservation reservation = records<Reservation>("reservations", "/reservations").at(0);
  EXPECT_EQ(reservation.name, "r1");
  EXPECT_EQ(reservation.nodes, "e4");
  EXPECT_EQ(reservation.users, "alice");
  EXPECT_THAT(reservation.flags, ElementsAre("IGNORE_JOBS", "SPEC_NODES"));
  EXPECT_FALSE(reservation.is_active_at(1794771044));
  EXPECT_TRUE(reservation.is_active_at(1794771045));
  EXPECT_FALSE(reservation.is_active_at(1794774645));
}

TEST(Records, WhatAJobWasGiven) {
  const auto given = records<NodeAllocation>("resources", "/nodes");
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].node, "ext5");
  EXPECT_EQ(given[0].mem_alloc, 4096);
  EXPECT_THAT(parse_core_bitmap(given[0].core_bitmap).value(), ElementsAre(0, 1));
  EXPECT_THAT(given[0].gres, ElementsAre(GresAllocation{
                                 .name = "gpu", .type = "h100", .index = "0-1", .count = 2}));
}

TEST(Records, WhatTheControllerSaysOfItself) {
  for (const std::string name : {"ping", "ping_24.11"}) {
    const Ping ping = records<Ping>(name, "/pings").at(0);
    EXPECT_TRUE(ping.responding && ping.primary) << name;
    EXPECT_GT(ping.latency, 0) << name;
  }
  const Diag diag = records<Diag>("diag", "/statistics").at(0);
  EXPECT_EQ(diag.server_thread_count, 1);
  EXPECT_EQ(diag.now, Number(1794770807));
  EXPECT_EQ(diag.rpcs_by_type.at(0).name, "REQUEST_PING");
  EXPECT_EQ(diag.rpcs_by_type.at(0).count, 3);
  EXPECT_EQ(diag.rpcs_by_user.at(0).name, "root");
  EXPECT_TRUE(records<Diag>("diag_24.11", "/statistics").at(0).since.set());
  EXPECT_EQ(records<License>("licenses", "/licenses").at(1).free, 10);
  const auto shares = records<Share>("shares", "/shares/shares");
  EXPECT_EQ(shares.at(1).parent, "root");
  EXPECT_DOUBLE_EQ(shares.at(1).shares_normalized.value(), 1.0 / 11);
  EXPECT_EQ(shares.at(1).shares, Number(1));
  EXPECT_FALSE(shares.at(0).usage_normalized);
  const ClusterConf conf = records<ClusterConf>("conf", "/slurm_conf").at(0);
  EXPECT_EQ(conf.cluster_name, "cluster_a_sid");
  EXPECT_EQ(conf.min_job_age, 300);
  EXPECT_THAT(conf.gres_types, ElementsAre("gpu"));
}

TEST(Records, WhatAccountingKeeps) {
  const auto associations = records<Association>("db_associations", "/associations");
  EXPECT_EQ(associations.at(1).about.user, "root");
  EXPECT_TRUE(associations.at(1).is_default);
  EXPECT_THAT(associations.at(1).qos, ElementsAre("normal"));
  EXPECT_TRUE(associations.at(1).max_jobs.is_infinite());
  const Cluster cluster = records<Cluster>("db_clusters", "/clusters").at(0);
  EXPECT_EQ(cluster.controller_port, 6817);
  EXPECT_EQ(cluster.tres.at(8).full_name(), "gres/gpu");
  const auto qos = records<Qos>("db_qos", "/qos");
  EXPECT_EQ(qos.at(0).name, "normal");
  EXPECT_EQ(qos.at(0).usage_factor, 1.0);
  EXPECT_EQ(records<User>("db_users", "/users").at(0).name, "alice");
  EXPECT_THAT(records<User>("db_users", "/users").at(2).administrator_level,
              ElementsAre("Administrator"));
  EXPECT_EQ(records<TresRecord>("db_tres", "/TRES").at(5).full_name(), "fs/disk");
  EXPECT_EQ(records<Instance>("db_instances", "/instances").at(0).node_name, "cl1");
  EXPECT_EQ(records<DbConf>("db_conf", "/slurmdbd_conf").at(0).dbd_port, 6819);
}

TEST(Records, AJobThatIsLongOver) {
  const DbJob job = records<DbJob>("db_job", "/jobs").at(0);
  EXPECT_EQ(job.id, JobId(4));
  EXPECT_EQ(job.state, JobState(JobState::Base::kNodeFail));
  EXPECT_EQ(job.admin_comment, "x");
  EXPECT_EQ(job.elapsed, 24);
  EXPECT_EQ(job.time_limit, Number(1));
  EXPECT_EQ(job.tres_allocated.at(1).count, 12288);
  EXPECT_EQ(job.exit_code, Number(1));
}

TEST(Records, AWrongTypeIsAnErrorThatNamesTheField) {
  json::Reader reader;
  const auto node = json::decode<Node>(reader, R"({"name":"n1","cpus":"many"})");
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message(), testing::HasSubstr("cpus"));
  EXPECT_TRUE(json::decode<Node>(reader, R"({"name":"n1","cpus":null,"later":[{}]})"));
}

}  // namespace
}  // namespace mainspring::slurm
