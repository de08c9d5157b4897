#include "slurm/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "slurm/scripted_transport.h"

namespace mainspring::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kUnknownPath = "Unable to find requested URL endpoint.";
constexpr const char* kGood =
    R"({"errors":[],"warnings":[],"meta":{"slurm":{"release":"26.05.5"}}})";

std::string recorded(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(MAINSPRING_TEST_DATA "/slurm/errors/" + name).rdbuf();
  return text.str();
}

std::string refusal(int number) {
  return R"({"errors":[{"error_number":)" + std::to_string(number) + R"(,"error":"no"}]})";
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    options_.server = *http::Url::parse("http://127.0.0.1:6820");
    options_.version = Version::k45;
    options_.on_attempt = [this](const Client::Attempt& attempt) {
      statuses_.push_back(attempt.status);
    };
  }

  Client& client() {
    if (!client_) client_.emplace(transport_, executor_, random_, governor_, options_);
    return *client_;
  }
  Result<Answer> send(Call call) { return executor_.run(client().send(std::move(call))); }
  Result<Answer> stream(Call call, std::vector<std::string>* out) {
    return executor_.run(client().stream(std::move(call), "jobs", [out](std::string_view element) {
      out->emplace_back(element);
      return Result<void>();
    }));
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> out;
    for (const auto& request : transport_.asked) out.push_back(request.url.target());
    return out;
  }

  static Call get_node() { return {.endpoint = Endpoint::kGetNode, .path = {"gpu-3"}}; }
  static Call drain() {
    return {.endpoint = Endpoint::kUpdateNode, .path = {"gpu-3"}, .body = R"({"state":["DRAIN"]})"};
  }
  static Call list_jobs() { return {.endpoint = Endpoint::kListJobs}; }

  net::VirtualExecutor executor_;
  Random random_{1};
  Governor governor_{executor_, random_, {}};
  ScriptedTransport transport_;
  Client::Options options_;
  std::vector<int> statuses_;
  std::optional<Client> client_;
};

TEST_F(ClientTest, SendsWhatSlurmrestdExpects) {
  transport_.add(200, kGood);
  Call call = drain();
  call.query = {{"job_id", "1"}, {"job_id", "2"}, {"x", "a,b&c"}};
  const auto answer = send(call);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->body, kGood);
  EXPECT_EQ(answer->envelope.release, "26.05.5");
  EXPECT_FALSE(answer->not_modified);
  const http::Request& asked = transport_.asked.at(0);
  EXPECT_EQ(asked.method, http::Method::kPost);
  EXPECT_EQ(asked.url.target(), "/slurm/v0.0.45/node/gpu-3?job_id=1&job_id=2&x=a%2Cb%26c");
  EXPECT_EQ(asked.headers.get("Accept"), "application/json");
  EXPECT_EQ(asked.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(asked.body, R"({"state":["DRAIN"]})");
  EXPECT_EQ(asked.limits.timeout, seconds(15));
}

TEST_F(ClientTest, KeepsThePrefixOfAGateway) {
  options_.server = *http::Url::parse("http://127.0.0.1:6820/cluster-a/");
  transport_.add(200, kGood);
  ASSERT_TRUE(send(get_node()));
  EXPECT_THAT(targets(), ElementsAre("/cluster-a/slurm/v0.0.45/node/gpu-3"));
}

TEST_F(ClientTest, ARefusalSaysWhatWasAskedAndIsNotRepeated) {
  transport_.add(200, recorded("no_node.json"));
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kNotFound);
  EXPECT_EQ(answer.error().to_string(), "get node gpu-3: Failure to query node nope");

  transport_.add(422, refusal(2010));
  Call call = drain();
  call.subject = "node gpu-3";
  const auto forbidden = send(call);
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().to_string(), "node gpu-3: update node: no (Slurm error 2010)");
  EXPECT_EQ(transport_.asked.size(), 2U);
}

TEST_F(ClientTest, ReadsAreTriedAgainWithinTheirDeadline) {
  transport_.add(Error(Code::kTransient, "connection refused"));
  transport_.add(502, refusal(1800));
  transport_.add(200, kGood);
  ASSERT_TRUE(send(get_node()));
  EXPECT_THAT(statuses_, ElementsAre(0, 502, 200));
}

