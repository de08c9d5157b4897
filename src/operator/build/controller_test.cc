// What a Controller becomes, told by the examples in tests/data/operator/controller: in.yaml is
// what users and others wrote, the files beside it are what must come out.
#include "operator/build/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "api/names.h"
#include "json/yaml.h"
#include "operator/build/config_change.h"
#include "operator/build/controller_names.h"
#include "operator/build/etc_files.h"
#include "operator/build/metadata.h"
#include "operator/build/takeover.h"
#include "slurm/conf_lint.h"

namespace mainspring::op::build {
namespace {

using json::Value;

const std::filesystem::path kExamples = MAINSPRING_TEST_DATA "/operator/controller";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class T>
std::shared_ptr<T> decoded(const Value& value) {
  json::Reader reader;
  auto object = json::decode<T>(reader, json::to_text(value));
  EXPECT_TRUE(object) << object.error().to_string();
  return std::make_shared<T>(object.value_or(T()));
}

// One example, read and sorted into what the builders take.
struct Example {
  explicit Example(const std::string& name) : folder(kExamples / name) {
    auto documents = json::parse_yaml_documents(text_of(folder / "in.yaml"));
    EXPECT_TRUE(documents) << documents.error().to_string();
    for (const Value& document : documents.value_or(std::vector<Value>())) take(document);
    if (name == "taken-over") live_annotations.emplace();
  }

  void take(const Value& document) {
    const std::string_view kind = document.find("kind")->as_string().value_or("");
    if (kind == "Controller") controller = decoded<api::Controller>(document);
    if (kind == "Accounting") accounting = decoded<api::Accounting>(document);
    if (kind == "NodeSet") nodesets.push_back(decoded<api::NodeSet>(document));
    if (kind == "ConfigMap") maps.push_back(decoded<kube::ConfigMap>(document));
    if (kind == "Secret") keys = decoded<kube::SecretObject>(document);
  }

  ConfigMaps named(const std::vector<api::NameRef>& refs) const {
    ConfigMaps found;
    for (const api::NameRef& ref : refs) {
      for (const auto& map : maps) {
        if (map->meta.name == ref.name) found.push_back(map);
      }
    }
    return found;
  }

  ControllerInputs inputs() const {
    const api::ControllerSpec& spec = controller->spec;
    return {.conf = {.controller = *controller,
                     .accounting = accounting.get(),
                     .nodesets = nodesets,
                     .config_files = named(spec.config_file_refs),
                     .prologs = named(spec.prolog_script_refs),
                     .epilogs = named(spec.epilog_script_refs),
                     .prologs_slurmctld = named(spec.prolog_slurmctld_script_refs),
                     .epilogs_slurmctld = named(spec.epilog_slurmctld_script_refs),
                     .return_to_service = !live_annotations},  // It is as it was found.
            .slurm_key = keys.get(),
            .jwt_key = keys.get(),
            .search_services = {"slurm-workers-slurm"},
            .live_annotations = live_annotations ? &*live_annotations : nullptr};
  }

  std::filesystem::path folder;
  std::shared_ptr<api::Controller> controller;
  std::shared_ptr<api::Accounting> accounting;
  std::vector<std::shared_ptr<const api::NodeSet>> nodesets;
  ConfigMaps maps;
  std::shared_ptr<kube::SecretObject> keys;
  std::optional<json::StringMap> live_annotations;  // None: no StatefulSet is there.
};

std::vector<Value> all_objects(const ControllerInputs& inputs) {
  std::vector<Value> objects = {controller_config_map(inputs)};
  // The text of the files is compared by itself, and its hash says nothing to a reader.
  objects.front().erase("data");
  objects.front()["metadata"]["annotations"].set(api::annotation::kRestartHash, "HASH");
  if (inputs.conf.controller.spec.external) return objects;
  auto service = controller_service(inputs);
  const bool in_place = inputs.conf.controller.spec.inplace_reconfigure;
  auto stateful_set = controller_stateful_set(inputs, in_place ? "" : "HASH");
  EXPECT_TRUE(service) << service.error().to_string();
  EXPECT_TRUE(stateful_set) << stateful_set.error().to_string();
  objects.push_back(controller_internal_service(inputs));
  objects.push_back(service.value_or(Value()));
  objects.push_back(stateful_set.value_or(Value()));
  Value& mark = objects.back()["metadata"]["annotations"][kTemplateAnnotation];
  if (mark != Value("complete")) mark = "as-found";
  if (auto monitor = controller_service_monitor(inputs)) objects.push_back(*std::move(monitor));
  return objects;
}

std::string readable(const Value& value) { return json::to_text(value, {.indent = 2}); }

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, BecomeTheFilesBesideThem) {
  const Example example(GetParam());
  const ControllerInputs inputs = example.inputs();
  EXPECT_EQ(slurm_conf(inputs.conf), text_of(example.folder / "slurm.conf"));
  const std::string cgroup = cgroup_conf(inputs.conf);
  EXPECT_EQ(std::filesystem::exists(example.folder / "cgroup.conf"), !cgroup.empty());
  if (!cgroup.empty()) EXPECT_EQ(cgroup, text_of(example.folder / "cgroup.conf"));
}

TEST_P(Examples, HaveNothingInThemThatSlurmWouldStopAt) {
  const Example example(GetParam());
  slurm::ConfSet files = {{"slurm.conf", slurm_conf(example.inputs().conf)}};
  if (std::string cgroup = cgroup_conf(example.inputs().conf); !cgroup.empty()) {
    files.emplace("cgroup.conf", cgroup);
  }
  for (const slurm::Finding& finding : slurm::lint(files)) {
    EXPECT_NE(finding.severity, slurm::Severity::kError) << slurm::to_string(finding);
  }
}

TEST_P(Examples, BecomeTheObjectsBesideThem) {
  const Example example(GetParam());
  if (!std::filesystem::exists(example.folder / "objects.yaml")) return;  // Of files alone.
  const auto wanted = json::parse_yaml_documents(text_of(example.folder / "objects.yaml"));
  ASSERT_TRUE(wanted) << wanted.error().to_string();
  const std::vector<Value> made = all_objects(example.inputs());
  ASSERT_EQ(made.size(), wanted->size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i], (*wanted)[i]) << "made: " << readable(made[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Controller, Examples,
                         testing::Values("minimal", "taken-over", "ha", "external", "accounting",
                                         "accounting-external", "scripts", "nodesets", "merged",
                                         "unprivileged", "customised"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::erase(text, '-');
                           return text;
                         });

TEST(ControllerBuild, RefusesSeveralSlurmctldWithoutSharedState) {
  Example example("ha");
  example.controller->spec.persistence->existing_claim.clear();
  const auto made = controller_stateful_set(example.inputs(), "");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), testing::HasSubstr("existingClaim"));
  example.controller->spec.persistence->enabled = false;
  EXPECT_FALSE(controller_stateful_set(example.inputs(), ""));
}

