// tests/real/slurm_api.cc
//
// Every verb of our Slurm client on slurmctld against real daemons, with good and bad input: what
// it returns is what is there, what it refuses is refused for the right reason.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

#include "slurm/cluster.h"
#include "slurm/jobs.h"
#include "slurm/nodes.h"
#include "slurm/partitions.h"
#include "slurm/reservations.h"
#include "slurm/rest_source.h"
#include "slurm_api.h"

namespace mainspring::slurm {
namespace {

using ::testing::Contains;

TEST_F(SlurmApi, SlurmctldSpeaksOfItself) {
  const ClusterControl control(client());
  EXPECT_TRUE(must(control.ping()).front().responding);
  EXPECT_GT(must(control.diag()).now.value_or(0), 0);
  EXPECT_FALSE(must(control.shares()).empty());
  must(control.licenses());
  const ControllerHealth before = must(control.health());
  EXPECT_TRUE(before.responding);
  if (!is_new()) {
    EXPECT_EQ(code_of(run(control.conf())), Code::kUnsupported);
    return;
  }
  EXPECT_EQ(must(control.licenses()).front().name, "matlab");
  EXPECT_EQ(must(control.conf()).conf.cluster_name, peer_.cluster);
  must(net::sleep(seconds(1)));
  must(control.reconfigure());
  // The new process takes over from the old one when it has read all there is.
  const auto restarted = [&] {
    const auto now = run(RestSource(client()).health());
    return now && now->boot_time > before.boot_time;
  };
  EXPECT_TRUE(eventually(restarted));
}

TEST_F(SlurmApi, NodesAreReadAndChanged) {
  const Nodes nodes(client());
  EXPECT_EQ(must(nodes.get("node1")).name, "node1");
  EXPECT_EQ(code_of(run(nodes.get("nope"))), Code::kNotFound);
  EXPECT_EQ(code_of(run(nodes.drain("nope", "test"))), Code::kNotFound);

  NodeUpdate update;
  update.comment = "seen";
  update.extra = "{\"a\": 1}";
  update.weight = 7;
  EXPECT_EQ(must(nodes.update("node1", update)).comment, "seen");
  const Node drained = must(nodes.drain("node1", "maintenance"));
  EXPECT_TRUE(drained.state.is_drained());
  EXPECT_EQ(drained.reason, "maintenance");
  EXPECT_FALSE(must(nodes.undrain("node1")).state.has(NodeState::Flag::kDrain));
  must(nodes.resume("node1"));  // Which needs none.
  EXPECT_TRUE(must(nodes.down("node1", "broken")).state.is_down());
  EXPECT_EQ(must(nodes.drain("node1", "ours")).reason, "ours");
  EXPECT_FALSE(must(nodes.resume("node1")).state.is_down());
  // slurmctld asks slurmd first.
  EXPECT_TRUE(eventually([&] { return must(nodes.get("node1")).state.can_take_jobs(); }));

  NodeUpdate many;
  many.comment = "many";
  const std::vector<Node> changed = must(nodes.update_many({"node1", "node2"}, many));
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[1].comment, "many");
  EXPECT_EQ(code_of(run(nodes.update_many({"node1", "nope"}, many))), Code::kNotFound);
}

TEST_F(SlurmApi, ANodeListSaysWhenNothingChanged) {
  std::set<std::string> names;
  const auto listed = must(Nodes(client()).list(
      [&](const std::shared_ptr<const Node>& node) { names.emplace(node->name.view()); }));
  EXPECT_THAT(names, Contains("node1"));
  // The position is in seconds, so a change in the second of the answer is told again.
  const auto again = must(Nodes(client()).list([](const auto&) {}, listed.last_update + 3600));
  EXPECT_TRUE(again.not_modified);
}

TEST_F(SlurmApi, ExternalNodesComeAndGo) {
  const Nodes nodes(client());
  NodeSpec spec;
  spec.name = "made[1-2]";
  spec.address = "127.0.9.[1-2]";
  spec.cpus = 4;
  spec.real_memory = 1000;
  spec.features = {"external"};
  if (!is_new()) {
    EXPECT_EQ(code_of(run(nodes.create(spec))), Code::kUnsupported);
    return;
  }
  const auto made = must(nodes.create(spec));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_TRUE(made[0].state.is_external());
  EXPECT_TRUE(made[0].partitions.contains("external"));
  EXPECT_EQ(code_of(run(nodes.create(spec))), Code::kAlreadyExists);
  must(nodes.drain("made1", "cordoned"));
  EXPECT_TRUE(must(nodes.undrain("made1")).state.can_take_jobs());
  spec.name = "bad name";
  EXPECT_EQ(code_of(run(nodes.create(spec))), Code::kInvalid);
  must(nodes.remove("made1"));
  must(nodes.remove("made2"));
  EXPECT_EQ(code_of(run(nodes.remove("made1"))), Code::kNotFound);
}

TEST_F(SlurmApi, ExternalJobsAreAllocatedSignalledNeverAndCanceled) {
  const Jobs jobs(client());
  if (!is_new()) {
    EXPECT_EQ(code_of(run(jobs.allocate_now(external_job()))), Code::kUnsupported);
    return;
  }
  const JobId id = must(jobs.allocate_now(external_job())).job;
  const Job job = must(jobs.get(id));
  EXPECT_TRUE(job.state.is_running()) << job.state.to_string();
  EXPECT_EQ(code_of(run(jobs.signal(id, "TERM"))), Code::kInvalid);
  EXPECT_EQ(must(jobs.states({id})).front().state, job.state);

  JobRequest changes;
  changes.admin_comment = "key";
  changes.time_limit = 20;
  EXPECT_EQ(must(jobs.update(id, changes)).admin_comment, "key");
  EXPECT_FALSE(run(jobs.requeue(id)));

  EXPECT_TRUE(must(jobs.cancel_many({id, JobId(999999)})).size() == 1);
  EXPECT_TRUE(must(jobs.get(id)).state.has_ended());
  must(jobs.cancel(id));  // Again.
  EXPECT_EQ(code_of(run(jobs.cancel(JobId(999999)))), Code::kNotFound);
  EXPECT_EQ(code_of(run(jobs.update(JobId(999999), changes))), Code::kNotFound);
  EXPECT_EQ(code_of(run(jobs.resources(id))), Code::kConflict);
  // And the node is none the worse.
  EXPECT_TRUE(must(Nodes(client()).get(std::string(job.nodes))).state.can_take_jobs());

  JobRequest bad = external_job();
  bad.partition = "nope";
  EXPECT_EQ(code_of(run(jobs.allocate_now(bad))), Code::kInvalid);
  bad = external_job();
  bad.nodes = "99";
  EXPECT_FALSE(run(jobs.allocate_now(bad)));
}

TEST_F(SlurmApi, ResourcesAreTheSameFromEveryVersion) {
  if (!is_new()) return;
  JobRequest request = external_job();
  request.tres_per_node = "gres/gpu:2";
  request.cpus_per_task = 4;
  const JobId id = must(Jobs(client()).allocate_now(request)).job;
  const auto newest = must(Jobs(client()).resources(id));
  ASSERT_EQ(newest.size(), 1U);
  EXPECT_EQ(newest[0].gres.at(0).count, 2);
  for (const Version version : {Version::k44, Version::k43, Version::k42}) {
    Peer other(version);
    const auto result = other.run(Jobs(*other.client).resources(id));
    ASSERT_TRUE(result) << why(result);
    EXPECT_EQ(*result, newest) << to_string(version);
  }
  must(Jobs(client()).cancel(id));
}

TEST_F(SlurmApi, AHeldJobIsReleasedAndHeldAgain) {
  const Jobs jobs(client());
  JobRequest request = batch_job();
  request.hold = true;
  request.nodes = "2";
  const Submitted made = must(jobs.submit(request));
  EXPECT_FALSE(made.warnings.empty());
  EXPECT_TRUE(must(jobs.get(made.job)).hold);
  EXPECT_FALSE(must(jobs.release(made.job)).hold);
  must(jobs.cancel(made.job));
  EXPECT_TRUE(wait_until(made.job, &JobState::is_over).state.is_over());
}

TEST_F(SlurmApi, BatchJobsRunAreSignalledAndRequeued) {
  const Jobs jobs(client());
  const JobId id = must(jobs.submit(batch_job())).job;
  const Job job = wait_until(id, &JobState::is_running);
  EXPECT_EQ(must(jobs.resources(id)).front().node, job.nodes);
  must(jobs.signal(id, "SIGUSR2"));
  if (is_new()) {
    RequeueOptions held;
    held.hold = true;
    must(jobs.requeue(id, held));
    EXPECT_TRUE(wait_until(id, &JobState::is_pending).state.is_pending());
  } else {
    EXPECT_EQ(code_of(run(jobs.requeue(id))), Code::kUnsupported);
  }
  JobSelection mine;
  mine.job_name = "batch";
  must(jobs.cancel_matching(mine));
  wait_until(id, &JobState::is_over);
  EXPECT_EQ(code_of(run(jobs.cancel_matching({}))), Code::kInvalid);

  JobRequest nowhere = batch_job();
  nowhere.current_working_directory.reset();
  EXPECT_EQ(code_of(run(jobs.submit(nowhere))), Code::kInvalid);
}

TEST_F(SlurmApi, HetJobsAreOneSubmission) {
  if (!is_new()) return;
  const Jobs jobs(client());
  JobRequest second = external_job();
  second.name = "second";
  const JobId id = must(jobs.submit_het({external_job(), second})).job;
  const auto parts = must(jobs.family(id));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].name, "second");
  EXPECT_EQ(must(jobs.get(parts[1].id)).id, parts[1].id);
  EXPECT_EQ(code_of(run(jobs.signal(parts[1].id, "TERM"))), Code::kInvalid);
  must(jobs.cancel(id));
  EXPECT_EQ(must(jobs.states({parts[1].id})).size(), 1U);
}

