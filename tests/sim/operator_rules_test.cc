// What must go on whatever else fails, and what must come back by itself: one story for each rule,
// told to the whole operator.
#include <gmock/gmock.h>

#include "sim/operator_story.h"

namespace mainspring::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBudget =
    "/apis/policy/v1/namespaces/slurm/poddisruptionbudgets/slurm-workers-pdb-c";

class OperatorRules : public OperatorStory {};

TEST_F(OperatorRules, APodThatCannotBeMadeKeepsNobodyElse) {
  begin(3, R"(,"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}})");
  world.faults.forbids = [](const http::Request& request) {
    return request.method == Method::kPost && request.url.path.ends_with("/pods") &&
           request.body.find("\"gpu-3\"") != std::string::npos;
  };
  spec(R"({"replicas":4})");
  pass(seconds(20));
  EXPECT_EQ(condition("Degraded"), "True SyncFailed");
  cordon_node_of("gpu-0", true);
  pass(minutes(1));
  EXPECT_TRUE(drained("gpu-0"));
  cordon_node_of("gpu-0", false);
  pass(minutes(1));
  EXPECT_FALSE(drained("gpu-0"));
  spec(R"({"slurmd":{"image":"new"}})");
  pass(minutes(10));
  for (const char* const pod : {"gpu-0", "gpu-1", "gpu-2"}) EXPECT_EQ(image_of(pod), "new") << pod;
}

TEST_F(OperatorRules, ATemplateThatCannotBeMadeKeepsNobodyFromACordonOrFromGoing) {
  begin(3);
  world.kubectl(Method::kPatch, "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/controllers/c",
                R"({"spec":{"slurmKeyRef":null}})");
  pass(seconds(10));
  ASSERT_EQ(condition("Degraded"), "True SyncFailed");
  cordon_node_of("gpu-0", true);
  spec(R"({"replicas":2})");
  pass(minutes(1));
  EXPECT_TRUE(drained("gpu-0"));
  EXPECT_EQ(pods(), 2U);
  EXPECT_NE(find("gpu-0"), nullptr);
  cordon_node_of("gpu-0", false);
  pass(minutes(1));
  EXPECT_FALSE(drained("gpu-0"));
}

TEST_F(OperatorRules, WhatWasAskedForWhileSlurmWasAwayIsDoneWhenItIsBack) {
  begin(3);
  world.slurm.stop_rest();
  pass(minutes(1));
  EXPECT_EQ(condition("SlurmReachable"), "False NoAnswer");
  spec(R"({"replicas":2})");
  cordon_node_of("gpu-0", true);
  pass(seconds(30));
  EXPECT_EQ(pods(), 3U);
  EXPECT_EQ(condition("Ready"), "False WaitingForSlurm");
  EXPECT_EQ(condition("Progressing"), "True Progressing");
  EXPECT_EQ(condition("Degraded"), "True WaitingForSlurm");
  EXPECT_THAT(message("Degraded"), HasSubstr("1 workers are to go"));
  world.slurm.start_rest();
  pass(minutes(1));
  EXPECT_EQ(condition("SlurmReachable"), "True Answers");
  EXPECT_EQ(condition("Ready"), "True AllAvailable");
  EXPECT_EQ(condition("Progressing"), "False Settled");
  EXPECT_EQ(condition("Degraded"), "False AsExpected");
  EXPECT_EQ(pods(), 2U);
  EXPECT_TRUE(drained("gpu-0"));
}

TEST_F(OperatorRules, ANodeSetThatGoesWhileSlurmIsAwaySaysForWhomItWaits) {
  begin(2);
  world.slurm.stop_rest();
  pass(minutes(1));
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(seconds(30));
  EXPECT_EQ(pods(), 2U);
  EXPECT_EQ(condition("Ready"), "False WaitingForSlurm");
  EXPECT_EQ(condition("Progressing"), "True Progressing");
  EXPECT_EQ(condition("Degraded"), "True WaitingForSlurm");
  EXPECT_THAT(message("Degraded"), HasSubstr("2 workers are to go"));
}

using OperatorRulesAtScale = OperatorRules;

