#include "control/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/text.h"
#include "json/json_patch.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kReview = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
  "request":{"uid":"u-1","kind":{"group":"apps","version":"v1","kind":"Deployment"},
  "resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale",
  "requestKind":{"group":"apps","version":"v1beta1","kind":"Deployment"},
  "name":"web","namespace":"site","operation":"UPDATE",
  "userInfo":{"username":"ann","groups":["dev"]},
  "object":{"spec":{"replicas":3}},"oldObject":{"spec":{"replicas":2}},
  "options":{"kind":"UpdateOptions"},"dryRun":true}})";

// Answers what the test says, after a while.
Task<Result<AdmissionResponse>> answer(Result<AdmissionResponse> response, Duration after) {
  MS_CO_CHECK(co_await net::sleep(after));
  co_return response;
}

struct Admission : ::testing::Test {
  http::Response call(std::string body, std::string query = "", bool json = true) {
    http::Router router;
    AdmissionOptions options;
    options.kind = kind;
    options.handler = [this](AdmissionRequest request) {
      seen = std::move(request);
      return answer(response, takes);
    };
    options.metrics = &metrics;
    add_admission(router, "/hook", std::move(options));
    http::Request request;
    request.method = http::Method::kPost;
    request.url.path = "/hook";
    request.url.query = std::move(query);
    request.body = std::move(body);
    if (json) request.headers.set("Content-Type", "application/json; charset=utf-8");
    auto done = executor.run(router.handle(std::move(request)));
    EXPECT_TRUE(done.has_value());
    return done ? *done : http::Response{};
  }
  Value response_to(std::string body) {
    const http::Response got = call(std::move(body));
    EXPECT_EQ(got.status, 200) << got.body;
    auto parsed = json::parse(got.body);
    return parsed && parsed->find("response") != nullptr ? *parsed->find("response") : Value();
  }

  net::VirtualExecutor executor;
  Metrics metrics;
  AdmissionKind kind = AdmissionKind::kValidating;
  Result<AdmissionResponse> response = AdmissionResponse::allow();
  Duration takes{};
  AdmissionRequest seen;
};

TEST_F(Admission, TheHandlerSeesTheWholeRequest) {
  call(kReview);
  EXPECT_EQ(seen.uid, "u-1");
  EXPECT_EQ(seen.kind, (AdmissionRequest::Kind{"apps", "v1", "Deployment"}));
  EXPECT_EQ(seen.resource, (AdmissionRequest::Resource{"apps", "v1", "deployments"}));
  EXPECT_EQ(seen.sub_resource, "scale");
  EXPECT_EQ(seen.request_kind->version, "v1beta1");
  EXPECT_FALSE(seen.request_resource.has_value());
  EXPECT_EQ(seen.name + seen.ns + seen.operation, "websiteUPDATE");
  EXPECT_EQ(seen.user.username, "ann");
  EXPECT_EQ(*seen.object.at_pointer("/spec/replicas"), Value(3));
  EXPECT_EQ(*seen.old_object.at_pointer("/spec/replicas"), Value(2));
  EXPECT_TRUE(seen.dry_run);
}

TEST_F(Admission, AnswersInTheVersionThatAsked) {
  EXPECT_EQ(call(kReview).body, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                                R"("response":{"uid":"u-1","allowed":true}})");
  std::string older(kReview);
  older.replace(older.find("k8s.io/v1"), 9, "k8s.io/v1beta1");
  EXPECT_THAT(call(older).body, StartsWith(R"({"apiVersion":"admission.k8s.io/v1beta1")"));
}

TEST_F(Admission, ADenialNamesEveryFieldThatIsWrong) {
  response = AdmissionResponse::invalid("2 fields", {{"FieldValueInvalid", "too low", "spec.a"},
                                                     {"FieldValueRequired", "missing", "spec.b"}});
  EXPECT_EQ(json::to_text(*response_to(kReview).find("status")),
            R"({"status":"Failure","code":422,"reason":"Invalid","message":"2 fields","details":)"
            R"({"causes":[{"reason":"FieldValueInvalid","message":"too low","field":"spec.a"},)"
            R"({"reason":"FieldValueRequired","message":"missing","field":"spec.b"}]}})");
}

