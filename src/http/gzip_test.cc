#include "http/gzip.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace mainspring::http {
namespace {

constexpr std::size_t kPlenty = 1 << 26;

TEST(Gzip, GivesBackWhatWasCompressed) {
  EXPECT_TRUE(rc::check("decompress(compress(x)) == x", [](const std::string& text) {
    RC_ASSERT(gzip_decompress(gzip_compress(text), kPlenty).value() == text);
  }));
}

TEST(Gzip, MayArriveInPiecesOfAnySize) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919);
  const std::string packed = gzip_compress(text);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    GzipDecoder decoder(kPlenty);
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += step) {
      ASSERT_TRUE(decoder.feed(std::string_view(packed).substr(at, step), out).has_value());
    }
    EXPECT_TRUE(decoder.finish().has_value());
    EXPECT_EQ(out, text);
  }
}

TEST(Gzip, HandsOutEverythingThatIsKnownSoFar) {
  // A large run decodes from few bytes: nothing may be held back inside zlib.
  const std::string packed = gzip_compress(std::string(1'000'000, 'x'));
  GzipDecoder decoder(kPlenty);
  std::string out;
  ASSERT_TRUE(decoder.feed(packed, out).has_value());
  EXPECT_EQ(out.size(), 1'000'000u);
}

TEST(Gzip, MembersInARowAreOneText) {
  EXPECT_EQ(gzip_decompress(gzip_compress("ab") + gzip_compress("cd"), kPlenty),
            Result<std::string>("abcd"));
}

TEST(Gzip, ABombStopsAtTheLimit) {
  const std::string bomb = gzip_compress(std::string(1 << 24, '\0'));
  ASSERT_LT(bomb.size(), 20'000u);
  const auto result = gzip_decompress(bomb, 1 << 20);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTooLarge);
}

TEST(Gzip, TheLimitItselfIsAllowed) {
  EXPECT_TRUE(gzip_decompress(gzip_compress(std::string(1000, 'x')), 1000).has_value());
  EXPECT_FALSE(gzip_decompress(gzip_compress(std::string(1001, 'x')), 1000).has_value());
}

TEST(Gzip, CutOffOrDamagedInputIsAnError) {
  const std::string packed = gzip_compress("a text that is long enough to be cut somewhere");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(gzip_decompress(packed.substr(0, size), kPlenty).has_value()) << size;
  }
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_FALSE(gzip_decompress(damaged, kPlenty).has_value());
  EXPECT_FALSE(gzip_decompress("not gzip at all", kPlenty).has_value());
  EXPECT_FALSE(gzip_decompress(packed + "garbage", kPlenty).has_value());
}

}  // namespace
}  // namespace mainspring::http
