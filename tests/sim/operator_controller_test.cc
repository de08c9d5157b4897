// Controllers kept by ControllerSync: their objects, and those of others that it takes over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/custom_kind.h"
#include "sim/operator_controller_scene.h"

namespace mainspring::op {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(ControllerSyncTest, MakesEverythingOnceAndThenIsSilent) {
  add_controller();
  start();
  roll_out();
  EXPECT_THAT(slurm_conf(), HasSubstr("ClusterName=hpc_slurm"));
  object(kube::Service::kResource, "slurm-controller");
  object(kube::Service::kResource, "slurm-controller-internal");
  EXPECT_EQ(condition("Ready"), "True AllReplicasReady: 1 of 1 slurmctld ready");
  EXPECT_EQ(condition("Degraded"), "False AsExpected: ");
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
  wire_.writes.clear();
  executor_.advance(minutes(10));
  EXPECT_THAT(wire_.writes, IsEmpty());
}

TEST_F(ControllerSyncTest, StartsSlurmctldWithTheNodeSetsThatAreInstalledWithIt) {
  start();
  add_controller();
  executor_.advance(milliseconds(500));
  EXPECT_FALSE(kube_.find(kube::StatefulSet::kResource, "hpc", "slurm-controller"));
  add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet,
          metadata: {name: gpu, namespace: hpc}, spec: {controllerRef: {name: slurm}}})");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("NodeSet=gpu"));
  roll_out();
  EXPECT_EQ(object(kube::StatefulSet::kResource, "slurm-controller")
                ->at_pointer("/metadata/generation")
                ->as_int(),
            1);
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
}

TEST_F(ControllerSyncTest, WritesNoConfigurationWhilePartOfItIsMissing) {
  add_controller(", prologScriptRefs: [{name: scripts}]");
  start();
  EXPECT_THAT(condition("Degraded"), HasSubstr("True MissingReference: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigMap hpc/scripts does not exist"));
  EXPECT_FALSE(kube_.find(kube::ConfigMap::kResource, "hpc", "slurm-config"));
  add_map("scripts", "{check.sh: run}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("Prolog=check.sh"));
  EXPECT_THAT(condition("Degraded"), HasSubstr("False"));
  EXPECT_EQ(text_at(*object(kube::ConfigMap::kResource, "scripts"),
                    "/metadata/labels/mainspring.slurm.net~1config-of"),
            "slurm");
}

TEST_F(ControllerSyncTest, StartsSlurmctldOnceTheNodeSetsOfItsPartitionsAreThere) {
  add_controller(", extraConf: 'PartitionName=p Nodes=cpu,gpu'");
  start();
  EXPECT_THAT(condition("Degraded"), HasSubstr("True MissingReference: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr("no node or NodeSet \"cpu\" yet"));
  EXPECT_FALSE(kube_.find(kube::ConfigMap::kResource, "hpc", "slurm-config"));
  const auto add_nodeset = [&](std::string_view name) {
    add(fmt::format(R"({{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet,
        metadata: {{name: {}, namespace: hpc}}, spec: {{controllerRef: {{name: slurm}}}}}})",
                    name));
    executor_.advance(seconds(2));
  };
  add_nodeset("cpu");
  EXPECT_THAT(condition("Degraded"), HasSubstr("no node or NodeSet \"gpu\" yet"));
  add_nodeset("gpu");
  EXPECT_THAT(condition("Degraded"), HasSubstr("False"));
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=p Nodes=cpu,gpu\n"));
  roll_out();
  // One that runs keeps what it has.
  const std::string before = slurm_conf();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'PartitionName=p Nodes=new'}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(condition("Degraded"), HasSubstr("NodeSet \"new\" yet"));
  EXPECT_EQ(slurm_conf(), before);
  EXPECT_EQ(config("state"), "Applied");
}

TEST_F(ControllerSyncTest, ComplainsOfNothingThatComesRightAfterTheController) {
  add_controller(", extraConf: 'PartitionName=p Nodes=gpu'");
  world_.emplace(manager_, slurm_wire_, OperatorOptions{});
  sync_.emplace(*world_);
  life_.spawn(manager_.run());
  executor_.advance(milliseconds(500));
  add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: gpu, namespace: hpc},
          spec: {controllerRef: {name: slurm}}})");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=p Nodes=gpu\n"));
  EXPECT_EQ(events("SyncFailed"), 0);
}