TEST_F(OperatorRulesAtScale, PodsThatFailAgainAndAgainAreReplacedLessAndLess) {
  for (const char* const mode : {"StatefulSet", "DaemonSet"}) {
    const std::string more = fmt::format(R"(,"scalingMode":"{}")", mode);
    if (!world.nodeset("gpu")) begin(1, more);
    spec(fmt::format(R"({{"scalingMode":"{}"}})", mode));
    pass(minutes(2));
    std::set<std::string> seen;
    for (int step = 0; step < 1200; ++step) {
      pass(milliseconds(500));
      for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) {
        const std::string uid(uid_of(*pod));
        const bool chosen = *mode == 'S' || text_at(*pod, "/spec/nodeName") == "a0";
        if (!chosen) continue;
        seen.insert(uid);
        if (world.kubelet.runs(uid)) world.kubelet.fail_pod(uid);
      }
    }
    EXPECT_GE(seen.size(), 5U) << mode;
    EXPECT_LE(seen.size(), 12U) << mode;
  }
}

TEST_F(OperatorRules, SharedObjectsComeBackWhenTheyAreEditedOrDeleted) {
  begin(2);
  const auto budget = [&] {
    return world.api.find(kube::PodDisruptionBudget::kResource, "slurm", "slurm-workers-pdb-c");
  };
  world.kubectl(Method::kDelete, kBudget);
  pass(seconds(5));
  ASSERT_NE(budget(), nullptr);
  world.kubectl(Method::kPatch, kBudget, R"({"spec":{"minAvailable":1}})");
  pass(seconds(5));
  EXPECT_EQ(budget()->at_pointer("/spec/minAvailable")->as_int().value_or(0), 2147483647);
  world.kubectl(Method::kDelete, "/api/v1/namespaces/slurm/services/slurm-workers-c");
  pass(seconds(5));
  EXPECT_NE(world.api.find(kube::Service::kResource, "slurm", "slurm-workers-c"), nullptr);
}

TEST_F(OperatorRules, ANodeSetThatGoesWaitsForTheRecordsOfItsJobsAndSaysSo) {
  begin(1, R"(,"partition":{"enabled":true,"config":"MaxTime=60"})");
  const auto job = run_job("gpu-0", "gpu");
  static_cast<void>(world.slurm.model().cancel(job));
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(minutes(2));
  ASSERT_NE(world.nodeset("gpu"), nullptr);
  EXPECT_EQ(pods(), 0U);
  EXPECT_EQ(condition("WaitingForJobs"), "True JobRecords");
  pass(minutes(5));
  EXPECT_EQ(world.nodeset("gpu"), nullptr);
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=gpu")));
}

TEST_F(OperatorRules, ANodeSetThatGoesTellsOfJobsThatWillNeverRunInItsPartition) {
  begin(1, R"(,"partition":{"enabled":true,"config":"MaxTime=60"})");
  const auto over = run_job("gpu-0", "gpu");
  static_cast<void>(world.slurm.model().cancel(over));
  SlurmJob waits{.partition = "gpu", .held = true};
  ASSERT_FALSE(world.slurm.model().submit(waits));
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(minutes(10));
  ASSERT_NE(world.nodeset("gpu"), nullptr);
  EXPECT_EQ(pods(), 0U);
  EXPECT_EQ(condition("WaitingForJobs"), "True PendingJobs");
  EXPECT_THAT(message("WaitingForJobs"), HasSubstr("1 pending jobs name the partition gpu"));
  EXPECT_THAT(message("WaitingForJobs"), HasSubstr("cancel them, or set spec.deletion.deadline"));
  EXPECT_TRUE(told("WaitingForJobs", "cancel them"));
  static_cast<void>(world.slurm.model().cancel(waits.id));
  pass(minutes(1));
  EXPECT_EQ(condition("WaitingForJobs"), "True JobRecords");
  pass(minutes(6));
  EXPECT_EQ(world.nodeset("gpu"), nullptr);
}

