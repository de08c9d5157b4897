#include "slurm/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "net/virtual_executor.h"

namespace mainspring::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string claims_of(const Secret& token) {
  const auto parts = split(token.reveal(), '.');
  return parts.size() == 3 ? base64url_decode(parts[1]).value_or("") : "";
}

class TokensTest : public ::testing::Test {
 protected:
  ~TokensTest() override { std::remove(path_.c_str()); }

  Secret token(TokenSource& source, const std::string& user = "slurm") {
    auto got = executor_.run(source.token(user));
    EXPECT_TRUE(got) << got.error().to_string();
    return got.value_or(Secret());
  }
  void write(const std::string& text) { std::ofstream(path_, std::ios::trunc) << text; }

  net::VirtualExecutor executor_;
  const Clock& clock_ = executor_.clock();
  std::string path_ = ::testing::TempDir() + "tokens_test." + std::to_string(::getpid());
};

TEST_F(TokensTest, MintsWhatSlurmAccepts) {
  const auto token = mint_token(Secret("key"), "alice", WallTime(seconds(1'000)), minutes(2));
  ASSERT_TRUE(token);
  const auto parts = split(token->reveal(), '.');
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(base64url_decode(parts[0]), R"({"alg":"HS256","typ":"JWT"})");
  EXPECT_EQ(base64url_decode(parts[1]), R"({"exp":1120,"iat":1000,"sun":"alice"})");
  const Sha256Digest signature =
      hmac_sha256("key", std::string(parts[0]) + "." + std::string(parts[1]));
  EXPECT_EQ(base64url_decode(parts[2]), as_text(signature));
  EXPECT_EQ(token_expiry(*token), WallTime(seconds(1'120)));
}

TEST_F(TokensTest, RefusesToMintWithoutAKeyOrAUser) {
  EXPECT_FALSE(mint_token(Secret(), "alice", WallTime(), minutes(1)));
  EXPECT_FALSE(mint_token(Secret("key"), "", WallTime(), minutes(1)));
  EXPECT_FALSE(mint_token(Secret("key"), "\xff", WallTime(), minutes(1)));
}

TEST_F(TokensTest, ReadsAnExpiryOnlyWhereThereIsOne) {
  const auto expiry = [](const std::string& claims) {
    return token_expiry(Secret("e30." + base64url_encode(claims) + ".c2ln"));
  };
  EXPECT_EQ(expiry(R"({"exp":7})"), WallTime(seconds(7)));
  EXPECT_EQ(expiry(R"({"exp":7.9})"), WallTime(seconds(7)));
  for (const char* bad : {"", "{}", "[7]", R"({"exp":"7"})", R"({"exp":-1})", R"({"exp":1e300})",
                          R"({"exp":7)", R"({"exp":null})"}) {
    EXPECT_EQ(expiry(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(token_expiry(Secret("no.token")), std::nullopt);
  EXPECT_EQ(token_expiry(Secret("a.!.c")), std::nullopt);
}

TEST_F(TokensTest, MintedTokensNameTheirUserAndAreKeptUntilTheyAreAboutToEnd) {
  const auto source =
      minted_tokens(Secret("key"), clock_, {.lifetime = minutes(30), .renew_before = minutes(5)});
  EXPECT_FALSE(source->needs_user_header());
  EXPECT_EQ(source->expires("alice"), std::nullopt);
  const Secret first = token(*source, "alice");
  EXPECT_THAT(claims_of(first), HasSubstr(R"("sun":"alice")"));
  EXPECT_THAT(claims_of(token(*source, "bob")), HasSubstr(R"("sun":"bob")"));
  EXPECT_EQ(source->expires("alice"), clock_.wall_now() + minutes(30));
  executor_.advance(minutes(24));
  EXPECT_EQ(token(*source, "alice"), first);
  executor_.advance(minutes(1));
  EXPECT_FALSE(token(*source, "alice") == first);
}

TEST_F(TokensTest, ARefusedTokenIsMintedAnewOnce) {
  const auto source = minted_tokens(Secret("key"), clock_);
  token(*source);
  executor_.advance(minutes(1));
  EXPECT_TRUE(source->refused("slurm"));
  token(*source);
  EXPECT_FALSE(source->refused("slurm")) << "the key itself is not accepted";
}

TEST_F(TokensTest, ARotatedKeyIsUsedAfterSecondsOrAtOnceWhenRefused) {
  write("first");
  const auto source = minted_tokens_from(path_, clock_);
  const Secret old = token(*source);
  write("second\n");
  EXPECT_EQ(token(*source), old);
  EXPECT_TRUE(source->refused("slurm"));
  const Secret renewed = token(*source);
  EXPECT_EQ(renewed, *mint_token(Secret("second\n"), "slurm", clock_.wall_now(), minutes(30)));
  EXPECT_TRUE(source->refused("slurm")) << "the request may have carried the token before";

  write("third");
  executor_.advance(seconds(5));
  EXPECT_EQ(token(*source), *mint_token(Secret("third"), "slurm", clock_.wall_now(), minutes(30)));
  std::remove(path_.c_str());
  executor_.advance(seconds(5));
  token(*source);
}

TEST_F(TokensTest, AMissingKeyFileIsNamed) {
  const auto source = minted_tokens_from(path_, clock_);
  const auto got = executor_.run(source->token("slurm"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), Code::kNotFound);
  EXPECT_THAT(got.error().to_string(), HasSubstr(path_));
  write("key");
  executor_.advance(seconds(5));
  token(*source);
}

TEST_F(TokensTest, OneTokenServesEveryUser) {
  const auto source = static_token(Secret("a.b.c"));
  EXPECT_TRUE(source->needs_user_header());
  EXPECT_EQ(token(*source, "alice"), token(*source, "bob"));
  EXPECT_FALSE(source->refused("alice"));
  const auto bad = executor_.run(static_token(Secret("top secret\r\n"))->token("slurm"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().to_string(), Not(HasSubstr("secret")));
}

TEST_F(TokensTest, ATokenFileIsReadAgainWhenItChanges) {
  write("one\n");
  const auto source = token_file(path_, clock_);
  EXPECT_TRUE(source->needs_user_header());
  EXPECT_EQ(token(*source).reveal(), "one");
  executor_.advance(minutes(1));
  EXPECT_FALSE(source->refused("slurm"));
  write("two");
  EXPECT_TRUE(source->refused("slurm"));
  EXPECT_EQ(token(*source).reveal(), "two");
  write("three");
  executor_.advance(seconds(5));
  EXPECT_EQ(token(*source).reveal(), "three");
  std::remove(path_.c_str());
  executor_.advance(seconds(5));
  EXPECT_EQ(token(*source).reveal(), "three") << "the last good one stays in use";
}

struct Service {
  const Clock* clock;
  std::vector<std::string> asked;
  bool broken = false;
  net::Task<Result<Secret>> give(std::string user) {
    asked.push_back(user);
    if (broken) co_return fail(Code::kTransient, "no tokens today");
    co_return mint_token(Secret("key"), user, clock->wall_now(), minutes(10));
  }
};

TEST_F(TokensTest, ACallbackIsAskedAheadOfExpiryAndAfterARefusal) {
  Service service{.clock = &clock_};
  const auto source =
      callback_tokens([&](std::string user) { return service.give(std::move(user)); }, clock_);
  token(*source, "alice");
  token(*source, "alice");
  EXPECT_THAT(service.asked, ElementsAre("alice"));
  executor_.advance(minutes(8));
  service.broken = true;
  token(*source, "alice");
  EXPECT_THAT(service.asked, ElementsAre("alice", "alice")) << "ahead of time";
  executor_.advance(minutes(2));
  const auto got = executor_.run(source->token("alice"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().to_string(), "asking for a Slurm token: no tokens today");
  service.broken = false;
  token(*source, "alice");
  EXPECT_TRUE(source->refused("alice"));
  token(*source, "alice");
  EXPECT_EQ(service.asked.size(), 5U);
}

}  // namespace
}  // namespace mainspring::slurm
