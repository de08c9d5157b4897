#include "control/delegated_auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/scripted_api.h"

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kKnown =
    R"({"status":{"authenticated":true,"audiences":["metrics"],"user":{"username":"ann","uid":"7",)"
    R"("groups":["dev","ops"],"extra":{"scopes":["read","write"]}}}})";
constexpr const char* kAllowed = R"({"status":{"allowed":true}})";
constexpr const char* kDenied = R"({"status":{"allowed":false,"reason":"no rule fits"}})";

struct DelegatedAuthTest : ::testing::Test {
  Result<UserInfo> authenticate(const char* token, std::vector<std::string> audiences = {}) {
    return kube.executor.run(auth.authenticate(Secret(token), std::move(audiences)));
  }
  Result<void> authorize(AccessAttributes wanted) {
    return kube.executor.run(auth.authorize({"ann", "7", {"dev"}, {{"k", {"v"}}}}, wanted));
  }

  ScriptedClient kube;
  DelegatedAuth auth{kube.client};
};

TEST_F(DelegatedAuthTest, ATokenBecomesAUser) {
  kube.api.reply(201, kKnown);
  auto user = authenticate("t");
  ASSERT_TRUE(user.has_value()) << user.error().to_string();
  EXPECT_EQ(*user, (UserInfo{"ann", "7", {"dev", "ops"}, {{"scopes", {"read", "write"}}}}));
  EXPECT_THAT(kube.api.calls(), ElementsAre("POST /apis/authentication.k8s.io/v1/tokenreviews"));
  EXPECT_EQ(*kube.api.body(0).at_pointer("/spec/token"), json::Value("t"));
}

TEST_F(DelegatedAuthTest, AnswersAreKeptForSecondsAndThenAskedForAgain) {
  kube.api.reply(201, kKnown);
  EXPECT_TRUE(authenticate("t").has_value());
  EXPECT_TRUE(authenticate("t").has_value());
  EXPECT_EQ(kube.api.requests.size(), 1u);
  kube.executor.advance(seconds(11));
  kube.api.reply(201, R"({"status":{"error":"revoked"}})");
  EXPECT_THAT(authenticate("t").error().message(), HasSubstr("revoked"));
  EXPECT_EQ(authenticate("t").error().code(), Code::kUnauthorized);
  EXPECT_EQ(kube.api.requests.size(), 2u);
}

TEST_F(DelegatedAuthTest, AnotherTokenIsAnotherQuestion) {
  kube.api.reply(201, kKnown);
  EXPECT_TRUE(authenticate("t").has_value());
  kube.api.reply(201, "{}");
  EXPECT_EQ(authenticate("u").error().code(), Code::kUnauthorized);
}

TEST_F(DelegatedAuthTest, ATokenForSomebodyElseIsRefused) {
  kube.api.reply(201, kKnown);
  EXPECT_TRUE(authenticate("t", {"metrics", "x"}).has_value());
  kube.api.reply(201, kKnown);
  EXPECT_THAT(authenticate("t", {"api"}).error().message(), HasSubstr("not meant for api"));
}

TEST_F(DelegatedAuthTest, AnEmptyTokenIsNotEvenAskedAbout) {
  EXPECT_EQ(authenticate("").error().code(), Code::kUnauthorized);
  EXPECT_TRUE(kube.api.requests.empty());
}

TEST_F(DelegatedAuthTest, ACallThatFailedIsNoAnswer) {
  kube.api.refuse(403, "Forbidden");
  EXPECT_FALSE(authenticate("t").has_value());
  kube.api.reply(201, kKnown);
  EXPECT_TRUE(authenticate("t").has_value());
}

TEST_F(DelegatedAuthTest, AsksForAResourceOrAPath) {
  kube.api.reply(201, kAllowed);
  EXPECT_TRUE(authorize({.verb = "get", .ns = "web", .group = "g", .resource = "r"}).has_value());
  const json::Value spec = *kube.api.body(0).find("spec");
  EXPECT_EQ(json::to_text(spec),
            R"({"user":"ann","uid":"7","groups":["dev"],"extra":{"k":["v"]},)"
            R"("resourceAttributes":{"verb":"get","resource":"r","namespace":"web","group":"g"}})");
  kube.api.reply(201, kAllowed);
  EXPECT_TRUE(authorize({.verb = "get", .path = "/metrics"}).has_value());
  EXPECT_EQ(json::to_text(*kube.api.body(1).at_pointer("/spec/nonResourceAttributes")),
            R"({"path":"/metrics","verb":"get"})");
}

TEST_F(DelegatedAuthTest, ADenialSaysWhoMayNotDoWhatAndWhy) {
  kube.api.reply(201, kDenied);
  const AccessAttributes wanted{.verb = "list", .ns = "web", .group = "g", .resource = "r"};
  const auto refused = authorize(wanted);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_EQ(refused.error().message(),
            "user \"ann\" may not list resource r.g in namespace \"web\": no rule fits");
  EXPECT_FALSE(authorize(wanted).has_value());
  EXPECT_EQ(kube.api.requests.size(), 1u);
  kube.executor.advance(seconds(11));
  kube.api.reply(201, kAllowed);
  EXPECT_TRUE(authorize(wanted).has_value());
}

TEST_F(DelegatedAuthTest, KeepsNoMoreAnswersThanItIsAllowed) {
  DelegatedAuth small(kube.client, {.max_answers = 2});
  kube.api.otherwise = [](const http::Request&) { return http::json_response(201, kKnown); };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(kube.executor.run(small.authenticate(Secret(std::to_string(i)), {})).has_value());
  }
  EXPECT_EQ(kube.api.requests.size(), 5u);
  EXPECT_TRUE(kube.executor.run(small.authenticate(Secret("4"), {})).has_value());
  EXPECT_EQ(kube.api.requests.size(), 5u);
}

}  // namespace
}  // namespace mainspring::control
