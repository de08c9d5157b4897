#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mainspring {
namespace {

Result<int> number(bool ok) {
  if (!ok) return fail(Code::kNotFound, "no number");
  return 7;
}

Result<void> check(bool ok) {
  if (!ok) return fail(Code::kInvalid, "wrong");
  return {};
}

Result<std::unique_ptr<int>> boxed() { return std::make_unique<int>(1); }

Result<int> sum(bool first, bool second, bool third) {
  MS_TRY(const int a, number(first));
  MS_TRY(const int b, number(second));
  MS_CHECK(check(third));
  return a + b;
}

TEST(Result, TryHandsOutTheValueOrReturnsTheFirstError) {
  EXPECT_EQ(sum(true, true, true), 14);
  EXPECT_EQ(sum(true, false, false).error().code(), Code::kNotFound);
  EXPECT_EQ(sum(true, true, false).error().code(), Code::kInvalid);
}

TEST(Result, TryMovesWhatCannotBeCopied) {
  const auto unbox = []() -> Result<int> {
    MS_TRY(const std::unique_ptr<int> box, boxed());
    return *box;
  };
  EXPECT_EQ(unbox(), 1);
}

TEST(Result, ContextIsAddedToAFailureOnly) {
  EXPECT_EQ(with_context(number(true), "counting"), 7);
  const auto failed = with_context(number(false), "counting");
  EXPECT_EQ(failed.error().to_string(), "counting: no number");
  EXPECT_EQ(failed.error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mainspring
