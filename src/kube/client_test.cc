#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/scripted_transport.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::kube {
namespace {

using http::Method;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Gives "Bearer 1", and after each refresh the next number, as often as it may.
struct Tokens final : Credentials {
  Task<Result<void>> add_to(http::Headers* headers) override {
    if (slow > Duration::zero()) MS_CO_CHECK(co_await net::sleep(slow));
    headers->set("Authorization", "Bearer " + std::to_string(number));
    co_return Result<void>();
  }
  bool refresh() override {
    ++number;
    return renewable;
  }
  int number = 1;
  bool renewable = true;
  Duration slow{};
};

class ClientTest : public ::testing::Test {
 protected:
  void answer(int status, std::string body = "{}", http::Headers headers = {}) {
    http::Response response = http::json_response(status, std::move(body));
    for (const auto& [name, value] : headers) response.headers.set(name, value);
    transport_.answers.push_back(std::move(response));
  }
  static Call call(Method method) {
    Call made;
    made.method = method;
    made.path = "/api/v1/pods";
    made.what = "touch pods";
    return made;
  }
  Result<http::Response> send(Call made) {
    Client client(transport_, executor_.clock(), random_, options_);
    return executor_.run(client.send(std::move(made)));
  }
  std::size_t asked() const { return transport_.asked.size(); }
  std::vector<std::string> sent(std::string_view header) const {
    std::vector<std::string> all;
    for (const auto& request : transport_.asked) {
      all.emplace_back(request.headers.get(header).value_or(""));
    }
    return all;
  }