TEST_F(ClientTest, OneDeadlineCoversAllAttempts) {
  for (int i = 0; i < 9; ++i) transport_.add(502, refusal(1800), seconds(10));
  const auto start = executor_.now();
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTimeout);
  EXPECT_EQ(executor_.now() - start, seconds(15));
  EXPECT_EQ(transport_.asked.size(), 2U);
}

TEST_F(ClientTest, AnAnswerIsBetterThanADeadlineThatIsSureToPass) {
  transport_.add(502, refusal(1800), milliseconds(14'990));
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTransient);
  EXPECT_TRUE(refused_with(answer.error(), Errno::kControllerAway));
}

TEST_F(ClientTest, WritesAreSentOnce) {
  for (const Call& call : {drain(), Call{.endpoint = Endpoint::kReconfigure},
                           Call{.endpoint = Endpoint::kRequeueJob, .path = {"1"}},
                           Call{.endpoint = Endpoint::kCancelJob, .path = {"1"}}}) {
    transport_.asked.clear();
    transport_.add(502, refusal(1800));
    const auto answer = send(call);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kTransient);
    EXPECT_EQ(transport_.asked.size(), 1U) << info(call.endpoint).what;
  }
}

TEST_F(ClientTest, WaitsAsLongAsAGatewayAsks) {
  transport_.add(503, "");
  transport_.answers.back().response->headers.set("Retry-After", "7");
  transport_.add(200, kGood);
  const auto start = executor_.now();
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(executor_.now() - start, seconds(7));
}

TEST_F(ClientTest, NotModifiedIsAnAnswer) {
  transport_.add(304);
  Call nodes{.endpoint = Endpoint::kListNodes, .query = {{"update_time", "17"}}};
  const auto answer = send(nodes);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->not_modified);
  transport_.add(200, recorded("jobs_unchanged.json"));
  EXPECT_TRUE(send(list_jobs())->not_modified);
  std::vector<std::string> jobs;
  transport_.add(200, recorded("jobs_unchanged.json"));
  EXPECT_TRUE(stream(list_jobs(), &jobs)->not_modified);
  transport_.add(304);
  EXPECT_TRUE(stream(list_jobs(), &jobs)->not_modified);
}

TEST_F(ClientTest, ListsArriveElementByElement) {
  transport_.add(200,
                 R"({"jobs":[{"job_id":1},{"job_id":2}],"last_update":{"number":17},"errors":[]})");
  std::vector<std::string> jobs;
  const auto answer = stream(list_jobs(), &jobs);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_THAT(jobs, ElementsAre(R"({"job_id":1})", R"({"job_id":2})"));
  EXPECT_EQ(answer->envelope.last_update, 17);
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(transport_.asked[0].limits.timeout, minutes(2));
}

TEST_F(ClientTest, AListIsAskedForAgainOnlyWhileNothingWasHandedOut) {
  const std::string body = R"({"jobs":[{"job_id":1})";
  transport_.answers.push_back({http::json_response(200, R"({"jobs":[)"), {}, true});
  transport_.answers.push_back({http::json_response(200, body), {}, true});
  std::vector<std::string> jobs;
  const auto answer = stream(list_jobs(), &jobs);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTransient);
  EXPECT_EQ(jobs.size(), 1U);
  EXPECT_EQ(transport_.asked.size(), 2U);
}

// What ends on the way must not read like Slurm's own "no such node": pods are deleted on that.
TEST_F(ClientTest, AFailureOnTheWayIsNeverSlurmsVerdict) {
  for (const Code code : {Code::kNotFound, Code::kAlreadyExists, Code::kConflict, Code::kGone}) {
    transport_.add(Error(code, "no such host"));
    const auto answer = send(drain());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kTransient) << to_string(code);
    EXPECT_THAT(answer.error().to_string(), HasSubstr("was not reached: no such host"));
  }
  transport_.add(Error(Code::kNotFound, "no such host"));
  EXPECT_FALSE(send(drain()));
  EXPECT_TRUE(governor_.open()) << "they are failures";
}

