// The small kinds, each from what an API server really sent (tests/data/kube) or a few lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/rfc3339.h"
#include "kube/apps.h"
#include "kube/batch.h"
#include "kube/controller_revision.h"
#include "kube/core_objects.h"
#include "kube/devices.h"
#include "kube/gangs.h"
#include "kube/lease.h"
#include "kube/node.h"
#include "kube/policy.h"
#include "kube/scheduling.h"
#include "kube/storage.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;

template <class T>
T from(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(T());
}

template <class T>
T recorded(const std::string& name) {
  std::ifstream file(MAINSPRING_TEST_DATA "/kube/" + name + ".json");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return from<T>(text.str());
}

Meta node_with(std::string_view label, std::string_view value) {
  return from<Meta>("{\"labels\":{\"" + std::string(label) + "\":\"" + std::string(value) + "\"}}");
}

TEST(Lease, KeepsMicrosecondsOfItsTimes) {
  const auto lease = from<Lease>(R"({"spec":{"holderIdentity":"a","leaseDurationSeconds":15,
      "leaseTransitions":3,"acquireTime":"2026-11-15T09:00:00.000001Z",
      "renewTime":"2026-11-15T09:00:10.500000Z"}})");
  EXPECT_EQ(lease.holder, "a");
  EXPECT_EQ(lease.duration_seconds, 15);
  EXPECT_EQ(lease.transitions, 3);
  EXPECT_EQ(*lease.renewed - *lease.acquired, seconds(10) + microseconds(499'999));
  EXPECT_FALSE(from<Lease>(R"({"spec":{"holderIdentity":null}})").renewed);
}

TEST(SecretObject, HoldsDecodedValuesThatAreNotShown) {
  const auto object =
      from<SecretObject>(R"({"type":"Opaque","data":{"jwt.key":"c2VzYW1l","empty":""}})");
  ASSERT_NE(object.find("jwt.key"), nullptr);
  EXPECT_EQ(object.find("jwt.key")->reveal(), "sesame");
  EXPECT_EQ(object.find("none"), nullptr);
  EXPECT_TRUE(object.find("empty")->empty());
}

TEST(SecretObject, RefusesWhatIsNotBase64WithoutRepeatingIt) {
  json::Reader reader;
  const auto object = json::decode<SecretObject>(reader, R"({"data":{"k":"sesame!"}})");
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().to_string(), testing::Not(testing::HasSubstr("sesame")));
}

TEST(ConfigMap, HoldsItsData) {
  const auto map = from<ConfigMap>(R"({"data":{"slurm.conf":"A=1\n"},"immutable":true})");
  EXPECT_EQ(map.data.find("slurm.conf"), "A=1\n");
  EXPECT_TRUE(map.immutable);
}

TEST(Namespace, SaysThatItIsGoing) {
  EXPECT_TRUE(from<Namespace>(R"({"status":{"phase":"Terminating"}})").terminating);
  EXPECT_FALSE(from<Namespace>(R"({"status":{"phase":"Active"}})").terminating);
}

TEST(Service, ReadsPortsByNumberAndByName) {
  const auto service = from<Service>(R"({"spec":{"clusterIP":"None","selector":{"a":"b"},
      "publishNotReadyAddresses":true,
      "ports":[{"port":6817,"targetPort":"slurmctld"},{"port":80,"targetPort":8080}]}})");
  EXPECT_EQ(service.ports[0].target_port, "slurmctld");
  EXPECT_EQ(service.ports[1].target_port, "8080");
  EXPECT_EQ(service.cluster_ip, "None");
  EXPECT_TRUE(service.publish_not_ready_addresses);
}

TEST(Node, IsTheSameAfterAHeartbeat) {
  const auto node = recorded<Node>("node");
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints[0].effect, TaintEffect::kNoExecute);
  EXPECT_EQ(node.meta.labels.find("gpus"), "8");
  const auto beat = [](std::string_view time) {
    return from<Node>(R"({"status":{"capacity":{"cpu":"8"},"conditions":[{"type":"Ready",
        "status":"True","lastTransitionTime":"2026-11-15T09:00:00Z","lastHeartbeatTime":")" +
                      std::string(time) + "\"}]}}");
  };
  EXPECT_EQ(beat("2026-11-15T09:00:00Z"), beat("2026-11-15T09:05:00Z"));
  EXPECT_TRUE(beat("2026-11-15T09:00:00Z").ready());
  EXPECT_FALSE(node.ready());
}