TEST_F(SlurmApi, AllocationsBelongToTheUserOfTheCall) {
  if (!is_new()) return;
  CallOptions as_alice;
  as_alice.user = "alice";
  const Jobs hers(client(), as_alice);
  const JobId id = must(hers.allocate_now(external_job())).job;
  EXPECT_EQ(must(hers.get(id)).user_name, "alice");
  EXPECT_EQ(code_of(run(Nodes(client(), as_alice).drain("node1", "no"))), Code::kForbidden);
  must(hers.cancel(id));
}

TEST_F(SlurmApi, NobodyCancelsTheJobOfAnotherAndSlurmctldLives) {
  JobRequest request = batch_job();
  request.hold = true;
  const JobId id = must(Jobs(client()).submit(request)).job;
  CallOptions as_alice;
  as_alice.user = "alice";
  const Jobs hers(client(), as_alice);
  EXPECT_EQ(code_of(run(hers.cancel(id))), Code::kForbidden);
  EXPECT_EQ(code_of(run(hers.signal(id, "USR1"))), Code::kForbidden);
  EXPECT_EQ(must(hers.cancel_many({id})).size(), 1U);
  JobSelection all_of_the_partition;
  all_of_the_partition.partition = "compute";
  must(hers.cancel_matching(all_of_the_partition));
  EXPECT_TRUE(must(Jobs(client()).get(id)).state.is_pending());
  const JobId her_own = must(hers.submit(request)).job;
  must(hers.cancel(her_own));
  must(Jobs(client()).cancel(id));
}

