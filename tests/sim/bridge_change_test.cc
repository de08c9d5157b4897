// What becomes of jobs that are there: that wait while something else comes to be wanted, that
// Slurm takes no change of, that another bridge has made. The whole bridge with everything as it
// should be.
#include "sim/bridge_submission_scene.h"

namespace mainspring::sim {
namespace {

struct BridgeChange : BridgeSubmission {
  void TearDown() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  // An annotation of a job; `value` is JSON.
  void annotate(const std::string& name, const std::string& what, const std::string& value) {
    world.patch("/api/v1/namespaces/default/pods/" + name,
                fmt::format(R"({{"metadata":{{"annotations":{{"slurmjob.slinky.slurm.net/)"
                            R"({}":{}}}}}}})",
                            what, value));
  }
};

TEST_F(BridgeChange, NodesThatComeToSuitAreLeftOutNoMore) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  put("holds", "", "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  put("waits", "", "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  const std::uint32_t waiting = job_of("waits");
  ASSERT_EQ(job(waiting).excluded, std::vector<std::string>{"big0"}) << world.safety.account();
  world.patch("/api/v1/nodes/big0", R"({"metadata":{"labels":{"pool":"small"}}})");
  world.pass(seconds(30));
  EXPECT_EQ(job_of("waits"), waiting);
  EXPECT_EQ(node_of("waits"), "big0") << world.safety.account();
}

// Slurm refuses every change of a job that leaves out a node which was deleted since.
TEST_F(BridgeChange, AJobThatLeavesOutANodeWhichIsNoMoreIsAskedForAnew) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  put("holds", "", "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  put("waits", "annotations: {slurmjob.slinky.slurm.net/timelimit: '5'}",
      "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  const std::uint32_t first = job_of("waits");
  ASSERT_EQ(job(first).excluded, std::vector<std::string>{"big0"}) << world.safety.account();
  ask_kube(world.api, http::Method::kDelete, "/api/v1/nodes/big0", "");
  world.pass(minutes(4));
  ASSERT_EQ(world.slurm.model().node("big0"), nullptr) << world.safety.account();
  EXPECT_EQ(job_of("waits"), first) << "it lost its place for nothing" << world.safety.account();
  world.patch("/api/v1/namespaces/default/pods/waits",
              R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/timelimit":"7"}}})");
  world.pass(seconds(30));
  const std::uint32_t second = job_of("waits");
  EXPECT_NE(second, first) << world.safety.account();
  EXPECT_EQ(job(second).time_limit, 7) << world.safety.account();
  remove("holds");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("waits"), "small0") << world.safety.account();
}

TEST_F(BridgeChange, WhatAWaitingJobCannotBecomeIsAskedForAnew) {
  add_nodes(1, "n");
  put("holds");
  world.pass(seconds(10));
  put("waits", "annotations: {slurmjob.slinky.slurm.net/timelimit: '5'}");
  world.pass(seconds(10));
  const std::uint32_t first = job_of("waits");
  ASSERT_EQ(job(first).time_limit, 5) << world.safety.account();
  const auto annotate = [&](const std::string& limit) {
    world.patch("/api/v1/namespaces/default/pods/waits",
                fmt::format(R"({{"metadata":{{"annotations":{{"slurmjob.slinky.slurm.net/)"
                            R"(timelimit":{}}}}}}})",
                            limit));
    world.pass(seconds(30));
  };
  annotate(R"("7")");
  EXPECT_EQ(job_of("waits"), first);
  EXPECT_EQ(job(first).time_limit, 7) << world.safety.account();
  // No limit is whatever the partition has, which no update brings back.
  annotate("null");
  EXPECT_NE(job_of("waits"), first) << world.safety.account();
  EXPECT_TRUE(job(first).over());
  EXPECT_FALSE(job(job_of("waits")).time_limit);
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

// Jobs of whose excluded nodes one is no more: Slurm refuses every change of them.
struct BridgeFixedJob : BridgeChange {
  BridgeFixedJob() { add_nodes(1, "big"); }

  // Whatever needs the others leaves it out.
  void lose_big() {
    ask_kube(world.api, http::Method::kDelete, "/api/v1/nodes/big0", "");
    ASSERT_FALSE(world.slurm.model().delete_node("big0"));
  }
  void put_coscheduled(const std::string& name, const std::string& group) {
    put(name, fmt::format("labels: {{scheduling.x-k8s.io/pod-group: {}}}", group),
        "nodeSelector: {pool: small},");
  }
};