TEST(PersistentVolume, TellsWhichNodesReachIt) {
  const auto volume = recorded<PersistentVolume>("pv");
  EXPECT_EQ(volume.claim_name, "train-data");
  EXPECT_EQ(volume.storage_class, "local");
  EXPECT_TRUE(volume.required_nodes->matches(node_with("rack", "r3")));
  EXPECT_FALSE(volume.required_nodes->matches(node_with("rack", "r4")));
}

TEST(PersistentVolumeClaim, TellsNoClassFromTheDefaultClass) {
  EXPECT_EQ(from<PersistentVolumeClaim>(R"({"spec":{}})").storage_class, std::nullopt);
  const auto claim = from<PersistentVolumeClaim>(R"({"spec":{"storageClassName":"",
      "volumeName":"v","accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}}},
      "status":{"phase":"Bound"}})");
  EXPECT_EQ(claim.storage_class, "");
  EXPECT_TRUE(claim.bound());
  EXPECT_THAT(claim.access_modes, ElementsAre(Text("ReadWriteMany")));
}

TEST(StorageClass, AllowsTopologies) {
  const auto storage = recorded<StorageClass>("sc");
  EXPECT_EQ(storage.binding_mode, "WaitForFirstConsumer");
  ASSERT_EQ(storage.allowed_topologies.size(), 1U);
  EXPECT_TRUE(storage.allowed_topologies[0].matches(node_with("zone", "b")));
  EXPECT_FALSE(storage.allowed_topologies[0].matches(node_with("zone", "c")));
}

TEST(StatefulSet, ReadsWhatTheOperatorCompares) {
  const auto set = recorded<StatefulSet>("sts");
  EXPECT_EQ(set.service_name, "ctl-internal");
  EXPECT_EQ(set.spec.replicas, 0);
  EXPECT_EQ(set.spec.template_annotations.find("slurm-config-hash"), "abc");
  EXPECT_EQ(set.spec.selector.to_string(), "app=ctl");
}

TEST(DaemonSet, CountsPods) {
  const auto set = from<DaemonSet>(
      R"({"status":{"desiredNumberScheduled":5,"numberReady":4,"updatedNumberScheduled":3}})");
  EXPECT_EQ(set.desired, 5);
  EXPECT_EQ(set.ready, 4);
  EXPECT_EQ(set.updated, 3);
}

TEST(Deployment, CountsPods) {
  const auto deployment = from<Deployment>(
      R"({"spec":{"paused":true,"replicas":3},"status":{"replicas":2,"availableReplicas":1}})");
  EXPECT_TRUE(deployment.paused);
  EXPECT_EQ(deployment.spec.replicas, 3);
  EXPECT_EQ(deployment.replicas, 2);
  EXPECT_EQ(deployment.available, 1);
  EXPECT_EQ(from<ReplicaSet>(R"({"status":{"readyReplicas":2}})").ready, 2);
}

TEST(ControllerRevision, KeepsItsDataAsText) {
  const auto revision = recorded<ControllerRevision>("controllerrevision");
  EXPECT_EQ(revision.revision, 3);
  EXPECT_EQ(revision.data, R"({"spec":{"template":{"a":1}}})");
}

TEST(Job, CarriesItsPodTemplate) {
  const auto job = recorded<Job>("job");
  EXPECT_EQ(job.parallelism, 2);
  EXPECT_EQ(job.completions, 3);
  EXPECT_EQ(job.active_deadline_seconds, 90);
  EXPECT_TRUE(job.indexed);
  EXPECT_TRUE(job.suspended);
  EXPECT_FALSE(job.finished());
  EXPECT_EQ(job.pod.spec.scheduler_name, "slurm-bridge-scheduler");
  EXPECT_EQ(job.pod.spec.containers[0].requests.amount("cpu"), Quantity::of_milli(250));
}

TEST(PodDisruptionBudget, ReadsNumbersAndShares) {
  const auto budget = recorded<PodDisruptionBudget>("pdb");
  EXPECT_EQ(budget.max_unavailable, "0");
  EXPECT_EQ(budget.selector.to_string(), "app=slurmd,tier in (a,b)");
  EXPECT_EQ(from<PodDisruptionBudget>(R"({"spec":{"minAvailable":"50%"}})").min_available, "50%");
}

