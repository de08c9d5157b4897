#include "kube/token_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

namespace fs = std::filesystem;

class Tokens : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const std::string& text) { std::ofstream(folder / "token") << text; }

  std::shared_ptr<TokenFile> open(Secret fallback = {}) {
    auto made = TokenFile::open({(folder / "token").string(), std::move(fallback), &clock});
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
    return *made;
  }

  std::string authorization(Credentials& credentials) {
    http::Headers headers;
    EXPECT_TRUE(executor.run(credentials.add_to(&headers)).has_value());
    return std::string(headers.get("Authorization").value_or("none"));
  }

  net::VirtualExecutor executor;
  ManualClock clock;
  fs::path folder;
};

TEST_F(Tokens, AStaticTokenStaysAndCannotBeRefreshed) {
  auto token = StaticCredentials::bearer(Secret("abc"), "token");
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(authorization(**token), "Bearer abc");
  EXPECT_FALSE((*token)->refresh());
}

TEST_F(Tokens, BasicAuthIsEncoded) {
  EXPECT_EQ(authorization(*StaticCredentials::basic("ann", Secret("p:w"))), "Basic YW5uOnA6dw==");
}

TEST_F(Tokens, WhatCannotStandInAHeaderIsRefusedAndNotRepeated) {
  EXPECT_EQ(StaticCredentials::bearer(Secret("a\r\nX-Evil: 1"), "users[b].user.token")
                .error()
                .to_string(),
            "users[b].user.token is no token: it contains spaces, line breaks or non-ASCII "
            "characters");
}

TEST_F(Tokens, AFileIsReadAgainAfterTenSeconds) {
  write("one\n");
  auto token = open();
  EXPECT_EQ(authorization(*token), "Bearer one");
  write("two");
  clock.advance(seconds(9));
  EXPECT_EQ(authorization(*token), "Bearer one");
  clock.advance(seconds(1));
  EXPECT_EQ(authorization(*token), "Bearer two");
}

TEST_F(Tokens, ARefusedTokenIsLookedUpAtOnce) {
  write("one");
  auto token = open();
  EXPECT_FALSE(token->refresh());  // The file has nothing better.
  write("two");
  EXPECT_TRUE(token->refresh());
  EXPECT_EQ(authorization(*token), "Bearer two");
  // A second request that was refused with the old token may try again too; later ones may not.
  EXPECT_TRUE(token->refresh());
  clock.advance(seconds(11));
  EXPECT_FALSE(token->refresh());
}

TEST_F(Tokens, ABrokenFileLeavesTheLastGoodTokenInUse) {
  write("one");
  auto token = open();
  for (const char* broken : {"", "a b", "\xff"}) {
    write(broken);
    clock.advance(seconds(11));
    EXPECT_EQ(authorization(*token), "Bearer one");
  }
  fs::remove(folder / "token");
  clock.advance(seconds(11));
  EXPECT_EQ(authorization(*token), "Bearer one");
}

TEST_F(Tokens, WithoutAFileTheFallbackIsUsedAndWithoutBothItFails) {
  EXPECT_EQ(authorization(*open(Secret("spare"))), "Bearer spare");
  const std::string path = (folder / "token").string();
  EXPECT_EQ(TokenFile::open({path, Secret(), &clock}).error().to_string(),
            path + " does not exist");
}

}  // namespace
}  // namespace mainspring::kube
