// control/admission.h
//
// Admission webhooks: the API server asks before it stores an object, and we say yes, no, or "yes,
// but like this". Reads AdmissionReview v1 and v1beta1 and answers in the version that asked.
//
//   add_admission(router, "/validate-nodeset", {.kind = kValidating, .handler = check_nodeset});
//
// Three outcomes, and the difference matters: allowed; denied, which nobody overrides; and failed
// (we could not tell), where the webhook's failurePolicy decides. See AdmissionHandler.
//
// The routes run on the server's loop; whatever a handler looks at must be safe to read there. The
// server must take bodies of 8 MB: a review holds an object of up to 3 MB twice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "control/delegated_auth.h"
#include "http/router.h"
#include "json/value.h"
#include "kube/status.h"

namespace mainspring::control {

struct AdmissionRequest {
  struct Kind {
    std::string group;
    std::string version;
    std::string kind;
    bool operator==(const Kind&) const = default;
  };
  struct Resource {
    std::string group;
    std::string version;
    std::string resource;
    bool operator==(const Resource&) const = default;
  };

  std::string uid;
  Kind kind;  // What `object` is.
  Resource resource;
  std::string sub_resource;
  // What the user sent, where the API server converted it for us.
  std::optional<Kind> request_kind;
  std::optional<Resource> request_resource;
  std::string name;  // Empty on a create with generateName.
  std::string ns;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  UserInfo user;
  json::Value object;      // Null on DELETE.
  json::Value old_object;  // Null on CREATE and CONNECT.
  json::Value options;
  bool dry_run = false;  // Nothing may be done that lasts.
};

struct AdmissionResponse {
  bool allowed = true;
  // Of a denial.
  int code = 403;
  std::string reason = "Forbidden";
  std::string message;
  std::vector<kube::StatusCause> causes;

  // Shown to the user by kubectl, whatever the outcome. Cut at 256 bytes each.
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> audit_annotations;
  // What the object should become; the patch is made of the difference. Mutating webhooks only.
  std::optional<json::Value> object;

  static AdmissionResponse allow() { return {}; }
  static AdmissionResponse allow_as(json::Value object);
  static AdmissionResponse deny(std::string message);
  // 422, as the API server's own validation says it: every field that is wrong, at once.
  static AdmissionResponse invalid(std::string message, std::vector<kube::StatusCause> causes);
  // The same in words: "Pod a/b is invalid: spec.x: ...; spec.y: ...".
  static AdmissionResponse invalid_fields(const std::string& what,
                                          std::vector<kube::StatusCause> causes);
};

// A failure with a code that judges what was sent (kInvalid, kForbidden, kConflict, kNotFound,
// kAlreadyExists, kTooLarge, kUnsupported) is a denial with its text. Every other one, and any that
// came from an API server that the handler itself had asked, means that we could not tell.
using AdmissionHandler = std::function<Task<Result<AdmissionResponse>>(AdmissionRequest)>;

enum class AdmissionKind { kValidating, kMutating };

struct AdmissionOptions {
  AdmissionKind kind = AdmissionKind::kValidating;
  AdmissionHandler handler;
  // Where the API server names no timeout in its call, and the most that it may name.
  Duration timeout = seconds(10);
  Duration max_timeout = seconds(30);
  Metrics* metrics = nullptr;  // Must outlive the router.
};

void add_admission(http::Router& router, std::string_view path, AdmissionOptions options);

// A webhook call's body without HTTP around it; kInvalid says what is wrong with it.
struct AdmissionReview {
  std::string api_version;
  AdmissionRequest request;
};
Result<AdmissionReview> read_admission_review(std::string_view body);
// The answer to it. Fails where the response cannot be given by this kind of webhook.
Result<std::string> write_admission_review(const AdmissionReview& review, AdmissionKind kind,
                                           const AdmissionResponse& response);

// The deadline in the call's query; and what conversion webhooks check too, whether the body is
// JSON.
Result<Duration> webhook_timeout(const http::Request& request, Duration otherwise, Duration max);
Result<void> require_json(const http::Request& request);

}  // namespace mainspring::control
