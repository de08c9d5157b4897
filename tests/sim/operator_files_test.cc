// How ControllerSync brings configuration to slurmctld: in place where Slurm can, by a restart
// where not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/operator_controller_scene.h"

namespace mainspring::op {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(ControllerSyncTest, GivesTheSidecarLeaveForGoodFilesAndForNoOthers) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", inplaceReconfigure: true, configFileRefs: [{name: files}]");
  start();
  roll_out();
  const auto approved = [&] {
    return text_at(*object(kube::Pod::kResource, "slurm-controller-0"),
                   "/metadata/annotations/mainspring.slurm.net~1config-sync");
  };
  const std::string good = approved();
  EXPECT_NE(good, "");
  EXPECT_EQ(good, config("hash"));
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: 'Nam=gpu'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_EQ(approved(), good);
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(approved(), good);
  EXPECT_EQ(approved(), config("hash"));
  EXPECT_THAT(config("message"), HasSubstr("sidecar"));
}

// slurmctld reads its files whenever it starts, and nobody is asked before: not the webhook, which
// may be away when somebody edits a ConfigMap, nor we.
TEST_F(ControllerSyncTest, StartsSlurmctldWithTheFilesThatItLastFoundGood) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_map("idp", R"({keys.json: '{"keys": []}', more: '{'})");
  add_controller(", configFileRefs: [{name: files}], jwksKeyRef: {name: idp, key: keys.json}");
  start();
  roll_out();
  connect_slurm();
  const auto gres = [&] {
    return text_at(*object(kube::ConfigMap::kResource, "slurm-approved-files"), "/data/gres.conf");
  };
  const Value keys = *object(kube::ConfigMap::kResource, "slurm-approved.jwks");
  EXPECT_EQ(json::to_text(*keys.find("data")), R"({"jwks.json":"{\"keys\": []}"})");
  EXPECT_EQ(text_at(keys, "/metadata/ownerReferences/0/name"), "slurm");
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  const Value& sources = *set.at_pointer("/spec/template/spec/volumes/0/projected/sources");
  EXPECT_EQ(text_at(sources, "/3/configMap/name"), "slurm-approved-files");
  EXPECT_EQ(text_at(sources, "/4/configMap/name"), "slurm-approved.jwks");
  EXPECT_EQ(gres(), "AutoDetect=off");

  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: 'Nam=gpu'}}");
  executor_.advance(seconds(20));
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_EQ(gres(), "AutoDetect=off");
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(20));
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_EQ(gres(), "# none");
  remove(kube::ConfigMap::kResource, "files");
  executor_.advance(seconds(20));
  EXPECT_THAT(condition("Degraded"), HasSubstr("MissingReference"));
  EXPECT_EQ(gres(), "# none");
}

TEST_F(ControllerSyncTest, MakesALostStatefulSetAgainWithTheFilesThatItLastFoundGood) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_map("idp", R"({keys.json: '{"keys": []}'})");
  add_controller(", configFileRefs: [{name: files}], jwksKeyRef: {name: idp, key: keys.json}");
  start();
  roll_out();
  connect_slurm();
  const auto lose = [&] {
    remove(kube::StatefulSet::kResource, "slurm-controller");
    executor_.advance(seconds(2));
  };
  const auto volumes = [&] {
    const auto set = kube_.find(kube::StatefulSet::kResource, "hpc", "slurm-controller");
    return set ? json::to_text(*set->at_pointer("/spec/template/spec/volumes")) : "no StatefulSet";
  };
  const std::string good = volumes();
  const std::string hash = config_annotation();

  // It names another ConfigMap by now, and that is bad.
  add_map("more", "{gres.conf: 'Nam=gpu'}");
  patch(api::Controller::kResource, "slurm",
        "{spec: {configFileRefs: [{name: more}], jwksKeyRef: null}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Rejected");
  lose();
  EXPECT_EQ(volumes(), good);
  EXPECT_EQ(config_annotation(), hash);
  EXPECT_EQ(config("state"), "Rejected");

  patch(kube::ConfigMap::kResource, "more", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  roll_out();
  executor_.advance(seconds(20));
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_THAT(volumes(), HasSubstr("slurm-approved-more"));

  // The keys are not among the copies, and without them no pod would start.
  remove(kube::ConfigMap::kResource, "more");
  remove(kube::SecretObject::kResource, "slurm-keys");
  executor_.advance(seconds(2));
  lose();
  EXPECT_EQ(volumes(), "no StatefulSet");
}

// A kubelet that looks before it has heard of the files finds the old ones, and looks again after a
// minute only.
TEST_F(ControllerSyncTest, BringsFilesIntoThePodsAfterTheNewsOfThem) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  std::vector<std::string> heard;
  wire_.refuses = [&](const http::Request& request) {
    if (request.method == http::Method::kPatch &&
        request.url.path.ends_with("/pods/slurm-controller-0")) {
      const auto copy = world_->config_maps.get("hpc", "slurm-approved-files");
      heard.emplace_back(copy->data.find("gres.conf").value_or(""));
    }
    return false;
  };
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(heard, testing::ElementsAre("# none"));
}

