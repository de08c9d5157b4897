#include "bridge/translate/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PodPtr pod(std::string name, std::string uid) {
  kube::Pod pod;
  pod.meta.ns = "ml";
  pod.meta.name = std::move(name);
  pod.meta.uid = std::move(uid);
  return std::make_shared<const kube::Pod>(std::move(pod));
}

std::vector<std::string> keys_of(std::string_view comment) {
  std::vector<std::string> keys;
  admin_comment_keys(comment, keys);
  return keys;
}

TEST(Ownership, IsWrittenInOneLineInTheOrderOfThePods) {
  const std::vector<PodPtr> pods = {pod("train-1", "b"), pod("train-0", "a")};
  EXPECT_EQ(to_admin_comment(owners_of(pods)),
            R"({"pods":["ml/train-1","ml/train-0"],"uids":["b","a"]})");
}

TEST(Ownership, WhoStaysIsInThePartWhereItWas) {
  JobOwners owners = owners_of(std::vector<PodPtr>{pod("a", "1"), pod("b", "2"), pod("c", "3")});
  owners.cluster = "7d3f";
  owners.parts = {0, 1, 1};
  owners.asked = "c0ffee";
  const std::vector<std::string> stay = {"3", "1"};
  EXPECT_EQ(to_admin_comment(only(owners, stay)),
            R"({"pods":["ml/a","ml/c"],"uids":["1","3"],"cluster":"7d3f","parts":[0,1],)"
            R"("asked":"c0ffee"})");
}

TEST(Ownership, ComesBackAsItWasWritten) {
  JobOwners owners = owners_of(std::vector<PodPtr>{pod("a", "1"), pod("b", "2")});
  EXPECT_EQ(parse_admin_comment(to_admin_comment(owners)), owners);
  owners.cluster = "7d3f";
  EXPECT_EQ(to_admin_comment(owners),
            R"({"pods":["ml/a","ml/b"],"uids":["1","2"],"cluster":"7d3f"})");
  owners.asked = "c0ffee";
  EXPECT_EQ(parse_admin_comment(to_admin_comment(owners)), owners);
}

TEST(Ownership, OfAHetJobSaysWhichPodIsInWhichPart) {
  JobOwners owners = owners_of(std::vector<PodPtr>{pod("a", "1"), pod("b", "2")});
  EXPECT_EQ(part_of(owners, "2"), 0);
  owners.parts = {0, 1};
  EXPECT_EQ(to_admin_comment(owners), R"({"pods":["ml/a","ml/b"],"uids":["1","2"],"parts":[0,1]})");
  EXPECT_EQ(parse_admin_comment(to_admin_comment(owners)), owners);
  EXPECT_EQ(part_of(owners, "2"), 1);
  EXPECT_EQ(part_of(owners, "3"), std::nullopt);
}

TEST(Ownership, OfPartsThatAreNotOfItsPodsIsNoProof) {
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a"],"uids":["1"],"parts":[0,1]})"));
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a"],"uids":["1"],"parts":[-1]})"));
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a"],"parts":[0]})"));
}

TEST(Ownership, IsReadAsSlurmBridgeWritesIt) {
  const auto owners = parse_admin_comment(R"({"pods":["ml/train-0","ml/train-1"]})");
  ASSERT_TRUE(owners);
  EXPECT_THAT(owners->pods, ElementsAre("ml/train-0", "ml/train-1"));
  EXPECT_THAT(owners->uids, IsEmpty());
  EXPECT_EQ(to_admin_comment(*owners), R"({"pods":["ml/train-0","ml/train-1"]})");
}

TEST(Ownership, MembersOfANewerReleaseAreLeftAlone) {
  EXPECT_TRUE(parse_admin_comment(R"({"version":2,"pods":["ml/a"],"uids":["1"]})"));
}

TEST(Ownership, JobsAreFoundByUidsAndByNamesWhereThereAreNone) {
  EXPECT_THAT(keys_of(R"({"pods":["ml/a","ml/b"],"uids":["1","2"]})"), ElementsAre("1", "2"));
  EXPECT_THAT(keys_of(R"({"pods":["ml/a","ml/b"]})"), ElementsAre("ml/a", "ml/b"));
  EXPECT_THAT(keys_of("night shift, do not touch"), IsEmpty());
}

// Anybody with operator rights in Slurm can write a comment, and other tools do.
TEST(Ownership, IsNoneOfWhatOthersWrote) {
  for (const std::string_view comment : {"",
                                         "{",
                                         "{}",
                                         "[]",
                                         "null",
                                         R"("ml/a")",
                                         R"({"pods":[]})",
                                         R"({"pods":null})",
                                         R"({"pods":"ml/a"})",
                                         R"({"pods":{"ml/a":1}})",
                                         R"({"pods":[1]})",
                                         R"({"pods":[null]})",
                                         R"({"pods":["a"]})",
                                         R"({"pods":["/a"]})",
                                         R"({"pods":["ml/"]})",
                                         R"({"pods":["ml/a/b"]})",
                                         R"({"pods":["ml/a","b"]})",
                                         R"({"uids":["1"]})",
                                         R"({"pods":["ml/a"],"pods":["ml/b"]})",
                                         R"({"pods":["ml/a"],"cluster":7})",
                                         R"({"pods":["ml/a"]} trailing)",
                                         "{\"pods\":[\"ml/\xff\"]}"}) {
    EXPECT_FALSE(parse_admin_comment(comment)) << comment;
    EXPECT_THAT(keys_of(comment), IsEmpty()) << comment;
  }
}

TEST(Ownership, UidsThatCannotBeToldApartFromEachOtherAreNoProof) {
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a","ml/b"],"uids":["1"]})"));
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a"],"uids":["1","2"]})"));
  EXPECT_FALSE(parse_admin_comment(R"({"pods":["ml/a"],"uids":[""]})"));
}

}  // namespace
}  // namespace mainspring::bridge