TEST_F(OperatorRules, APartitionStaysWhileJobsNameItWhicheverWayItsNodeSetGaveItUp) {
  begin(1, R"(,"partition":{"enabled":true,"config":"MaxTime=60"})");
  const auto job = run_job("gpu-0", "gpu");
  spec(R"({"partition":{"enabled":false}})");
  pass(minutes(1));
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
  spec(R"({"partition":{"enabled":true,"config":"MaxTime=60"}})");
  pass(minutes(1));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("DRAIN")));
  static_cast<void>(world.slurm.model().cancel(job));
  // Time is up at once, but not for slurmctld.
  spec(R"({"deletion":{"policy":"Drain","deadline":"1s"}})");
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(minutes(1));
  EXPECT_EQ(world.nodeset("gpu"), nullptr);
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
  pass(minutes(6));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=gpu")));
}

TEST_F(OperatorRules, LostLabelsTakeWorkersOneByOneAndLoudly) {
  begin(1, R"(,"scalingMode":"DaemonSet")");
  ASSERT_EQ(pods(), 4U);
  const auto label = [&](const char* value) {
    for (int i = 0; i < 4; ++i) {
      world.kubectl(Method::kPatch, fmt::format("{}a{}", kNodes, i),
                    fmt::format(R"({{"metadata":{{"labels":{{"pool":{}}}}}}})", value));
    }
  };
  label("null");
  pass(seconds(50));
  EXPECT_EQ(pods(), 3U);
  EXPECT_EQ(condition("Degraded"), "True DeletionsLimited");
  label(R"("a")");
  pass(minutes(2));
  EXPECT_EQ(pods(), 4U);
  EXPECT_EQ(condition("Degraded"), "False AsExpected");
}

TEST_F(OperatorRules, ADrainUnderAnothersReasonIsLiftedWhenTheWorkerStays) {
  begin(2);
  run_job("gpu-1");
  static_cast<void>(world.slurm.model().update_node("gpu-1", {.reason = "was slow"}));
  world.kubectl(
      Method::kPatch, kPods + "gpu-0",
      R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-deletion-cost":"9"}}})");
  spec(R"({"replicas":1})");
  pass(seconds(20));
  ASSERT_TRUE(drained("gpu-1"));
  EXPECT_EQ(world.slurm.model().node("gpu-1")->reason, "was slow");
  spec(R"({"replicas":2})");
  pass(seconds(20));
  EXPECT_FALSE(drained("gpu-1"));
  EXPECT_EQ(text_at(*find("gpu-1"), "/metadata/annotations/mainspring.slurm.net~1drained-under"),
            "");
  // The same words again are an administrator's.
  world.safety.administrator_drained("gpu-1");
  static_cast<void>(
      world.slurm.model().update_node("gpu-1", {.state = "DRAIN", .reason = "was slow"}));
  pass(minutes(1));
  EXPECT_TRUE(drained("gpu-1"));
}

TEST_F(OperatorRules, AWorkerWithASuspendedJobStaysUntilThatJobIsOver) {
  begin(2);
  const auto job = run_job("gpu-1");
  world.slurm.model().suspend(job);
  pass(seconds(10));
  ASSERT_EQ(world.slurm.model().node("gpu-1")->running, 0);
  EXPECT_EQ(text_at(*find("gpu-1"), "/metadata/labels/nodeset.slinky.slurm.net~1pod-protect"),
            "true");
  spec(R"({"replicas":0})");
  pass(minutes(3));
  EXPECT_TRUE(drained("gpu-1"));
  ASSERT_NE(find("gpu-1"), nullptr);
  EXPECT_EQ(pods(), 1U);
  // Another process has it from Slurm's list of jobs, not from the node.
  world.kill();
  world.start();
  pass(minutes(3));
  ASSERT_NE(find("gpu-1"), nullptr);
  static_cast<void>(world.slurm.model().cancel(job));
  pass(minutes(1));
  EXPECT_EQ(pods(), 0U);
}

TEST_F(OperatorRules, AWorkerThatSlurmKnowsUnderAnotherNameIsLeftAloneAndToldOf) {
  world.kubelet.registers_as["gpu-1"] = "gpu-1.workers";
  begin(2);
  const std::string uid(uid_of(*find("gpu-1")));
  run_job("gpu-1.workers");
  pass(minutes(5));
  ASSERT_NE(find("gpu-1"), nullptr);
  EXPECT_EQ(uid_of(*find("gpu-1")), uid);
  EXPECT_EQ(condition("Degraded"), "True WorkersUnderAnotherName");
  spec(R"({"replicas":1})");
  pass(minutes(5));
  ASSERT_NE(find("gpu-1"), nullptr);
  EXPECT_EQ(uid_of(*find("gpu-1")), uid);
  EXPECT_EQ(condition("Degraded"), "True WorkersUnderAnotherName");
}