TEST_F(ControllerSyncTest, DropsTheCopyOfAConfigMapOnceNoPodHasIt) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  const auto copy = [&] {
    return kube_.find(kube::ConfigMap::kResource, "hpc", "slurm-approved-files");
  };
  patch(api::Controller::kResource, "slurm", "{spec: {configFileRefs: []}}");
  executor_.advance(minutes(1));
  EXPECT_TRUE(copy());
  roll_out();
  executor_.advance(minutes(1));
  EXPECT_FALSE(copy());
  EXPECT_TRUE(kube_.find(kube::ConfigMap::kResource, "hpc", "files"));
  wire_.writes.clear();
  executor_.advance(minutes(10));
  EXPECT_THAT(wire_.writes, IsEmpty());
}

TEST_F(ControllerSyncTest, KeepsAPartitionThatWasInAnIncludedFileToo) {
  add_map("more", "{more.conf: 'PartitionName=mine Nodes=ALL'}");
  add_controller(", configFileRefs: [{name: more}], extraConf: 'Include more.conf'");
  start();
  roll_out();
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=mine")));
  patch(kube::ConfigMap::kResource, "more", "{data: {more.conf: '# none'}}");
  executor_.advance(minutes(1));
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=mine Nodes=ALL State=DRAIN\n"));
  patch(kube::ConfigMap::kResource, "more", "{data: {more.conf: 'PartitionName=mine Nodes=ALL'}}");
  executor_.advance(minutes(1));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=mine")));
}

// What the cache has may be older than the closing, and lack a job that came just before it.
TEST_F(ControllerSyncTest, LooksForJobsOfAClosedPartitionInANewListOfAll) {
  bool closed = false;
  slurm_.model().set_files(
      [&] { return std::vector<sim::SlurmPartition>{{.name = "mine", .closed = closed}}; });
  slurm_.model().reconfigure();
  add_controller(", extraConf: 'PartitionName=mine Nodes=ALL'");
  start();
  roll_out();
  connect_slurm();
  std::uint32_t late = 0;
  slurm_wire_.refuses = [&](const http::Request& request) {
    if (late != 0 || request.url.path.find("/partition/mine") == std::string::npos) return false;
    sim::SlurmJob job{.partition = "mine", .nodes_wanted = 0, .held = true};
    EXPECT_FALSE(slurm_.model().submit(job));
    late = job.id;
    closed = true;
    slurm_.model().reconfigure();
    return false;
  };
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: ''}}");
  executor_.advance(minutes(1));
  ASSERT_NE(late, 0U);
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=mine Nodes=ALL State=DRAIN\n"));
  EXPECT_FALSE(slurm_.model().cancel(late));
  executor_.advance(minutes(7));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=mine")));
}

TEST_F(ControllerSyncTest, HasSlurmctldTakeUpNewKeysForTokensAndWhatIsBinary) {
  add_map("keys", R"({jwks.json: '{"keys": []}'})");
  add(R"({apiVersion: v1, kind: ConfigMap, metadata: {name: tools, namespace: hpc},
          binaryData: {check: AAEC}})");
  add_controller(", jwksKeyRef: {name: keys, key: jwks.json}, prologScriptRefs: [{name: tools}]");
  start();
  roll_out();
  connect_slurm();
  EXPECT_THAT(slurm_conf(), HasSubstr("Prolog=check\n"));
  const auto changes = [&](std::string_view map, std::string_view to) {
    const std::string before = config("hash");
    patch(kube::ConfigMap::kResource, map, to);
    executor_.advance(seconds(10));
    return config("hash") != before && config("state") == "Applied";
  };
  EXPECT_TRUE(changes("keys", R"({data: {jwks.json: '{"keys": [{"kid": "a", "alg": "X"}]}'}})"));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_TRUE(changes("tools", "{binaryData: {check: AAED}}"));
  EXPECT_EQ(reconfigures(), 2);
  EXPECT_FALSE(changes("keys", "{data: {jwks.json: '{'}}"));  // slurmctld would end at it.
  EXPECT_EQ(reconfigures(), 2);
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: jwks.json: "));
}

TEST_F(ControllerSyncTest, HasSlurmctldTakeUpAnEditedConfigMapWithoutARestart) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_THAT(condition("SlurmReachable"), HasSubstr("True"));
  const auto generation =
      *object(kube::StatefulSet::kResource, "slurm-controller")->at_pointer("/metadata/generation");
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("method") + " " + config("state"), "Reconfigure Pending");
  EXPECT_EQ(text_at(*object(kube::Pod::kResource, "slurm-controller-0"),
                    "/metadata/annotations/mainspring.slurm.net~1config-sync"),
            config("hash"));
  EXPECT_EQ(reconfigures(), 0);
  executor_.advance(seconds(8));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_THAT(config("message"), HasSubstr("shows only where slurm.conf itself changed"));
  EXPECT_EQ(
      *object(kube::StatefulSet::kResource, "slurm-controller")->at_pointer("/metadata/generation"),
      generation);
  executor_.advance(minutes(5));
  EXPECT_EQ(reconfigures(), 1);
}