TEST_F(BridgeFixedJob, WhoComesInPlaceOfAMemberGetsAJobOfItsOwnAndKeepsIt) {
  add_nodes(2, "small");
  put_gang("g", 2, {"small", "small"});
  world.pass(seconds(30));
  const std::uint32_t first = job_of("g-0");
  ASSERT_EQ(job(first).excluded, std::vector<std::string>{"big0"}) << world.safety.account();
  lose_big();
  world.pass(minutes(1));
  remove("g-1");
  put("g-2", "", "schedulingGroup: {podGroupName: g}, nodeSelector: {pool: small},");
  world.pass(minutes(4));
  const std::uint32_t second = job_of("g-2");
  ASSERT_NE(second, 0U) << world.safety.account();
  EXPECT_NE(second, first);
  world.pass(minutes(4));
  EXPECT_EQ(job_of("g-2"), second) << world.safety.account();
  world.add_node("small2");
  world.patch("/api/v1/nodes/small2", R"({"metadata":{"labels":{"pool":"small"}}})");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("g-2"), "small2") << world.safety.account();
  EXPECT_EQ(job(first).state, SlurmJob::State::kRunning);
}

TEST_F(BridgeFixedJob, APodThatCannotBeBoundLeavesItAndTheOthersRunOn) {
  add_nodes(3, "small");
  world.kube_door.close(http::Method::kPost, "g-1/binding", 403);
  put_gang("g", 1, {"small", "small"});
  world.pass(seconds(5));
  const std::uint32_t first = job_of("g-0");
  ASSERT_NE(node_of("g-0"), "") << world.safety.account();
  lose_big();
  world.pass(minutes(1));
  EXPECT_NE(job_of("g-1"), first) << world.safety.account();
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_EQ(node_of("g-1"), "small2") << waits_for("g-1") << world.safety.account();
  EXPECT_NE(job_of("g-1"), first);
  EXPECT_EQ(job(first).state, SlurmJob::State::kRunning);
}

TEST_F(BridgeFixedJob, TwoGangsThatWaitForItGetAJobEach) {
  add_nodes(2, "small");
  for (const char* const name : {"holds-0", "holds-1"}) {
    put(name, "", "nodeSelector: {pool: small},");
  }
  for (const char* const name : {"one", "two"}) {
    world.put(
        fmt::format("{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: "
                    "{{name: {}, namespace: default}}, spec: {{minMember: 1}}}}",
                    name));
  }
  world.pass(seconds(30));
  put_coscheduled("a", "one");
  put_coscheduled("b", "one");
  world.pass(seconds(30));
  const std::uint32_t first = job_of("a");
  ASSERT_NE(first, 0U) << waits_for("a") << world.safety.account();
  ASSERT_EQ(job_of("b"), first) << world.safety.account();
  lose_big();
  world.pass(minutes(1));
  world.patch("/api/v1/namespaces/default/pods/b",
              R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"two"}}})");
  world.pass(minutes(2));
  EXPECT_NE(job_of("a"), 0U) << world.safety.account();
  EXPECT_NE(job_of("b"), 0U) << world.safety.account();
  EXPECT_NE(job_of("a"), job_of("b")) << world.safety.account();
}

TEST_F(BridgeFixedJob, HowItsPodsEndedIsToldToAccountingAlone) {
  add_nodes(2, "small");
  put_gang("g", 2, {"small", "small"});
  world.pass(seconds(30));
  const std::uint32_t first = job_of("g-0");
  ASSERT_EQ(job(first).state, SlurmJob::State::kRunning) << world.safety.account();
  lose_big();
  std::string said;
  world.slurm_door.answer = [&said](const http::Request& request) {
    if (request.url.path.find("/slurmdb/") == std::string::npos) {
      return std::optional<http::Response>();
    }
    said += request.body;
    return std::optional(http::json_response(
        200, R"({"jobs":[{"job_id":1,"time":{"end":1}}],"errors":[],"warnings":[],"meta":{}})"));
  };
  world.kubelet.end_soon();
  world.pass(minutes(2));
  ASSERT_TRUE(job(first).over()) << world.safety.account();
  EXPECT_NE(said.find("of 2 pods"), std::string::npos) << said << world.safety.account();
}

// Where all pods are alice's to Slurm, and one of them waits for a node.
struct BridgePolicy : BridgeChange {
  BridgePolicy() {
    world.kill();
    world.options.config.identities["*"].user = "alice";
    world.start();
    add_nodes(1, "n");
    EXPECT_FALSE(world.slurm.model().create_partition(
        {.name = "short", .feature = "", .from_rest = true, .names = {"n0"}, .most_minutes = 10}));
    put("holds");
    world.pass(seconds(20));
  }
  std::uint32_t wait_in(const std::string& partition) {
    put("waits", fmt::format("annotations: {{slurmjob.slinky.slurm.net/timelimit: '5', "
                             "slurmjob.slinky.slurm.net/partition: {}}}",
                             partition));
    world.pass(seconds(20));
    EXPECT_NE(job_of("waits"), 0U) << waits_for("waits") << world.safety.account();
    EXPECT_EQ(job(job_of("waits")).user, "alice");
    return job_of("waits");
  }
};

