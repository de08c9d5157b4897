#include "slurm/job_written.h"

#include <gtest/gtest.h>

#include <functional>

#include "slurm/job_request.h"

namespace mainspring::slurm {
namespace {

std::string compare(const JobRequest& asked, const char* is) {
  return job_difference(to_json(asked), *json::parse(is));
}

JobRequest with(const std::function<void(JobRequest&)>& set) {
  JobRequest request;
  set(request);
  return request;
}

TEST(JobWritten, ATextIsAsItWasSent) {
  const JobRequest asked = with([](JobRequest& job) { job.wckey = "w", job.mail_user = "a"; });
  EXPECT_EQ(compare(asked, R"({"wckey":"w","mail_user":"a"})"), "");
  EXPECT_EQ(compare(asked, R"({"wckey":"w","mail_user":"b"})"), "mail_user is 'b', not 'a'");
  EXPECT_EQ(compare(asked, R"({"wckey":"*","mail_user":"a"})"), "wckey is '*', not 'w'");
  EXPECT_EQ(compare(asked, "{}"), "") << "what is not shown cannot be missed";
  const JobRequest default_qos = with([](JobRequest& job) { job.qos = ""; });
  EXPECT_EQ(compare(default_qos, R"({"qos":"normal"})"), "");
}

TEST(JobWritten, ANumberMayBePlainOrAnObject) {
  const JobRequest asked = with([](JobRequest& job) { job.nice = 5, job.time_minimum = 3; });
  EXPECT_EQ(compare(asked, R"({"nice":5,"time_minimum":{"set":true,"number":3}})"), "");
  EXPECT_EQ(compare(asked, R"({"nice":0,"time_minimum":{"set":true,"number":3}})"),
            "nice is 0, not 5");
  EXPECT_EQ(compare(asked, R"({"nice":5,"time_minimum":{"set":false,"number":0}})"),
            "time_minimum is unset, not 3");
  const JobRequest endless = with([](JobRequest& job) { job.time_limit = Number::infinite(); });
  EXPECT_EQ(compare(endless, R"({"time_limit":{"set":false,"infinite":true,"number":0}})"), "");
  EXPECT_EQ(compare(endless, R"({"time_limit":{"set":true,"infinite":false,"number":9}})"),
            "time_limit is 9, not infinite");
}

TEST(JobWritten, TheSizeOfAJobCountsWhileItWaits) {
  const JobRequest asked = with([](JobRequest& job) {
    job.nodes = "2-4";
    job.minimum_cpus = 8;
    job.tasks = 4;
  });
  const auto shown = [](const char* state, int nodes, int cpus, int tasks) {
    return R"({"job_state":[")" + std::string(state) + R"("],"node_count":{"set":true,"number":)" +
           std::to_string(nodes) + R"(},"cpus":{"set":true,"number":)" + std::to_string(cpus) +
           R"(},"tasks":{"set":true,"number":)" + std::to_string(tasks) + "}}";
  };
  EXPECT_EQ(compare(asked, shown("PENDING", 2, 16, 4).c_str()), "");
  EXPECT_EQ(compare(asked, shown("PENDING", 1, 16, 4).c_str()), "nodes is 1, not '2-4'");
  EXPECT_EQ(compare(asked, shown("PENDING", 2, 4, 4).c_str()), "minimum_cpus is 4, not 8");
  EXPECT_EQ(compare(asked, shown("PENDING", 2, 16, 1).c_str()), "tasks is 1, not 4");
  EXPECT_EQ(compare(asked, shown("RUNNING", 1, 1, 1).c_str()), "");
  JobRequest elastic = asked;
  elastic.minimum_nodes = 1;
  EXPECT_EQ(compare(elastic, shown("PENDING", 1, 16, 4).c_str()), "") << "as few as one will do";
}

TEST(JobWritten, ListsAndResourcesAreTheSameInAnyOrder) {
  const JobRequest asked = with([](JobRequest& job) {
    job.partition = "a,b";
    job.required_nodes = {"n1", "n2"};
    job.tres_per_node = "gres/gpu:2,gres/nic:1";
    job.licenses = "matlab,ansys:2";
  });
  EXPECT_EQ(compare(asked, R"({"partition":"b,a","required_nodes":"n[1-2]",
                               "tres_per_node":"gres/nic:1,gres/gpu:2",
                               "licenses":"ansys:2,matlab:1"})"),
            "");
  EXPECT_EQ(compare(asked, R"({"partition":"a"})"), "partition is 'a', not 'a,b'");
  EXPECT_EQ(compare(asked, R"({"required_nodes":"n1"})"),
            R"(required_nodes is 'n1', not ["n1","n2"])");
  EXPECT_EQ(compare(asked, R"({"tres_per_node":"gres/gpu:2"})"),
            "tres_per_node is 'gres/gpu:2', not 'gres/gpu:2,gres/nic:1'");
  EXPECT_EQ(compare(asked, R"({"licenses":""})"), "licenses is '', not 'matlab,ansys:2'");
}

TEST(JobWritten, WhatSlurmCompletesOrRewritesIsNotHeldAgainstIt) {
  const JobRequest asked = with([](JobRequest& job) {
    job.standard_output = "slurm-%j.out";
    job.current_working_directory = "here";
    job.dependency = "afterok:5";
    job.user_id = "alice";
  });
  EXPECT_EQ(compare(asked, R"({"standard_output":"/home/a/slurm-7.out","dependency":"",
                               "current_working_directory":"/home/a/here","user_id":1000})"),
            "");
  const JobRequest plain = with([](JobRequest& job) {
    job.standard_output = "/a";
    job.dependency = "";
    job.user_id = "1001";
  });
  EXPECT_EQ(compare(plain, R"({"standard_output":"/b"})"), "standard_output is '/b', not '/a'");
  EXPECT_EQ(compare(plain, R"({"dependency":"afterok:5"
})"),
            "dependency is 'afterok:5', not ''");
  EXPECT_EQ(compare(plain, R"({"user_id":1000})"), "user_id is 1000, not '1001'");
}

TEST(JobWritten, AHoldIsToldInWords) {
  const JobRequest held = with([](JobRequest& job) { job.hold = true; });
  EXPECT_EQ(compare(held, R"({"job_state":["PENDING"],"hold":false})"), "it is not held");
  const JobRequest released = with([](JobRequest& job) { job.hold = false; });
  EXPECT_EQ(compare(released, R"({"job_state":["PENDING"],"hold":true})"), "it is still held");
  EXPECT_EQ(compare(released, R"({"job_state":["RUNNING"],"hold":true})"), "");
}

}  // namespace
}  // namespace mainspring::slurm
