// How gangs form, wait and are bound: what owners, volumes and nodes mean for that, and what
// becomes of it where a call is refused again and again. The whole bridge, one thing at a time.
#include <algorithm>

#include "kube/batch.h"
#include "kube/storage.h"
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

using http::Method;

constexpr std::string_view kGroups = "/podgroups/";
// A kind whose pods are scheduled though the bridge has never heard of it.
const kube::Resource kTrainJobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", true};

class BridgeForming : public testing::Test {
 protected:
  explicit BridgeForming(const std::string& groups = "v1alpha3") : world(1, groups) {
    world.heal();
    world.kubelet.run_on();
    for (const char* const name : {"n0", "n1"}) world.add_node(name);
    world.pass(seconds(10));
  }
  ~BridgeForming() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  struct PodOptions {
    std::string labels = {}, annotations = {}, owner = {}, spec = {};
    int cpus = 8;
  };
  void pod(const std::string& name, const PodOptions& options) {
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, labels: {{{}}}, "
        "annotations: {{{}}}, ownerReferences: [{}]}}, spec: {{schedulerName: "
        "slurm-bridge-scheduler, {} containers: [{{name: main, image: i, resources: {{requests: "
        "{{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, options.labels, options.annotations, options.owner, options.spec, options.cpus));
  }
  // One of a coscheduling PodGroup.
  void member(const std::string& name, const std::string& group, int cpus = 8) {
    pod(name, {.labels = "scheduling.x-k8s.io/pod-group: " + group, .cpus = cpus});
  }
  void pod_group(const std::string& name, int least, const std::string& annotations = "") {
    world.put(
        fmt::format("{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: "
                    "{{name: {}, namespace: default, annotations: {{{}}}}}, spec: "
                    "{{minMember: {}}}}}",
                    name, annotations, least));
  }
  // Makes a Job; the reference to it for its pods.
  std::string owning_job(const std::string& name, const std::string& annotations,
                         const std::string& spec = "", const std::string& owner = "") {
    world.put(
        fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, namespace: "
                    "default, annotations: {{{}}}, ownerReferences: [{}]}}, spec: {{{} template: "
                    "{{spec: {{containers: [{{name: m, image: i}}], restartPolicy: Never}}}}}}}}",
                    name, annotations, owner, spec));
    const Object job = world.api.find(kube::Job::kResource, "default", name);
    return fmt::format("{{apiVersion: batch/v1, kind: Job, name: {}, uid: {}, controller: true}}",
                       name, uid_of(*job));
  }
  // The same of a TrainJob.
  std::string train_job(const std::string& name, const std::string& annotations,
                        const std::string& owner = "") {
    world.put(fmt::format(
        "{{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: "
        "{{name: {}, namespace: default, annotations: {{{}}}, ownerReferences: [{}]}}}}",
        name, annotations, owner));
    const Object made = world.api.find(kTrainJobs, "default", name);
    return fmt::format(
        "{{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: {}, "
        "uid: {}, controller: true}}",
        name, uid_of(*made));
  }
  static std::string limit(int minutes) {
    return fmt::format("slurmjob.slinky.slurm.net/timelimit: '{}'", minutes);
  }
  // Both nodes are in use.
  void fill() {
    for (const char* const name : {"busy-0", "busy-1"}) pod(name, {});
    world.pass(seconds(10));
    ASSERT_FALSE(node_of("busy-1").empty()) << world.safety.account();
  }
  void remove(const std::string& path) { ask_kube(world.api, Method::kDelete, path, ""); }

  Object find(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*find(name), "/spec/nodeName"));
  }
  // The job whose mark the pod has; null where it has none.
  const SlurmJob* job_of(const std::string& name) {
    return world.slurm.model().job(job_of_pod(*find(name)));
  }
  std::string says(const std::string& name) {
    const json::Value* const all = find(name)->at_pointer("/status/conditions");
    if (all == nullptr) return "";
    for (const json::Value& one : *all) {
      if (text_at(one, "/type") == "PodScheduled") return std::string(text_at(one, "/message"));
    }
    return "";
  }
  std::vector<std::string> events(std::string_view reason) {
    std::vector<std::string> notes;
    for (const auto& [key, event] : world.api.storage().all("events.events.k8s.io")) {
      if (text_at(*event, "/reason") == reason) notes.emplace_back(text_at(*event, "/note"));
    }
    return notes;
  }
  static bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  }

  BridgeWorld world;
};