TEST_F(SlurmApi, PartitionsAreMadeChangedAndRemoved) {
  const Partitions partitions(client());
  EXPECT_EQ(must(partitions.get("compute")).name, "compute");
  EXPECT_EQ(code_of(run(partitions.get("nope"))), Code::kNotFound);
  PartitionSpec spec;
  spec.name = "made";
  spec.nodes = "node[1-2]";
  spec.max_time = 120;
  if (!is_new()) {
    EXPECT_EQ(code_of(run(partitions.write(spec))), Code::kUnsupported);
    return;
  }
  EXPECT_EQ(must(partitions.write(spec)).node_count, 2);
  spec.max_time = 60;
  spec.nodes.reset();
  spec.default_time = 30;
  spec.allowed_accounts = "test,root";
  spec.priority_tier = 7;
  spec.flags = {"HIDDEN"};
  const Partition changed = must(partitions.write(spec));
  EXPECT_EQ(changed.max_time, Number(60));
  EXPECT_EQ(changed.priority_tier, 7);
  spec.flags = {"HIDDEN_CLEAR"};
  spec.nodes = "node2,node1";
  EXPECT_FALSE(must(partitions.write(spec)).flags.contains("HIDDEN"));
  EXPECT_EQ(changed.node_count, 2);
  spec.name = "other";
  spec.nodes = "nope";
  EXPECT_EQ(code_of(run(partitions.write(spec))), Code::kInvalid);
  must(partitions.remove("made"));
  EXPECT_EQ(code_of(run(partitions.remove("made"))), Code::kNotFound);
}

