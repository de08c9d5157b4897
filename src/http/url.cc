#include "http/url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mainspring::http {
namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return lower;
}

// A URL in a message may hold a secret in its query or user info, and hostile bytes anywhere.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= 0x20 && c < 0x7f ? c : '?';
  if (text.size() > 80) out += "...";
  return out;
}

Result<void> check_path_or_query(std::string_view text, std::string_view what) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>' || c == '#' ||
        c == '^' || c == '`' || c == '{' || c == '|' || c == '}') {
      return fail(Code::kInvalid,
                  fmt::format("the {} \"{}\" holds byte 0x{:02x}, which must be percent-encoded",
                              what, shown(text), static_cast<unsigned char>(c)));
    }
    if (c == '%' &&
        (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)) {
      return fail(Code::kInvalid,
                  fmt::format("the {} \"{}\" holds a broken percent escape", what, shown(text)));
    }
  }
  return {};
}

// A zone ("%eth0") has no place in a URL of ours, and inet_pton knows none.
bool is_valid_ipv6(std::string_view text) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1 &&
         text.find('\0') == std::string_view::npos;
}

Result<std::string> parse_host(std::string_view text) {
  if (text.size() > 255) return fail(Code::kInvalid, "the host name is longer than 255 bytes");
  if (text.empty()) return fail(Code::kInvalid, "the host is empty");
  for (const char c : text) {
    // Underscores are not legal in host names but are used in them.
    if (!is_alpha(c) && !is_digit(c) && c != '-' && c != '.' && c != '_') {
      return fail(Code::kInvalid, fmt::format("the host \"{}\" holds a character that no host name "
                                              "may hold",
                                              shown(text)));
    }
  }
  return to_lower(text);
}

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (problem != std::errc() || end != text.data() + text.size() || port == 0 || port > 65535 ||
      text.size() > 5) {
    return fail(Code::kInvalid, fmt::format("\"{}\" is not a port from 1 to 65535", shown(text)));
  }
  return static_cast<std::uint16_t>(port);
}

Result<void> split_target(std::string_view target, Url* url) {
  const auto question = target.find('?');
  const std::string_view path = target.substr(0, question);
  MS_CHECK(check_path_or_query(path, "path"));
  if (question != std::string_view::npos) {
    const std::string_view query = target.substr(question + 1);
    MS_CHECK(check_path_or_query(query, "query"));
    url->query = query;
  }
  if (!path.empty()) url->path = path;
  return {};
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort result;
  std::string_view after;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    const std::string_view literal =
        close == std::string_view::npos ? std::string_view() : text.substr(1, close - 1);
    if (!is_valid_ipv6(literal)) {
      return fail(Code::kInvalid,
                  fmt::format("\"{}\" is not an IPv6 address in brackets", shown(text)));
    }
    result.host = to_lower(literal);
    after = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    MS_TRY(result.host, parse_host(text.substr(0, colon)));
    after = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (after.empty()) return result;
  if (after.front() != ':') {
    return fail(Code::kInvalid, fmt::format("\"{}\" is not host:port", shown(text)));
  }
  MS_TRY(result.port, parse_port(after.substr(1)));
  return result;
}

Result<Url> Url::parse(std::string_view text) {
  Url url;
  const auto scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) {
    return fail(
        Code::kInvalid,
        fmt::format("\"{}\" is not a URL: it must begin with http:// or https://", shown(text)));
  }
  url.scheme = to_lower(text.substr(0, scheme_end));
  if (url.scheme != "http" && url.scheme != "https") {
    return fail(Code::kUnsupported,
                fmt::format("the scheme of \"{}\" is neither http nor https", shown(text)));
  }
  const std::string_view rest = text.substr(scheme_end + 3);
  const auto authority_end = rest.find_first_of("/?#");
  const std::string_view authority = rest.substr(0, authority_end);
  if (authority.find('@') != std::string_view::npos) {
    return fail(Code::kInvalid,
                "a URL must not hold a user name or password; send an "
                "Authorization header instead");
  }
  MS_TRY(HostPort where, parse_host_port(authority));
  url.host = std::move(where.host);
  url.port = where.port;
  if (authority_end != std::string_view::npos) {
    MS_CHECK(split_target(rest.substr(authority_end), &url));
  }
  return url;
}

Result<Url> Url::parse_target(std::string_view target) {
  if (!target.starts_with('/')) {
    return fail(Code::kInvalid,
                fmt::format("the request target \"{}\" does not begin with /", shown(target)));
  }
  Url url;
  MS_CHECK(split_target(target, &url));
  return url;
}

std::uint16_t Url::effective_port() const {
  if (port != 0) return port;
  return is_https() ? 443 : 80;
}

std::string Url::authority() const {
  const bool brackets = host.find(':') != std::string::npos;
  std::string out = brackets ? "[" + host + "]" : host;
  if (port != 0 && port != (is_https() ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::string Url::host_and_port() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(effective_port());
}

std::string Url::origin() const { return scheme + "://" + host_and_port(); }

std::string Url::target() const { return query.empty() ? path : path + "?" + query; }

std::string Url::to_string() const { return scheme + "://" + authority() + target(); }

Url& Url::append_segment(std::string_view segment) {
  if (!path.ends_with('/')) path += '/';
  // "." and ".." would be walked, not named, by whoever normalises the path on the way.
  if (segment == "." || segment == "..") {
    for (std::size_t i = 0; i < segment.size(); ++i) path += "%2E";
  } else {
    path += percent_encode(segment);
  }
  return *this;
}

Url& Url::add_query(std::string_view name, std::string_view value) {
  if (!query.empty()) query += '&';
  query += percent_encode(name);
  query += '=';
  query += percent_encode(value);
  return *this;
}

std::vector<std::pair<std::string, std::string>> Url::query_pairs() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string_view rest = query;
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    auto name = percent_decode(pair.substr(0, equals), true);
    auto decoded = percent_decode(value, true);
    if (name && decoded) pairs.emplace_back(*std::move(name), *std::move(decoded));
  }
  return pairs;
}

std::optional<std::string> Url::query_value(std::string_view name) const {
  if (query.empty()) return std::nullopt;
  for (auto& [key, value] : query_pairs()) {
    if (key == name) return std::move(value);
  }
  return std::nullopt;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 15];
    }
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return fail(Code::kInvalid, fmt::format("broken percent escape in \"{}\"", shown(text)));
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace mainspring::http
