#include "slurm/partitions.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;

class PartitionsTest : public ApiTest {
 protected:
  static PartitionSpec spec() {
    PartitionSpec made;
    made.name = "p1";
    made.nodes = "e[1-2]";
    made.max_time = 120;
    return made;
  }
};

TEST_F(PartitionsTest, OneIsWrittenAndReadAgain) {
  answer_as("part_create");
  answer_as("part_get");
  const auto made = run(Partitions(client()).write(spec()));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->nodes, "e[1-2]");
  expect_asked_as("part_create");
  expect_asked_as("part_get", 1);
}

TEST_F(PartitionsTest, OneThatSlurmAcceptedAndDidNotMakeIsAConflict) {
  answer_as("part_create");
  answer_as("err_part");
  EXPECT_THAT(why(run(Partitions(client()).write(spec()))), HasSubstr("there is none"));
}

TEST_F(PartitionsTest, OneThatSlurmMadeOtherwiseIsAConflict) {
  const auto written = [&](const PartitionSpec& asked) {
    answer();
    answer(R"({"partitions":[{"name":"p1","nodes":{"configured":"e[1-2]","total":2},
        "priority":{"tier":1},"maximums":{"time":{"set":true,"number":120}},"flags":["HIDDEN"]}]})");
    return why(run(Partitions(client()).write(asked)));
  };
  EXPECT_EQ(written(spec()), "ok");
  PartitionSpec other = spec();
  other.nodes = "e[1-3]";
  EXPECT_THAT(written(other), HasSubstr("its nodes are 'e[1-2]', not 'e[1-3]'"));
  other = spec();
  other.priority_tier = 2;
  EXPECT_THAT(written(other), HasSubstr("priority.tier is 1, not 2"));
  other = spec();
  other.flags = {"HIDDEN_CLEAR"};
  EXPECT_THAT(written(other), HasSubstr("it is not HIDDEN_CLEAR"));
}

TEST_F(PartitionsTest, OneWithoutANameIsRefusedBecauseSlurmWouldAcceptIt) {
  EXPECT_EQ(code_of(run(Partitions(client()).write({}))), Code::kInvalid);
}

TEST_F(PartitionsTest, AMissingOneIsNotFoundInEveryShape) {
  answer_as("err_part");
  EXPECT_EQ(code_of(run(Partitions(client()).get("nope"))), Code::kNotFound);
  answer(R"({"errors":[{"description":"Unable to find partition nope","error_number":9000}]})",
         422);  // 24.11
  EXPECT_EQ(code_of(run(Partitions(client()).get("nope"))), Code::kNotFound);
}

TEST_F(PartitionsTest, OneIsRemoved) {
  answer_as("part_delete");
  EXPECT_TRUE(run(Partitions(client()).remove("p1")));
  expect_asked_as("part_delete");
}

TEST_F(PartitionsTest, OlderVersionsOnlyRead) {
  speak(Version::k44);
  EXPECT_EQ(code_of(run(Partitions(client()).write(spec()))), Code::kUnsupported);
  EXPECT_EQ(code_of(run(Partitions(client()).remove("p1"))), Code::kUnsupported);
}

}  // namespace
}  // namespace mainspring::slurm
