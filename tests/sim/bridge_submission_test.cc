// How gangs become jobs: limits that Slurm keeps, users whom namespaces stand for, gangs whose pods
// need nodes of several kinds. The whole bridge with everything as it should be.
#include <map>
#include <set>

#include "sim/bridge_submission_scene.h"

namespace mainspring::sim {
namespace {

TEST_F(BridgeSubmission, APodBeyondALimitTakesItsPlaceInTheQueue) {
  add_nodes(2, "n");
  world.slurm.model().set_most_running(1);
  put("first");
  world.pass(seconds(10));
  ASSERT_NE(node_of("first"), "") << world.safety.account();
  put("second");
  world.pass(seconds(20));
  ASSERT_NE(job_of("second"), 0U) << waits_for("second") << world.safety.account();
  EXPECT_EQ(job(job_of("second")).state, SlurmJob::State::kPending);
  world.slurm.model().set_most_running(2);
  world.pass(seconds(30));
  EXPECT_NE(node_of("second"), "") << world.safety.account();
}

TEST_F(BridgeSubmission, AnAllocationIsAskedForOnlyWhereNobodyIsInItsWay) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  put("first", "", "nodeSelector: {pool: big},");
  world.pass(seconds(10));
  ASSERT_NE(node_of("first"), "") << world.safety.account();
  EXPECT_EQ(allocations(), 1U);
  // Slurm would give it another group.
  put("grouped", "annotations: {slurmjob.slinky.slurm.net/group-id: '7'}",
      "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  EXPECT_EQ(node_of("grouped"), "small0") << world.safety.account();
  EXPECT_EQ(allocations(), 1U) << world.safety.account();
  remove("grouped");
  world.pass(minutes(5));
  // The idle node is none of its.
  put("second", "", "nodeSelector: {pool: big},");
  world.pass(seconds(10));
  ASSERT_NE(job_of("second"), 0U) << world.safety.account();
  EXPECT_EQ(job(job_of("second")).state, SlurmJob::State::kPending);
  EXPECT_EQ(allocations(), 1U) << world.safety.account();
}

TEST_F(BridgeSubmission, NoAllocationIsAskedForWhereAJobHasStartedSinceTheNodesWereListed) {
  add_nodes(1, "n");
  put("first");
  for (int i = 0; i < 100 && node_of("first").empty(); ++i) world.pass(milliseconds(10));
  ASSERT_EQ(node_of("first"), "n0") << world.safety.account();
  put("second");
  world.pass(seconds(10));
  ASSERT_NE(job_of("second"), 0U) << world.safety.account();
  EXPECT_EQ(allocations(), 1U) << world.safety.account();
  remove("first");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("second"), "n0") << waits_for("second") << world.safety.account();
}

// Slurm preempts whom it may for one that it then has no room for.
TEST_F(BridgeSubmission, NoAllocationIsAskedForWhereOneThatWasJustAskedForMayTakeTheRoom) {
  add_nodes(1, "n");
  put("first");
  put("second");
  world.pass(seconds(10));
  EXPECT_EQ(allocations(), 1U) << world.safety.account();
  EXPECT_NE(node_of("first").empty(), node_of("second").empty()) << world.safety.account();
  EXPECT_NE(job_of("first"), 0U);
  EXPECT_NE(job_of("second"), 0U);
}

TEST_F(BridgeSubmission, PodsThatComeTogetherStartAtOnceWhereThereIsRoomForAll) {
  constexpr int kPods = 16;
  add_nodes(2, "n");
  for (int i = 0; i < kPods; ++i) {
    put(fmt::format("p{}", i), "annotations: {slurmjob.slinky.slurm.net/exclusive: 'false'}", "",
        1);
  }
  world.pass(seconds(2));
  for (int i = 0; i < kPods; ++i) EXPECT_NE(node_of(fmt::format("p{}", i)), "");
  EXPECT_EQ(allocations(), std::size_t{kPods}) << world.safety.account();
}

// As with an API server before 1.35.
TEST_F(BridgeSubmission, WhereABindingBringsNoMarkAPodHasItsMarkBefore) {
  world.api.set_minor(34);
  add_nodes(4, "n");
  put("alone");
  put_gang("pair", 2, {"", ""});
  world.pass(seconds(30));
  for (const char* const name : {"alone", "pair-0", "pair-1"}) {
    EXPECT_NE(node_of(name), "") << waits_for(name) << world.safety.account();
    EXPECT_EQ(writes_to(fmt::format("/pods/{}", name)), 2U) << world.safety.account();
  }
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();

  put("last");
  for (int i = 0; i < 1000 && node_of("last").empty(); ++i) world.executor.advance(milliseconds(1));
  ASSERT_NE(node_of("last"), "") << world.safety.account();
  world.kill();
  ASSERT_FALSE(world.slurm.model().cancel(world.slurm.model().jobs().rbegin()->first));
  world.start();
  world.pass(minutes(2));
  EXPECT_FALSE(pod("last")) << world.safety.account();
}

TEST_F(BridgeSubmission, AnswersThatAreLostTogetherAreLookedForTogether) {
  constexpr int kPods = 8;
  add_nodes(kPods, "n");
  int lost = 0, lists = 0;
  world.slurm_faults.loses = [&](std::string_view url) {
    if (url.find("/jobs/?") != std::string_view::npos || url.ends_with("/jobs/")) ++lists;
    return url.find("job/allocate") != std::string_view::npos && lost++ < kPods;
  };
  for (int i = 0; i < kPods; ++i) put(fmt::format("p{}", i));
  world.pass(seconds(30));
  ASSERT_EQ(lost, kPods) << world.safety.account();
  EXPECT_GT(lists, 0);
  EXPECT_LT(lists, kPods / 2) << "a list for each is dear";
  for (int i = 0; i < kPods; ++i) EXPECT_NE(node_of(fmt::format("p{}", i)), "");
  EXPECT_EQ(world.slurm.model().jobs().size(), std::size_t{kPods});
}

TEST_F(BridgeSubmission, AJobWhoseAnswerWasLostIsFoundBehindOneThatWasGivenUp) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  int submitted = 0;
  world.slurm_faults.loses = [&](std::string_view url) {
    return url.find("job/submit") != std::string_view::npos && ++submitted == 2;
  };
  world.kube_door.close(http::Method::kPost, "/binding", 403);
  put_gang("g", 2, {"big", "small"});
  for (int i = 0; i < 600 && submitted < 2; ++i) world.pass(milliseconds(100));
  ASSERT_EQ(submitted, 2) << world.safety.account();
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_EQ(submitted, 2) << world.safety.account();
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
  for (const char* const name : {"g-0", "g-1"}) EXPECT_NE(node_of(name), "") << waits_for(name);
}

