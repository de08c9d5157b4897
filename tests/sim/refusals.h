// tests/sim/refusals.h
//
// The ways in which an API server says no, word for word as kube-apiserver says them: an Error
// whose detail is the Status of the answer's body. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "kube/status.h"
#include "sim/kinds.h"

namespace mainspring::sim {

// What a Status says about, beside its message.
struct Subject {
  std::string name;
  std::string group;
  std::string kind;  // The plural in most refusals, the Kind in "Invalid".
};

Error refuse(int code, std::string_view reason, std::string message, Subject subject = {},
             std::vector<kube::StatusCause> causes = {});

Error bad_request(std::string message);
Error not_found(const Kind& kind, std::string_view name);
Error no_such_resource();
Error method_not_allowed();
Error already_exists(const Kind& kind, std::string_view name);
Error conflict(const Kind& kind, std::string_view name, std::string_view why);
Error modified(const Kind& kind, std::string_view name);
Error forbidden(const Kind& kind, std::string_view name, std::string_view why,
                std::vector<kube::StatusCause> causes = {});
Error expired(std::string message);
Error too_large_version(std::string_view asked, std::uint64_t current);

// One or more fields are wrong: 422.
Error invalid(const Subject& subject, std::vector<kube::StatusCause> causes);
Error invalid(const Kind& kind, std::string_view name, std::vector<kube::StatusCause> causes);
kube::StatusCause required(std::string field, std::string_view detail);
kube::StatusCause wrong(std::string field, std::string_view value, std::string_view detail);
kube::StatusCause unsupported(std::string field, std::string_view value, std::string_view allowed);
kube::StatusCause not_permitted(std::string field, std::string_view detail);

// The body of the answer. An error that is not one of the above is an internal one.
json::Value status_body(const Error& error);
int status_code(const Error& error);

}  // namespace mainspring::sim