TEST_F(BridgeForming, AnOwnerThatCannotBeReadChangesNoJobThatWaits) {
  fill();
  pod_group("ring", 2, "slurmjob.slinky.slurm.net/timelimit: '7'");
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring");
  world.pass(seconds(10));
  const SlurmJob* const job = job_of("ring-0");
  ASSERT_TRUE(job != nullptr && job->nodes_wanted == 2) << world.safety.account();

  for (const int status : {500, 403}) {
    world.kube_door.close(Method::kGet, kGroups, status);
    if (status == 500) remove("/api/v1/namespaces/default/pods/ring-1");
    world.pass(minutes(1));
    EXPECT_FALSE(find("ring-1")) << "it must not depend on the PodGroup that it can go";
    EXPECT_EQ(job->nodes_wanted, 2) << world.safety.account();
    EXPECT_EQ(job->time_limit, 7);
    EXPECT_FALSE(job->over());
  }
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_TRUE(job->over()) << "there are too few now";
  EXPECT_TRUE(has(says("ring-0"), "1 of 2")) << says("ring-0");
}

TEST_F(BridgeForming, APodGroupThatIsDeletedChangesNoJobThatWaits) {
  fill();
  pod_group("ring", 2, "slurmjob.slinky.slurm.net/timelimit: '7'");
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring");
  world.pass(seconds(10));
  remove("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/ring");
  remove("/api/v1/namespaces/default/pods/ring-1");
  world.pass(minutes(1));
  const SlurmJob* const job = job_of("ring-0");
  ASSERT_NE(job, nullptr) << world.safety.account();
  EXPECT_EQ(job->nodes_wanted, 2) << world.safety.account();
  EXPECT_EQ(job->time_limit, 7);
}

TEST_F(BridgeForming, AGangThatLosesAMemberAsItsJobStartsDoesNotBeginWithoutIt) {
  fill();
  pod_group("ring", 2);
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring");
  world.pass(seconds(10));
  const std::uint32_t job = job_of_pod(*find("ring-0"));
  ASSERT_NE(job, 0U) << world.safety.account();

  world.kill();
  for (const char* const name : {"busy-0", "busy-1"}) {
    ASSERT_FALSE(world.slurm.model().cancel(job_of_pod(*find(name))));
  }
  remove("/api/v1/namespaces/default/pods/ring-1");
  world.pass(seconds(2));
  ASSERT_EQ(world.slurm.model().job(job)->state, SlurmJob::State::kRunning);
  world.start();
  world.pass(minutes(3));
  EXPECT_EQ(node_of("ring-0"), "") << world.safety.account();
  EXPECT_TRUE(world.slurm.model().job(job)->over()) << "nobody uses its nodes";
  EXPECT_TRUE(has(says("ring-0"), "1 of 2")) << says("ring-0");

  member("ring-2", "ring");
  world.pass(minutes(1));
  EXPECT_NE(node_of("ring-0"), "") << world.safety.account();
  EXPECT_NE(node_of("ring-2"), "");
}