TEST_F(ClientTest, WithoutATokenWeAreNobodyAndNothingIsSaidOfTheNode) {
  options_.tokens = token_file("/nowhere/token", executor_.clock());
  auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnauthorized);
  EXPECT_THAT(answer.error().to_string(), HasSubstr("/nowhere/token does not exist"));
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(ClientTest, AMissingListIsNotAnEmptyOne) {
  std::vector<std::string> jobs;
  transport_.add(200, kGood);
  auto answer = stream(list_jobs(), &jobs);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kInternal);
  transport_.add(200, R"({"errors":[{"error_number":1800,"error":"away"}]})");
  transport_.add(200, R"({"jobs":[],"errors":[]})");
  EXPECT_TRUE(stream(list_jobs(), &jobs));
}

TEST_F(ClientTest, ABrokenListIsAnErrorAndNeverAnEnd) {
  for (const char* body :
       {"", "{", R"({"jobs":[{})", R"({"jobs":[}]})", "<html>", "{\"jobs\":[]}x"}) {
    transport_.add(200, body);
    std::vector<std::string> jobs;
    const auto answer = stream(list_jobs(), &jobs);
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().code(), Code::kInternal) << body;
  }
}

TEST_F(ClientTest, TheReceiverOfAListMayEndIt) {
  transport_.add(200, R"({"jobs":[1,2,3]})");
  int seen = 0;
  const auto answer =
      executor_.run(client().stream(list_jobs(), "jobs", [&](std::string_view) -> Result<void> {
        if (++seen == 2) return fail(Code::kTransient, "enough");
        return {};
      }));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().to_string(), HasSubstr("enough"));
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(transport_.asked.size(), 1U);
}

TEST_F(ClientTest, TheRefusalOfAListIsReadWhole) {
  transport_.add(422, refusal(2002));
  std::vector<std::string> jobs;
  const auto answer = stream(list_jobs(), &jobs);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kForbidden);
}

TEST_F(ClientTest, RawGivesTheWholeTree) {
  transport_.add(200, R"({"extra":{"a":1},"errors":[]})");
  const auto value = executor_.run(client().raw(get_node()));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->at_pointer("/extra/a")->as_int(), 1);
}

TEST_F(ClientTest, AsksOnceForTheNewestVersionThatBothKnow) {
  options_.version.reset();
  transport_.add_text(404, kUnknownPath);
  transport_.add_text(404, kUnknownPath);
  transport_.add_text(404, kUnknownPath);
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  ASSERT_TRUE(send(get_node()));
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(executor_.run(client().version()), Version::k42);
  EXPECT_THAT(targets(), ElementsAre("/slurm/v0.0.45/ping/", "/slurm/v0.0.44/ping/",
                                     "/slurm/v0.0.43/ping/", "/slurm/v0.0.42/ping/",
                                     "/slurm/v0.0.42/node/gpu-3", "/slurm/v0.0.42/node/gpu-3"));
}

TEST_F(ClientTest, CallsThatStartTogetherAskForTheVersionOnce) {
  options_.version.reset();
  transport_.add(200, kGood, seconds(1));
  for (int i = 0; i < 3; ++i) transport_.add(200, kGood);
  std::vector<std::optional<Result<Answer>>> answers(3);
  std::vector<net::RootTask> roots;
  for (auto& answer : answers) {
    roots.push_back(net::store_result(client().send(get_node()), &answer));
    roots.back().start({&executor_, nullptr});
  }
  executor_.advance(seconds(5));
  for (const auto& answer : answers) EXPECT_TRUE(answer && *answer);
  EXPECT_EQ(transport_.asked.size(), 4U);
}

TEST_F(ClientTest, AVersionThatTheServerForgotIsAskedForAgain) {
  options_.version.reset();
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  ASSERT_TRUE(send(drain()));
  transport_.add_text(404, kUnknownPath);
  transport_.add_text(404, kUnknownPath);
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  ASSERT_TRUE(send(drain())) << "nothing was done, so even a write may be sent again";
  EXPECT_EQ(targets().back(), "/slurm/v0.0.44/node/gpu-3");
}

