#include "http/message.h"

#include <fmt/format.h>

#include <array>

namespace mainspring::http {
namespace {

constexpr std::array<std::string_view, 9> kMethods = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"};

// The json room is above this one, and one string needs no library.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      // Bytes that came from outside may not be UTF-8, and then the whole document would be
      // invalid.
      out += '?';
    }
  }
  return out + "\"";
}

}  // namespace

std::string_view to_string(Method method) { return kMethods[static_cast<std::size_t>(method)]; }

std::optional<Method> parse_method(std::string_view text) {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (kMethods[i] == text) return static_cast<Method>(i);
  }
  return std::nullopt;
}

bool is_idempotent(Method method) {
  switch (method) {
    case Method::kGet:
    case Method::kHead:
    case Method::kPut:
    case Method::kDelete:
    case Method::kOptions:
    case Method::kTrace:
      return true;
    case Method::kPost:
    case Method::kPatch:
    case Method::kConnect:
      return false;
  }
  return false;
}

std::string_view Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

Response text_response(int status, std::string body) {
  return Response{status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

Response json_response(int status, std::string body) {
  return Response{status, {{"Content-Type", "application/json"}}, std::move(body)};
}

Response error_response(int status, std::string_view message) {
  return json_response(status, fmt::format("{{\"error\":{{\"code\":{},\"message\":{}}}}}\n", status,
                                           json_string(message)));
}

}  // namespace mainspring::http