TEST_F(BridgeForming, AGangThatLosesAMemberWhileItIsAskedForDoesNotBeginWithoutIt) {
  pod_group("ring", 2);
  bool asked = false;
  world.slurm_faults.forbids = [&](const http::Request& request) {
    if (!asked && request.url.path.find("job/allocate") != std::string::npos) {
      asked = true;
      remove("/api/v1/namespaces/default/pods/ring-1");
    }
    return false;
  };
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring");
  world.pass(minutes(1));
  ASSERT_TRUE(asked) << world.safety.account();
  EXPECT_EQ(node_of("ring-0"), "") << world.safety.account();
  EXPECT_TRUE(has(says("ring-0"), "1 of 2")) << says("ring-0");
}

TEST_F(BridgeForming, ALeaderThatItsWorkersWaitForDoesNotWaitForThem) {
  serve_kind(world.api, kube::LeaderWorkerSet::kResource);
  for (const char* const policy : {"LeaderReady", "LeaderCreated"}) {
    const std::string name = has(policy, "Ready") ? "ready" : "created";
    world.put(
        fmt::format("{{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: "
                    "{{name: {}, namespace: default}}, spec: {{startupPolicy: {}, "
                    "leaderWorkerTemplate: {{size: 2}}}}}}",
                    name, policy));
    pod(name + "-0", {.labels = fmt::format("leaderworkerset.sigs.k8s.io/name: {0}, "
                                            "leaderworkerset.sigs.k8s.io/group-key: {0}",
                                            name)});
  }
  world.pass(minutes(2));
  EXPECT_NE(node_of("ready-0"), "") << says("ready-0");
  EXPECT_TRUE(has(says("created-0"), "1 of 2")) << says("created-0");
}

TEST_F(BridgeForming, ThePriorityClassOfPodsCountsWhateverTheyBelongTo) {
  world.kill();
  world.options.config.priority_classes["urgent"].priority = 5123;
  world.start();
  world.pass(minutes(1));
  pod("alone", {.spec = "priorityClassName: urgent,"});
  world.pass(seconds(10));
  EXPECT_TRUE(has(world.safety.account(), "5123")) << world.safety.account();
}

TEST_F(BridgeForming, WhyAJobWaitsIsSaidAnewWhereSlurmGivesAnotherReason) {
  fill();
  pod("later", {});
  world.pass(seconds(30));
  EXPECT_TRUE(has(says("later"), "Resources")) << says("later");
  ASSERT_FALSE(world.slurm.model().update_job(job_of("later")->id, {.hold = true}));
  world.pass(seconds(30));
  EXPECT_TRUE(has(says("later"), "JobHeldAdmin")) << says("later");
  world.pass(minutes(2));
  const auto said = events("SlurmWaiting");
  ASSERT_EQ(said.size(), 2U) << world.safety.account();
  EXPECT_TRUE(has(said[0] + said[1], "Resources") && has(said[0] + said[1], "JobHeldAdmin"));
  EXPECT_EQ(events("Scheduled").size(), 2U) << "of the two that have a node";
}

TEST_F(BridgeForming, WhileSlurmIsAwayThePodsSaySo) {
  world.stop_rest();
  pod("early", {});
  world.pass(minutes(1));
  EXPECT_TRUE(has(says("early"), "Slurm could not be asked")) << says("early");
  world.start_rest();
  world.pass(minutes(5));
  EXPECT_NE(node_of("early"), "");
}

TEST_F(BridgeForming, TheLastPodOfAWholeJobDoesNotWaitForThoseThatHaveSucceeded) {
  const std::string owner = owning_job("sweep", "", "parallelism: 3, completions: 3,");
  world.patch("/apis/batch/v1/namespaces/default/jobs/sweep/status",
              R"({"status":{"succeeded":2,"active":1}})");
  pod("sweep-1", {.labels = "batch.kubernetes.io/job-name: sweep",
                  .annotations = "mainspring.slurm.net/gang: Job",
                  .owner = owner});
  world.pass(seconds(30));
  EXPECT_NE(node_of("sweep-1"), "") << says("sweep-1");
}