TEST_F(ClientTest, APathThatIsNowhereIsLookedForOnceInAWhileAndKeepsNobodyElse) {
  options_.version.reset();
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  const auto look = [&] {
    transport_.asked.clear();
    transport_.add_text(404, kUnknownPath);
    transport_.add(200, kGood);
    for (int i = 0; i < 3; ++i) transport_.add_text(404, kUnknownPath);
    const auto answer = send({.endpoint = Endpoint::kListQos});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kUnsupported);
    EXPECT_THAT(answer.error().to_string(), HasSubstr("the plugin for slurmdbd"));
  };
  ASSERT_EQ(executor_.run(client().version()), Version::k45);
  look();
  EXPECT_THAT(targets(),
              ElementsAre("/slurmdb/v0.0.45/qos/", "/slurm/v0.0.45/ping/", "/slurmdb/v0.0.44/qos/",
                          "/slurmdb/v0.0.43/qos/", "/slurmdb/v0.0.42/qos/"));
  transport_.asked.clear();
  EXPECT_EQ(send({.endpoint = Endpoint::kListQos}).error().code(), Code::kUnsupported);
  EXPECT_THAT(transport_.asked, IsEmpty());
  transport_.add(200, kGood);
  EXPECT_TRUE(send(get_node()));
  EXPECT_THAT(targets(), ElementsAre("/slurm/v0.0.45/node/gpu-3"));
  executor_.advance(minutes(5));
  look();
  EXPECT_EQ(transport_.asked.size(), 5U);
}

TEST_F(ClientTest, APathThatOnlyAnOlderVersionHasIsAskedForThere) {
  options_.version.reset();
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  ASSERT_TRUE(executor_.run(client().version()));
  transport_.asked.clear();
  transport_.add_text(404, kUnknownPath);
  for (int i = 0; i < 4; ++i) transport_.add(200, kGood);
  ASSERT_TRUE(send(drain()));
  ASSERT_TRUE(send(drain()));
  ASSERT_TRUE(send(get_node()));
  EXPECT_THAT(targets(), ElementsAre("/slurm/v0.0.45/node/gpu-3", "/slurm/v0.0.45/ping/",
                                     "/slurm/v0.0.44/node/gpu-3", "/slurm/v0.0.44/node/gpu-3",
                                     "/slurm/v0.0.45/node/gpu-3"));
  EXPECT_EQ(client().known_version(), Version::k45);
}

TEST_F(ClientTest, AfterAnUpgradeTheNewestVersionIsSpoken) {
  options_.version.reset();
  for (int i = 0; i < 3; ++i) transport_.add_text(404, kUnknownPath);
  for (int i = 0; i < 2; ++i) transport_.add(200, R"({"meta":{"slurm":{"release":"24.11.5"}}})");
  for (int i = 0; i < 3; ++i) transport_.add(200, kGood);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(targets().at(5), "/slurm/v0.0.42/node/gpu-3");
  EXPECT_EQ(targets().back(), "/slurm/v0.0.45/node/gpu-3");
}

TEST_F(ClientTest, AMissingJobIsNoReasonToAskForTheVersion) {
  options_.version.reset();
  transport_.add(200, kGood);
  transport_.add(404, recorded("no_job.json"));
  const auto answer = send({.endpoint = Endpoint::kGetJob, .path = {"99999"}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kNotFound);
  EXPECT_EQ(transport_.asked.size(), 2U);
}

TEST_F(ClientTest, AServerThatSpeaksNothingWeKnowIsNamed) {
  options_.version.reset();
  for (std::size_t i = 0; i < kVersions.size() * 2; ++i) transport_.add_text(404, kUnknownPath);
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnsupported);
  EXPECT_THAT(answer.error().to_string(), HasSubstr("http://127.0.0.1:6820/ speaks no version"));
  EXPECT_EQ(transport_.asked.size(), kVersions.size());
}

TEST_F(ClientTest, AWriteIsSentAfterAskingForTheVersionFailedAtFirst) {
  options_.version.reset();
  transport_.add(Error(Code::kTransient, "connection refused"));
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  EXPECT_TRUE(send(drain()));
}