TEST_F(SlurmApi, ReservationsAreMadeChangedAndRemoved) {
  const Reservations reservations(client());
  EXPECT_EQ(code_of(run(reservations.get("nope"))), Code::kNotFound);
  ReservationSpec spec;
  spec.name = "made";
  spec.nodes = {"node1"};
  spec.users = {"alice"};
  spec.start_time = unix_seconds() + 600;
  spec.duration = 60;
  if (!is_new()) {
    EXPECT_EQ(code_of(run(reservations.write(spec))), Code::kUnsupported);
    EXPECT_EQ(code_of(run(reservations.remove("nope"))), Code::kUnsupported);
    return;
  }
  EXPECT_EQ(must(reservations.write(spec)).nodes, "node1");
  EXPECT_EQ(code_of(run(reservations.get("nope"))), Code::kNotFound);  // Now that there is one.
  ReservationSpec longer;
  longer.name = "made";
  longer.duration = 90;
  EXPECT_EQ(must(reservations.write(longer)).end_time.value_or(0),
            spec.start_time.value_or(0) + 90 * 60);
  spec.name = "past";
  spec.start_time = 1000;
  EXPECT_EQ(code_of(run(reservations.write(spec))), Code::kInvalid);
  must(reservations.remove("made"));
  EXPECT_EQ(code_of(run(reservations.remove("made"))), Code::kNotFound);
}

TEST_F(SlurmApi, ManyReservationsAreWrittenInOneCall) {
  const Reservations reservations(client());
  ReservationSpec first;
  first.name = "many1";
  first.nodes = {"node1"};
  first.users = {"alice"};
  first.start_time = unix_seconds() + 600;
  first.duration = 60;
  first.flags = {"MAINT"};
  ReservationSpec second = first;
  second.name = "many2";
  second.nodes = {"node2"};
  if (!is_new()) {
    EXPECT_EQ(code_of(run(reservations.write_many({first, second}))), Code::kUnsupported);
    return;
  }
  EXPECT_EQ(must(reservations.write_many({first, second}))[1].nodes, "node2");
  first.users = second.users = {"root"};
  first.duration = second.duration = 90;
  EXPECT_EQ(must(reservations.write_many({first, second}))[0].users, "root");
  // The others are written all the same.
  ReservationSpec bad = first;
  bad.name = "many3";
  bad.nodes = {"nope"};
  second.duration = 120;
  EXPECT_EQ(code_of(run(reservations.write_many({bad, second}))), Code::kInvalid);
  EXPECT_EQ(must(reservations.get("many2")).end_time,
            Number(second.start_time.value_or(0) + 120 * 60));
  must(reservations.remove("many1"));
  must(reservations.remove("many2"));
}

TEST_F(SlurmApi, AReservationThatSlurmMakesOtherwiseIsAConflict) {
  if (!is_new()) return;
  ReservationSpec spec;
  spec.name = "odd";
  spec.licenses = {"matlab:1"};
  spec.accounts = {"test"};
  spec.partition = "compute";
  spec.start_time = unix_seconds() + 600;
  spec.duration = 60;
  spec.node_count = 1;  // Of which ANY_NODES makes none.
  spec.flags = {"ANY_NODES"};
  EXPECT_EQ(code_of(run(Reservations(client()).write(spec))), Code::kConflict);
  must(Reservations(client()).remove("odd"));
}

