#include "base/secret.h"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

namespace mainspring {
namespace {

TEST(Secret, PrintsAsRedacted) {
  std::ostringstream out;
  out << Secret("hunter2");
  EXPECT_EQ(out.str(), "<redacted>");
  EXPECT_EQ(testing::PrintToString(Secret("hunter2")), "<redacted>");
}

TEST(Secret, RevealsOnlyWhenAsked) {
  const Secret secret("hunter2");
  EXPECT_EQ(secret.reveal(), "hunter2");
  EXPECT_FALSE(secret.empty());
  EXPECT_TRUE(Secret().empty());
}

TEST(Secret, ComparesItsBytes) {
  EXPECT_EQ(Secret("a"), Secret("a"));
  EXPECT_NE(Secret("a"), Secret("b"));
  EXPECT_NE(Secret("a"), Secret("aa"));
}

// Both sides of the limit under which a string keeps its bytes inside itself.
class SecretOfSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(ShortAndLong, SecretOfSize, testing::Values(3, 15, 16, 1000));

TEST_P(SecretOfSize, LeavesNoBytesWhereItMovedFrom) {
  const std::string value(GetParam(), 'x');
  Secret source(value);
  const char* bytes = source.reveal().data();
  const bool inside = bytes >= reinterpret_cast<const char*>(&source) &&
                      bytes < reinterpret_cast<const char*>(&source + 1);
  const Secret target(std::move(source));
  EXPECT_EQ(target.reveal(), value);
  if (inside) {
    EXPECT_EQ(std::string(bytes, value.size()), std::string(value.size(), '\0'));
  }
}

TEST_P(SecretOfSize, SurvivesAssignmentAlsoToItself) {
  const std::string value(GetParam(), 'x');
  Secret a(value);
  Secret b("old");
  b = a;
  EXPECT_EQ(b.reveal(), value);
  Secret& alias = b;
  b = alias;
  EXPECT_EQ(b.reveal(), value);
  Secret c("old");
  c = std::move(b);
  EXPECT_EQ(c.reveal(), value);
}

}  // namespace
}  // namespace mainspring