TEST_F(BridgePolicy, AnAnnotationGivesAJobThatWaitsNothingThatItsUserMayNotHave) {
  world.slurm.model().reserve_qos("vip");
  const std::uint32_t first = wait_in("slurm-bridge");
  annotate("waits", "qos", R"("vip")");
  world.pass(minutes(1));
  EXPECT_EQ(job(first).qos, "normal") << world.safety.account();
  EXPECT_EQ(job_of("waits"), first) << "it lost its place for nothing" << world.safety.account();
  annotate("waits", "qos", "null");
  annotate("waits", "timelimit", R"("7")");
  world.pass(minutes(1));
  EXPECT_EQ(job_of("waits"), first);
  EXPECT_EQ(job(first).time_limit, 7) << world.safety.account();
}

TEST_F(BridgePolicy, WhatAUserMayNotChangeOfAJobIsAskedForAnew) {
  const std::uint32_t first = wait_in("short");
  annotate("waits", "timelimit", R"("8")");
  world.pass(minutes(1));
  EXPECT_EQ(job_of("waits"), first);
  EXPECT_EQ(job(first).time_limit, 8) << world.safety.account();
  annotate("waits", "timelimit", R"("60")");
  world.pass(minutes(1));
  EXPECT_NE(job_of("waits"), first) << world.safety.account();
  EXPECT_TRUE(job(first).over());
  EXPECT_EQ(job(job_of("waits")).time_limit, 60);
}

TEST_F(BridgePolicy, AJobOfAUserIsForAPodMoreWhereItsGangGrows) {
  world.add_node("n1");
  world.pass(seconds(10));
  put("holds-too");
  world.pass(seconds(20));
  put_gang("g", 1, {""});
  world.pass(seconds(20));
  const std::uint32_t first = job_of("g-0");
  ASSERT_NE(first, 0U) << waits_for("g-0") << world.safety.account();
  put("g-1", "", "schedulingGroup: {podGroupName: g},");
  world.pass(minutes(1));
  EXPECT_EQ(job_of("g-0"), first) << world.safety.account();
  EXPECT_EQ(job_of("g-1"), first) << world.safety.account();
  EXPECT_EQ(job(first).nodes_wanted, 2) << world.safety.account();
  EXPECT_EQ(uids_of(job(first)).size(), 2U) << world.safety.account();
}

// What an administrator has done to a job would be undone.
TEST_F(BridgeChange, ABridgeThatStartsLeavesJobsThatWaitAsTheyAre) {
  add_nodes(1, "big");
  add_nodes(2, "small");
  for (const char* const name : {"holds-0", "holds-1"}) {
    put(name, "", "nodeSelector: {pool: small},");
  }
  world.pass(seconds(30));
  put("plain", "", "nodeSelector: {pool: small},");
  put("asks",
      "annotations: {slurmjob.slinky.slurm.net/timelimit: '5', slurmjob.slinky.slurm.net/qos: high,"
      "slurmjob.slinky.slurm.net/account: lab, slurmjob.slinky.slurm.net/priority: '70'}",
      "nodeSelector: {pool: small},");
  put_gang("g", 2, {"small", "small"});
  world.pass(minutes(1));
  world.kill();
  for (const char* const name : {"plain", "asks"}) {
    ASSERT_FALSE(world.slurm.model().update_job(job_of(name),
                                                {.time_limit = 90, .priority = 7, .qos = "low"}));
  }
  world.slurm_meter.take();
  world.start();
  world.pass(minutes(2));
  EXPECT_EQ(world.slurm_meter.take().count("POST job"), 0U) << world.safety.account();
  for (const char* const name : {"plain", "asks"}) EXPECT_EQ(job(job_of(name)).time_limit, 90);

  world.kill();
  annotate("asks", "timelimit", R"("9")");
  world.start();
  world.pass(minutes(1));
  EXPECT_EQ(job(job_of("asks")).time_limit, 9) << world.safety.account();
}