TEST(PriorityClass, HasAValue) {
  const auto priority = from<PriorityClass>(R"({"value":-5,"globalDefault":true})");
  EXPECT_EQ(priority.value, -5);
  EXPECT_TRUE(priority.is_default);
}

TEST(ResourceSlice, ListsDevices) {
  const auto slice = recorded<ResourceSlice>("resourceslice");
  EXPECT_EQ(slice.driver, "gpu.example.com");
  EXPECT_EQ(slice.pool_generation, 2);
  EXPECT_EQ(slice.node_name, "gpu-node-17");
  ASSERT_EQ(slice.devices.size(), 1U);
  const Device& gpu = slice.devices[0];
  using Kind = DeviceAttribute::Kind;
  EXPECT_EQ(*gpu.attribute("index"), (DeviceAttribute{"index", "", 0, Kind::kInt}));
  EXPECT_EQ(*gpu.attribute("model"), (DeviceAttribute{"model", "H200", 0, Kind::kString}));
  EXPECT_EQ(*gpu.attribute("mig"), (DeviceAttribute{"mig", "", 1, Kind::kBool}));
  EXPECT_EQ(gpu.attribute("driverVersion")->kind, Kind::kVersion);
  EXPECT_EQ(gpu.attribute("none"), nullptr);
  EXPECT_TRUE(gpu.capacity.contains("memory"));
}

TEST(ResourceClaim, ListsAlternativesOneByOne) {
  const auto claim = recorded<ResourceClaim>("resourceclaim");
  ASSERT_EQ(claim.devices.requests.size(), 3U);
  EXPECT_EQ(claim.devices.requests[0].name, "gpu");
  EXPECT_EQ(claim.devices.requests[0].count, 2);
  EXPECT_EQ(claim.devices.requests[0].selectors.size(), 1U);
  EXPECT_EQ(claim.devices.requests[1].name, "nic/fast");
  EXPECT_EQ(claim.devices.requests[2].device_class, "eth.example.com");
  EXPECT_TRUE(claim.devices.requests[2].all);
  EXPECT_FALSE(claim.allocation);
}

TEST(ResourceClaim, SaysWhatItWasGiven) {
  const auto claim = from<ResourceClaim>(R"({"status":{"allocation":{"devices":{"results":[
      {"request":"gpu","driver":"d","pool":"p","device":"gpu-0"}]},"nodeSelector":{
      "nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}},
      "reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}})");
  EXPECT_EQ(claim.allocation->devices[0].device, "gpu-0");
  EXPECT_TRUE(claim.allocation->nodes->matches(from<Meta>(R"({"name":"n"})")));
  EXPECT_EQ(claim.reserved_for[0].uid, "u");
}

TEST(ResourceClaimTemplate, ReadsTheInnerSpec) {
  const auto made = from<ResourceClaimTemplate>(R"({"spec":{"metadata":{"labels":{"a":"b"}},
      "spec":{"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"c"}}]}}}})");
  EXPECT_EQ(made.devices.requests[0].device_class, "c");
  EXPECT_EQ(made.labels.find("a"), "b");
}

TEST(DeviceClass, MayStandForAnExtendedResource) {
  const auto device = from<DeviceClass>(R"({"spec":{"selectors":[{"cel":{"expression":"x"}}],
      "extendedResourceName":"example.com/gpu"}})");
  EXPECT_EQ(device.extended_resource, "example.com/gpu");
  EXPECT_THAT(device.selectors, ElementsAre(Text("x")));
}

TEST(PodGroup, OfV1Alpha2AndOfLaterVersionsReadAlike) {
  const auto old = recorded<PodGroup>("podgroup");
  EXPECT_TRUE(old.policy.gang);
  EXPECT_EQ(old.policy.min_count, 4);
  EXPECT_EQ(old.workload, "train");
  EXPECT_EQ(old.workload_template, "workers");
  EXPECT_FALSE(old.policy.disrupted_together);
  const auto later = from<PodGroup>(R"({"spec":{"schedulingPolicy":{"gang":{"minCount":4}},
      "workloadRef":{"workloadName":"train","templateName":"workers"},"priority":9,
      "disruptionMode":{"all":{}},"preemptionPolicy":"Never","parentCompositePodGroupName":"top",
      "schedulingConstraints":{"topology":[{"key":"rack"}]}},
      "status":{"conditions":[{"type":"PodGroupScheduled","status":"True"}]}})");
  EXPECT_EQ(later.workload, old.workload);
  EXPECT_EQ(later.workload_template, old.workload_template);
  EXPECT_TRUE(later.policy.disrupted_together);
  EXPECT_FALSE(later.policy.preempts);
  EXPECT_EQ(later.policy.priority, 9);
  EXPECT_THAT(later.policy.topology_keys, ElementsAre(Text("rack")));
  EXPECT_EQ(later.parent, "top");
  EXPECT_TRUE(is_true(later.conditions, "PodGroupScheduled"));
}