TEST_F(BridgeSubmission, ACancelledJobIsNotCancelledAgainWhileTheCacheHasNotHeardOfIt) {
  add_nodes(1, "n");
  put("p", "", "restartPolicy: Never,");
  world.pass(seconds(10));
  ASSERT_NE(node_of("p"), "") << world.safety.account();
  world.slurm_faults.loses = [](std::string_view url) {
    return url.find("jobs/state") != std::string_view::npos;
  };
  world.kubelet.end_soon();
  world.pass(seconds(20));
  ASSERT_TRUE(job(job_of("p")).over()) << world.safety.account();
  EXPECT_EQ(writes_to("slurm DELETE"), 1U) << world.safety.account();
}

TEST_F(BridgeSubmission, TheNodeOfAPartThatEndedAloneIsKeptUntilItsContainersAreGone) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  put_gang("mixed", 2, {"big", "small"});
  world.pass(seconds(30));
  ASSERT_EQ(node_of("mixed-1"), "small0") << waits_for("mixed-1") << world.safety.account();
  world.kubelet.linger(true);
  ASSERT_FALSE(world.slurm.model().cancel(job_of("mixed-0") + 1));
  put("next", "", "nodeSelector: {pool: small},");
  world.pass(minutes(2));
  EXPECT_EQ(node_of("next"), "") << world.safety.account();
  EXPECT_NE(node_of("mixed-0"), "");
  world.kubelet.linger(false);
  world.pass(minutes(5));
  EXPECT_EQ(node_of("next"), "small0") << waits_for("next") << world.safety.account();
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, FiveMinutesWithoutSlurmCostNobodyAnything) {
  add_nodes(2, "n");
  for (const bool all : {true, false}) {
    const std::string round = all ? "a" : "b";
    for (const char* const name : {"-runs", "-also"}) put(round + name);
    world.pass(seconds(10));
    put(round + "-waits");
    world.pass(seconds(10));
    const std::uint32_t waiting = job_of(round + "-waits");
    ASSERT_TRUE(waiting != 0 && node_of(round + "-also") != "") << world.safety.account();

    bool reached = false;
    // Slurm has the job, and is away before it can say so.
    world.slurm_faults.loses = [&](std::string_view url) {
      if (url.find("job/submit") == std::string_view::npos || reached) return false;
      reached = true;
      if (all) world.slurm.stop_controller();
      if (!all) world.stop_rest();
      return true;
    };
    put(round + "-asks");
    world.pass(minutes(5));
    world.slurm_faults.loses = [](std::string_view) { return false; };
    ASSERT_TRUE(reached) << world.safety.account();
    EXPECT_EQ(job_of(round + "-asks"), 0U);
    for (const char* const name : {"-runs", "-also", "-waits"}) {
      EXPECT_FALSE(is_being_deleted(*pod(round + name))) << world.safety.account();
    }
    EXPECT_EQ(job_of(round + "-waits"), waiting);

    if (all) world.slurm.start_controller();
    if (!all) world.start_rest();
    world.pass(minutes(5));
    std::size_t living = 0;
    for (const auto& [id, one] : world.slurm.model().jobs()) living += one.over() ? 0 : 1;
    EXPECT_EQ(living, 4U) << world.safety.account();
    EXPECT_NE(job_of(round + "-asks"), 0U) << world.safety.account();
    for (const char* const name : {"-runs", "-also", "-waits", "-asks"}) remove(round + name);
    world.pass(minutes(5));
  }
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, PodsThatNeedNodesOfTwoKindsAreTheTwoPartsOfOneJob) {
  add_nodes(1, "big");
  add_nodes(2, "small");
  put_gang("mixed", 3, {"big", "small", "small"});
  world.pass(seconds(30));
  EXPECT_EQ(node_of("mixed-0"), "big0") << waits_for("mixed-0") << world.safety.account();
  EXPECT_EQ((std::set<std::string>{node_of("mixed-1"), node_of("mixed-2")}),
            (std::set<std::string>{"small0", "small1"}));
  const std::uint32_t leader = job_of("mixed-0");
  ASSERT_NE(leader, 0U);
  EXPECT_EQ(job_of("mixed-1"), leader);
  EXPECT_EQ(job_of("mixed-2"), leader);
  EXPECT_EQ(job(leader).nodes_wanted, 1);
  EXPECT_EQ(job(leader + 1).leader, leader);
  EXPECT_EQ(job(leader + 1).nodes_wanted, 2);

  // The first part's pod ends first, and the others keep what they have.
  remove("mixed-0");
  world.pass(minutes(1));
  EXPECT_FALSE(job(leader).over()) << world.safety.account();
  EXPECT_FALSE(job(leader + 1).over());
  remove("mixed-1");
  remove("mixed-2");
  world.pass(minutes(2));
  EXPECT_TRUE(job(leader).over()) << world.safety.account();
  EXPECT_TRUE(job(leader + 1).over());
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, AHetJobThatIsCancelledTakesAllItsPodsAndAPartItsOwn) {
  add_nodes(2, "big");
  add_nodes(2, "small");
  put_gang("one", 2, {"big", "small"});
  put_gang("two", 2, {"big", "small"});
  world.pass(seconds(30));
  const std::uint32_t one = job_of("one-0");
  const std::uint32_t two = job_of("two-0");
  ASSERT_NE(node_of("two-1"), "") << world.safety.account();
  ASSERT_FALSE(world.slurm.model().cancel(one));
  ASSERT_FALSE(world.slurm.model().cancel(two + 1));
  world.pass(minutes(2));
  EXPECT_FALSE(pod("one-0")) << world.safety.account();
  EXPECT_FALSE(pod("one-1"));
  EXPECT_TRUE(pod("two-0"));
  EXPECT_FALSE(pod("two-1"));
  EXPECT_FALSE(job(two).over());
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, OfAHetJobAPodThatCannotBeBoundLeavesTheOthersInTheirParts) {
  add_nodes(1, "big");
  add_nodes(3, "small");
  world.kube_door.close(http::Method::kPost, "mixed-2/binding", 403);
  put_gang("mixed", 2, {"big", "small", "small"});
  world.pass(minutes(1));
  const std::uint32_t leader = job_of("mixed-0");
  ASSERT_NE(node_of("mixed-0"), "") << world.safety.account();
  ASSERT_NE(node_of("mixed-1"), "");
  for (const std::uint32_t part : {leader, leader + 1}) {
    const auto owners = bridge::parse_admin_comment(job(part).admin_comment);
    ASSERT_TRUE(owners.has_value()) << job(part).admin_comment;
    EXPECT_EQ(owners->pods, (std::vector<std::string>{"default/mixed-0", "default/mixed-1"}));
    EXPECT_EQ(owners->parts, (std::vector<std::int32_t>{0, 1}));
  }
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_NE(job_of("mixed-2"), leader);
  EXPECT_NE(node_of("mixed-2"), "") << waits_for("mixed-2") << world.safety.account();

  // Each part still takes its own with it, and no others.
  ASSERT_FALSE(world.slurm.model().cancel(leader + 1));
  world.pass(minutes(2));
  EXPECT_TRUE(pod("mixed-0"));
  EXPECT_FALSE(pod("mixed-1")) << world.safety.account();
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, APartOfAHetJobNoneOfWhosePodsCanBeBoundGivesItsNodesBack) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  world.kube_door.close(http::Method::kPost, "mixed-1/binding", 403);
  put_gang("mixed", 1, {"big", "small"});
  world.pass(minutes(1));
  ASSERT_NE(node_of("mixed-0"), "") << world.safety.account();
  EXPECT_TRUE(job(job_of("mixed-0") + 1).over()) << world.safety.account();
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_EQ(node_of("mixed-1"), "small0") << waits_for("mixed-1") << world.safety.account();
  EXPECT_NE(node_of("mixed-0"), "");
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

