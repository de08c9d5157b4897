#include "control/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/base64.h"
#include "base/go_duration.h"
#include "base/text.h"
#include "control/cut_text.h"
#include "json/json_patch.h"
#include "kube/status.h"
#include "net/wait.h"

namespace mainspring::control {

using json::Value;

// The API server drops longer ones, or cuts them where it likes.
constexpr std::size_t kMaxWarning = 256;

constexpr auto json_fields(json::Tag<AdmissionRequest::Kind>) {
  using Kind = AdmissionRequest::Kind;
  return json::fields(json::field("group", &Kind::group), json::field("version", &Kind::version),
                      json::field("kind", &Kind::kind));
}

constexpr auto json_fields(json::Tag<AdmissionRequest::Resource>) {
  using Resource = AdmissionRequest::Resource;
  return json::fields(json::field("group", &Resource::group),
                      json::field("version", &Resource::version),
                      json::field("resource", &Resource::resource));
}

constexpr auto json_fields(json::Tag<AdmissionRequest>) {
  using R = AdmissionRequest;
  return json::fields(
      json::field("uid", &R::uid), json::field("kind", &R::kind),
      json::field("resource", &R::resource), json::field("subResource", &R::sub_resource),
      json::field("requestKind", &R::request_kind),
      json::field("requestResource", &R::request_resource), json::field("name", &R::name),
      json::field("namespace", &R::ns), json::field("operation", &R::operation),
      json::field("userInfo", [](json::Reader& reader, R& out) { read(reader, out.user); }),
      json::field("object", [](json::Reader& reader, R& out) { read(reader, out.object); }),
      json::field("oldObject", [](json::Reader& reader, R& out) { read(reader, out.old_object); }),
      json::field("options", [](json::Reader& reader, R& out) { read(reader, out.options); }),
      json::field("dryRun", &R::dry_run));
}

namespace {

struct WireReview {
  std::string api_version;
  std::string kind;
  std::optional<AdmissionRequest> request;
};

constexpr auto json_fields(json::Tag<WireReview>) {
  return json::fields(json::field("apiVersion", &WireReview::api_version),
                      json::field("kind", &WireReview::kind),
                      json::field("request", &WireReview::request));
}

Value status_of_denial(const AdmissionResponse& response) {
  Value status = Value::object({{"status", "Failure"},
                                {"code", response.code},
                                {"reason", response.reason},
                                {"message", sanitize_utf8(response.message)}});
  for (const kube::StatusCause& cause : response.causes) {
    Value item = Value::object();
    if (!cause.reason.empty()) item.set("reason", sanitize_utf8(cause.reason));
    if (!cause.message.empty()) item.set("message", sanitize_utf8(cause.message));
    if (!cause.field.empty()) item.set("field", sanitize_utf8(cause.field));
    status["details"]["causes"].push_back(std::move(item));
  }
  return status;
}

// One line of text: it travels in an HTTP header, where a control character loses it.
std::string warning_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  cut_text(text, kMaxWarning);
  return text;
}

Result<void> add_patch(Value& answer, const AdmissionRequest& request, AdmissionKind kind,
                       const AdmissionResponse& response) {
  if (!response.object || !response.allowed) return {};
  if (kind == AdmissionKind::kValidating) {
    return fail(Code::kInternal, "a validating webhook's handler wants to change the object");
  }
  const Value patch = json::make_json_patch(request.object, *response.object);
  if (patch.empty()) return {};
  answer.set("patchType", "JSONPatch");
  answer.set("patch", base64_encode(json::to_text(patch)));
  return {};
}

bool judges_what_was_sent(const Error& error) {
  if (kube::status_of(error) != nullptr) return false;
  switch (error.code()) {
    case Code::kInvalid:
    case Code::kForbidden:
    case Code::kConflict:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kTooLarge:
    case Code::kUnsupported:
      return true;
    default:
      return false;
  }
}

AdmissionResponse denial_for(const Error& error) {
  AdmissionResponse response = AdmissionResponse::deny(error.to_string());
  if (error.code() == Code::kInvalid) {
    response.code = 422;
    response.reason = "Invalid";
  } else if (error.code() == Code::kConflict) {
    response.code = 409;
    response.reason = "Conflict";
  }
  return response;
}

struct Webhook {
  AdmissionOptions options;
  Counter allowed;
  Counter denied;
  Counter failed;
  Gauge in_flight;
  Histogram latency;
};

// controller-runtime's names, so that existing dashboards show ours too.
std::shared_ptr<Webhook> make_webhook(std::string_view path, AdmissionOptions options) {
  auto hook = std::make_shared<Webhook>();
  if (Metrics* metrics = options.metrics) {
    const std::string webhook(path);
    const auto count = [&](const char* code) {
      return metrics->counter("controller_runtime_webhook_requests_total",
                              "Admission requests by HTTP status code.",
                              {{"webhook", webhook}, {"code", code}});
    };
    hook->allowed = count("200");
    hook->denied = metrics->counter("mainspring_webhook_denials_total",
                                    "Admission requests that were answered with a denial.",
                                    {{"webhook", webhook}});
    hook->failed = count("500");
    hook->in_flight = metrics->gauge("controller_runtime_webhook_requests_in_flight",
                                     "Admission requests being answered.", {{"webhook", webhook}});
    hook->latency = metrics->histogram(
        "controller_runtime_webhook_latency_seconds", "Time to answer an admission request.",
        {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
        {{"webhook", webhook}});
  }
  hook->options = std::move(options);
  return hook;
}

Task<Result<http::Response>> review(std::shared_ptr<const Webhook> hook, http::Request request) {
  const AdmissionOptions& options = hook->options;
  MS_CO_CHECK(require_json(request));
  MS_CO_TRY(const Duration limit, webhook_timeout(request, options.timeout, options.max_timeout));
  MS_CO_TRY(AdmissionReview asked, read_admission_review(request.body));
  auto response = co_await net::with_timeout(limit, "answering an admission request",
                                             options.handler(asked.request));
  if (!response && !judges_what_was_sent(response.error())) {
    // As a Status, which is what the API server repeats to the user where it gives up.
    co_return kube::status_response(std::move(response).error().with_context("the webhook failed"));
  }
  const AdmissionResponse given = response ? *std::move(response) : denial_for(response.error());
  MS_CO_TRY(std::string body, write_admission_review(asked, options.kind, given));
  if (!given.allowed) hook->denied.add();
  co_return http::json_response(200, std::move(body));
}

Task<Result<http::Response>> measured(std::shared_ptr<Webhook> hook, http::Request request) {
  const net::Context context = co_await net::current_context();
  const TimePoint start = context.executor->now();
  hook->in_flight.add(1);
  auto response = co_await review(hook, std::move(request));
  hook->in_flight.add(-1);
  hook->latency.observe(std::chrono::duration<double>(context.executor->now() - start).count());
  (response && response->ok() ? hook->allowed : hook->failed).add();
  co_return response;
}

}  // namespace

AdmissionResponse AdmissionResponse::allow_as(Value object) {
  AdmissionResponse response;
  response.object = std::move(object);
  return response;
}

AdmissionResponse AdmissionResponse::deny(std::string message) {
  AdmissionResponse response;
  response.allowed = false;
  response.message = std::move(message);
  return response;
}

AdmissionResponse AdmissionResponse::invalid(std::string message,
                                             std::vector<kube::StatusCause> causes) {
  AdmissionResponse response = deny(std::move(message));
  response.code = 422;
  response.reason = "Invalid";
  response.causes = std::move(causes);
  return response;
}

AdmissionResponse AdmissionResponse::invalid_fields(const std::string& what,
                                                    std::vector<kube::StatusCause> causes) {
  std::string message = what + " is invalid:";
  for (const kube::StatusCause& cause : causes) {
    message += fmt::format(" {}: {};", cause.field, cause.message);
  }
  message.pop_back();
  return invalid(std::move(message), std::move(causes));
}

Result<AdmissionReview> read_admission_review(std::string_view body) {
  json::Reader reader;
  MS_TRY(WireReview review,
         with_context(json::decode<WireReview>(reader, body), "reading an AdmissionReview"));
  if (review.kind != "AdmissionReview" || (review.api_version != "admission.k8s.io/v1" &&
                                           review.api_version != "admission.k8s.io/v1beta1")) {
    return fail(Code::kInvalid,
                fmt::format("expected an AdmissionReview of admission.k8s.io/v1 or v1beta1, got "
                            "kind {} of {}",
                            quoted(review.kind), quoted(review.api_version)));
  }
  if (!review.request) return fail(Code::kInvalid, "AdmissionReview: request is missing");
  if (review.request->uid.empty()) {
    return fail(Code::kInvalid, "AdmissionReview: request.uid is missing");
  }
  return AdmissionReview{std::move(review.api_version), *std::move(review.request)};
}

Result<std::string> write_admission_review(const AdmissionReview& review, AdmissionKind kind,
                                           const AdmissionResponse& response) {
  Value answer = Value::object({{"uid", review.request.uid}, {"allowed", response.allowed}});
  if (!response.allowed) answer.set("status", status_of_denial(response));
  MS_CHECK(add_patch(answer, review.request, kind, response));
  for (const std::string& warning : response.warnings) {
    answer["warnings"].push_back(warning_text(warning));
  }
  for (const auto& [key, value] : response.audit_annotations) {
    answer["auditAnnotations"].set(key, sanitize_utf8(value));
  }
  return json::to_text(Value::object({{"apiVersion", review.api_version},
                                      {"kind", "AdmissionReview"},
                                      {"response", std::move(answer)}}));
}

Result<Duration> webhook_timeout(const http::Request& request, Duration otherwise, Duration max) {
  const auto text = request.url.query_value("timeout");
  if (!text) return otherwise;
  auto timeout = parse_go_duration(*text);
  if (!timeout || *timeout <= Duration(0)) {
    return fail(Code::kInvalid, fmt::format("query parameter timeout: {} is not a duration above 0",
                                            quoted(*text)));
  }
  return std::min(*timeout, max);
}

Result<void> require_json(const http::Request& request) {
  const std::string_view type = request.headers.get("Content-Type").value_or("");
  if (equals_ignore_case(trim(type.substr(0, type.find(';'))), "application/json")) return {};
  return fail(Code::kInvalid,
              fmt::format("Content-Type: expected application/json, got {}", quoted(type)));
}

void add_admission(http::Router& router, std::string_view path, AdmissionOptions options) {
  router.add(http::Method::kPost, path,
             [hook = make_webhook(path, std::move(options))](http::Request request) {
               return measured(hook, std::move(request));
             });
}

}  // namespace mainspring::control
