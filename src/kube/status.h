// kube/status.h
//
// What the API server says when it refuses: the Status body, as the detail of an Error. The Error's
// code is what to do about it; the Status is for those who must know more (which field, which
// cause, who holds a field in an apply conflict).
//
//   if (const kube::Status* status = kube::status_of(error);
//   status->has_cause("NamespaceTerminating"))
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/message.h"
#include "json/fields.h"

namespace mainspring::kube {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

constexpr auto json_fields(json::Tag<StatusCause>) {
  return json::fields(json::field("reason", &StatusCause::reason),
                      json::field("message", &StatusCause::message),
                      json::field("field", &StatusCause::field));
}

struct Status final : ErrorDetail {
  std::int32_t code = 0;
  std::string status;   // "Success" or "Failure"
  std::string reason;   // "AlreadyExists", "Invalid", "Expired", ...
  std::string message;  // For people.
  // Of what was asked for.
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  std::int64_t retry_after_seconds = 0;

  bool has_cause(std::string_view wanted) const;
};

constexpr auto json_fields(json::Tag<Status>) {
  return json::fields(
      json::field("code", &Status::code), json::field("status", &Status::status),
      json::field("reason", &Status::reason), json::field("message", &Status::message),
      json::group("details", json::field("name", &Status::name),
                  json::field("group", &Status::group), json::field("kind", &Status::kind),
                  json::field("uid", &Status::uid), json::field("causes", &Status::causes),
                  json::field("retryAfterSeconds", &Status::retry_after_seconds)));
}

// Null where the error did not come from an API server.
const Status* status_of(const Error& error);

// The Error for a Status, by its reason first and its code second.
Error error_of(Status status);
// The Error for a response that is not 2xx, whether or not its body is a Status. `what` names the
// call: "GET pods/web-0".
Error error_of(const http::Response& response, std::string_view what, WallTime now);

// The same the other way, for what we serve ourselves: a refusal as clients of the Kubernetes API
// expect it.
http::Response status_response(const Error& error);

}  // namespace mainspring::kube
