#include "control/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/virtual_executor.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::HasSubstr;

Result<Value> to_v2(Value object) {
  const Value* size = object.at_pointer("/spec/size");
  if (size == nullptr) return fail(Code::kInvalid, "spec.size: it is missing");
  object["spec"] = Value::object({{"replicas", *size}});
  return object;
}

Converter converter() {
  Converter made;
  made.add("x.dev/v1", "x.dev/v2", to_v2);
  return made;
}

std::string review(const std::string& desired, const std::string& objects) {
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",)"
         R"("desiredAPIVersion":")" +
         desired + R"(","objects":)" + objects + "}}";
}

Value response_to(const std::string& body) {
  auto text = converter().answer(body);
  EXPECT_TRUE(text.has_value()) << text.error().to_string();
  return *json::parse(*text)->find("response");
}

constexpr const char* kObjects =
    R"([{"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1}},)"
    R"({"apiVersion":"x.dev/v2","kind":"Thing","metadata":{"name":"b"},"spec":{"replicas":2}}])";

TEST(Conversion, AllObjectsGetTheVersionThatIsAskedFor) {
  EXPECT_EQ(
      json::to_text(response_to(review("x.dev/v2", kObjects))),
      R"({"uid":"u","convertedObjects":[)"
      R"({"apiVersion":"x.dev/v2","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":1}},)"
      R"({"apiVersion":"x.dev/v2","kind":"Thing","metadata":{"name":"b"},"spec":{"replicas":2}}],)"
      R"("result":{"status":"Success"}})");
}

TEST(Conversion, OneFailureIsTheAnswerForAll) {
  const Value got = response_to(review(
      "x.dev/v2",
      R"([{"apiVersion":"x.dev/v1","kind":"Thing","spec":{"size":1}},)"
      R"({"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"b","namespace":"n"}}])"));
  EXPECT_EQ(got.find("convertedObjects")->size(), 0u);
  EXPECT_EQ(json::to_text(*got.find("result")),
            R"({"status":"Failure","message":"Thing n/b: spec.size: it is missing"})");
}

TEST(Conversion, AnUnknownPairIsNamed) {
  EXPECT_THAT(json::to_text(response_to(review("x.dev/v1", kObjects))),
              HasSubstr(R"(no conversion from \"x.dev/v2\" to \"x.dev/v1\")"));
}

TEST(Conversion, AReviewThatIsNoneIsRefused) {
  const Converter made = converter();
  EXPECT_EQ(made.answer("").error().code(), Code::kInvalid);
  EXPECT_THAT(made.answer("{}").error().message(), HasSubstr("expected a ConversionReview"));
  EXPECT_THAT(made.answer(review("", "[]")).error().message(), HasSubstr("desiredAPIVersion"));
}

TEST(Conversion, IsARoute) {
  http::Router router;
  add_conversion(router, "/convert", converter());
  http::Request request;
  request.method = http::Method::kPost;
  request.url.path = "/convert";
  request.body = review("x.dev/v2", kObjects);
  net::VirtualExecutor executor;
  EXPECT_EQ(executor.run(router.handle(request))->status, 400);
  request.headers.set("Content-Type", "application/json");
  EXPECT_EQ(executor.run(router.handle(request))->status, 200);
}

}  // namespace
}  // namespace mainspring::control
