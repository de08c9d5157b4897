// The half of the codec that writes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "http/codec.h"
#include "http/status.h"

namespace mainspring::http {
namespace {

bool is_tchar(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_forbidden_in_value(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

}  // namespace

bool is_valid_field(std::string_view name, std::string_view value) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_tchar) &&
         std::none_of(value.begin(), value.end(), is_forbidden_in_value);
}

bool is_framing_field(std::string_view name) {
  switch (name.size()) {
    case 10:
      return equals_ignore_case(name, "Connection") || equals_ignore_case(name, "Keep-Alive");
    case 14:
      return equals_ignore_case(name, "Content-Length");
    case 17:
      return equals_ignore_case(name, "Transfer-Encoding");
    default:
      return false;
  }
}

namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name);
  out.append(": ");
  out.append(value);
  out.append("\r\n");
}

Result<void> append_fields(std::string& out, const Headers& headers) {
  for (const Field field : headers) {
    if (is_framing_field(field.name)) continue;
    if (!is_valid_field(field.name, field.value)) {
      return fail(Code::kInvalid,
                  fmt::format("header field \"{}\" holds characters that may not be sent",
                              is_valid_field(field.name, "") ? field.name : "(bad name)"));
    }
    append_field(out, field.name, field.value);
  }
  return {};
}

void append_number(std::string& out, std::string_view before, std::size_t number) {
  const fmt::format_int digits(number);
  out.append(before);
  out.append(digits.data(), digits.size());
}

// A body that is missing on purpose must be told apart from one that is yet to come.
bool tells_length(const Request& request) {
  return !request.body.empty() || request.method == Method::kPost ||
         request.method == Method::kPut || request.method == Method::kPatch;
}

}  // namespace

Result<void> append_request_head(std::string& out, const Request& request,
                                 const RequestFraming& framing) {
  // A Url can be put together by hand, so its parts are checked again where they meet the wire.
  const std::string target =
      framing.form == TargetForm::kAbsolute ? request.url.to_string() : request.url.target();
  if (std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c == 0x7f; })) {
    return fail(Code::kInvalid,
                "the path or query of the URL holds a space, a control character "
                "or a byte that is not ASCII; percent-encode it");
  }
  out.append(to_string(request.method));
  out += ' ';
  out.append(target);
  out.append(" HTTP/1.1\r\n");
  if (!request.headers.contains("Host")) {
    const std::string host = request.url.authority();
    if (!is_valid_field("Host", host)) return fail(Code::kInvalid, "the URL's host is not a name");
    append_field(out, "Host", host);
  }
  MS_CHECK(append_fields(out, request.headers));
  if (!framing.user_agent.empty() && !request.headers.contains("User-Agent")) {
    append_field(out, "User-Agent", framing.user_agent);
  }
  if (framing.accept_gzip && !request.headers.contains("Accept-Encoding")) {
    append_field(out, "Accept-Encoding", "gzip");
  }
  if (!framing.proxy_authorization.empty()) {
    append_field(out, "Proxy-Authorization", framing.proxy_authorization);
  }
  if (framing.upgrade) append_field(out, "Connection", "Upgrade");
  if (tells_length(request)) {
    append_number(out, "Content-Length: ", request.body.size());
    out.append("\r\n");
  }
  out.append("\r\n");
  return {};
}

Result<void> append_response_head(std::string& out, int status, const Headers& headers,
                                  std::size_t body_size, const ResponseFraming& framing) {
  append_number(out, "HTTP/1.1 ", static_cast<std::size_t>(status));
  out += ' ';
  out.append(reason_phrase(status));
  out.append("\r\n");
  if (!framing.date.empty()) append_field(out, "Date", framing.date);
  MS_CHECK(append_fields(out, headers));
  const bool never_has_body = status / 100 == 1 || status == 204 || status == 304;
  if (framing.chunked && !never_has_body) {
    append_field(out, "Transfer-Encoding", "chunked");
  } else if (!never_has_body && !framing.until_close) {
    append_number(out, "Content-Length: ", body_size);
    out.append("\r\n");
  }
  if (!framing.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (framing.http_1_0) {
    append_field(out, "Connection", "keep-alive");
  }
  out.append("\r\n");
  return {};
}

void append_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out.append(data);
  out.append("\r\n");
}

}  // namespace mainspring::http
