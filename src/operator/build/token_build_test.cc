#include "operator/build/token_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/base64.h"
#include "base/text.h"
#include "json/yaml.h"
#include "slurm/tokens.h"

namespace mainspring::op::build {
namespace {

using ::testing::Optional;

constexpr WallTime kNow = WallTime(seconds(1'800'000'000));

api::Token a_token() {
  api::Token token;
  token.meta.name = "robot";
  token.meta.ns = "slurm";
  token.meta.uid = "55555555-0000-0000-0000-000000000000";
  token.spec.jwt_key_ref = api::KeyRef{.name = "auth-jwt", .key = "jwt.key"};
  token.spec.username = "alice";
  return token;
}

const Secret kKey("signing");

kube::SecretObject holding(const api::Token& token, const Secret& text) {
  kube::SecretObject secret;
  secret.data.emplace(token.secret().key, text);
  return secret;
}

kube::SecretObject issued_at(const api::Token& token, WallTime time, const Secret& key = kKey) {
  return holding(token, *sign_token(token, key, time, "id"));
}

TEST(TokenBuild, SignsTheClaimsThatSlurmAndItsUsersExpect) {
  const Secret text = *sign_token(a_token(), kKey, kNow, uuid_of(1, 2));
  const auto parts = split(text.reveal(), '.');
  ASSERT_EQ(parts.size(), 3U);
  std::ifstream file(std::string(MAINSPRING_TEST_DATA) + "/operator/token/claims.yaml");
  std::ostringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(json::parse(base64url_decode(parts[1]).value_or("")), json::parse_yaml(wanted.str()));
  EXPECT_THAT(read_token(text, kKey), Optional(TokenClaims{"alice", kNow, kNow + minutes(15)}));
  EXPECT_EQ(read_token(text, Secret("other")), std::nullopt);
  EXPECT_THAT(slurm::token_expiry(text), Optional(kNow + minutes(15)));
}

TEST(TokenBuild, AnIdIsARandomUuid) {
  EXPECT_EQ(uuid_of(0, 0), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(uuid_of(~0ULL, ~0ULL), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

TEST(TokenBuild, RenewsAfterFourFifthsOfItsLife) {
  const api::Token token = a_token();
  const auto secret = issued_at(token, kNow);
  const TokenPlan young = plan_token(token, &secret, kKey, kNow);
  EXPECT_FALSE(young.write);
  EXPECT_THAT(young.wait, Optional(Duration(minutes(12))));
  EXPECT_FALSE(plan_token(token, &secret, kKey, kNow + minutes(12) - seconds(1)).write);
  EXPECT_TRUE(plan_token(token, &secret, kKey, kNow + minutes(12)).write);
  EXPECT_TRUE(plan_token(token, &secret, kKey, kNow + hours(5)).write);
  EXPECT_TRUE(plan_token(token, nullptr, kKey, kNow).write);
}

TEST(TokenBuild, RenewsWhenKeyUserOrLifetimeChange) {
  api::Token token = a_token();
  const auto secret = issued_at(token, kNow);
  EXPECT_EQ(plan_token(token, &secret, Secret("rotated"), kNow).why, "KeyChanged");
  EXPECT_TRUE(plan_token(token, &secret, Secret("rotated"), kNow).write);
  token.spec.lifetime = hours(1);
  EXPECT_TRUE(plan_token(token, &secret, kKey, kNow).write);
  token.spec.lifetime = minutes(15);
  token.spec.username = "bob";
  EXPECT_TRUE(plan_token(token, &secret, kKey, kNow).write);
}

TEST(TokenBuild, OneThatIsNotToBeRefreshedIsWrittenOnce) {
  api::Token token = a_token();
  token.spec.refresh = false;
  EXPECT_TRUE(plan_token(token, nullptr, kKey, kNow).write);
  const auto secret = issued_at(token, kNow);
  EXPECT_FALSE(plan_token(token, &secret, kKey, kNow + hours(5)).write);
  EXPECT_EQ(plan_token(token, &secret, kKey, kNow + hours(5)).why, "Expired");
  EXPECT_FALSE(plan_token(token, &secret, Secret("rotated"), kNow).write);
  EXPECT_EQ(token_secret(token, Secret("x")).find("immutable")->as_bool(), true);
}

TEST(TokenBuild, WritesNoSecretOfOthers) {
  const api::Token token = a_token();
  kube::SecretObject secret = holding(token, Secret("x"));
  EXPECT_FALSE(is_own_token_secret(token, secret)) << "nobody's";
  secret.meta.owners = {kube::OwnerReference{"v1", "Secret", "auth-jwt", "key-uid", true, true}};
  EXPECT_TRUE(is_own_token_secret(token, secret)) << "of the operator before us";
  secret.data.clear();
  EXPECT_FALSE(is_own_token_secret(token, secret)) << "the key's, but no token";
  secret.meta.owners = {kube::OwnerReference{"v1", "Token", "robot", token.meta.uid, true, true}};
  EXPECT_TRUE(is_own_token_secret(token, secret));
}

TEST(TokenBuild, RefusesATimeThatIsNone) {
  api::Token token = a_token();
  token.spec.lifetime = Duration{};
  EXPECT_FALSE(sign_token(token, kKey, kNow, "id").has_value());
  token.spec.lifetime = hours(24 * 365 * 200);
  EXPECT_EQ(token_lifetime(token), Result<Duration>(seconds((std::int64_t{1} << 31) - 2)));
}

}  // namespace
}  // namespace mainspring::op::build
