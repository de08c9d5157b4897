#include "kube/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/line_reader.h"
#include "json/value.h"
#include "kube/scripted_transport.h"
#include "kube/status.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr const char* kBudgetRefusal = R"({
  "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests",
  "message": "Cannot evict pod as it would violate the pod's disruption budget.", "code": 429,
  "details": {"causes": [{"reason": "DisruptionBudget",
    "message": "The disruption budget web needs 2 healthy pods and has 2 currently"}]}})";

class PodsTest : public ::testing::Test {
 protected:
  void answer(int status, std::string body) {
    transport_.answers.push_back(http::json_response(status, std::move(body)));
  }
  const http::Request& asked() { return transport_.asked.at(0); }
  void expect_body(const char* json) {
    EXPECT_EQ(*json::parse(asked().body), *json::parse(json)) << asked().body;
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Client client_{
      transport_, executor_.clock(), random_, {.server = *http::Url::parse("https://api:6443")}};
};

TEST_F(PodsTest, BindsThePodThatWasDecidedAbout) {
  answer(201, R"({"kind":"Status","status":"Success"})");
  const auto bound = executor_.run(
      bind_pod(&client_, "ml", "train-0", "u-1", "gpu-7", {.annotations = {{"slurm/job", "42"}}}));
  ASSERT_TRUE(bound.has_value()) << bound.error().to_string();
  EXPECT_EQ(asked().method, http::Method::kPost);
  EXPECT_EQ(asked().url.target(), "/api/v1/namespaces/ml/pods/train-0/binding");
  expect_body(R"({"apiVersion": "v1", "kind": "Binding",
    "metadata": {"name": "train-0", "namespace": "ml", "uid": "u-1",
                 "annotations": {"slurm/job": "42"}},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-7"}})");
}

TEST_F(PodsTest, DoesNotBindByNameAlone) {
  const auto bound = executor_.run(bind_pod(&client_, "ml", "train-0", "", "gpu-7"));
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().code(), Code::kInvalid);
  EXPECT_TRUE(transport_.asked.empty());
}

TEST_F(PodsTest, DoesNotBindTwiceAfterALostAnswer) {
  answer(500, "");
  EXPECT_FALSE(executor_.run(bind_pod(&client_, "ml", "train-0", "u-1", "gpu-7")).has_value());
  EXPECT_EQ(transport_.asked.size(), 1u);
}

TEST_F(PodsTest, EvictsThisPodWithThisGrace) {
  answer(201, R"({"kind":"Status","status":"Success"})");
  const auto evicted = executor_.run(
      evict_pod(&client_, "ml", "web-0", {.uid = "u-2", .grace_seconds = 0, .dry_run = true}));
  ASSERT_TRUE(evicted.has_value()) << evicted.error().to_string();
  EXPECT_EQ(asked().url.target(), "/api/v1/namespaces/ml/pods/web-0/eviction?dryRun=All");
  expect_body(R"({"apiVersion": "policy/v1", "kind": "Eviction",
    "metadata": {"name": "web-0", "namespace": "ml"},
    "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                      "preconditions": {"uid": "u-2"}, "dryRun": ["All"]}})");
}

TEST_F(PodsTest, TakesABudgetsNoForAnAnswer) {
  answer(429, kBudgetRefusal);
  const auto evicted = executor_.run(evict_pod(&client_, "ml", "web-0"));
  ASSERT_FALSE(evicted.has_value());
  EXPECT_EQ(evicted.error().code(), Code::kThrottled);
  EXPECT_TRUE(blocked_by_budget(evicted.error()));
  EXPECT_EQ(transport_.asked.size(), 1u);
}

TEST_F(PodsTest, TellsABusyServerFromABudget) {
  answer(429, R"({"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429})");
  const auto evicted = executor_.run(evict_pod(&client_, "ml", "web-0"));
  ASSERT_FALSE(evicted.has_value());
  EXPECT_EQ(evicted.error().code(), Code::kThrottled);
  EXPECT_FALSE(blocked_by_budget(evicted.error()));
  EXPECT_FALSE(blocked_by_budget(Error(Code::kThrottled, "somebody else")));
}

TEST_F(PodsTest, ReadsALogLineByLine) {
  transport_.answers.push_back(http::text_response(200, "one\ntwo\n"));
  LogOptions options;
  options.container = "main";
  options.follow = options.previous = options.timestamps = true;
  options.tail_lines = 2;
  options.limit_bytes = 1000;
  options.since = milliseconds(1500);
  auto log = executor_.run(open_log(&client_, "ml", "web-0", options));
  ASSERT_TRUE(log.has_value()) << log.error().to_string();
  http::LineReader lines(*std::move(log), 1024);
  EXPECT_EQ(executor_.run(lines.next()).value(), "one");
  EXPECT_EQ(executor_.run(lines.next()).value(), "two");
  EXPECT_EQ(executor_.run(lines.next()).value(), std::nullopt);

  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(asked().url.path, "/api/v1/namespaces/ml/pods/web-0/log");
  EXPECT_THAT(asked().url.query_pairs(),
              UnorderedElementsAre(Pair("container", "main"), Pair("follow", "true"),
                                   Pair("previous", "true"), Pair("timestamps", "true"),
                                   Pair("tailLines", "2"), Pair("limitBytes", "1000"),
                                   Pair("sinceSeconds", "2")));
}

TEST_F(PodsTest, SaysWhyThereIsNoLog) {
  answer(400, R"({"kind":"Status","status":"Failure","reason":"BadRequest","code":400,
    "message":"container \"main\" in pod \"web-0\" is waiting to start: ContainerCreating"})");
  const auto log = executor_.run(open_log(&client_, "ml", "web-0"));
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code(), Code::kInvalid);
  EXPECT_THAT(log.error().to_string(), HasSubstr("waiting to start"));
}

}  // namespace
}  // namespace mainspring::kube