TEST_F(ControllerSyncTest, LeavesWhatRunsAloneWhereSlurmctldWouldStop) {
  add_controller();
  start();
  roll_out();
  const std::string before = slurm_conf();
  const std::string annotation = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'SchedulerTyp=sched/backfill'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr("slurm.conf:"));
  EXPECT_EQ(slurm_conf(), before);
  EXPECT_EQ(config_annotation(), annotation);
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: null}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Applied");
}

TEST_F(ControllerSyncTest, LeavesItsFilesAloneWhileWorkersWithAndWithoutPrivilegeAreMixed) {
  const auto nodeset = [](std::string_view name, bool privileged) {
    return fmt::format(
        "{{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {{name: {}, namespace: "
        "hpc}}, spec: {{controllerRef: {{name: slurm}}, slurmd: {{securityContext: {{privileged: "
        "{}}}}}}}}}",
        name, privileged);
  };
  add(nodeset("cpu", false));
  add_controller();
  start();
  roll_out();
  const std::string before = slurm_conf();
  EXPECT_THAT(before, HasSubstr("ProctrackType=proctrack/linuxproc"));
  add(nodeset("gpu", true));
  executor_.advance(seconds(2));
  EXPECT_EQ(slurm_conf(), before);
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: cgroup.conf: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr(R"(NodeSet "gpu" has not)"));
  patch(api::NodeSet::kResource, "gpu", "{spec: {slurmd: {securityContext: {privileged: false}}}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("NodeSet=gpu"));
  EXPECT_THAT(slurm_conf(), HasSubstr("ProctrackType=proctrack/linuxproc"));
  EXPECT_THAT(condition("Degraded"), HasSubstr("False"));
}

TEST_F(ControllerSyncTest, MakesPodsWhileSlurmIsDead) {
  slurm_.stop_rest();
  add_controller();
  start();
  connect_slurm();
  object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_THAT(condition("SlurmReachable"), HasSubstr("False"));
}

TEST_F(ControllerSyncTest, TakesOverAStatefulSetOfAnotherOperatorWithoutTouchingItsTemplate) {
  add_controller();
  add_found_objects("slurm-controller-internal");
  start();
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(set.at_pointer("/metadata/generation")->as_int(), 1)
      << json::to_text(set, {.indent = 2});
  EXPECT_EQ(text_at(set, "/spec/template/spec/initContainers/0/command/0"), "theirs");
  EXPECT_THAT(text_at(set, "/metadata/annotations/mainspring.slurm.net~1template"),
              HasSubstr("as-found"));
  EXPECT_EQ(config("state"), "Applied");
  // Once it rolls for another reason it is as we would have it.
  patch(api::Controller::kResource, "slurm", "{spec: {slurmctld: {image: j}}}");
  executor_.advance(seconds(2));
  const Value after = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(after, "/metadata/annotations/mainspring.slurm.net~1template"), "complete");
  EXPECT_EQ(text_at(after, "/spec/template/spec/initContainers/0/command/0"), "sh");
  // The same of what we have come to write into slurm.conf.
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("ReturnToService")));
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: KillWait=31}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("ReturnToService=1\n"));
}

TEST_F(ControllerSyncTest, MakesAStatefulSetWithAnOldServiceNameAgainAndKeepsItsPods) {
  add_controller();
  add_found_objects("slurm-controller");
  const std::string uid =
      text_at(*object(kube::StatefulSet::kResource, "slurm-controller"), "/metadata/uid");
  roll_out();
  start();
  executor_.advance(seconds(30));
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(set, "/spec/serviceName"), "slurm-controller-internal");
  EXPECT_NE(text_at(set, "/metadata/uid"), uid);
  object(kube::Pod::kResource, "slurm-controller-0");
}

