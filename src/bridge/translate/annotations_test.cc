#include "bridge/translate/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// One annotation of the contract: its name without the prefix, and its value.
Result<JobAnnotations> parse_one(const std::string& suffix, const std::string& value) {
  return parse_annotations({{std::string(kJobPrefix) + suffix, value}});
}

JobAnnotations one(const std::string& suffix, const std::string& value) {
  auto result = parse_one(suffix, value);
  EXPECT_TRUE(result) << result.error().to_string();
  return result.value_or(JobAnnotations());
}

std::string error_of(const Annotations& annotations) {
  const auto result = parse_annotations(annotations);
  EXPECT_FALSE(result);
  return result ? "" : result.error().to_string();
}

TEST(Annotations, OfTextAreTakenVerbatim) {
  EXPECT_EQ(one("account", "physics").account, "physics");
  EXPECT_EQ(one("constraints", "a100&nvlink").constraints, "a100&nvlink");
  EXPECT_EQ(one("gres", "gpu:a100:2").gres, "gpu:a100:2");
  EXPECT_EQ(one("group-id", "1000").group_id, "1000");
  EXPECT_EQ(one("user-id", "alice").user_id, "alice");
  EXPECT_EQ(one("job-name", "my job").job_name, "my job");
  EXPECT_EQ(one("licenses", "matlab:2").licenses, "matlab:2");
  EXPECT_EQ(one("partition", "gpu").partition, "gpu");
  EXPECT_EQ(one("qos", "high").qos, "high");
  EXPECT_EQ(one("reservation", "maint").reservation, "maint");
  EXPECT_EQ(one("wckey", "key").wckey, "key");
}

TEST(Annotations, ThatAreEmptySayNothing) { EXPECT_EQ(one("account", ""), JobAnnotations()); }

TEST(Annotations, OfNumbersAreReadAsWholeNumbers) {
  EXPECT_EQ(one("min-nodes", "2").min_nodes, 2);
  EXPECT_EQ(one("max-nodes", " 4 ").max_nodes, 4);
  EXPECT_EQ(one("priority", "1000").priority, 1000);
  EXPECT_EQ(one("timelimit", "90").timelimit_minutes, 90);
}

TEST(Annotations, CpuPerTaskIsRoundedUp) {
  EXPECT_EQ(one("cpu-per-task", "4").cpus_per_task, 4);
  EXPECT_EQ(one("cpu-per-task", "100m").cpus_per_task, 1);
  EXPECT_EQ(one("cpu-per-task", "1500m").cpus_per_task, 2);
}

TEST(Annotations, MemPerNodeIsNeverRoundedBelowWhatWasAskedFor) {
  EXPECT_EQ(one("mem-per-node", "100Mi").memory_per_node_mb, 100);
  EXPECT_EQ(one("mem-per-node", "1G").memory_per_node_mb, 954);
  EXPECT_EQ(one("mem-per-node", "1").memory_per_node_mb, 1);
}

TEST(Annotations, MemPerNodeOfZeroIsAllOfTheNodeAsInSlurm) {
  EXPECT_EQ(one("mem-per-node", "0").memory_per_node_mb, 0);
}

TEST(Annotations, OnlyTheWordFalseIsNotExclusive) {
  EXPECT_EQ(one("exclusive", "false").exclusive, false);
  EXPECT_EQ(one("exclusive", " False\n").exclusive, false);
  EXPECT_EQ(one("exclusive", "true").exclusive, true);
  EXPECT_EQ(one("exclusive", "no").exclusive, true);
  EXPECT_EQ(one("exclusive", "").exclusive, true);
  EXPECT_EQ(one("account", "a").exclusive, std::nullopt);
}

TEST(Annotations, TasksPerNodeIsOurs) {
  const auto result = parse_annotations({{"mainspring.slurm.net/tasks-per-node", "4"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tasks_per_node, 4);
}

TEST(Annotations, WhetherPodsMayDifferIsSaidInOneOfTwoWords) {
  const auto parse = [](const std::string& value) {
    return parse_annotations({{"mainspring.slurm.net/heterogeneous", value}});
  };
  EXPECT_EQ(parse("true")->heterogeneous, true);
  EXPECT_EQ(parse("false")->heterogeneous, false);
  EXPECT_THAT(error_of({{"mainspring.slurm.net/heterogeneous", "yes"}}),
              HasSubstr(R"(heterogeneous is "yes", expected "true" or "false")"));
}

TEST(Annotations, OfReleasesBeforeTheFirstAreReadAndNamed) {
  const auto result = parse_annotations(
      {{"slinky.slurm.net/timelimit", "5"}, {"slinky.slurm.net/job-name", "old"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->timelimit_minutes, 5);
  EXPECT_EQ(result->job_name, "old");
  EXPECT_THAT(result->early,
              ElementsAre("slinky.slurm.net/job-name", "slinky.slurm.net/timelimit"));
}

TEST(Annotations, OfTheContractWinOverTheEarlyOnes) {
  const auto result = parse_annotations(
      {{"slinky.slurm.net/timelimit", "what?"}, {"slurmjob.slinky.slurm.net/timelimit", "7"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->timelimit_minutes, 7);
  EXPECT_THAT(result->early, IsEmpty());
}

TEST(Annotations, ThatNobodyKnowsAreLeftAlone) {
  const auto result = parse_annotations({{"slinky.slurm.net/slurm-node", "kn1"},
                                         {"slurmjob.slinky.slurm.net/colour", "blue"},
                                         {"timelimit", "5"},
                                         {"example.com/account", "x"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, JobAnnotations());
}

TEST(Annotations, ThatCannotBeReadAreAllNamedInOneError) {
  const std::string error = error_of({{"slurmjob.slinky.slurm.net/timelimit", "2h"},
                                      {"slurmjob.slinky.slurm.net/mem-per-node", "lots"},
                                      {"slurmjob.slinky.slurm.net/account", "fine"}});
  EXPECT_THAT(error, HasSubstr(R"(slurmjob.slinky.slurm.net/timelimit is "2h", expected whole )"
                               R"(minutes, such as "90")"));
  EXPECT_THAT(error, HasSubstr(R"(slurmjob.slinky.slurm.net/mem-per-node is "lots")"));
  EXPECT_THAT(error, Not(HasSubstr("account")));
  EXPECT_THAT(error_of({{"slinky.slurm.net/timelimit", "2h"}}),
              HasSubstr(R"(slinky.slurm.net/timelimit is "2h")"));
}

TEST(Annotations, OutOfRangeAreRefused) {
  for (const auto& [suffix, value] :
       std::vector<std::pair<std::string, std::string>>{{"min-nodes", "0"},
                                                        {"max-nodes", "-1"},
                                                        {"max-nodes", "2147483648"},
                                                        {"max-nodes", "1.5"},
                                                        {"max-nodes", ""},
                                                        {"timelimit", "-1"},
                                                        {"priority", "-1"},
                                                        {"cpu-per-task", "0"},
                                                        {"cpu-per-task", "-2"},
                                                        {"cpu-per-task", "3G"},
                                                        {"mem-per-node", "-1Gi"},
                                                        {"mem-per-node", "1e29"}}) {
    EXPECT_FALSE(parse_one(suffix, value)) << suffix << " " << value;
  }
}

}  // namespace
}  // namespace mainspring::bridge
