#include "bridge/translate/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/translate/ownership.h"

namespace mainspring::bridge {
namespace {

using slurm::JobRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobRequest asked() {
  JobRequest request;
  request.partition = "slurm-bridge";
  request.nodes = "2";
  request.minimum_nodes = 2;
  request.maximum_nodes = 2;
  request.tasks_per_node = 1;
  request.cpus_per_task = 4;
  request.shared = {"none"};
  request.admin_comment = "pods";
  return request;
}

bool all_are_there(std::string_view) { return true; }

JobChange change(const JobRequest& had, const JobRequest& wanted) {
  return change_of(slurm::Job(), had, wanted, all_are_there);
}

TEST(Change, OfNothingIsNone) { EXPECT_TRUE(change(asked(), asked()).none()); }

TEST(Change, IsWhatDiffersAndNoMore) {
  JobRequest wanted = asked();
  wanted.time_limit = 7;
  wanted.qos = "high";
  const JobChange made = change(asked(), wanted);
  JobRequest expected;
  expected.time_limit = 7;
  expected.qos = "high";
  EXPECT_EQ(made.update, expected);
  EXPECT_EQ(made.anew, "");
}

TEST(Change, OfTheNodesSaysAllOfThem) {
  JobRequest wanted = asked();
  wanted.nodes = "3";
  wanted.maximum_nodes = 3;
  const JobChange made = change(asked(), wanted);
  EXPECT_EQ(made.update.nodes, "3");
  EXPECT_EQ(made.update.minimum_nodes, 2);
  EXPECT_EQ(made.update.maximum_nodes, 3);
}

TEST(Change, TakesBackWhatSlurmLetsGo) {
  JobRequest had = asked();
  had.excluded_nodes = {"n[1-3]"};
  had.reservation = "maint";
  had.qos = "high";
  had.constraints = "ssd";
  const JobChange made = change(had, asked());
  EXPECT_EQ(made.anew, "");
  EXPECT_THAT(made.update.excluded_nodes, ElementsAre(""));
  EXPECT_EQ(made.update.reservation, "");
  EXPECT_EQ(made.update.qos, "");
  EXPECT_EQ(made.update.constraints, "");
}

TEST(Change, IsNoneWhereANodeThatIsLeftOutIsNoMore) {
  JobRequest had = asked();
  had.excluded_nodes = {"n[1-3]"};
  JobRequest wanted = asked();
  wanted.excluded_nodes = {"n1,n3"};
  const HasNode without_n2 = [](std::string_view name) { return name != "n2"; };
  EXPECT_TRUE(change_of(slurm::Job(), had, wanted, without_n2).none());
  EXPECT_THAT(change(had, wanted).update.excluded_nodes, ElementsAre("n1,n3"));
  wanted.excluded_nodes = {"n1"};
  EXPECT_THAT(change_of(slurm::Job(), had, wanted, without_n2).update.excluded_nodes,
              ElementsAre("n1"));
}

TEST(Change, OfTheOrderInWhichNodesAreLeftOutIsNone) {
  JobRequest had = asked();
  had.excluded_nodes = {"n3,n[1-2]"};
  JobRequest wanted = asked();
  wanted.excluded_nodes = {"n[1-3]"};
  EXPECT_TRUE(change(had, wanted).none());
}

TEST(Change, OfWhatSlurmDoesNotChangeIsAnotherJob) {
  const auto anew = [](auto&& alter) {
    JobRequest wanted = asked();
    alter(wanted);
    return change(asked(), wanted).anew;
  };
  EXPECT_THAT(anew([](JobRequest& job) { job.shared.clear(); }), HasSubstr("exclusiveness"));
  EXPECT_THAT(anew([](JobRequest& job) { job.tasks_per_node = 2; }), HasSubstr("pods on a node"));
  EXPECT_THAT(anew([](JobRequest& job) { job.user_id = "alice"; }), HasSubstr("user"));
  EXPECT_THAT(anew([](JobRequest& job) { job.cpus_per_task.reset(); }),
              HasSubstr("CPUs of a job cannot be taken back"));
  JobRequest limited = asked();
  limited.time_limit = 5;
  EXPECT_THAT(change(limited, asked()).anew, HasSubstr("time limit"));
}

// As slurmctld shows what was asked for, and what it has filled in.
slurm::Job recorded() {
  slurm::Job job;
  job.partition = "slurm-bridge";
  job.node_count = 2;
  job.tasks = 2;
  job.tasks_per_node = 1;
  job.cpus = 8;
  job.admin_comment = "pods";
  job.account = "default";
  job.qos = "normal";
  job.time_limit = slurm::Number::infinite();
  job.priority = 4294901;
  job.memory_per_node = 1000;
  return job;
}

JobChange change_of_recorded(const slurm::Job& job, const JobRequest& wanted) {
  return change_of(job, std::nullopt, wanted, all_are_there);
}

TEST(Change, OfAJobWhoseRequestIsForgottenIsNoneWhereItsRecordShowsWhatIsWanted) {
  slurm::Job job = recorded();
  EXPECT_TRUE(change_of_recorded(job, asked()).none());
  JobRequest wanted = asked();
  wanted.partition = "slurm-bridge,all";
  wanted.account = "lab";
  wanted.qos = "high";
  wanted.time_limit = 5;
  wanted.priority = 70;
  wanted.memory_per_node = 2048;
  wanted.tres_per_node = "gres/gpu:2";
  wanted.excluded_nodes = {"n[1-3]"};
  job.partition = "all,slurm-bridge";
  job.account = "lab";
  job.qos = "high";
  job.time_limit = 5;
  job.priority = 70;
  job.memory_per_node = 2048;
  job.tres_per_node = "gres/gpu=2";
  job.excluded_nodes = "n1,n[2-3]";
  const JobChange made = change_of_recorded(job, wanted);
  EXPECT_TRUE(made.none()) << json::to_text(slurm::to_json(made.update));
}

TEST(Change, OfAJobWhoseRequestIsForgottenIsWhatItsRecordShowsOtherwise) {
  JobRequest wanted = asked();
  wanted.time_limit = 5;
  wanted.cpus_per_task = 3;
  JobRequest expected;
  expected.time_limit = 5;
  expected.cpus_per_task = 3;
  expected.admin_comment = "pods";
  EXPECT_EQ(change_of_recorded(recorded(), wanted).update, expected);
}

// The comment of a job for pod a that was asked for with these.
std::string comment_with(std::vector<JobRequest> parts) {
  JobOwners owners;
  owners.pods = {"ns/a"};
  owners.uids = {"1"};
  if (!parts.empty()) owners.asked = asked_text(parts);
  return to_admin_comment(owners);
}

TEST(Change, OfWhatAnAdministratorHasDoneIsNoneWhereTheOwnersWantTheSame) {
  JobRequest wanted = asked();
  wanted.time_limit = 5;
  wanted.priority = 70;
  wanted.wckey = "protein";
  wanted.admin_comment = comment_with({wanted});
  slurm::Job job = recorded();
  job.admin_comment = *wanted.admin_comment;
  job.time_limit = 90;
  EXPECT_TRUE(change_of(job, as_asked(job, wanted), wanted, all_are_there).none());
  // But what changes by itself is followed.
  wanted.excluded_nodes = {"n1"};
  JobRequest expected;
  expected.excluded_nodes = {"n1"};
  EXPECT_EQ(change_of(job, as_asked(job, wanted), wanted, all_are_there).update, expected);
}

TEST(Change, WhatAJobWasAskedForWithIsTheSameWhicheverItsPodsAndTheNodesThatItLeavesOut) {
  JobRequest other = asked();
  other.admin_comment = "other pods";
  other.nodes = "3";
  other.maximum_nodes = 3;
  other.excluded_nodes = {"n1"};
  const auto text = [](const JobRequest& one) { return asked_text(std::vector{one}); };
  EXPECT_EQ(text(other), text(asked()));
  other.qos = "high";
  EXPECT_NE(text(other), text(asked()));
}

TEST(Change, OfWhatAJobWasAskedForWithIsWrittenWithOthersOnly) {
  JobRequest wanted = asked();
  wanted.admin_comment = comment_with({wanted});
  slurm::Job job = recorded();
  job.admin_comment = comment_with({});
  EXPECT_TRUE(change_of_recorded(job, wanted).none());
  wanted.time_limit = 5;
  EXPECT_EQ(change_of_recorded(job, wanted).update.admin_comment, wanted.admin_comment);
}

TEST(Change, OfAJobThatIsForMorePodsThanItSaysIsAlsoOneOfItsNodes) {
  JobRequest wanted = asked();
  wanted.admin_comment = "more pods";
  wanted.nodes = "3";
  wanted.maximum_nodes = 3;
  const JobChange made = change_of_recorded(recorded(), wanted);
  EXPECT_EQ(made.update.admin_comment, "more pods");
  EXPECT_EQ(made.update.maximum_nodes, 3);
}

TEST(Change, OfAJobWhoseRequestIsForgottenTakesBackWhatOnlyWeAskFor) {
  slurm::Job job = recorded();
  job.excluded_nodes = "n1";
  job.reservation = "maint";
  const JobChange made = change_of_recorded(job, asked());
  EXPECT_EQ(made.anew, "");
  EXPECT_THAT(made.update.shared, IsEmpty());
  EXPECT_THAT(made.update.excluded_nodes, ElementsAre(""));
  EXPECT_EQ(made.update.reservation, "");
  EXPECT_EQ(made.update.constraints, std::nullopt);
  job.tasks_per_node = 0;
  EXPECT_EQ(change_of_recorded(job, asked()).anew, "");
  job.tasks_per_node = 4;
  EXPECT_THAT(change_of_recorded(job, asked()).anew, HasSubstr("pods on a node"));
}

TEST(Change, LeavesThePriorityOfAHeldJobAlone) {
  slurm::Job held;
  held.hold = true;
  JobRequest wanted = asked();
  wanted.priority = 100;
  EXPECT_TRUE(change_of(held, asked(), wanted, all_are_there).none());
  EXPECT_EQ(change(asked(), wanted).update.priority, slurm::Number(100));
}

}  // namespace
}  // namespace mainspring::bridge
