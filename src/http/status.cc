#include "http/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace mainspring::http {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

Code code_of(int status) {
  switch (status) {
    case 401:
    case 407:
      return Code::kUnauthorized;
    case 403:
      return Code::kForbidden;
    case 404:
      return Code::kNotFound;
    case 408:
    case 425:
    case 500:  // Kubernetes answers 500 to much that passes by itself.
    case 502:
    case 503:
    case 504:
      return Code::kTransient;
    case 405:
    case 406:
    case 415:
    case 501:
    case 505:
      return Code::kUnsupported;
    case 409:
    case 412:
      return Code::kConflict;
    case 410:
      return Code::kGone;
    case 413:
    case 414:
    case 431:
      return Code::kTooLarge;
    case 429:
      return Code::kThrottled;
    default:
      if (status >= 500) return Code::kTransient;
      return status >= 400 ? Code::kInvalid : Code::kUnsupported;
  }
}

std::string body_excerpt(std::string_view body) {
  constexpr std::size_t kLimit = 256;
  std::string out;
  for (const char c : body.substr(0, kLimit)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (body.size() > kLimit) out += "...";
  return out;
}

template <std::size_t N>
std::optional<unsigned> index_in(const std::array<std::string_view, N>& names, std::string_view s) {
  const auto found = std::find(names.begin(), names.end(), s);
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin());
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<WallTime> make_time(std::optional<unsigned> year, std::optional<unsigned> month,
                                  std::optional<unsigned> day, std::string_view clock) {
  if (!year || !month || !day || clock.size() != 8 || clock[2] != ':' || clock[5] != ':') {
    return std::nullopt;
  }
  const auto hour = number(clock.substr(0, 2));
  const auto minute = number(clock.substr(3, 2));
  const auto second = number(clock.substr(6, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  // Nanoseconds since 1970 in 64 bits end in 2262.
  if (*year < 1900 || *year > 2261) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month + 1), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + hours(*hour) + minutes(*minute) + seconds(*second);
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 407:
      return "Proxy Authentication Required";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

Error status_error(const Response& response, std::string_view what, WallTime now) {
  std::string message =
      fmt::format("{} answered {} {}", what, response.status, reason_phrase(response.status));
  if (const std::string excerpt = body_excerpt(response.body); !excerpt.empty()) {
    message += ": " + excerpt;
  }
  Error error(code_of(response.status), std::move(message));
  if (const auto wait = retry_after(response.headers, now)) {
    return std::move(error).with_retry_after(*wait);
  }
  return error;
}

Result<Response> require_ok(Response response, std::string_view what, WallTime now) {
  if (!response.ok()) return fail(status_error(response, what, now));
  return response;
}

int status_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return 400;
    case Code::kUnauthorized:
      return 401;
    case Code::kForbidden:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kConflict:
      return 409;
    case Code::kGone:
      return 410;
    case Code::kTooLarge:
      return 413;
    case Code::kThrottled:
      return 429;
    case Code::kUnsupported:
      return 501;
    case Code::kTransient:
    case Code::kCancelled:
      return 503;
    case Code::kTimeout:
      return 504;
    case Code::kInternal:
      return 500;
  }
  return 500;
}

Response failure_response(const Error& error) {
  const bool internal = error.code() == Code::kInternal;
  Response response = error_response(status_of(error.code()),
                                     internal ? "internal error; see the log" : error.to_string());
  if (const auto wait = error.retry_after()) {
    const auto whole = std::chrono::ceil<seconds>(*wait).count();
    response.headers.add("Retry-After", std::to_string(whole));
  }
  return response;
}

std::optional<Duration> retry_after(const Headers& headers, WallTime now) {
  const auto value = headers.get("Retry-After");
  if (!value) return std::nullopt;
  constexpr Duration kLongest = hours(24);
  std::uint64_t count = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), count);
  if (end == value->data() + value->size() && problem != std::errc::invalid_argument) {
    if (problem == std::errc::result_out_of_range) return kLongest;
    return std::min<Duration>(kLongest, seconds(std::min<std::uint64_t>(count, 86'400)));
  }
  if (const auto date = parse_http_date(*value)) {
    return std::clamp<Duration>(*date - now, Duration(0), kLongest);
  }
  return std::nullopt;
}

std::string format_http_date(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<seconds>(time - day));
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  if (text.size() == 29 && text.substr(3, 2) == ", " && text.substr(25) == " GMT") {
    return make_time(number(text.substr(12, 4)), index_in(kMonths, text.substr(8, 3)),
                     number(text.substr(5, 2)), text.substr(17, 8));
  }
  // "Sun Nov  6 08:49:37 1994"
  if (text.size() == 24 && text[3] == ' ' && text[7] == ' ') {
    return make_time(number(text.substr(20, 4)), index_in(kMonths, text.substr(4, 3)),
                     number(trim(text.substr(8, 2))), text.substr(11, 8));
  }
  // "Sunday, 06-Nov-94 08:49:37 GMT"
  const auto comma = text.find(", ");
  if (comma == std::string_view::npos || text.size() != comma + 24) return std::nullopt;
  const std::string_view rest = text.substr(comma + 2);
  auto year = number(rest.substr(7, 2));
  if (year) year = *year + (*year < 70 ? 2000 : 1900);
  return make_time(year, index_in(kMonths, rest.substr(3, 3)), number(rest.substr(0, 2)),
                   rest.substr(10, 8));
}

}  // namespace mainspring::http