// Jobs that others have made.
struct BridgeAdoption : BridgeSubmission {
  // Of a pod of that name, by a slurm-bridge whose nodes we do not know.
  SlurmJob put_elsewhere(const std::string& pod) {
    SlurmJob theirs;
    theirs.user = "slurm";
    theirs.partition = "elsewhere";
    theirs.cpus_per_node = 8;
    theirs.admin_comment = fmt::format(R"({{"pods":["default/{}"]}})", pod);
    EXPECT_FALSE(world.slurm.model().submit(theirs));
    world.pass(seconds(5));
    return theirs;
  }
  bool lives(std::uint32_t id) {
    const SlurmJob* const found = world.slurm.model().job(id);
    return found != nullptr && !found->over();
  }
  void make_elsewhere() {
    ASSERT_FALSE(world.slurm.model().create_node(
        "NodeName=x0 CPUs=8 RealMemory=16000 State=External Feature=elsewhere"));
    ASSERT_FALSE(world.slurm.model().create_partition(
        {.name = "elsewhere", .feature = "", .from_rest = true, .names = {"x0"}}));
  }
};

TEST_F(BridgeAdoption, AJobIsNoPodsBecauseAUserOfSlurmSaysSo) {
  add_nodes(1, "n");
  put("holds");
  world.pass(seconds(10));
  put("victim", "", "schedulingGates: [{name: test/wait}],");
  SlurmJob forged;
  forged.user = "mallory";
  forged.partition = "slurm-bridge";
  forged.extra =
      fmt::format(R"({{"pods":["default/victim"],"uids":["{}"]}})", uid_of(*pod("victim")));
  ASSERT_FALSE(world.slurm.model().submit(forged));
  world.pass(seconds(15));
  world.patch("/api/v1/namespaces/default/pods/victim", R"({"spec":{"schedulingGates":null}})");
  world.pass(minutes(1));
  EXPECT_NE(job_of("victim"), 0U) << world.safety.account();
  EXPECT_NE(job_of("victim"), forged.id) << world.safety.account();
}

TEST_F(BridgeAdoption, AJobThatSlurmBridgeHasMadeForAPodIsItsJob) {
  add_nodes(1, "n");
  put("holds");
  world.pass(seconds(10));
  put("taken", "", "schedulingGates: [{name: test/wait}],");
  world.pass(seconds(2));
  SlurmJob theirs;
  theirs.user = "slurm";
  theirs.partition = "slurm-bridge";
  theirs.cpus_per_node = 8;
  theirs.admin_comment = R"({"pods":["default/taken"]})";
  ASSERT_FALSE(world.slurm.model().submit(theirs));
  world.pass(seconds(15));
  world.patch("/api/v1/namespaces/default/pods/taken", R"({"spec":{"schedulingGates":null}})");
  world.pass(minutes(1));
  EXPECT_EQ(job_of("taken"), theirs.id) << world.safety.account();
  int living = 0;
  for (const auto& [id, one] : world.slurm.model().jobs()) living += one.over() ? 0 : 1;
  EXPECT_EQ(living, 2);
}

TEST_F(BridgeAdoption, JobsOfPodsOfTheSameNamesInAnotherClusterAreNotTheirs) {
  add_nodes(1, "n");
  make_elsewhere();
  for (const char* const name : {"a", "b"}) put(name, "", "schedulingGates: [{name: test/wait}],");
  world.pass(seconds(2));
  const std::uint32_t runs = put_elsewhere("a").id;
  const std::uint32_t waits = put_elsewhere("b").id;
  ASSERT_EQ(job(runs).state, SlurmJob::State::kRunning);
  world.pass(seconds(15));
  for (const char* const name : {"a", "b"}) {
    world.patch(fmt::format("/api/v1/namespaces/default/pods/{}", name),
                R"({"spec":{"schedulingGates":null}})");
  }
  world.pass(minutes(1));
  EXPECT_NE(job_of("a"), 0U) << world.safety.account();
  EXPECT_NE(job_of("a"), runs) << world.safety.account();
  EXPECT_NE(job_of("b"), 0U) << world.safety.account();
  EXPECT_NE(job_of("b"), waits) << world.safety.account();
  for (const char* const name : {"a", "b"}) remove(name);
  world.pass(minutes(4));
  EXPECT_TRUE(lives(runs)) << world.safety.account();
  EXPECT_TRUE(lives(waits)) << world.safety.account();
}

TEST_F(BridgeAdoption, AJobThatRunsInAnotherClusterIsNotEndedWhateverAPodIsMarkedWith) {
  add_nodes(1, "n");
  make_elsewhere();
  const std::uint32_t theirs = put_elsewhere("marked").id;
  world.pass(seconds(15));
  put("marked", fmt::format("labels: {{scheduler.slinky.slurm.net/slurm-jobid: '{}'}}", theirs));
  world.pass(minutes(2));
  EXPECT_TRUE(lives(theirs)) << world.safety.account();
  EXPECT_EQ(node_of("marked"), "n0") << waits_for("marked") << world.safety.account();
}

}  // namespace
}  // namespace mainspring::sim