TEST_F(OperatorRules, AWorkerDoesNotGoBeforeItIsKnownWhoTakesItsClaims) {
  begin(2, R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},)"
           R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}])");
  world.faults.forbids = [](const http::Request& request) {
    return request.method == Method::kPatch &&
           request.url.path.find("/persistentvolumeclaims/") != std::string::npos;
  };
  world.safety.administrator_drained("gpu-1");
  static_cast<void>(
      world.slurm.model().update_node("gpu-1", {.state = "DRAIN", .reason = "bad dimm"}));
  pass(seconds(5));
  spec(R"({"replicas":1})");
  pass(minutes(1));
  EXPECT_NE(find("gpu-1"), nullptr);
  world.faults.forbids = [](const http::Request&) { return false; };
  pass(minutes(2));
  EXPECT_EQ(find("gpu-1"), nullptr);
  const auto claim = [&](const char* name) {
    return world.api.find(kube::PersistentVolumeClaim::kResource, "slurm", name);
  };
  ASSERT_NE(claim("data-gpu-0"), nullptr);
  EXPECT_FALSE(is_being_deleted(*claim("data-gpu-0")));
  // Nobody takes the protection of claims off.
  const Object gone = claim("data-gpu-1");
  EXPECT_TRUE(!gone || is_being_deleted(*gone));
}

TEST_F(OperatorRules, AClusterWithoutNodesTakesNoRecordFromSlurm) {
  begin(1, R"(,"scalingMode":"DaemonSet","pruneSlurmNodeRecords":"NodeNotFound")");
  ASSERT_EQ(world.slurm.model().nodes().size(), 4U);
  const auto remove = [&](char pool, int number) {
    world.kubectl(Method::kDelete, fmt::format("{}{}{}", kNodes, pool, number));
  };
  remove('a', 0);
  pass(minutes(5));
  EXPECT_EQ(world.slurm.model().nodes().size(), 3U);
  for (int i = 0; i < 4; ++i) {
    remove('a', i);
    remove('b', i);
  }
  pass(minutes(5));
  EXPECT_EQ(pods(), 0U);
  EXPECT_EQ(world.slurm.model().nodes().size(), 3U);
}

TEST_F(OperatorRules, AWorkerIsNotMadeOnAClaimThatGoesAndKeepsNobodyWaiting) {
  begin(2, R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},)"
           R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}])");
  const auto claim = [&] {
    return world.api.find(kube::PersistentVolumeClaim::kResource, "slurm", "data-gpu-1");
  };
  const std::string claims = "/api/v1/namespaces/slurm/persistentvolumeclaims/data-gpu-1";
  // As kube-controller-manager protects what a pod uses.
  world.kubectl(Method::kPatch, claims, R"({"metadata":{"finalizers":["kubernetes.io/pvc"]}})");
  spec(R"({"replicas":1})");
  pass(minutes(1));
  ASSERT_EQ(pods(), 1U);
  ASSERT_TRUE(claim() && is_being_deleted(*claim()));
  spec(R"({"replicas":3})");
  pass(minutes(1));
  EXPECT_EQ(find("gpu-1"), nullptr);
  EXPECT_NE(find("gpu-2"), nullptr);
  world.kubectl(Method::kPatch, claims, R"({"metadata":{"finalizers":null}})");
  pass(minutes(6));
  EXPECT_NE(find("gpu-1"), nullptr);
  ASSERT_NE(claim(), nullptr);
  EXPECT_FALSE(is_being_deleted(*claim()));
}