TEST_F(BridgeForming, ANodeThatComesToSuitIsNoticedAtOnce) {
  pod("fast", {.spec = "nodeSelector: {disk: ssd},"});
  world.pass(minutes(3));
  ASSERT_TRUE(has(says("fast"), "node selector disk=ssd")) << says("fast");
  world.pass(seconds(5));
  world.patch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"disk":"ssd"}}})");
  world.pass(seconds(4));
  EXPECT_EQ(node_of("fast"), "n1") << world.safety.account();
}

TEST_F(BridgeForming, WithoutTheirKindPodsOfAGroupAreEachByThemselves) {
  fill();
  const std::string labels =
      "leaderworkerset.sigs.k8s.io/name: set, leaderworkerset.sigs.k8s.io/group-key: k";
  // The first of them has an owner that the bridge cannot find.
  const std::string owner = owning_job("lost", "");
  world.kube_door.close(Method::kGet, "/jobs/lost", 404);
  pod("set-0", {.labels = labels, .owner = owner});
  for (const char* const name : {"set-1", "set-2"}) pod(name, {.labels = labels});
  world.pass(minutes(1));
  EXPECT_TRUE(has(says("set-0"), "is not there")) << says("set-0");
  ASSERT_TRUE(job_of("set-1") != nullptr && job_of("set-2") != nullptr) << world.safety.account();
  EXPECT_NE(job_of("set-1")->id, job_of("set-2")->id);
  for (const char* const name : {"set-1", "set-2"}) {
    EXPECT_EQ(uids_of(*job_of(name)), std::vector{std::string(uid_of(*find(name)))});
  }
}

TEST_F(BridgeForming, PodsOfAnyKindTakeWhatTheHighestOwnerSaysUnlessAJobSaysIt) {
  serve_kind(world.api, kTrainJobs);
  const std::string top = train_job("top", limit(7));
  pod("of-kind", {.annotations = limit(4), .owner = train_job("low", limit(5), top)});
  pod("of-job", {.annotations = limit(4), .owner = owning_job("work", limit(6), "", top)});
  world.pass(seconds(30));
  ASSERT_TRUE(job_of("of-kind") && job_of("of-job")) << says("of-kind") << says("of-job");
  EXPECT_EQ(job_of("of-kind")->time_limit, 7);
  EXPECT_EQ(job_of("of-job")->time_limit, 6);
  EXPECT_NE(node_of("of-kind"), "");
  EXPECT_NE(node_of("of-job"), "");
}

TEST_F(BridgeForming, OwnersMayBeThirtyTwoAboveEachOtherAndNoMore) {
  serve_kind(world.api, kTrainJobs);
  std::string owner = train_job("owner-1", limit(7));
  for (int i = 2; i <= 32; ++i) owner = train_job(fmt::format("owner-{}", i), "", owner);
  pod("deep", {.owner = owner});
  pod("deeper", {.owner = train_job("owner-33", "", owner)});
  world.pass(seconds(30));
  ASSERT_NE(job_of("deep"), nullptr) << says("deep");
  EXPECT_EQ(job_of("deep")->time_limit, 7);
  EXPECT_EQ(job_of("deeper"), nullptr);
  EXPECT_TRUE(has(says("deeper"), "more than 32 owners")) << says("deeper");
}

TEST_F(BridgeForming, OwnersThatOwnEachOtherAreSaidAndDelayNobodyElse) {
  serve_kind(world.api, kTrainJobs);
  const std::string egg = train_job("egg", "");
  const std::string hen = train_job("hen", "", egg);
  world.patch("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/egg",
              fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})",
                          json::to_text(*json::parse_yaml(hen))));
  pod("chick", {.owner = hen});
  pod("other", {});
  world.pass(seconds(30));
  EXPECT_TRUE(has(says("chick"), "one owns itself")) << says("chick");
  EXPECT_FALSE(events("OwnerNotReadable").empty());
  EXPECT_EQ(job_of("chick"), nullptr);
  EXPECT_NE(node_of("other"), "") << world.safety.account();
}