TEST_F(Admission, AnErrorThatJudgesTheObjectIsADenial) {
  response = fail(Code::kInvalid, "spec.replicas: -1 is negative");
  const Value got = response_to(kReview);
  EXPECT_EQ(*got.find("allowed"), Value(false));
  EXPECT_EQ(*got.find("uid"), Value("u-1"));
  EXPECT_EQ(*got.at_pointer("/status/code"), Value(422));
  EXPECT_EQ(*got.at_pointer("/status/message"), Value("spec.replicas: -1 is negative"));
}

TEST_F(Admission, AnErrorOfOursIsLeftToTheFailurePolicy) {
  response = fail(Code::kTransient, "connection refused");
  EXPECT_EQ(call(kReview).status, 503);
  response = fail(Code::kInternal, "a bug");
  EXPECT_EQ(call(kReview).status, 500);
  // The handler itself was refused by the API server: that says nothing about the object.
  response = fail(
      Error(Code::kForbidden, "may not list nodes").with_detail(std::make_shared<kube::Status>()));
  EXPECT_EQ(call(kReview).status, 403);
  EXPECT_THAT(call(kReview).body, HasSubstr("the webhook failed: may not list nodes"));
}

TEST_F(Admission, AChangedObjectBecomesAPatch) {
  kind = AdmissionKind::kMutating;
  Value wanted = *json::parse(R"({"spec":{"replicas":5},"metadata":{"labels":{"a/b":"c"}}})");
  response = AdmissionResponse::allow_as(wanted);
  const Value got = response_to(kReview);
  EXPECT_EQ(*got.find("patchType"), Value("JSONPatch"));
  auto patch = json::parse(*base64_decode(*got.find("patch")->as_string()));
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(*json::apply_json_patch(seen.object, *patch), wanted);
}

TEST_F(Admission, AnUnchangedObjectNeedsNoPatch) {
  kind = AdmissionKind::kMutating;
  response = AdmissionResponse::allow_as(*json::parse(R"({"spec":{"replicas":3}})"));
  EXPECT_EQ(json::to_text(response_to(kReview)), R"({"uid":"u-1","allowed":true})");
}

TEST_F(Admission, AValidatingWebhookCannotChangeAnything) {
  response = AdmissionResponse::allow_as(Value::object());
  EXPECT_EQ(call(kReview).status, 500);
}

TEST_F(Admission, WarningsAreCutBetweenCharactersAndKeptOnOneLine) {
  std::string text = "first\nsecond\r\x01";
  for (int i = 0; i < 100; ++i) text += "€";
  response = AdmissionResponse::allow();
  response->warnings = {text, "short", "\xff"};
  const Value got = response_to(kReview);
  const Value& warnings = *got.find("warnings");
  const std::string cut(*warnings.at(0).as_string());
  EXPECT_LE(cut.size(), 256u);
  EXPECT_GT(cut.size(), 250u);
  EXPECT_TRUE(is_valid_utf8(cut));
  EXPECT_THAT(cut, StartsWith("first second  €"));
  EXPECT_EQ(warnings.at(1), Value("short"));
}

TEST_F(Admission, ABadReviewIsRefusedWithTheReason) {
  const auto expect = [this](std::string body, const char* text) {
    const http::Response got = call(std::move(body));
    EXPECT_EQ(got.status, 400);
    EXPECT_THAT(got.body, HasSubstr(text));
  };
  expect("", "reading an AdmissionReview");
  expect("{", "reading an AdmissionReview");
  expect("{}", "expected an AdmissionReview");
  expect(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"})", "k8s.io/v2");
  expect(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})", "request is missing");
  expect(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})",
         "request.uid is missing");
  EXPECT_THAT(call(kReview, "", false).body, HasSubstr("expected application/json"));
}

TEST_F(Admission, TheCallersTimeoutIsKept) {
  takes = seconds(3);
  EXPECT_EQ(call(kReview, "timeout=2s").status, 504);
  EXPECT_EQ(call(kReview, "timeout=4s").status, 200);
  takes = seconds(11);
  EXPECT_EQ(call(kReview).status, 504);
  EXPECT_EQ(call(kReview, "timeout=soon").status, 400);
}

TEST_F(Admission, IsCounted) {
  call(kReview);
  response = fail(Code::kInternal, "a bug");
  call(kReview);
  const std::string text = metrics.to_text();
  EXPECT_THAT(text, HasSubstr("controller_runtime_webhook_requests_total{code=\"200\","
                              "webhook=\"/hook\"} 1"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_webhook_requests_total{code=\"500\","
                              "webhook=\"/hook\"} 1"));
}

}  // namespace
}  // namespace mainspring::control