TEST_F(SlurmApi, ManyJobsAreRequeuedInOneCall) {
  const Jobs jobs(client());
  const JobId first = must(jobs.submit(batch_job())).job;
  const JobId second = must(jobs.submit(batch_job())).job;
  wait_until(first, &JobState::is_running);
  wait_until(second, &JobState::is_running);
  RequeueOptions held;
  held.hold = true;
  if (is_new()) {
    must(jobs.requeue_many({first, second}, held));
    wait_until(first, &JobState::is_pending);
    wait_until(second, &JobState::is_pending);
    EXPECT_FALSE(run(jobs.requeue_many({first, JobId(999999)})));
  } else {
    EXPECT_EQ(code_of(run(jobs.requeue_many({first, second}))), Code::kUnsupported);
  }
  EXPECT_TRUE(must(jobs.cancel_many({first, second})).empty());
  wait_until(first, &JobState::is_over);
  wait_until(second, &JobState::is_over);
}

// What one version says of the cluster, without what it cannot say.
struct Facts {
  std::map<std::string, Node> nodes;
  std::map<std::string, Job> jobs;
  std::map<std::string, Partition> partitions;
  std::map<std::string, Reservation> reservations;
  bool operator==(const Facts&) const = default;
};

Facts facts_by(Version version) {
  Peer peer(version);
  RestSource source(*peer.client);
  Facts facts;
  const auto all = [&](auto task) {
    const auto listed = peer.run(std::move(task));
    EXPECT_TRUE(listed) << why(listed);
  };
  all(source.nodes(0, [&](const std::shared_ptr<const Node>& node) {
    Node& copy = facts.nodes[std::string(node->name)] = *node;
    copy.topology = "";  // v0.0.43
    if (copy.reason.empty()) copy.reason_user = "";
    copy.state = {};
    for (const std::string_view name : node->state.names()) {
      if (name != "EXTERNAL") copy.state.add_name(name);  // v0.0.44
    }
  }));
  all(source.jobs(0, [&](const std::shared_ptr<const Job>& job) {
    Job& copy = facts.jobs[std::string(job->id.text())] = *job;
    std::vector<std::string_view> flags(job->flags.begin(), job->flags.end());
    std::erase(flags, kExternalJobFlag);  // v0.0.43
    copy.flags = json::StringList(flags);
  }));
  all(source.partitions(0, [&](const std::shared_ptr<const Partition>& partition) {
    Partition& copy = facts.partitions[std::string(partition->name)] = *partition;
    copy.topology = copy.exclusive = copy.oversubscribe = "";
    copy.flags = copy.preempt_mode = {};  // v0.0.45
  }));
  all(source.reservations(0, [&](const std::shared_ptr<const Reservation>& reservation) {
    facts.reservations[std::string(reservation->name)] = *reservation;
  }));
  return facts;
}

TEST_F(SlurmApi, AllVersionsAgreeOnTheSameFacts) {
  if (!is_new()) return;
  const JobId running = must(Jobs(client()).allocate_now(external_job())).job;
  JobRequest held = external_job();
  held.hold = true;
  held.admin_comment = "{\"pods\":[\"a/b\"]}";
  held.excluded_nodes = {"ext1"};
  const JobId waiting = must(Jobs(client()).submit(held)).job;
  ReservationSpec spec;
  spec.name = "agreed";
  spec.nodes = {"node2"};
  spec.users = {"alice"};
  spec.start_time = unix_seconds() + 600;
  spec.duration = 60;
  must(Reservations(client()).write(spec));

  Facts newest = facts_by(Version::k45);
  EXPECT_GE(newest.nodes.size(), 4U);
  EXPECT_GE(newest.jobs.size(), 2U);
  for (const Version version : {Version::k44, Version::k43, Version::k42}) {
    SCOPED_TRACE(to_string(version));
    // Jobs of the cases before may still be ending, and be forgotten: two versions are compared
    // where nothing happened meanwhile.
    Facts older;
    EXPECT_TRUE(eventually([&] {
      older = facts_by(version);
      const Facts before = std::exchange(newest, facts_by(Version::k45));
      return before == newest;
    })) << "something changes all the time";
    EXPECT_EQ(older.nodes == newest.nodes, true);
    EXPECT_EQ(older.jobs == newest.jobs, true);
    EXPECT_EQ(older.partitions == newest.partitions, true);
    EXPECT_EQ(older.reservations == newest.reservations, true);
  }
  must(Reservations(client()).remove("agreed"));
  must(Jobs(client()).cancel_many({running, waiting}));
}

}  // namespace
}  // namespace mainspring::slurm
