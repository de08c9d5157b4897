// http/status.h
//
// What a status code means to a caller: its name, the Error it becomes, and how long the server
// asks us to wait. And the date format of HTTP, which Retry-After and Date share. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "http/message.h"

namespace mainspring::http {

// "Not Found"; "Unknown" for a code without a name.
std::string_view reason_phrase(int status);

// 404 is kNotFound, 429 and 503 are kThrottled and kTransient with retry_after(), and so on. `what`
// names the call: "GET https://10.0.0.1/api". The body's beginning is in the message.
Error status_error(const Response& response, std::string_view what, WallTime now);
// The response itself where it is 2xx, else status_error.
Result<Response> require_ok(Response response, std::string_view what, WallTime now);

// The status that a server answers when a handler fails with `error`.
int status_of(Code code);
// That answer, with Retry-After where the error has it. What is internal stays internal.
Response failure_response(const Error& error);

// Seconds or an HTTP date; never negative. nullopt where absent or unreadable.
std::optional<Duration> retry_after(const Headers& headers, WallTime now);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string format_http_date(WallTime time);
// All three forms that a receiver must accept (RFC 9110, 5.6.7).
std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace mainspring::http