  net::VirtualExecutor executor_;
  Random random_{3};
  ScriptedTransport transport_;
  Client::Options options_{.server = *http::Url::parse("https://api:6443")};
  std::shared_ptr<Tokens> tokens_ = std::make_shared<Tokens>();
};

TEST_F(ClientTest, AsksAgainWhenTheServerAsksForPatience) {
  answer(429, "", {{"Retry-After", "3"}});
  answer(429);
  answer(201);
  EXPECT_TRUE(send(call(Method::kPost)).has_value());
  EXPECT_EQ(asked(), 3u);
  EXPECT_GE(executor_.now() - TimePoint(), seconds(3));
}

TEST_F(ClientTest, TakesNoForAnAnswerWhereTheCallSaysSo) {
  answer(429, R"({"status":"Failure","reason":"TooManyRequests","code":429})");
  Call evict = call(Method::kPost);
  evict.retry_throttled = false;
  EXPECT_EQ(send(evict).error().code(), Code::kThrottled);
  EXPECT_EQ(asked(), 1u);
}

TEST_F(ClientTest, SendsACreateAgainOnlyIfTheServerSaysThatItDidNothing) {
  answer(503, "", {{"Retry-After", "1"}});
  answer(500);
  EXPECT_EQ(send(call(Method::kPost)).error().code(), Code::kTransient);
  EXPECT_EQ(asked(), 2u);
}

TEST_F(ClientTest, RepeatsWhatIsTheSameTwice) {
  struct Case {
    Method method;
    std::optional<bool> idempotent;
    std::size_t attempts;
  };
  const Case cases[] = {{Method::kGet, {}, 2},      {Method::kPut, {}, 2},
                        {Method::kDelete, {}, 2},   {Method::kPatch, {}, 1},
                        {Method::kPatch, true, 2},  {Method::kPost, {}, 1},
                        {Method::kDelete, false, 1}};
  for (const Case& one : cases) {
    transport_.asked.clear();
    transport_.answers.clear();
    answer(502);
    answer(200);
    Call made = call(one.method);
    made.idempotent = one.idempotent;
    EXPECT_EQ(send(made).has_value(), one.attempts == 2);
    EXPECT_EQ(asked(), one.attempts) << http::to_string(one.method);
  }
}

TEST_F(ClientTest, DoesNotRepeatARefusal) {
  for (const int status : {400, 403, 404, 409, 410, 422}) {
    transport_.asked.clear();
    answer(status);
    EXPECT_FALSE(send(call(Method::kGet)).has_value());
    EXPECT_EQ(asked(), 1u) << status;
  }
}

TEST_F(ClientTest, RenewsItsCredentialsOnceWhenTheyAreRefused) {
  options_.credentials = tokens_;
  answer(401);
  answer(200);
  EXPECT_TRUE(send(call(Method::kPost)).has_value());
  EXPECT_THAT(sent("Authorization"), ElementsAre("Bearer 1", "Bearer 2"));

  transport_.asked.clear();
  answer(401);
  answer(401);
  EXPECT_EQ(send(call(Method::kGet)).error().code(), Code::kUnauthorized);
  EXPECT_EQ(asked(), 2u);

  transport_.asked.clear();
  tokens_->renewable = false;
  answer(401);
  EXPECT_EQ(send(call(Method::kGet)).error().code(), Code::kUnauthorized);
  EXPECT_EQ(asked(), 1u);
}

TEST_F(ClientTest, GivesTheLastAnswerRatherThanWaitPastItsDeadline) {
  options_.timeout = seconds(5);
  answer(429, "", {{"Retry-After", "3"}});
  answer(429, "", {{"Retry-After", "3"}});
  const auto refused = send(call(Method::kGet));
  EXPECT_EQ(refused.error().code(), Code::kThrottled);
  EXPECT_EQ(refused.error().retry_after(), seconds(3));
  EXPECT_EQ(executor_.now() - TimePoint(), seconds(3));
  ASSERT_EQ(asked(), 2u);
  EXPECT_EQ(transport_.asked[0].limits.timeout, seconds(5));
  EXPECT_EQ(transport_.asked[1].limits.timeout, seconds(2));
}

TEST_F(ClientTest, TheCallsOwnTimeReplacesTheClients) {
  answer(200);
  Call made = call(Method::kGet);
  made.timeout = seconds(2);
  EXPECT_TRUE(send(made).has_value());
  EXPECT_EQ(transport_.asked[0].limits.timeout, seconds(2));
}

TEST_F(ClientTest, CredentialsThatNeverComeAreATimeout) {
  options_.credentials = tokens_;
  tokens_->slow = hours(1);
  const auto late = send(call(Method::kGet));
  EXPECT_EQ(late.error().code(), Code::kTimeout);
  EXPECT_EQ(executor_.now() - TimePoint(), options_.timeout);
  EXPECT_EQ(asked(), 0u);
}

TEST_F(ClientTest, WritesNothingWithoutLeave) {
  options_.may_write = [] { return fail(Code::kForbidden, "another leads"); };
  for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    const auto refused = send(call(method));
    EXPECT_EQ(refused.error().code(), Code::kForbidden);
    EXPECT_EQ(refused.error().to_string(), "touch pods: another leads");
  }
  EXPECT_EQ(asked(), 0u);
  answer(200);
  EXPECT_TRUE(send(call(Method::kGet)).has_value());
  answer(200);
  Call lease = call(Method::kPut);
  lease.always_allowed = true;
  EXPECT_TRUE(send(lease).has_value());
}

TEST_F(ClientTest, AnUpgradeIsAWrite) {
  options_.may_write = [] { return fail(Code::kForbidden, "another leads"); };
  Client client(transport_, executor_.clock(), random_, options_);
  EXPECT_EQ(executor_.run(client.upgrade(call(Method::kGet))).error().code(), Code::kForbidden);
  EXPECT_EQ(asked(), 0u);
}

TEST_F(ClientTest, NoAttemptLastsLongerThanTheLeaveToWrite) {
  options_.may_write = [this]() -> Result<Duration> {
    const Duration left = TimePoint(seconds(4)) - executor_.now();
    if (left <= Duration::zero()) return fail(Code::kForbidden, "too late");
    return left;
  };
  answer(429, "", {{"Retry-After", "1"}});
  answer(429, "", {{"Retry-After", "3"}});
  EXPECT_THAT(send(call(Method::kPost)).error().to_string(), HasSubstr("too late"));
  ASSERT_EQ(asked(), 2u);
  EXPECT_EQ(transport_.asked[0].limits.timeout, seconds(4));
  EXPECT_EQ(transport_.asked[1].limits.timeout, seconds(3));
}

TEST_F(ClientTest, LeaveToWriteThatPassesWhileCredentialsAreFetchedIsGone) {
  options_.credentials = tokens_;
  tokens_->slow = seconds(5);
  options_.may_write = [this]() -> Result<Duration> {
    const Duration left = TimePoint(seconds(4)) - executor_.now();
    if (left <= Duration::zero()) return fail(Code::kForbidden, "too late");
    return left;
  };
  EXPECT_EQ(send(call(Method::kPost)).error().code(), Code::kForbidden);
  EXPECT_EQ(asked(), 0u);
}