TEST_F(BridgeForming, APodWhoseOwnerIsNotThereSaysSoAndGetsNoJob) {
  const std::string owner = owning_job("gone", "");
  world.kube_door.close(Method::kGet, "/jobs/gone", 404);
  pod("orphan", {.owner = owner});
  world.pass(minutes(1));
  EXPECT_TRUE(has(says("orphan"), "Job gone, which owns pod orphan, is not there"))
      << says("orphan");
  EXPECT_FALSE(events("OwnerNotReadable").empty());
  EXPECT_TRUE(world.slurm.model().jobs().empty()) << world.safety.account();
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_NE(node_of("orphan"), "") << says("orphan");
}

TEST_F(BridgeForming, ADeadlineOfNoSecondsIsNoLimit) {
  pod("plain", {.owner = owning_job("work", "", "activeDeadlineSeconds: 0,")});
  pod("short", {.owner = owning_job("rest", "", "activeDeadlineSeconds: 90,")});
  world.pass(seconds(30));
  ASSERT_TRUE(job_of("plain") && job_of("short")) << says("plain") << says("short");
  EXPECT_EQ(job_of("plain")->time_limit, std::nullopt);
  EXPECT_EQ(job_of("short")->time_limit, 2);
}

TEST_F(BridgeForming, AnnotationsOfEarlyReleasesAreReadWithAWarning) {
  pod("early", {.annotations = "slinky.slurm.net/timelimit: '7'"});
  pod("now", {.annotations = limit(8)});
  world.pass(seconds(30));
  ASSERT_TRUE(job_of("early") && job_of("now")) << says("early") << says("now");
  EXPECT_EQ(job_of("early")->time_limit, 7);
  const auto said = events("Annotation");
  ASSERT_EQ(said.size(), 1U) << world.safety.account();
  EXPECT_TRUE(has(said[0], "slinky.slurm.net/timelimit") &&
              has(said[0], "use slurmjob.slinky.slurm.net/timelimit"))
      << said[0];
}

TEST_F(BridgeForming, AShortRefusalToBindDoesNotCostTheJob) {
  world.kube_door.close(Method::kPost, "/binding", 403);
  pod("first", {});
  world.pass(seconds(10));
  EXPECT_EQ(node_of("first"), "");
  world.kube_door.open_again();
  world.pass(seconds(10));
  EXPECT_NE(node_of("first"), "");
  EXPECT_EQ(world.slurm.model().jobs().size(), 1U) << world.safety.account();
}

TEST_F(BridgeForming, APodThatCannotBeBoundCostsTheOthersNothingAndGetsItsNodeLater) {
  pod_group("ring", 1);
  world.kube_door.close(Method::kPost, "ring-1/binding", 403);
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring", 1);
  world.pass(minutes(1));
  const SlurmJob* const job = job_of("ring-0");
  ASSERT_NE(job, nullptr) << world.safety.account();
  EXPECT_FALSE(job->over());
  EXPECT_FALSE(events("CannotBeBound").empty());
  EXPECT_EQ(node_of("ring-1"), "");
  world.kube_door.open_again();
  world.pass(minutes(1));
  EXPECT_NE(node_of("ring-0"), "");
  EXPECT_NE(node_of("ring-1"), "") << world.safety.account();
}