TEST(ControllerBuild, HasNoMonitorWhereNoneIsWanted) {
  EXPECT_FALSE(controller_service_monitor(Example("minimal").inputs()));
  EXPECT_FALSE(controller_service_monitor(Example("external").inputs()));
}

TEST(ControllerNames, OfEachSlurmctldLeadToAnAddressThatStays) {
  const Example example("ha");
  const auto at = [](const Value& object, std::string_view pointer) {
    const Value* const found = object.at_pointer(pointer);
    return found == nullptr ? "(absent)" : json::to_text(*found);
  };
  const Value service = controller_member_service(*example.controller, 1);
  EXPECT_EQ(at(service, "/metadata/name"), R"("slurm-controller-1")");
  EXPECT_EQ(at(service, "/metadata/ownerReferences/0/uid"), R"("c-1")");
  EXPECT_EQ(at(service, "/spec/selector/statefulset.kubernetes.io~1pod-name"),
            R"("slurm-controller-1")");
  EXPECT_EQ(at(service, "/spec/publishNotReadyAddresses"), "true");
  EXPECT_EQ(at(service, "/spec/clusterIP"), "(absent)");  // One of its own.
  const Value slice = controller_names(*example.controller, {"10.0.0.7", "10.0.0.8"});
  EXPECT_EQ(at(slice, "/metadata/labels/kubernetes.io~1service-name"),
            R"("slurm-controller-internal")");
  EXPECT_EQ(at(slice, "/addressType"), R"("IPv4")");
  EXPECT_EQ(at(slice, "/endpoints/1/hostname"), R"("slurm-controller-1")");
  EXPECT_EQ(at(slice, "/endpoints/1/addresses"), R"(["10.0.0.8"])");
  EXPECT_EQ(at(controller_names(*example.controller, {"fd00::1"}), "/addressType"), R"("IPv6")");
}

TEST(ControllerBuild, FindsWorkersWithAndWithoutPrivilegeUnderOneSetOfFiles) {
  Example example("nodesets");
  const auto mixed = mixed_privilege(example.inputs().conf);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->file, "cgroup.conf");
  EXPECT_THAT(mixed->advice, testing::HasSubstr("NodeSet \"cpu\" has"));
  EXPECT_THAT(mixed->advice, testing::HasSubstr("NodeSet \"debug\" has not"));
  EXPECT_FALSE(mixed_privilege(Example("unprivileged").inputs().conf));
  EXPECT_FALSE(mixed_privilege(Example("minimal").inputs().conf));
}

TEST(ControllerBuild, LeavesConfinementToAUserWhoDecidesAllOfIt) {
  Example example("nodesets");
  example.maps.push_back(decoded<kube::ConfigMap>(
      Value::object({{"metadata", Value::object({{"name", "files"}})},
                     {"data", Value::object({{"cgroup.conf", "CgroupPlugin=disabled"}})}})));
  example.controller->spec.config_file_refs = {api::NameRef{"files"}};
  std::string& extra = example.controller->spec.extra_conf;
  extra = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=x\n";
  EXPECT_TRUE(mixed_privilege(example.inputs().conf));
  extra += "JobAcctGatherType=jobacct_gather/linux\n";
  EXPECT_FALSE(mixed_privilege(example.inputs().conf));
}

