#include "kube/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/status.h"

namespace mainspring::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Error error_for(int status, std::string body, http::Headers headers = {}) {
  http::Response response = http::json_response(status, std::move(body));
  for (const auto& [name, value] : headers) response.headers.set(name, value);
  return error_of(response, "get pods web/a", WallTime());
}

std::string status_body(const std::string& reason, int code) {
  return R"({"kind":"Status","status":"Failure","message":"no","reason":")" + reason +
         R"(","code":)" + std::to_string(code) + "}";
}

TEST(Status, SaysWhatToDoAboutARefusal) {
  struct Case {
    int http;
    const char* reason;
    Code code;
  };
  const Case cases[] = {
      {400, "BadRequest", Code::kInvalid},
      {401, "Unauthorized", Code::kUnauthorized},
      {403, "Forbidden", Code::kForbidden},
      {404, "NotFound", Code::kNotFound},
      {405, "MethodNotAllowed", Code::kUnsupported},
      {406, "NotAcceptable", Code::kUnsupported},
      {409, "AlreadyExists", Code::kAlreadyExists},
      {409, "Conflict", Code::kConflict},
      {410, "Expired", Code::kGone},
      {410, "Gone", Code::kGone},
      {413, "RequestEntityTooLarge", Code::kTooLarge},
      {415, "UnsupportedMediaType", Code::kUnsupported},
      {422, "Invalid", Code::kInvalid},
      {429, "TooManyRequests", Code::kThrottled},
      {500, "InternalError", Code::kTransient},
      {500, "ServerTimeout", Code::kTransient},
      {503, "ServiceUnavailable", Code::kTransient},
      {504, "Timeout", Code::kTransient},
      {404, "", Code::kNotFound},
      {418, "Unheard", Code::kInvalid},
  };
  for (const Case& one : cases) {
    const Error error = error_for(one.http, status_body(one.reason, one.http));
    EXPECT_EQ(error.code(), one.code) << one.http << " " << one.reason;
    ASSERT_NE(status_of(error), nullptr);
    EXPECT_EQ(status_of(error)->reason, one.reason);
    EXPECT_EQ(error.to_string(), "get pods web/a: no");
  }
}

TEST(Status, KnowsDetailsAndCauses) {
  const Error error = error_for(
      422, R"({"status":"Failure","reason":"Invalid","details":{"name":"a","group":"apps",)"
           R"("kind":"Deployment","uid":"u","causes":[{"reason":"FieldValueInvalid",)"
           R"("message":"must be positive","field":"spec.replicas"}]}})");
  const Status* status = status_of(error);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->code, 422) << "taken from the answer where the body has none";
  EXPECT_EQ(status->name + status->group + status->kind + status->uid, "aappsDeploymentu");
  EXPECT_TRUE(status->has_cause("FieldValueInvalid"));
  EXPECT_FALSE(status->has_cause("FieldManagerConflict"));
  EXPECT_EQ(status->causes[0].field, "spec.replicas");
  EXPECT_EQ(error.message(), "Invalid") << "the reason where there is no message";
}

TEST(Status, KnowsHowLongToWait) {
  const std::string body =
      R"({"status":"Failure","reason":"TooManyRequests","details":{"retryAfterSeconds":4}})";
  EXPECT_EQ(error_for(429, body).retry_after(), seconds(4));
  EXPECT_EQ(error_for(429, body, {{"Retry-After", "9"}}).retry_after(), seconds(9));
  EXPECT_EQ(error_for(429, status_body("TooManyRequests", 429)).retry_after(), std::nullopt);
}

TEST(Status, WhatIsNoStatusIsReadByItsHttpStatus) {
  for (const char* body : {"", "<html>bad gateway</html>", "{", "[]", "null", "{}",
                           R"({"kind":"Pod","status":{"phase":"Failed"}})",
                           R"({"status":"Success"})", R"({"status":"Failure","code":"x"})"}) {
    const Error error = error_for(502, body, {{"Retry-After", "2"}});
    EXPECT_EQ(error.code(), Code::kTransient) << body;
    EXPECT_EQ(error.retry_after(), seconds(2));
    EXPECT_EQ(status_of(error), nullptr) << body;
    EXPECT_THAT(error.to_string(), AllOf(HasSubstr("get pods web/a"), HasSubstr("502")));
  }
}

TEST(Status, AnErrorOfOursHasNone) {
  EXPECT_EQ(status_of(Error(Code::kNotFound, "no such file")), nullptr);
}

TEST(Status, WhatWeRefuseComesBackAsWhatItWas) {
  for (const Code code : {Code::kInvalid, Code::kNotFound, Code::kAlreadyExists, Code::kConflict,
                          Code::kGone, Code::kThrottled, Code::kTransient, Code::kUnauthorized,
                          Code::kForbidden, Code::kTooLarge}) {
    const http::Response response =
        status_response(Error(code, "because").with_context("doing it"));
    const Error back = error_of(response, "asking", WallTime());
    EXPECT_EQ(back.code(), code) << to_string(code);
    EXPECT_EQ(back.to_string(), "asking: doing it: because");
  }
  const http::Response internal = status_response(Error(Code::kInternal, "the password is x"));
  EXPECT_EQ(internal.status, 500);
  EXPECT_THAT(internal.body, ::testing::Not(HasSubstr("password")));
}

}  // namespace
}  // namespace mainspring::kube
