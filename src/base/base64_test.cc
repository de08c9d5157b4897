#include "base/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>
#include <vector>

namespace mainspring {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Base64, KnowsThePublishedVectors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
    const std::string bare = text.substr(0, text.find('='));
    EXPECT_EQ(base64url_encode(bytes), bare);
    EXPECT_EQ(base64url_decode(bare), bytes);
  }
}

TEST(Base64, TheAlphabetsDifferInTwoLetters) {
  EXPECT_EQ(base64_encode("\xFB\xFF"), "+/8=");
  EXPECT_EQ(base64url_encode("\xFB\xFF"), "-_8");
  EXPECT_FALSE(base64_decode("-_8="));
  EXPECT_FALSE(base64url_decode("+/8"));
}

TEST(Base64, SaysWhereTheTextIsWrong) {
  EXPECT_THAT(base64_decode("Zm9v\nYg==").error().message(), HasSubstr("length 9"));
  EXPECT_THAT(base64_decode("Zm9vY!==").error().message(),
              HasSubstr("byte 0x21 at position 5 is not of the standard alphabet"));
  EXPECT_THAT(base64_decode("Zg==Zg==").error().message(), HasSubstr("position 2"));
  EXPECT_THAT(base64_decode("Zh==").error().message(), HasSubstr("position 1 has bits"));
  EXPECT_THAT(base64_decode("Zm9").error().message(), HasSubstr("multiple of 4"));
  EXPECT_THAT(base64_decode("Z===").error().message(), HasSubstr("position 1"));
  EXPECT_THAT(base64_decode("====").error().message(), HasSubstr("position 0"));
  EXPECT_THAT(base64url_decode("Zg==").error().message(), HasSubstr("position 2"));
  EXPECT_THAT(base64url_decode("Zm9vY").error().message(), HasSubstr("position 5"));
}

TEST(Base64, AnErrorDoesNotRepeatTheSecret) {
  EXPECT_THAT(base64_decode("c2VjcmV0!").error().message(), Not(HasSubstr("c2Vj")));
}

TEST(Base64Property, DecodingUndoesEncoding) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [](const std::string& bytes) {
    for (const auto alphabet : {Base64Alphabet::kStandard, Base64Alphabet::kUrl}) {
      for (const auto padding : {Base64Padding::kRequired, Base64Padding::kNone}) {
        const std::string text = base64_encode(bytes, alphabet, padding);
        RC_ASSERT(base64_decode(text, alphabet, padding) == bytes);
      }
    }
  }));
}

}  // namespace
}  // namespace mainspring