TEST_F(ClientTest, WhatAVersionLacksIsNotSent) {
  options_.version = Version::k42;
  const auto answer = send({.endpoint = Endpoint::kCreateNode, .body = "{}"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnsupported);
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(ClientTest, ARefusedTokenIsRenewedAndTheCallSentOnceMore) {
  int made = 0;
  options_.tokens = callback_tokens(
      [&](std::string user) -> net::Task<Result<Secret>> {
        return [](std::string text) -> net::Task<Result<Secret>> {
          co_return Secret(std::move(text));
        }(user + "-" + std::to_string(++made));
      },
      executor_.clock());
  transport_.add(511, refusal(1007));
  transport_.add(200, kGood);
  ASSERT_TRUE(send(drain())) << "a refused write was not done";
  EXPECT_EQ(transport_.asked[0].headers.get("X-SLURM-USER-TOKEN"), "slurm-1");
  EXPECT_EQ(transport_.asked[1].headers.get("X-SLURM-USER-TOKEN"), "slurm-2");

  transport_.asked.clear();
  transport_.add(511, refusal(1007));
  transport_.add_text(401, "Authentication failure");
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnauthorized);
  EXPECT_EQ(transport_.asked.size(), 2U);
}

TEST_F(ClientTest, ActsAsAnotherUserByTheTokenItself) {
  options_.tokens = minted_tokens(Secret("key"), executor_.clock());
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  Call call = get_node();
  ASSERT_TRUE(send(call));
  call.user = "alice";
  ASSERT_TRUE(send(call));
  const auto token = [&](const std::string& user) {
    return mint_token(Secret("key"), user, executor_.clock().wall_now(), minutes(30))->reveal();
  };
  EXPECT_EQ(transport_.asked[0].headers.get("X-SLURM-USER-TOKEN"), token("slurm"));
  EXPECT_EQ(transport_.asked[1].headers.get("X-SLURM-USER-TOKEN"), token("alice"));
  EXPECT_FALSE(transport_.asked[1].headers.contains("X-SLURM-USER-NAME"));
}

TEST_F(ClientTest, ActsAsAnotherUserByNameWhereThereIsOneToken) {
  options_.tokens = static_token(Secret("a.b.c"));
  transport_.add(200, kGood);
  transport_.add(200, kGood);
  Call call = get_node();
  ASSERT_TRUE(send(call));
  call.user = "alice";
  ASSERT_TRUE(send(call));
  EXPECT_FALSE(transport_.asked[0].headers.contains("X-SLURM-USER-NAME"));
  EXPECT_EQ(transport_.asked[1].headers.get("X-SLURM-USER-NAME"), "alice");
  EXPECT_EQ(transport_.asked[1].headers.get("X-SLURM-USER-TOKEN"), "a.b.c");
}

TEST_F(ClientTest, SecretsAreInNoError) {
  const std::string secret = "eyJh.topsecret.sig";
  options_.tokens = static_token(Secret(secret));
  for (const int status : {200, 401, 404, 422, 500, 511}) {
    for (const std::string body : {"", "<html>", R"({"errors":[{"error_number":1007}]})"}) {
      transport_.add(status, body);
      const auto answer = send(drain());
      if (answer) continue;
      EXPECT_THAT(answer.error().to_string(), Not(HasSubstr("topsecret")));
    }
  }
  options_.tokens = static_token(Secret("topsecret\n"));
  client_.reset();
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().to_string(), Not(HasSubstr("topsecret")));
}

TEST_F(ClientTest, TheCircuitOpensAfterFailuresAndThenNothingIsSent) {
  for (int i = 0; i < 5; ++i) {
    transport_.add(502, refusal(1800));
    EXPECT_FALSE(send(drain()));
  }
  EXPECT_TRUE(governor_.open());
  const auto start = executor_.now();
  const auto answer = send(get_node());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTransient);
  EXPECT_TRUE(answer.error().retry_after());
  EXPECT_EQ(executor_.now(), start) << "it fails at once";
  EXPECT_EQ(transport_.asked.size(), 5U);
}