TEST_F(BridgeSubmission, APartDoesNotTakeTheOnlyNodeThatSuitsAnother) {
  // The first suits both, and Slurm takes the first node that does.
  add_nodes(1, "a");
  add_nodes(1, "b");
  put_gang("g", 2, {"", "a"});
  world.pass(minutes(1));
  EXPECT_EQ(node_of("g-0"), "b0") << waits_for("g-0") << world.safety.account();
  EXPECT_EQ(node_of("g-1"), "a0") << waits_for("g-1") << world.safety.account();
}

TEST_F(BridgeSubmission, AGangThatIsToldToHasAPartForEachKindOfPods) {
  add_nodes(2, "n");
  put_gang("told", 2, {"", ""}, "mainspring.slurm.net/heterogeneous: 'true'");
  put_gang("not", 2, {"", ""}, "slurmjob.slinky.slurm.net/exclusive: 'false'");
  world.pass(seconds(40));
  const std::uint32_t leader = job_of("told-0");
  ASSERT_NE(leader, 0U) << waits_for("told-0") << world.safety.account();
  EXPECT_EQ(job(leader).leader, leader);
  EXPECT_EQ(job(leader).cpus_per_node, 8);
  EXPECT_EQ(job(leader + 1).cpus_per_node, 2);
  EXPECT_EQ(job(job_of("not-0")).leader, 0U);
}