// A claim is protected only while a pod on a node uses it.
TEST_F(OperatorRules, AClaimThatIsDeletedBeforeItsWorkerStartsIsMadeAgain) {
  begin(1, R"(,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}])");
  const std::string path = "/api/v1/namespaces/slurm/persistentvolumeclaims/data-gpu-1";
  const auto claim = [&] {
    return world.api.find(kube::PersistentVolumeClaim::kResource, "slurm", "data-gpu-1");
  };
  // kube-controller-manager takes the protection off what no pod on a node uses.
  const auto remove = [&] {
    world.kubectl(Method::kPatch, path, R"({"metadata":{"finalizers":null}})");
    world.kubectl(Method::kDelete, path);
    ASSERT_EQ(claim(), nullptr);
  };
  for (int i = 0; i < 4; ++i) {
    world.kubectl(Method::kPatch, fmt::format("{}a{}", kNodes, i),
                  R"({"spec":{"unschedulable":true}})");
  }
  spec(R"({"replicas":2})");
  pass(minutes(1));
  ASSERT_TRUE(find("gpu-1") && text_at(*find("gpu-1"), "/spec/nodeName").empty());
  const int before = world.safety.kube_writes;
  pass(minutes(5));
  EXPECT_EQ(world.safety.kube_writes, before) << world.safety.account();
  remove();
  pass(seconds(20));
  ASSERT_NE(claim(), nullptr);
  EXPECT_TRUE(told("SuccessfulCreate", "data-gpu-1 again"));

  world.kubectl(Method::kPatch, path, R"({"metadata":{"finalizers":["test/held"]}})");
  world.kubectl(Method::kDelete, path);
  const std::string going(uid_of(*claim()));
  pass(minutes(1));
  EXPECT_EQ(uid_of(*claim()), going);
  world.kubectl(Method::kPatch, path, R"({"metadata":{"finalizers":null}})");
  pass(seconds(20));
  ASSERT_NE(claim(), nullptr);
  EXPECT_NE(uid_of(*claim()), going);

  spec(R"({"replicas":1})");
  pass(minutes(1));
  ASSERT_EQ(find("gpu-1"), nullptr);
  remove();
  pass(minutes(5));
  EXPECT_EQ(claim(), nullptr);
}

TEST_F(OperatorRules, APartitionTakesNoNewJobsOnceItsNodeSetGoes) {
  begin(1, R"(,"partition":{"enabled":true,"config":"State=UP MaxTime=60"})");
  run_job("gpu-0", "gpu");
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=gpu Nodes=gpu State=UP MaxTime=60\n"));
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(minutes(1));
  EXPECT_EQ(pods(), 1U);
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
}

TEST_F(OperatorRules, AFinalizerThatCannotBeWrittenIsToldOfAndKeepsNobody) {
  world.faults.forbids = [](const http::Request& request) {
    return request.url.path.find("/nodesets/gpu") != std::string::npos &&
           request.body.find("mainspring.slurm.net/drain") != std::string::npos;
  };
  begin(2);
  EXPECT_TRUE(told("SyncFinalizerFailed", "exceeded quota"));
  EXPECT_EQ(world.nodeset("gpu")->at_pointer("/metadata/finalizers"), nullptr);
  world.faults.forbids = [](const http::Request&) { return false; };
  pass(minutes(6));
  EXPECT_EQ(text_at(*world.nodeset("gpu"), "/metadata/finalizers/0"), "mainspring.slurm.net/drain");
}

TEST_F(OperatorRules, AClaimOfAnothersIsLeftToItAndToldOf) {
  world.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: slurm}}");
  const std::string owner(uid_of(*world.api.find(kube::ConfigMap::kResource, "slurm", "owner")));
  world.put(fmt::format(
      "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data-gpu-0, namespace: "
      "slurm, ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {}, "
      "controller: true}}]}}, spec: {{}}}}",
      owner));
  begin(2, R"(,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},)"
           R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}])");
  EXPECT_TRUE(told("ConflictingController", "data-gpu-0 of pod gpu-0 belongs to ConfigMap owner"));
  EXPECT_FALSE(told("ConflictingController", "data-gpu-1"));
  const Object claim =
      world.api.find(kube::PersistentVolumeClaim::kResource, "slurm", "data-gpu-0");
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->at_pointer("/metadata/ownerReferences")->size(), 1U);
  EXPECT_EQ(text_at(*claim, "/metadata/ownerReferences/0/uid"), owner);
}

