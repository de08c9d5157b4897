#include "kube/status.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "http/status.h"
#include "json/value.h"

namespace mainspring::kube {
namespace {

struct ReasonCode {
  std::string_view reason;
  Code code;
};

// The reasons of metav1.StatusReason that say more than their HTTP status.
constexpr std::array<ReasonCode, 10> kReasons = {{
    {"AlreadyExists", Code::kAlreadyExists},  // 409, as Conflict is
    {"Conflict", Code::kConflict},
    {"Expired", Code::kGone},
    {"Gone", Code::kGone},
    {"Invalid", Code::kInvalid},
    {"BadRequest", Code::kInvalid},
    {"NotFound", Code::kNotFound},
    {"ServerTimeout", Code::kTransient},
    {"Timeout", Code::kTransient},
    {"TooManyRequests", Code::kThrottled},
}};

Code code_of(const Status& status) {
  for (const auto& [reason, code] : kReasons) {
    if (status.reason == reason) return code;
  }
  http::Response response;
  response.status = status.code;
  return http::status_error(response, {}, WallTime()).code();
}

std::string_view reason_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "BadRequest";
    case Code::kUnauthorized:
      return "Unauthorized";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kConflict:
      return "Conflict";
    case Code::kGone:
      return "Expired";
    case Code::kThrottled:
      return "TooManyRequests";
    case Code::kTooLarge:
      return "RequestEntityTooLarge";
    case Code::kTimeout:
      return "Timeout";
    case Code::kTransient:
    case Code::kCancelled:
      return "ServiceUnavailable";
    case Code::kUnsupported:
    case Code::kInternal:
      break;
  }
  return "InternalError";
}

std::optional<Status> read_status(const http::Response& response) {
  json::Reader reader;
  Result<Status> status = json::decode<Status>(reader, response.body);
  // Proxies answer in HTML, and an object may have fields of the same names.
  if (!status || status->status != "Failure") return std::nullopt;
  if (status->code == 0) status->code = response.status;
  return *std::move(status);
}

}  // namespace

bool Status::has_cause(std::string_view wanted) const {
  return std::any_of(causes.begin(), causes.end(),
                     [wanted](const StatusCause& cause) { return cause.reason == wanted; });
}

const Status* status_of(const Error& error) { return error.detail<Status>(); }

Error error_of(Status status) {
  std::string message = !status.message.empty() ? status.message : status.reason;
  if (message.empty()) message = fmt::format("refused with status {}", status.code);
  Error error(code_of(status), std::move(message));
  if (status.retry_after_seconds > 0) {
    error = std::move(error).with_retry_after(seconds(status.retry_after_seconds));
  }
  return std::move(error).with_detail(std::make_shared<const Status>(std::move(status)));
}

Error error_of(const http::Response& response, std::string_view what, WallTime now) {
  std::optional<Status> status = read_status(response);
  if (!status) return http::status_error(response, what, now);
  Error error = error_of(*std::move(status));
  if (const auto wait = http::retry_after(response.headers, now)) {
    error = std::move(error).with_retry_after(*wait);
  }
  return std::move(error).with_context(std::string(what));
}

http::Response status_response(const Error& error) {
  const int code = http::status_of(error.code());
  http::Response response = http::failure_response(error);
  const std::string message =
      error.code() == Code::kInternal ? "internal error; see the log" : error.to_string();
  response.body = json::to_text(json::Value::object({{"kind", "Status"},
                                                     {"apiVersion", "v1"},
                                                     {"metadata", json::Value::object()},
                                                     {"status", "Failure"},
                                                     {"message", sanitize_utf8(message)},
                                                     {"reason", reason_of(error.code())},
                                                     {"code", code}}));
  return response;
}

}  // namespace mainspring::kube