TEST(ControllerBuild, CopiesWhatTheUserWroteAsItIs) {
  Example example("scripts");
  example.maps.push_back(decoded<kube::ConfigMap>(
      Value::object({{"metadata", Value::object({{"name", "tools"}})},
                     {"data", Value::object({{"00-check.sh", "#!/bin/false\n"}})},
                     {"binaryData", Value::object({{"check", "AAEC"}})}})));
  example.controller->spec.epilog_script_refs.push_back({"tools"});
  std::map<std::string, std::string> copied;
  std::vector<std::string> names;
  for (const Value& map : controller_approved_maps(example.inputs())) {
    const auto copy = decoded<kube::ConfigMap>(map);
    names.push_back(copy->meta.name);
    for (const auto& [file, bytes] : files_of(*copy)) copied.insert_or_assign(file, bytes);
  }
  EXPECT_THAT(names, testing::ElementsAre("slurm-approved-ctld", "slurm-approved-ctld-end",
                                          "slurm-approved-epilog", "slurm-approved-files",
                                          "slurm-approved-prolog-a", "slurm-approved-prolog-b",
                                          "slurm-approved-tools"));
  copied.emplace("slurm.conf", slurm_conf(example.inputs().conf));
  EXPECT_EQ(copied, etc_files(example.inputs().conf));
}

TEST(ControllerBuild, RunsScriptsThatAreBinary) {
  Example example("minimal");
  const auto tools = decoded<kube::ConfigMap>(Value::object(
      {{"metadata", Value::object({{"name", "tools"}})},
       {"binaryData", Value::object({{"check", "AAEC"}, {"cgroup.conf", "IyBub25l"}})}}));
  example.maps.push_back(tools);
  example.controller->spec.prolog_script_refs = {api::NameRef{"tools"}};
  EXPECT_THAT(slurm_conf(example.inputs().conf), testing::HasSubstr("\nProlog=check\n"));
  EXPECT_EQ(files_of(*tools).at("check"), std::string("\0\1\2", 3));
  EXPECT_NE(cgroup_conf(example.inputs().conf), "");
  example.controller->spec.config_file_refs = {api::NameRef{"tools"}};
  EXPECT_EQ(cgroup_conf(example.inputs().conf), "");
}

TEST(RestHash, ChangesWithWhereSlurmdbdIsToo) {
  const auto hash = [](std::string conf) { return rest_hash({{"slurm.conf", std::move(conf)}}); };
  const std::string before = hash("ClusterName=a\nAccountingStorageHost=x\n");
  EXPECT_NE(before, hash("ClusterName=a\nAccountingStorageHost=y\n"));
  EXPECT_NE(before, hash("ClusterName=a\nAccountingStorageHost=x\nAccountingStoragePort=7031\n"));
  EXPECT_NE(before, hash("ClusterName=b\nAccountingStorageHost=x\n"));
  EXPECT_EQ(before, hash("AccountingStorageHost=x\nClusterName=a\nPartitionName=p Nodes=ALL\n"));
}

std::string restart_hash_of(std::string conf) {
  return restart_hash({{"slurm.conf", std::move(conf)}});
}

TEST(RestartHash, StaysTheSameForWhatAReconfigureTakesUp) {
  const std::string before = restart_hash_of("ClusterName=a\nSlurmctldPort=6817\n");
  EXPECT_EQ(before, restart_hash_of("# new\nslurmctldport=6817\nCLUSTERNAME=a # same\n"));
  EXPECT_EQ(before, restart_hash_of("ClusterName=b\nClusterName=a\nSlurmctldPort=6817\n"));
  EXPECT_EQ(before,
            restart_hash_of("ClusterName=a\nSlurmctldPort=6817\nSchedulerType=sched/builtin\n"
                            "PartitionName=p Nodes=ALL\nTopologyPlugin=topology/tree\n"));
  EXPECT_EQ(restart_hash_of("AuthInfo=use_client_ids,ttl=60\n"),
            restart_hash_of("AuthInfo=TTL=60,use_client_ids\n"));
}

TEST(RestartHash, ChangesWithHowSlurmctldListensAndAuthenticates) {
  const std::string before = restart_hash_of("ClusterName=a\nSlurmctldHost=x\nSlurmctldHost=y\n");
  EXPECT_NE(before, restart_hash_of("ClusterName=a\nSlurmctldHost=y\nSlurmctldHost=x\n"));
  EXPECT_NE(before, restart_hash_of("ClusterName=a\nSlurmctldHost=x\nSlurmctldHost=y\n"
                                    "AuthType=auth/munge\n"));
  EXPECT_NE(before, restart_hash_of("Include more.conf\nClusterName=b\nSlurmctldHost=x\n"));
  EXPECT_NE(restart_hash({{"slurm.conf", "Include more.conf\n"}, {"more.conf", "AuthType=a\n"}}),
            restart_hash({{"slurm.conf", "Include more.conf\n"}, {"more.conf", "AuthType=b\n"}}));
}

}  // namespace
}  // namespace mainspring::op::build
