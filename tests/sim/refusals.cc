#include "sim/refusals.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace mainspring::sim {

using json::Value;
using kube::StatusCause;

namespace {

Subject plural_of(const Kind& kind, std::string_view name) {
  return {std::string(name), kind.resource.group, kind.resource.plural};
}

Code code_of(int status) {
  switch (status) {
    case 404:
      return Code::kNotFound;
    case 409:
      return Code::kConflict;
    case 410:
      return Code::kGone;
    case 500:
      return Code::kInternal;
    default:
      return Code::kInvalid;
  }
}

// Which refusals carry details even where these say nothing.
bool has_details(const kube::Status& status) {
  return !(status.reason.empty() || status.reason == "BadRequest" || status.reason == "Expired");
}

Value details_of(const kube::Status& status) {
  Value details = Value::object();
  if (!status.name.empty()) details["name"] = status.name;
  if (!status.group.empty()) details["group"] = status.group;
  if (!status.kind.empty()) details["kind"] = status.kind;
  if (!status.uid.empty()) details["uid"] = status.uid;
  for (const StatusCause& cause : status.causes) {
    Value& item = details["causes"].push_back(
        Value::object({{"reason", cause.reason}, {"message", cause.message}}));
    if (!cause.field.empty()) item["field"] = cause.field;
  }
  if (status.retry_after_seconds != 0) details["retryAfterSeconds"] = status.retry_after_seconds;
  return details;
}

}  // namespace

Error refuse(int code, std::string_view reason, std::string message, Subject subject,
             std::vector<StatusCause> causes) {
  auto status = std::make_shared<kube::Status>();
  status->code = code;
  status->status = "Failure";
  status->reason = reason;
  status->message = message;
  status->name = std::move(subject.name);
  status->group = std::move(subject.group);
  status->kind = std::move(subject.kind);
  status->causes = std::move(causes);
  return Error(code_of(code), std::move(message)).with_detail(std::move(status));
}

Error bad_request(std::string message) { return refuse(400, "BadRequest", std::move(message)); }

Error not_found(const Kind& kind, std::string_view name) {
  return refuse(404, "NotFound",
                fmt::format("{} \"{}\" not found", kind.resource.to_string(), name),
                plural_of(kind, name));
}

Error no_such_resource() {
  return refuse(404, "NotFound", "the server could not find the requested resource");
}

Error method_not_allowed() {
  return refuse(405, "MethodNotAllowed",
                "the server does not allow this method on the requested resource");
}

Error already_exists(const Kind& kind, std::string_view name) {
  return refuse(409, "AlreadyExists",
                fmt::format("{} \"{}\" already exists", kind.resource.to_string(), name),
                plural_of(kind, name));
}

Error conflict(const Kind& kind, std::string_view name, std::string_view why) {
  return refuse(409, "Conflict",
                fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                            kind.resource.to_string(), name, why),
                plural_of(kind, name));
}

Error modified(const Kind& kind, std::string_view name) {
  return conflict(kind, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Error forbidden(const Kind& kind, std::string_view name, std::string_view why,
                std::vector<StatusCause> causes) {
  return refuse(403, "Forbidden",
                fmt::format("{} \"{}\" is forbidden: {}", kind.resource.to_string(), name, why),
                plural_of(kind, name), std::move(causes));
}

Error expired(std::string message) { return refuse(410, "Expired", std::move(message)); }

Error too_large_version(std::string_view asked, std::uint64_t current) {
  auto status = std::make_shared<kube::Status>();
  status->code = 504;
  status->status = "Failure";
  status->reason = "Timeout";
  status->message =
      fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current);
  status->causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}};
  status->retry_after_seconds = 1;
  return Error(Code::kTransient, status->message).with_detail(status);
}

Error invalid(const Subject& subject, std::vector<StatusCause> causes) {
  std::string what;
  for (const StatusCause& cause : causes) {
    if (!what.empty()) what += ", ";
    what += cause.field + ": " + cause.message;
  }
  if (causes.size() > 1) what = "[" + what + "]";
  const std::string of = subject.group.empty() ? subject.kind : subject.kind + "." + subject.group;
  return refuse(422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", of, subject.name, what),
                subject, std::move(causes));
}

Error invalid(const Kind& kind, std::string_view name, std::vector<StatusCause> causes) {
  return invalid({std::string(name), kind.resource.group, kind.resource.kind}, std::move(causes));
}

StatusCause required(std::string field, std::string_view detail) {
  return {"FieldValueRequired",
          detail.empty() ? "Required value" : fmt::format("Required value: {}", detail),
          std::move(field)};
}

StatusCause wrong(std::string field, std::string_view value, std::string_view detail) {
  return {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", value, detail),
          std::move(field)};
}

StatusCause unsupported(std::string field, std::string_view value, std::string_view allowed) {
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", value, allowed),
          std::move(field)};
}

StatusCause not_permitted(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", fmt::format("Forbidden: {}", detail), std::move(field)};
}

json::Value status_body(const Error& error) {
  Value body = Value::object({{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"metadata", Value::object()},
                              {"status", "Failure"}});
  const auto* status = error.detail<kube::Status>();
  body["message"] = status == nullptr ? error.to_string() : status->message;
  if (status == nullptr) body["reason"] = "InternalError";
  if (status != nullptr && !status->reason.empty()) body["reason"] = status->reason;
  if (status != nullptr && has_details(*status)) body["details"] = details_of(*status);
  body["code"] = status_code(error);
  return body;
}

int status_code(const Error& error) {
  const auto* status = error.detail<kube::Status>();
  return status == nullptr ? 500 : status->code;
}

}  // namespace mainspring::sim