TEST_F(ClientTest, RefusalsAndAccountingTroubleLeaveTheCircuitClosed) {
  for (int i = 0; i < 9; ++i) {
    transport_.add(422, refusal(2010));
    EXPECT_FALSE(send(drain()));
    transport_.add(502, refusal(7000));
    EXPECT_FALSE(send({.endpoint = Endpoint::kDeleteQos, .path = {"q"}}));
  }
  EXPECT_FALSE(governor_.open());
  EXPECT_EQ(governor_.limit(), 16U);
}

TEST_F(ClientTest, SlowSmallAnswersShrinkTheBudgetAndSlowListsDoNot) {
  transport_.add(200, R"({"jobs":[]})", seconds(9));
  ASSERT_TRUE(send(list_jobs()));
  EXPECT_EQ(governor_.limit(), 16U);
  transport_.add(200, kGood, seconds(2));
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(governor_.limit(), 8U);
  transport_.add(502, refusal(1804));
  EXPECT_FALSE(send(drain()));
  EXPECT_EQ(governor_.limit(), 4U);
  EXPECT_FALSE(governor_.open());
}

TEST_F(ClientTest, SlowIsWhatTakesMuchLongerThanUsual) {
  for (int i = 0; i < 300; ++i) {
    transport_.add(200, kGood, milliseconds(400));
    ASSERT_TRUE(send(get_node()));
  }
  EXPECT_EQ(governor_.limit(), 16U) << "a slurmrestd that is far away is not in trouble";
  transport_.add(200, kGood, milliseconds(1'700));
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(governor_.limit(), 8U);
  for (int i = 0; i < 300; ++i) {
    transport_.add(200, kGood, milliseconds(1));
    ASSERT_TRUE(send(get_node()));
  }
  transport_.add(200, kGood, milliseconds(200));
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(governor_.limit(), 16U) << "quick enough, whatever the others took";
  transport_.add(200, kGood, milliseconds(300));
  ASSERT_TRUE(send(get_node()));
  EXPECT_EQ(governor_.limit(), 8U);
}

TEST_F(ClientTest, TheImpatienceOfOneCallerIsNoFailureOfTheServer) {
  Call hasty = get_node();
  hasty.timeout = milliseconds(500);
  for (int i = 0; i < 9; ++i) {
    transport_.add(200, kGood, seconds(1));
    EXPECT_EQ(send(hasty).error().code(), Code::kTimeout);
  }
  EXPECT_FALSE(governor_.open());
  EXPECT_EQ(governor_.limit(), 16U);
  for (int i = 0; i < 5; ++i) {
    transport_.add(200, kGood, seconds(20));
    EXPECT_EQ(send(get_node()).error().code(), Code::kTimeout);
  }
  EXPECT_TRUE(governor_.open());
}

TEST_F(ClientTest, ATokenThatNobodyRenewedIsAnnouncedOnce) {
  Metrics metrics;
  const auto lines = std::make_shared<MemoryLogSink>();
  options_.metrics = &metrics;
  options_.log = Logger(Logger::Options{.clock = &executor_.clock(), .sink = lines});
  const WallTime now = executor_.clock().wall_now();
  options_.tokens = static_token(*mint_token(Secret("key"), "slurm", now, minutes(30)));
  const auto ask = [&] {
    transport_.add(200, kGood);
    ASSERT_TRUE(send(get_node()));
  };
  ask();
  EXPECT_THAT(lines->lines(), IsEmpty());
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_token_expires_seconds"));
  executor_.advance(minutes(21));
  ask();
  ask();
  ASSERT_EQ(lines->lines().size(), 1U);
  EXPECT_THAT(lines->lines().front(), HasSubstr("the Slurm token ends soon"));
}

TEST_F(ClientTest, ACancelledCallGivesItsPlaceBack) {
  transport_.add(200, kGood, seconds(5));
  net::CancelScope scope;
  net::Timer timer(executor_, seconds(1), [&] { scope.cancel(); });
  const auto answer = executor_.run(client().send(get_node()), &scope);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kCancelled);
  EXPECT_EQ(governor_.under_way(), 0U);
  EXPECT_EQ(governor_.limit(), 16U);
}

}  // namespace
}  // namespace mainspring::slurm