TEST_F(ClientTest, ActsForSomebodyElse) {
  options_.impersonate = {"ann", "7", {"dev", "ops"}, {{"example.com/scope", "a b"}}};
  answer(200);
  ASSERT_TRUE(send(call(Method::kGet)).has_value());
  const http::Headers& headers = transport_.asked[0].headers;
  EXPECT_EQ(headers.get("Impersonate-User"), "ann");
  EXPECT_EQ(headers.get("Impersonate-Uid"), "7");
  EXPECT_THAT(headers.all("Impersonate-Group"), ElementsAre("dev", "ops"));
  EXPECT_EQ(headers.get("Impersonate-Extra-example.com%2Fscope"), "a b");
}

TEST_F(ClientTest, KeepsThePrefixOfAServerBehindAGateway) {
  for (const char* server : {"https://gate/k8s/c-1", "https://gate/k8s/c-1/"}) {
    options_.server = *http::Url::parse(server);
    answer(200);
    Call made = call(Method::kGet);
    made.query = {{"labelSelector", "a=b,c"}, {"limit", "2"}};
    ASSERT_TRUE(send(made).has_value());
    EXPECT_EQ(transport_.asked.back().url.to_string(),
              "https://gate/k8s/c-1/api/v1/pods?labelSelector=a%3Db%2Cc&limit=2");
  }
}

TEST_F(ClientTest, NamesATypeOnlyWhereThereIsABody) {
  answer(200);
  ASSERT_TRUE(send(call(Method::kGet)).has_value());
  answer(200);
  Call made = call(Method::kPatch);
  made.body = "{}";
  made.content_type = "application/merge-patch+json";
  ASSERT_TRUE(send(made).has_value());
  EXPECT_THAT(sent("Content-Type"), ElementsAre("", "application/merge-patch+json"));
  EXPECT_THAT(sent("Accept"), ElementsAre("application/json", "application/json"));
}

TEST_F(ClientTest, SaysWhatItDidAndWhatTheServerThinksOfIt) {
  answer(403, R"({"status":"Failure","reason":"Forbidden","code":403,"message":"no rule fits"})");
  EXPECT_EQ(send(call(Method::kGet)).error().to_string(), "touch pods: no rule fits");
  answer(404, "<html>no such backend</html>");
  EXPECT_THAT(send(call(Method::kGet)).error().to_string(),
              AllOf(StartsWith("touch pods"), HasSubstr("404"), HasSubstr("no such backend")));
}

TEST_F(ClientTest, ReadsTheRefusalOfAStream) {
  answer(410, R"({"status":"Failure","reason":"Expired","code":410,"message":"too old"})");
  Client client(transport_, executor_.clock(), random_, options_);
  const auto refused = executor_.run(client.open(call(Method::kGet)));
  EXPECT_EQ(refused.error().code(), Code::kGone);
  EXPECT_EQ(refused.error().to_string(), "touch pods: too old");
}

TEST_F(ClientTest, TellsOfEveryAttempt) {
  std::vector<std::string> attempts;
  options_.on_attempt = [&](const Client::Attempt& attempt) {
    attempts.push_back(std::string(attempt.verb) + " " + std::string(attempt.what) + " " +
                       std::to_string(attempt.status));
  };
  answer(503);
  answer(200);
  ASSERT_TRUE(send(call(Method::kGet)).has_value());
  EXPECT_THAT(attempts, ElementsAre("GET touch pods 503", "GET touch pods 200"));
}

TEST_F(ClientTest, StopsWaitingWhenItIsCancelled) {
  answer(429, "", {{"Retry-After", "20"}});
  Client client(transport_, executor_.clock(), random_, options_);
  net::CancelScope scope;
  const net::Timer stop(executor_, seconds(1), [&] { scope.cancel(); });
  EXPECT_EQ(executor_.run(client.send(call(Method::kGet)), &scope).error().code(),
            Code::kCancelled);
  EXPECT_EQ(executor_.now() - TimePoint(), seconds(1));
}

}  // namespace
}  // namespace mainspring::kube