TEST_F(ControllerSyncTest, KeepsTheClaimOfItsStateAndTakesUpTheRestOfAChange) {
  add_controller(", persistence: {enabled: true, resources: {requests: {storage: 1Gi}}}");
  start();
  roll_out();
  connect_slurm();
  patch(api::Controller::kResource, "slurm",
        "{spec: {persistence: {resources: {requests: {storage: 2Gi}}}, "
        "slurmctld: {image: new}, extraConf: MaxJobCount=77}}");
  executor_.advance(seconds(20));
  roll_out();
  executor_.advance(seconds(20));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxJobCount=77"));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Applied");
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(set, "/spec/volumeClaimTemplates/0/spec/resources/requests/storage"), "1Gi");
  EXPECT_EQ(text_at(set, "/spec/template/spec/containers/0/image"), "new");
  EXPECT_EQ(condition("Degraded"), "False AsExpected: ");
  EXPECT_EQ(events("PersistenceNotChanged"), 1);
  wire_.writes.clear();
  executor_.advance(minutes(10));
  EXPECT_THAT(wire_.writes, IsEmpty());
}

TEST_F(ControllerSyncTest, GoesOnWithTheFilesWhereAnObjectIsRefused) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  for (const char* const refused : {"/services/slurm-controller", "/statefulsets/"}) {
    wire_.refuses = [&](const http::Request& request) {
      return request.method == http::Method::kPatch &&
             request.url.path.find(refused) != std::string::npos;
    };
    const long before = reconfigures();
    patch(api::Controller::kResource, "slurm",
          fmt::format("{{spec: {{service: {{port: 1{0}}}, slurmctld: {{image: i{0}}}, "
                      "extraConf: MaxJobCount={0}}}}}",
                      1000 + before));
    executor_.advance(seconds(20));
    EXPECT_THAT(slurm_conf(), HasSubstr(fmt::format("MaxJobCount={}", 1000 + before))) << refused;
    EXPECT_EQ(reconfigures(), before + 1) << refused;
    EXPECT_THAT(condition("Degraded"), HasSubstr("somebody's webhook says no")) << refused;
  }
}

TEST_F(ControllerSyncTest, HasRoomForTwiceTheWorkersThatAreWantedAndNeverLessThanItHad) {
  add_controller();
  start();
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=1024\n"));
  add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: gpu, namespace: hpc},
          spec: {controllerRef: {name: slurm}, replicas: 1500}})");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=4096\n"));
  patch(api::NodeSet::kResource, "gpu", "{spec: {replicas: 1}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=4096\n"));
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: MaxNodeCount=99}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=99"));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("MaxNodeCount=4096")));
}

TEST_F(ControllerSyncTest, CallsFilesAppliedOnlyWhenSlurmctldHasReadThem) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  slurm_wire_.read_hash = 7;  // Of the files before.
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: KillWait=31}}");
  executor_.advance(seconds(10));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Pending");
  EXPECT_THAT(config("message"), HasSubstr("not arrived in its pod"));
  executor_.advance(seconds(5));
  EXPECT_EQ(reconfigures(), 2);  // The kubelet is slow.
  slurm_wire_.read_hash = slurm::conf_hash(
      text_at(*object(kube::ConfigMap::kResource, "slurm-config"), "/data/slurm.conf"));
  executor_.advance(seconds(15));
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_EQ(config("message"), "");
  EXPECT_EQ(reconfigures(), 3);
}

TEST_F(ControllerSyncTest, AsksASlurmctldThatDoesNotAnswerNowAndThenOnly) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  slurm_.stop_rest();
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(65));
  EXPECT_LE(reconfigures(), 12);
  EXPECT_THAT(config("message"), HasSubstr("has not taken it up yet"));
  slurm_.start_rest();
  executor_.advance(minutes(2));
  EXPECT_EQ(config("state"), "Applied");
}

TEST_F(ControllerSyncTest, RollsSlurmctldForWhatOnlyARestartTakesUp) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  const std::string before = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'AuthInfo=ttl=60'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(config_annotation(), before);
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Pending");
  roll_out();
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_EQ(reconfigures(), 0);
}

TEST_F(ControllerSyncTest, RollsSlurmctldWhereNobodyCanBeAskedToReconfigure) {
  add_controller();
  start();
  roll_out();
  const std::string before = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'KillWait=60'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(config_annotation(), before);
  roll_out();
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
}

}  // namespace
}  // namespace mainspring::op