TEST_F(ControllerSyncTest, SendsClientsToTheSlurmctldThatIsInCharge) {
  add_controller(", ha: {enabled: true}, persistence: {enabled: true, existingClaim: shared}");
  start();
  add_pod(0);
  add_pod(1);
  executor_.advance(seconds(1));
  const auto active = [&](int index) {
    return text_at(*object(kube::Pod::kResource, fmt::format("slurm-controller-{}", index)),
                   "/metadata/labels/controller.slinky.slurm.net~1active");
  };
  // Kubernetes puts that label on whatever pod has the name, with or without us.
  const auto served = [&] {
    return text_at(*object(kube::Service::kResource, "slurm-controller"),
                   "/spec/selector/statefulset.kubernetes.io~1pod-name");
  };
  EXPECT_EQ(active(0) + "," + active(1), "true,");  // Nobody can be asked yet.
  EXPECT_EQ(served(), "slurm-controller-0");
  slurm_wire_.pings = R"({"pings":[{"hostname":"a","responding":false},
                                   {"hostname":"b","responding":true}],"errors":[]})";
  connect_slurm();
  executor_.advance(seconds(15));
  EXPECT_EQ(active(0) + "," + active(1), ",true");
  EXPECT_EQ(served(), "slurm-controller-1");
  slurm_wire_.pings = R"({"pings":[{"hostname":"a","responding":false},
                                   {"hostname":"b","responding":false}],"errors":[]})";
  executor_.advance(seconds(30));
  EXPECT_EQ(active(0) + "," + active(1), ",true");  // No answer is not an answer.
}

TEST_F(ControllerSyncTest, KeepsTheNamesOfSeveralSlurmctldResolvable) {
  add_controller(", ha: {enabled: true}, persistence: {enabled: true, existingClaim: shared}");
  start();
  for (const char* const name : {"slurm-controller-0", "slurm-controller-1"}) {
    patch(kube::Service::kResource, name, "{spec: {clusterIP: 10.0.0.7}}");
  }
  executor_.advance(seconds(1));
  EXPECT_EQ(
      text_at(*object(build::kEndpointSlices, "slurm-controller-names"), "/endpoints/1/hostname"),
      "slurm-controller-1");
  patch(api::Controller::kResource, "slurm", "{spec: {ha: null}}");
  executor_.advance(seconds(1));
  EXPECT_FALSE(kube_.find(kube::Service::kResource, "hpc", "slurm-controller-0"));
  EXPECT_FALSE(kube_.find(kube::Service::kResource, "hpc", "slurm-controller-1"));
  EXPECT_FALSE(kube_.find(build::kEndpointSlices, "hpc", "slurm-controller-names"));
}

TEST_F(ControllerSyncTest, AServiceMonitorComesWithItsKindAndGoesWhenNobodyWantsIt) {
  const kube::Resource monitors{"monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor",
                                true};
  const auto monitor = [&] { return kube_.find(monitors, "hpc", "slurm-controller"); };
  const auto writes = [&] {
    return std::count_if(wire_.writes.begin(), wire_.writes.end(), [](const std::string& line) {
      return line.find("/servicemonitors/") != std::string::npos;
    });
  };
  add_controller(", metrics: {enabled: true, serviceMonitor: {enabled: true}}");
  start();
  // Without the Prometheus operator nobody complains, and nobody tries all the time.
  executor_.advance(minutes(8));
  EXPECT_THAT(condition("Degraded"), testing::StartsWith("False"));
  EXPECT_EQ(writes(), 1);
  sim::serve_kind(kube_, monitors);
  executor_.advance(minutes(3));
  ASSERT_TRUE(monitor());
  EXPECT_EQ(text_at(*monitor(), "/metadata/ownerReferences/0/name"), "slurm");
  EXPECT_EQ(text_at(*monitor(), "/spec/endpoints/0/port"), "slurmctld");
  const auto made = writes();
  executor_.advance(minutes(20));
  EXPECT_EQ(writes(), made);
  const auto want = [&](const char* value) {
    patch(api::Controller::kResource, "slurm",
          fmt::format("{{spec: {{metrics: {{serviceMonitor: {{enabled: {}}}}}}}}}", value));
    executor_.advance(minutes(1));
  };
  want("false");
  EXPECT_FALSE(monitor());
  want("true");
  ASSERT_TRUE(monitor());
  // There is no cache of it, so it takes a while to see that it is gone.
  remove(monitors, "slurm-controller");
  executor_.advance(minutes(11));
  ASSERT_TRUE(monitor());
  // What somebody has made his own is not ours to remove.
  patch(monitors, "slurm-controller", "{metadata: {ownerReferences: null}}");
  want("false");
  EXPECT_TRUE(monitor());
  EXPECT_THAT(condition("Degraded"), testing::StartsWith("False"));
}

}  // namespace
}  // namespace mainspring::op