TEST_F(BridgeForming, AGangDoesNotHoldItsNodesForEverWhereAnothersContainersDoNotEnd) {
  fill();
  pod_group("ring", 2);
  for (const char* const name : {"ring-0", "ring-1"}) member(name, "ring");
  world.pass(seconds(10));
  const std::uint32_t job = job_of_pod(*find("ring-0"));
  world.kubelet.linger(true);
  world.kill();
  for (const char* const name : {"busy-0", "busy-1"}) {
    ASSERT_FALSE(world.slurm.model().cancel(job_of_pod(*find(name))));
  }
  world.pass(seconds(2));
  world.start();
  world.pass(minutes(4));
  ASSERT_EQ(world.slurm.model().job(job)->state, SlurmJob::State::kRunning);
  EXPECT_TRUE(has(says("ring-0"), "still at work")) << says("ring-0");
  world.pass(minutes(2));
  EXPECT_TRUE(world.slurm.model().job(job)->over()) << world.safety.account();
  EXPECT_FALSE(events("CannotBeBound").empty());
  world.kubelet.linger(false);
  world.pass(minutes(5));
  EXPECT_NE(node_of("ring-0"), "") << says("ring-0") << world.safety.account();
  EXPECT_NE(node_of("ring-1"), "");
}

class BridgeVolumes : public BridgeForming {
 protected:
  void storage(const std::string& name, const std::string& rest) {
    world.put(
        fmt::format("{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: "
                    "{}}}, {}}}",
                    name, rest));
    world.put(
        fmt::format("{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, "
                    "namespace: default}}, spec: {{storageClassName: {}, accessModes: "
                    "[ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}",
                    name));
  }
  void user() {
    pod("user", {.spec = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}],"});
  }
  // As Kubernetes' own controller does it.
  void bind_claim(const std::string& volume) {
    world.patch("/api/v1/namespaces/default/persistentvolumeclaims/data",
                fmt::format(R"({{"spec":{{"volumeName":"{}"}}}})", volume));
    world.patch("/api/v1/namespaces/default/persistentvolumeclaims/data/status",
                R"({"status":{"phase":"Bound"}})");
  }
  Object claim() {
    return world.api.find(kube::PersistentVolumeClaim::kResource, "default", "data");
  }
  std::string selected() {
    return std::string(
        text_at(*claim(), "/metadata/annotations/volume.kubernetes.io~1selected-node"));
  }
  void label(const std::string& node, const std::string& zone) {
    world.patch("/api/v1/nodes/" + node,
                fmt::format(R"({{"metadata":{{"labels":{{"zone":"{}"}}}}}})", zone));
  }
};

TEST_F(BridgeVolumes, AClaimThatIsBoundAtOnceAndIsNotGetsNoJob) {
  storage("now", "provisioner: csi.x, volumeBindingMode: Immediate");
  user();
  world.pass(minutes(1));
  EXPECT_TRUE(has(says("user"), "Immediate")) << says("user");
  EXPECT_TRUE(world.slurm.model().jobs().empty()) << world.safety.account();
  world.put(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: "
      "{storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}}");
  bind_claim("pv");
  world.pass(minutes(1));
  EXPECT_NE(node_of("user"), "") << says("user");
}