TEST_F(BridgeSubmission, AHetJobIsFoundAgainByABridgeThatWasKilled) {
  add_nodes(1, "big");
  add_nodes(1, "small");
  put("holds", "", "nodeSelector: {pool: small},");
  world.pass(seconds(10));
  put_gang("mixed", 2, {"big", "small"});
  world.pass(seconds(10));
  const std::uint32_t leader = job_of("mixed-0");
  ASSERT_NE(leader, 0U) << world.safety.account();
  world.kill();
  remove("holds");
  world.pass(seconds(5));
  world.start();
  world.pass(minutes(2));
  EXPECT_EQ(job_of("mixed-0"), leader) << world.safety.account();
  EXPECT_EQ(node_of("mixed-0"), "big0");
  EXPECT_EQ(node_of("mixed-1"), "small0");
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

// A zone of each of the first nodes by its letter.
void set_zones(BridgeWorld& world, const std::string& pool, std::string_view zones) {
  for (std::size_t i = 0; i < zones.size(); ++i) {
    world.patch(fmt::format("/api/v1/nodes/{}{}", pool, i),
                fmt::format(R"({{"metadata":{{"labels":{{"zone":"{}"}}}}}})", zones.substr(i, 1)));
  }
}

TEST_F(BridgeSubmission, AGangWithATopologyConstraintIsInOneDomain) {
  add_nodes(4, "n");
  set_zones(world, "n", "abab");
  world.put(
      "{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: g, namespace: "
      "default}, spec: {schedulingPolicy: {gang: {minCount: 2}}, preemptionPolicy: Never, "
      "schedulingConstraints: {topology: [{key: zone}]}}}");
  for (const char* const name : {"g-0", "g-1"}) {
    put(name, "", "schedulingGroup: {podGroupName: g},");
  }
  world.pass(seconds(30));
  const std::set<std::string> nodes = {node_of("g-0"), node_of("g-1")};
  // Any two in a row would be of both.
  const bool in_a = nodes == std::set<std::string>{"n0", "n2"};
  const bool in_b = nodes == std::set<std::string>{"n1", "n3"};
  EXPECT_TRUE(in_a || in_b) << waits_for("g-0") << world.safety.account();
  bool told = false;
  for (const auto& [key, event] : world.api.storage().all("events.events.k8s.io")) {
    told = told || text_at(*event, "/reason") == "NotHonoured";
  }
  EXPECT_TRUE(told) << "of the preemption policy";
}

TEST_F(BridgeSubmission, AGangThatNoDomainHasRoomForSaysSo) {
  add_nodes(3, "n");
  set_zones(world, "n", "abc");
  world.put(
      "{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: g, namespace: "
      "default}, spec: {schedulingPolicy: {gang: {minCount: 2}}, "
      "schedulingConstraints: {topology: [{key: zone}]}}}");
  for (const char* const name : {"g-0", "g-1"}) {
    put(name, "", "schedulingGroup: {podGroupName: g},");
  }
  world.pass(seconds(30));
  EXPECT_EQ(node_of("g-0") + node_of("g-1"), "") << world.safety.account();
  EXPECT_NE(waits_for("g-0").find("all pods have to be where the nodes agree in zone"),
            std::string::npos)
      << waits_for("g-0");
  set_zones(world, "n", "aac");
  world.pass(seconds(60));
  const std::set<std::string> nodes = {node_of("g-0"), node_of("g-1")};
  EXPECT_EQ(nodes, (std::set<std::string>{"n0", "n1"})) << waits_for("g-0");
}

TEST_F(BridgeSubmission, GpusThatASlurmdGivesOutAreNotAskedForByTheirNumber) {
  SlurmNode beside;
  beside.name = "beside";
  beside.cpus = beside.cores = 8;
  beside.memory = 16000;
  beside.features = {"slurm-bridge"};
  beside.external = false;
  world.slurm.model().register_slurmd(beside);
  world.add_node("beside");
  world.patch("/api/v1/nodes/beside/status",
              R"({"status":{"allocatable":{"nvidia.com/gpu":"4"}}})");
  world.pass(seconds(10));
  world.put(
      "{apiVersion: v1, kind: Pod, metadata: {name: gpu, namespace: default, annotations: "
      "{slurmjob.slinky.slurm.net/exclusive: 'false'}}, spec: {schedulerName: "
      "slurm-bridge-scheduler, containers: [{name: main, image: i, resources: {limits: "
      "{nvidia.com/gpu: '1'}}}]}}");
  world.pass(seconds(30));
  EXPECT_EQ(job_of("gpu"), 0U) << world.safety.account();
  EXPECT_NE(waits_for("gpu").find("a slurmd gives out the GPUs there"), std::string::npos)
      << waits_for("gpu");
}

TEST_F(BridgeSubmission, APodIsWhereItLikesToBeIfThatCostsItNoTime) {
  add_nodes(3, "any");
  add_nodes(1, "liked");
  const std::string likes =
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 9, "
      "preference: {matchExpressions: [{key: pool, operator: In, values: [liked]}]}}]}},";
  put("first", "", likes);
  world.pass(seconds(2));
  EXPECT_EQ(node_of("first"), "liked0") << world.safety.account();
  put("second", "", likes);
  world.pass(seconds(2));
  EXPECT_TRUE(node_of("second").starts_with("any")) << world.safety.account();
  EXPECT_EQ(allocations(), 2U) << world.safety.account();

  // Slurm gave it to somebody a moment ago, and we have not heard.
  remove("first");
  world.pass(minutes(4));
  SlurmJob quicker;
  quicker.user = "somebody";
  quicker.partition = "slurm-bridge";
  quicker.required = {"liked0"};
  ASSERT_FALSE(world.slurm.model().allocate_now(quicker));
  put("third", "", likes);
  world.pass(seconds(1));
  EXPECT_TRUE(node_of("third").starts_with("any")) << world.safety.account();
  EXPECT_EQ(allocations(), 4U) << world.safety.account();
  EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
}

// Where all pods are alice's to Slurm.
struct BridgeIdentity : BridgeSubmission {
  BridgeIdentity() {
    world.kill();
    world.options.config.identities["*"].user = "alice";
    world.start();
  }
};

TEST_F(BridgeIdentity, AGangStartsAtOnceAsItsUser) {
  add_nodes(2, "small");
  put_gang("g", 2, {"small", "small"});
  world.pass(seconds(20));
  ASSERT_NE(node_of("g-0"), "") << waits_for("g-0") << world.safety.account();
  EXPECT_EQ(allocations(), 1U) << world.safety.account();
  EXPECT_EQ(job(job_of("g-0")).user, "alice");
  EXPECT_NE(job(job_of("g-0")).admin_comment, "");
}

// A user says in `extra` whose an allocation is, and Slurm takes only so much there.
TEST_F(BridgeIdentity, AGangOfTwentyStartsThoughNoUserCouldNameAllItsPods) {
  add_nodes(20, "small");
  put_gang("g", 20, std::vector<std::string>(20, "small"));
  world.pass(minutes(1));
  for (int i = 0; i < 20; ++i) {
    ASSERT_NE(node_of(fmt::format("g-{}", i)), "") << waits_for("g-0") << world.safety.account();
  }
  EXPECT_EQ(job(job_of("g-0")).user, "alice");
  EXPECT_GT(job(job_of("g-0")).admin_comment.size(), 1024U);
}

}  // namespace
}  // namespace mainspring::sim
