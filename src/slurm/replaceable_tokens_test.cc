#include "slurm/replaceable_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;

class ReplaceableTokensTest : public ::testing::Test {
 protected:
  std::string token() {
    const auto got = executor_.run(tokens_.token("slurm"));
    return got ? got->reveal() : got.error().to_string();
  }

  static net::Task<Result<Secret>> slow_token() {
    MS_CO_CHECK(co_await net::sleep(seconds(1)));
    co_return Secret("slow");
  }

  net::VirtualExecutor executor_;
  ReplaceableTokens tokens_{no_token("the Secret is not there"), executor_.clock()};
};

TEST_F(ReplaceableTokensTest, SaysWhyThereIsNoneUntilThereIsOne) {
  EXPECT_THAT(token(), HasSubstr("the Secret is not there"));
  EXPECT_FALSE(tokens_.refused("slurm"));
  tokens_.replace(static_token(Secret("one")));
  EXPECT_EQ(token(), "one");
  tokens_.replace(static_token(Secret("two")));
  EXPECT_EQ(token(), "two");
}

TEST_F(ReplaceableTokensTest, ARefusalMayBeOfTheTokenBefore) {
  tokens_.replace(static_token(Secret("new")));
  EXPECT_TRUE(tokens_.refused("slurm"));
  executor_.advance(seconds(5));
  EXPECT_FALSE(tokens_.refused("slurm")) << "it is the new one that is refused";
}

TEST_F(ReplaceableTokensTest, TellsOfARefusalWhoMayKnowANewerOne) {
  int told = 0;
  tokens_.on_refused([&told] { ++told; });
  EXPECT_FALSE(tokens_.refused("slurm"));
  EXPECT_EQ(told, 1);
}

TEST_F(ReplaceableTokensTest, ASourceIsUsedToItsEndThoughItIsReplaced) {
  auto asked = callback_tokens(
      [this](std::string) -> net::Task<Result<Secret>> {
        tokens_.replace(static_token(Secret("next")));
        return slow_token();
      },
      executor_.clock());
  tokens_.replace(std::move(asked));
  EXPECT_EQ(token(), "slow");
  EXPECT_EQ(token(), "next");
}

}  // namespace
}  // namespace mainspring::slurm