TEST(PodGroup, OfEachVersionSaysTheSame) {
  for (const char* const name : {"podgroup", "podgroup-v1alpha3", "podgroup-v1beta1"}) {
    const auto group = recorded<PodGroup>(name);
    EXPECT_TRUE(group.policy.gang) << name;
    EXPECT_EQ(group.policy.min_count, 4) << name;
    EXPECT_EQ(group.workload, "train") << name;
    EXPECT_EQ(group.workload_template, "workers") << name;
  }
  const auto alpha = recorded<PodGroup>("podgroup-v1alpha3");
  EXPECT_EQ(alpha.policy.priority_class, "urgent");
  EXPECT_FALSE(alpha.policy.disrupted_together);
  EXPECT_TRUE(alpha.policy.preempts);
  EXPECT_THAT(alpha.policy.topology_keys, ElementsAre(Text("rack")));
  const auto beta = recorded<PodGroup>("podgroup-v1beta1");
  EXPECT_TRUE(beta.policy.disrupted_together);
  EXPECT_FALSE(beta.policy.preempts);
  EXPECT_EQ(beta.parent, "top");
  EXPECT_EQ(beta.resource_claims[0].claim, "shared");
  EXPECT_TRUE(is_true(beta.conditions, "PodGroupScheduled"));
}

TEST(Workload, ListsItsGroups) {
  const auto workload = recorded<Workload>("workload");
  EXPECT_EQ(workload.controller_kind, "Job");
  ASSERT_EQ(workload.groups.size(), 2U);
  EXPECT_EQ(workload.groups[0].policy.min_count, 4);
  EXPECT_FALSE(workload.groups[1].policy.gang);
  EXPECT_EQ(
      from<Workload>(R"({"spec":{"podGroups":[{"name":"g","policy":{"gang":{"minCount":2}}}]}})")
          .groups[0]
          .policy.min_count,
      2);
}

TEST(CoschedulingPodGroup, MayHavePlainNumbersForAmounts) {
  const auto group = from<CoschedulingPodGroup>(R"({"spec":{"minMember":3,
      "minResources":{"cpu":4}},"status":{"phase":"Finished","occupiedBy":"default/job"}})");
  EXPECT_EQ(group.min_member, 3);
  EXPECT_EQ(group.min_resources.amount("cpu"), Quantity::of_units(4));
  EXPECT_EQ(group.phase, CoschedulingPodGroup::Phase::kFinished);
}

TEST(JobSet, ListsItsJobs) {
  const auto set = from<JobSet>(R"({"spec":{"replicatedJobs":[{"name":"w","replicas":4,
      "template":{"spec":{"parallelism":2,"template":{"spec":{"hostNetwork":true}}}}}]},
      "status":{"restarts":1,"terminalState":"Failed"}})");
  EXPECT_EQ(set.jobs[0].replicas, 4);
  EXPECT_EQ(set.jobs[0].parallelism, 2);
  EXPECT_TRUE(set.jobs[0].pod.spec.host_network);
  EXPECT_EQ(set.terminal_state, "Failed");
}

TEST(LeaderWorkerSet, HasALeaderOfItsOwnOrNot) {
  const auto set = from<LeaderWorkerSet>(R"({"spec":{"replicas":2,"leaderWorkerTemplate":{"size":3,
      "workerTemplate":{"metadata":{"labels":{"role":"w"}},"spec":{}}}}})");
  EXPECT_EQ(set.size, 3);
  EXPECT_FALSE(set.leader);
  EXPECT_EQ(set.worker.labels.find("role"), "w");
}

}  // namespace
}  // namespace mainspring::kube