TEST_F(BridgeVolumes, AVolumeThatIsThereDecidesTheNodeAndIsSetAsideForTheClaim) {
  label("n0", "a");
  label("n1", "b");
  world.put(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {capacity: "
      "{storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: "
      "/x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, "
      "operator: In, values: [b]}]}]}}}}");
  world.patch("/api/v1/persistentvolumes/disk/status", R"({"status":{"phase":"Available"}})");
  storage("local",
          "provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer");
  user();
  world.pass(seconds(30));
  const Object disk = world.api.find(kube::PersistentVolume::kResource, "", "disk");
  EXPECT_EQ(text_at(*disk, "/spec/claimRef/uid"), uid_of(*claim())) << world.safety.account();
  EXPECT_EQ(node_of("user"), "");
  EXPECT_TRUE(has(says("user"), "waiting for PersistentVolumeClaim data")) << says("user");
  bind_claim("disk");
  world.pass(seconds(10));
  EXPECT_EQ(node_of("user"), "n1") << world.safety.account();
}

TEST_F(BridgeVolumes, AVolumeIsMadeWhereTheClassAllowsItOrTheNodeIsGivenBack) {
  label("n0", "a");
  label("n1", "b");
  storage("made",
          "provisioner: csi.x, volumeBindingMode: WaitForFirstConsumer, "
          "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [b]}]}]");
  user();
  world.pass(minutes(1));
  EXPECT_EQ(selected(), "n1") << world.safety.account();
  const SlurmJob* const job = world.slurm.model().job(1);
  ASSERT_TRUE(job != nullptr && !job->over());
  world.pass(minutes(5));
  EXPECT_TRUE(job->over()) << world.safety.account();
  EXPECT_FALSE(events("CannotBeBound").empty());
}

class BridgeGroups : public BridgeForming, public testing::WithParamInterface<const char*> {
 protected:
  BridgeGroups() : BridgeForming(GetParam()) {}
  void builtin(const std::string& spec, const std::string& annotations = "") {
    world.put(
        fmt::format("{{apiVersion: scheduling.k8s.io/{}, kind: PodGroup, metadata: {{name: "
                    "ring, namespace: default, annotations: {{{}}}}}, spec: {{{}}}}}",
                    GetParam(), annotations, spec));
  }
  std::string scheduled() {
    kube::Resource resource = kube::PodGroup::kResource;
    resource.version = GetParam();
    const Object group = world.api.find(resource, "default", "ring");
    const json::Value* const all = group->at_pointer("/status/conditions");
    return all == nullptr ? "" : json::to_text(*all);
  }
};

TEST_P(BridgeGroups, AreToldOfTheirSchedulingThoughItWasRefusedAtFirst) {
  builtin("schedulingPolicy: {gang: {minCount: 2}}");
  world.kube_door.close(Method::kPatch, "/podgroups/ring/status", 500);
  for (const char* const name : {"ring-0", "ring-1"}) {
    pod(name, {.spec = "schedulingGroup: {podGroupName: ring},"});
  }
  world.pass(seconds(30));
  ASSERT_NE(node_of("ring-0"), "") << says("ring-0");
  EXPECT_EQ(scheduled(), "");
  // Nor does a restart lose it.
  world.kill();
  world.kube_door.open_again();
  world.start();
  world.pass(minutes(1));
  EXPECT_TRUE(has(scheduled(), "PodGroupScheduled")) << world.safety.account();
}

TEST_P(BridgeGroups, TheWorkloadsAnnotationsWinOverTheJobsAndThoseOverTheGroups) {
  const auto annotations = [](std::string_view name, std::string_view limit) {
    return fmt::format(
        "slurmjob.slinky.slurm.net/job-name: {}, {}", name,
        limit.empty() ? "" : fmt::format("slurmjob.slinky.slurm.net/timelimit: '{}'", limit));
  };
  const std::string link = std::string_view(GetParam()) == "v1alpha2"
                               ? "podGroupTemplateRef: {workload: {workloadName: train, "
                                 "podGroupTemplateName: w}}"
                               : "workloadRef: {workloadName: train, templateName: w}";
  world.put(
      fmt::format("{{apiVersion: scheduling.k8s.io/{}, kind: Workload, metadata: {{name: "
                  "train, namespace: default, annotations: {{{}}}}}, spec: {{}}}}",
                  GetParam(), annotations("of-workload", "")));
  builtin("schedulingPolicy: {gang: {minCount: 1}}, " + link, annotations("of-group", "1"));
  pod("train-0", {.owner = owning_job("train", annotations("of-job", "2")),
                  .spec = "schedulingGroup: {podGroupName: ring},"});
  world.pass(seconds(20));
  const SlurmJob* const job = job_of("train-0");
  ASSERT_NE(job, nullptr) << says("train-0");
  EXPECT_EQ(job->name, "of-workload");
  EXPECT_EQ(job->time_limit, 2);
}

INSTANTIATE_TEST_SUITE_P(Versions, BridgeGroups,
                         testing::Values("v1alpha2", "v1alpha3", "v1beta1"));

}  // namespace
}  // namespace mainspring::sim