TEST_F(OperatorRules, AnotherSssdConfReachesEveryWorkerAndEndsNoJob) {
  const auto conf = [](std::string_view text) {
    return fmt::format(R"({{"data":{{"sssd.conf":"{}"}}}})", base64_encode(text));
  };
  world.put(
      fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: sssd, namespace: slurm}}, "
                  "data: {{sssd.conf: {}}}}}",
                  base64_encode("[sssd]")));
  begin(2, R"(,"ssh":{"enabled":true,"sssdConfRef":{"name":"sssd","key":"sssd.conf"}})");
  const auto uid = [&](const char* pod) { return std::string(uid_of(*find(pod))); };
  const std::string busy = uid("gpu-0");
  const std::string idle = uid("gpu-1");
  const std::uint32_t job = run_job("gpu-0");
  const auto done = world.kubectl(Method::kPatch, "/api/v1/namespaces/slurm/secrets/sssd",
                                  conf("[sssd]\nservices = nss"));
  ASSERT_EQ(done.status, 200) << done.body;
  pass(minutes(5));
  EXPECT_EQ(uid("gpu-0"), busy);
  static_cast<void>(world.slurm.model().cancel(job));
  pass(minutes(5));
  EXPECT_NE(uid("gpu-0"), busy);
  EXPECT_NE(uid("gpu-1"), idle);
  const std::string rolled = uid("gpu-1");
  pass(minutes(10));
  EXPECT_EQ(uid("gpu-1"), rolled);
}

TEST_F(OperatorRules, ATopologyThatIsNoneIsToldOfAndHandedToNobody) {
  begin(1);
  const std::string node(text_at(*find("gpu-0"), "/spec/nodeName"));
  const auto say = [&](const std::string& topology) {
    const auto done = world.kubectl(
        Method::kPatch, kNodes + node,
        fmt::format(R"({{"metadata":{{"annotations":{{"topology.slinky.slurm.net/spec":"{}"}}}}}})",
                    topology));
    ASSERT_EQ(done.status, 200) << done.body;
    pass(seconds(30));
  };
  const std::string on_pod = "/metadata/annotations/topology.slinky.slurm.net~1spec";
  say("racks:rack1 Weight=0");
  EXPECT_EQ(condition("TopologyInSlurm"), "False InvalidTopology");
  EXPECT_EQ(text_at(*find("gpu-0"), on_pod), "");
  say("racks:rack1");
  EXPECT_EQ(condition("TopologyInSlurm"), "");
  EXPECT_EQ(text_at(*find("gpu-0"), on_pod), "racks:rack1");
}

constexpr const char* kScheduled =
    R"(,"updateStrategy":{{"type":"ScheduledUpdate",)"
    R"("scheduledUpdate":{{"startTime":"{}","duration":"30m"}}}},"deletion":{{"policy":"{}"}})";

TEST_F(OperatorRules, AWindowThatIsOverIsToldOfOnlyWhereItLeftSomebodyBehind) {
  begin(2, fmt::format(kScheduled, "2023-01-01T00:00:00Z", "Drain"));
  pass(minutes(5));
  EXPECT_FALSE(told("ReservationFailed", ""));
  spec(R"({"slurmd":{"image":"new"}})");
  pass(minutes(1));
  EXPECT_TRUE(told("ReservationFailed", "startTime: 2023-01-01T00:00:00Z is in the past"));
}

TEST_F(OperatorRules, ANodeSetThatGoesAtOnceTakesItsReservationAlong) {
  for (const bool slurm_is_back : {true, false}) {
    begin(2, fmt::format(kScheduled, "2030-01-01T00:00:00Z", "Immediate"));
    world.safety.reckless.emplace(uid_of(*world.nodeset("gpu")));
    ASSERT_TRUE(world.slurm.model().reservations().contains("SlurmOperatorMaint-gpu"));
    world.slurm.stop_rest();
    world.kubectl(Method::kDelete, kSets + "gpu");
    pass(seconds(5));
    if (slurm_is_back) world.slurm.start_rest();
    pass(seconds(5));
    EXPECT_TRUE(world.api.storage().all("pods").empty());
    pass(seconds(30));
    EXPECT_EQ(world.nodeset("gpu"), nullptr);
    EXPECT_EQ(world.slurm.model().reservations().empty(), slurm_is_back);
  }
}

}  // namespace
}  // namespace mainspring::sim
