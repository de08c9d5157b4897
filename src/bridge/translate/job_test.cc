// Golden files are in tests/data/bridge: NAME.workload.yaml makes NAME.job.json. With
// MAINSPRING_WRITE_GOLDEN=1 they are written anew, to be read and judged before they are kept. The
// numbers are those of the acceptance scenarios.
#include "bridge/translate/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bridge/names.h"
#include "bridge/translate/parts.h"
#include "json/yaml.h"

namespace mainspring::bridge {
namespace {

using json::Value;
using testing::HasSubstr;

const std::string kData = MAINSPRING_TEST_DATA "/bridge/";

std::string slurp(const std::string& name) {
  std::ifstream file(kData + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> text_in(const Value& object, std::string_view key) {
  const Value* const found = object.find(key);
  if (found == nullptr) return std::nullopt;
  return std::string(found->as_string().value_or("(no text)"));
}

std::optional<std::int64_t> number_in(const Value& object, std::string_view key) {
  const Value* const found = object.find(key);
  return found == nullptr ? std::nullopt : found->as_int();
}

const Value& part(const Value& object, std::string_view key) {
  static const Value kNothing = Value::object();
  const Value* const found = object.find(key);
  return found == nullptr ? kNothing : *found;
}

BridgeConfig config_in(Value object) {
  object.set("slurmRestApi", "http://slurm-restapi:6820");
  object.set("mcsLabel", "kubernetes");
  auto config = parse_bridge_config(json::to_text(object));
  EXPECT_TRUE(config) << config.error().to_string();
  return config.value_or(BridgeConfig());
}

GangKind kind_in(const Value& workload) {
  const std::map<std::string, GangKind> kinds = {
      {"Pod", GangKind::kPod},           {"Job", GangKind::kJob},
      {"WholeJob", GangKind::kWholeJob}, {"LeaderWorkerSet", GangKind::kLeaderWorkerSet},
      {"PodGroup", GangKind::kPodGroup}, {"Coscheduling", GangKind::kCoscheduling},
  };
  return kinds.at(text_in(workload, "kind").value_or("no kind"));
}

PodPtr pod_in(const Value& value) {
  json::Reader reader;
  auto pod = json::decode<kube::Pod>(reader, json::to_text(value));
  EXPECT_TRUE(pod) << pod.error().to_string();
  return std::make_shared<const kube::Pod>(pod.value_or(kube::Pod()));
}

Gang gang_in(const Value& workload) {
  Gang gang;
  gang.kind = kind_in(workload);
  for (const Value& pod : part(workload, "pods")) gang.pods.push_back(pod_in(pod));
  gang.min_members = static_cast<std::int32_t>(number_in(workload, "minMembers").value_or(1));
  for (const auto [name, value] : part(workload, "annotations").members()) {
    gang.annotations.emplace(name, value.as_string().value_or("(no text)"));
  }
  gang.job_name = text_in(workload, "jobName").value_or("");
  gang.active_deadline_seconds = number_in(workload, "activeDeadlineSeconds");
  gang.floor_cpus = number_in(workload, "floorCpus");
  gang.floor_memory_mb = number_in(workload, "floorMemoryMb");
  gang.priority_class = text_in(workload, "priorityClass").value_or("");
  return gang;
}

Value shown(const Result<Translation>& translation) {
  if (!translation) return Value::object({{"refused", translation.error().to_string()}});
  Value warnings = Value::array();
  for (const std::string& warning : translation->warnings) warnings.push_back(warning);
  return Value::object({{"submission", slurm::to_submission(translation->request)},
                        {"podsPerNode", translation->pods_per_node},
                        {"warnings", std::move(warnings)}});
}

// Of a gang that is split into the parts of a het job.
Value shown_parts(const Gang& gang, const BridgeConfig& config) {
  const auto kinds = kinds_of(gang.pods, std::vector<VolumeNodes>(gang.pods.size()));
  EXPECT_TRUE(kinds);
  const auto parts = translate_parts(gang, *kinds, config);
  if (!parts) return Value::object({{"refused", parts.error().to_string()}});
  std::vector<slurm::JobRequest> requests;
  for (const Translation& one : *parts) requests.push_back(one.request);
  return slurm::to_submission(std::span<const slurm::JobRequest>(requests));
}

void expect_golden(const std::string& name) {
  const auto workload = json::parse_yaml(slurp(name + ".workload.yaml"));
  ASSERT_TRUE(workload) << workload.error().to_string();
  const Gang gang = gang_in(*workload);
  const BridgeConfig config = config_in(part(*workload, "config"));
  const bool split = gang.annotations.contains(kHeterogeneousAnnotation);
  const Value made = split ? shown_parts(gang, config) : shown(translate(gang, config));
  const std::string text = json::to_text(made, {.indent = 2, .sort_keys = true}) + "\n";
  const std::string golden = name + ".job.json";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started
  if (std::getenv("MAINSPRING_WRITE_GOLDEN") != nullptr) std::ofstream(kData + golden) << text;
  EXPECT_EQ(text, slurp(golden)) << golden;
}

TEST(Job, OfAPodIsOneNodeWithWhatThePodAsksFor) { expect_golden("01-pod"); }

TEST(Job, OfAPodOfAJobHasTheJobsAnnotationsAndDeadline) {
  expect_golden("04-job");
  expect_golden("04-job-without-deadline");
}

TEST(Job, OfAJobSetsPodHeedsEarlyAnnotationsAndSaysSo) { expect_golden("05-jobset"); }

TEST(Job, OfALeaderWithItsWorkersIsEnoughForTheLargestOnEveryNode) {
  expect_golden("06-leaderworkerset");
}

TEST(Job, OfPodsThatDifferHasAPartForEachKind) { expect_golden("06-heterogeneous"); }

TEST(Job, OfACoschedulingPodGroupStartsWithTheFewestThatItNeeds) {
  expect_golden("07-coscheduling");
}

TEST(Job, OfAPodGroupHasItsNameAndAllItsPods) { expect_golden("09-podgroup"); }

TEST(Job, HasTheDevicesThatItsPodsAskFor) {
  expect_golden("11-device-plugin-gpus");
  expect_golden("12-dra-gpu");
  expect_golden("13-dra-cpu");
}

TEST(Job, SharesItsNodesWhereTheSiteOrTheWorkloadSaysSo) {
  expect_golden("12-dra-gpu");
  expect_golden("15-shared-by-default");
}

TEST(Job, HeedsEveryAnnotation) { expect_golden("16-every-annotation"); }

TEST(Job, BelongsToWhomTheSiteSaysAndNotToWhomTheUserSays) { expect_golden("identity"); }

TEST(Job, HasThePriorityOfItsPriorityClass) { expect_golden("priority-class"); }

TEST(Job, OfSeveralPodsANodeHasTheMemoryAndDevicesOfAllOfThem) {
  expect_golden("several-pods-a-node");
}

TEST(Job, NeverAsksForAllMemoryByRoundingDown) { expect_golden("tiny-memory"); }

TEST(Job, ThatCannotBeIsRefusedWithWhatToDo) {
  expect_golden("refused-two-namespaces");
  expect_golden("refused-too-few-nodes");
  expect_golden("refused-annotations");
}

Gang plain_gang(std::size_t pods, Annotations annotations = {}) {
  Gang gang;
  for (std::size_t i = 0; i < pods; ++i) {
    kube::Pod pod;
    pod.meta.ns = "ml";
    pod.meta.name = "p-" + std::to_string(i);
    gang.pods.push_back(std::make_shared<const kube::Pod>(std::move(pod)));
  }
  gang.kind = pods == 1 ? GangKind::kPod : GangKind::kWholeJob;
  gang.annotations = std::move(annotations);
  return gang;
}

slurm::JobRequest request_of(const Gang& gang, const BridgeConfig& config = {}) {
  auto translation = translate(gang, config);
  EXPECT_TRUE(translation) << translation.error().to_string();
  return translation ? std::move(translation->request) : slurm::JobRequest();
}

TEST(Job, WithoutPodsIsNone) { EXPECT_FALSE(translate(Gang(), BridgeConfig())); }

TEST(Job, OfAPodThatAsksForNothingLeavesItsSizeToThePartition) {
  const slurm::JobRequest job = request_of(plain_gang(1));
  EXPECT_EQ(job.cpus_per_task, std::nullopt);
  EXPECT_FALSE(job.memory_per_node.set());
  EXPECT_EQ(job.tres_per_node, std::nullopt);
  EXPECT_FALSE(job.time_limit.set());
}

TEST(Job, HasNoMcsLabelWhereNoneIsConfigured) {
  EXPECT_EQ(request_of(plain_gang(1)).mcs_label, std::nullopt);
}

TEST(Job, MayAskForMoreNodesThanItHasPods) {
  const slurm::JobRequest job =
      request_of(plain_gang(2, {{"slurmjob.slinky.slurm.net/min-nodes", "3"}}));
  EXPECT_EQ(job.minimum_nodes, 3);
  EXPECT_EQ(job.maximum_nodes, 3);
}

TEST(Job, IsNeverGivenFewerNodesThanItsPodsNeed) {
  const auto translation =
      translate(plain_gang(3, {{"slurmjob.slinky.slurm.net/min-nodes", "2"}}), BridgeConfig());
  ASSERT_TRUE(translation);
  EXPECT_EQ(translation->request.minimum_nodes, 3);
  ASSERT_EQ(translation->warnings.size(), 1U);
  EXPECT_THAT(translation->warnings[0], HasSubstr("is raised from 2 to 3 nodes"));
}

TEST(Job, WithMoreNodesAtLeastThanAtMostIsRefused) {
  EXPECT_FALSE(translate(plain_gang(1, {{"slurmjob.slinky.slurm.net/min-nodes", "3"},
                                        {"slurmjob.slinky.slurm.net/max-nodes", "2"}}),
                         BridgeConfig()));
}

TEST(Job, TakesAllMemoryOfTheNodeWhereTheUserSaysZero) {
  EXPECT_EQ(
      request_of(plain_gang(1, {{"slurmjob.slinky.slurm.net/mem-per-node", "0"}})).memory_per_node,
      slurm::Number(0));
}

TEST(Job, ReservesNoFewerGpusThanItsPodsGet) {
  const auto with_gres = [](const std::string& gres) {
    Gang gang = plain_gang(1, {{"slurmjob.slinky.slurm.net/gres", gres}});
    gang.pods = {pod_in(*json::parse_yaml(
        "{metadata: {namespace: ml, name: p}, spec: {containers: [{name: c, resources: {limits: "
        "{nvidia.com/gpu: '2'}, requests: {nvidia.com/gpu: '2'}}}]}}"))};
    return translate(gang, BridgeConfig());
  };
  for (const std::string enough : {"gpu:2", "gres/gpu:a100=2", "fpga:1,gpu:a100:1,gpu:h100:1"}) {
    EXPECT_TRUE(with_gres(enough)) << enough;
  }
  for (const std::string less : {"gpu", "gpu:1", "fpga:8", "gres/gpu=1"}) {
    const auto refused = with_gres(less);
    ASSERT_FALSE(refused) << less;
    EXPECT_THAT(refused.error().to_string(), HasSubstr("raise it, or remove it"));
  }
}

TEST(Job, OfACoschedulingGroupThatSharesNodesCountsThemForTheFewestToo) {
  Gang gang = plain_gang(8, {{"mainspring.slurm.net/tasks-per-node", "4"}});
  gang.kind = GangKind::kCoscheduling;
  gang.min_members = 5;
  EXPECT_EQ(request_of(gang).minimum_nodes, 2);
  gang.min_members = 4;
  EXPECT_EQ(request_of(gang).minimum_nodes, 1);
  EXPECT_EQ(request_of(gang).maximum_nodes, 2);
}

TEST(Job, WithAnIdentityForAllNamespacesHasThat) {
  BridgeConfig config;
  config.identities["*"] = {.user = "nobody", .group = "nogroup", .partition = "guests"};
  const slurm::JobRequest job = request_of(plain_gang(1), config);
  EXPECT_EQ(job.user_id, "nobody");
  EXPECT_EQ(job.group_id, "nogroup");
  EXPECT_EQ(job.partition, "guests");
}

TEST(Job, OfADeadlineBeyondAllTimeHasTheLongestLimit) {
  Gang gang = plain_gang(1);
  gang.active_deadline_seconds = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(request_of(gang).time_limit, slurm::Number(2147483647));
}

}  // namespace
}  // namespace mainspring::bridge
