#include "http/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring::http {
namespace {

using ::testing::HasSubstr;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr WallTime kThen{seconds(784'111'777)};

TEST(HttpDate, IsWrittenAsTheStandardSays) {
  EXPECT_EQ(format_http_date(kThen), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format_http_date(WallTime{}), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpDate, IsReadInAllThreeForms) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), kThen);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), kThen);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), kThen);
}

TEST(HttpDate, RefusesNonsense) {
  for (const char* bad :
       {"", "Sun", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Xxx 1994 08:49:37 GMT",
        "Sun, 06 Nov 9999 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(bad), std::nullopt) << bad;
  }
}

TEST(HttpDate, ComesBackFromItsOwnText) {
  EXPECT_TRUE(rc::check("parse(format(t)) == t", [] {
    const WallTime time{seconds(*rc::gen::inRange<std::int64_t>(0, 9'000'000'000))};
    RC_ASSERT(parse_http_date(format_http_date(time)) == time);
  }));
}

TEST(RetryAfter, IsSecondsOrADate) {
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "7"}}, kThen), Duration(seconds(7)));
  EXPECT_EQ(retry_after(Headers{{"retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"}}, kThen),
            Duration(seconds(10)));
}

TEST(RetryAfter, IsNeverNegativeAndNeverAbsurd) {
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "Sun, 06 Nov 1994 08:00:00 GMT"}}, kThen),
            Duration(0));
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "99999999999999999999999"}}, kThen),
            Duration(hours(24)));
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "soon"}}, kThen), std::nullopt);
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "-5"}}, kThen), std::nullopt);
  EXPECT_EQ(retry_after(Headers{{"Retry-After", ""}}, kThen), std::nullopt);
  EXPECT_EQ(retry_after(Headers{}, kThen), std::nullopt);
}

TEST(StatusError, CarriesWhatTheServerAskedFor) {
  const Response response{429, {{"Retry-After", "3"}}, "slow down\n"};
  const Error error = status_error(response, "GET http://a/x", kThen);
  EXPECT_EQ(error.code(), Code::kThrottled);
  EXPECT_EQ(error.retry_after(), Duration(seconds(3)));
  EXPECT_EQ(error.message(), "GET http://a/x answered 429 Too Many Requests: slow down");
}

TEST(StatusError, HasTheCodeThatACallerCanActOn) {
  const auto code = [](int status) {
    return status_error(Response{status, {}, {}}, "x", kThen).code();
  };
  EXPECT_EQ(code(400), Code::kInvalid);
  EXPECT_EQ(code(401), Code::kUnauthorized);
  EXPECT_EQ(code(403), Code::kForbidden);
  EXPECT_EQ(code(404), Code::kNotFound);
  EXPECT_EQ(code(409), Code::kConflict);
  EXPECT_EQ(code(410), Code::kGone);
  EXPECT_EQ(code(413), Code::kTooLarge);
  EXPECT_EQ(code(422), Code::kInvalid);
  EXPECT_EQ(code(500), Code::kTransient);
  EXPECT_EQ(code(503), Code::kTransient);
  EXPECT_EQ(code(302), Code::kUnsupported);
}

TEST(StatusError, ShowsOnlyTheBeginningOfALongBody) {
  const Error error = status_error(Response{500, {}, std::string(10'000, 'x')}, "x", kThen);
  EXPECT_LT(error.message().size(), 400u);
  EXPECT_THAT(error.message(), HasSubstr("..."));
}

TEST(RequireOk, LetsSuccessThrough) {
  EXPECT_TRUE(require_ok(Response{204, {}, {}}, "x", kThen).has_value());
  EXPECT_FALSE(require_ok(Response{301, {}, {}}, "x", kThen).has_value());
}

TEST(FailureResponse, KeepsInternalsInside) {
  const Response internal = failure_response(Error(Code::kInternal, "secret pointer"));
  EXPECT_EQ(internal.status, 500);
  EXPECT_EQ(internal.body.find("secret"), std::string::npos);
  const Response busy =
      failure_response(Error(Code::kThrottled, "later").with_retry_after(milliseconds(1500)));
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.get("Retry-After"), "2");
}

TEST(ErrorResponse, IsJsonWhateverTheMessageHolds) {
  EXPECT_EQ(error_response(400, "a \"b\"\n\\\xff").body,
            "{\"error\":{\"code\":400,\"message\":\"a \\\"b\\\"\\u000a\\\\?\"}}\n");
}

}  // namespace
}  // namespace mainspring::http
