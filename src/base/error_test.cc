#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace mainspring {
namespace {

using ::testing::ElementsAre;

TEST(Error, ContextReadsFromTheOutsideIn) {
  const Error error = Error(Code::kTransient, "connection refused")
                          .with_context("connecting to 127.0.0.1:6443")
                          .with_context("listing pods");
  EXPECT_EQ(error.to_string(), "listing pods: connecting to 127.0.0.1:6443: connection refused");
  EXPECT_THAT(error.context(), ElementsAre("listing pods", "connecting to 127.0.0.1:6443"));
  EXPECT_EQ(error.message(), "connection refused");
  EXPECT_EQ(error.code(), Code::kTransient);
}

TEST(Error, OnlyWhatCanPassByItselfIsRetryable) {
  std::set<Code> retryable;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    if (Error(static_cast<Code>(code), "").retryable()) retryable.insert(static_cast<Code>(code));
  }
  EXPECT_THAT(retryable, ElementsAre(Code::kThrottled, Code::kTransient, Code::kTimeout));
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    names.insert(to_string(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::kInternal) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Error, CarriesHowLongTheOtherSideAskedUsToWait) {
  EXPECT_EQ(Error(Code::kThrottled, "slow down").retry_after(), std::nullopt);
  EXPECT_EQ(Error(Code::kThrottled, "slow down").with_retry_after(seconds(3)).retry_after(),
            seconds(3));
}

}  // namespace
}  // namespace mainspring
