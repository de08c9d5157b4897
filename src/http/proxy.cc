#include "http/proxy.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace mainspring::http {
namespace {

constexpr int kMappedPrefix = 96;  // ::ffff:0:0/96, where IPv4 lives within IPv6.

bool is_ipv4(const std::array<unsigned char, 16>& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](auto b) { return b == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

bool is_loopback(const std::array<unsigned char, 16>& address) {
  if (is_ipv4(address)) return address[12] == 127;
  return std::all_of(address.begin(), address.end() - 1, [](auto b) { return b == 0; }) &&
         address[15] == 1;
}

bool same_prefix(const std::array<unsigned char, 16>& a, const std::array<unsigned char, 16>& b,
                 int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  const int rest = bits % 8;
  return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

}  // namespace

Result<ProxyServer> ProxyServer::parse(std::string_view text) {
  const auto scheme_end = text.find("://");
  const std::string scheme(scheme_end == std::string_view::npos ? "http"
                                                                : text.substr(0, scheme_end));
  std::string_view rest = scheme_end == std::string_view::npos ? text : text.substr(scheme_end + 3);
  ProxyServer proxy;
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user_info = authority.substr(0, at);
    const auto colon = user_info.find(':');
    MS_TRY(const std::string user, percent_decode(user_info.substr(0, colon)));
    std::string password;
    if (colon != std::string_view::npos) {
      MS_TRY(password, percent_decode(user_info.substr(colon + 1)));
    }
    proxy.authorization = "Basic " + base64_encode(user + ":" + password);
    rest = rest.substr(at + 1);
  }
  MS_TRY(proxy.url, with_context(Url::parse(scheme + "://" + std::string(rest)), "proxy address"));
  return proxy;
}

std::optional<NoProxy::Address> NoProxy::parse_address(std::string_view text) {
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos) return std::nullopt;
  Address address{};
  if (inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  if (inet_pton(AF_INET, copy.c_str(), address.data() + 12) != 1) return std::nullopt;
  address[10] = address[11] = 0xff;
  return address;
}

NoProxy::NoProxy(std::string_view list) {
  for (const std::string_view item : split(list, ',')) add(lower(trim(item)));
}

void NoProxy::add(std::string_view item) {
  if (item.empty()) return;
  if (item == "*") {
    all_ = true;
    return;
  }
  if (const auto slash = item.find('/'); slash != std::string_view::npos) {
    const auto address = parse_address(item.substr(0, slash));
    const auto prefix = parse_integer<int>(item.substr(slash + 1));
    const bool v4 = item.find(':') == std::string_view::npos;
    if (address && prefix && *prefix >= 0 && *prefix <= (v4 ? 32 : 128)) {
      blocks_.push_back({*address, *prefix + (v4 ? kMappedPrefix : 0), 0});
    }
    return;
  }
  std::string_view host = item;
  std::uint16_t port = 0;
  if (const auto address = parse_address(host)) {
    blocks_.push_back({*address, 128, 0});
    return;
  }
  if (const auto colon = item.rfind(':'); colon != std::string_view::npos && !item.ends_with(']')) {
    const auto number = parse_integer<std::uint16_t>(item.substr(colon + 1));
    if (!number) return;
    host = item.substr(0, colon);
    port = *number;
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return;
  if (const auto address = parse_address(host)) {
    blocks_.push_back({*address, 128, port});
    return;
  }
  if (host.starts_with("*.")) host.remove_prefix(1);
  const bool itself = host.front() != '.';
  domains_.push_back({itself ? "." + std::string(host) : std::string(host), port, itself});
}

bool NoProxy::matches(std::string_view host, std::uint16_t port) const {
  const std::string name = lower(trim(host));
  if (name == "localhost") return true;
  const auto address = parse_address(name);
  if (address && is_loopback(*address)) return true;
  if (all_) return true;
  if (address) {
    for (const Block& block : blocks_) {
      if (block.port != 0 && block.port != port) continue;
      if (is_ipv4(*address) && block.prefix < kMappedPrefix) continue;
      if (same_prefix(*address, block.address, block.prefix)) return true;
    }
  }
  return std::any_of(domains_.begin(), domains_.end(), [&](const Domain& domain) {
    if (domain.port != 0 && domain.port != port) return false;
    return name.ends_with(domain.suffix) ||
           (domain.itself && name == std::string_view(domain.suffix).substr(1));
  });
}

Result<ProxyConfig> ProxyConfig::from_env(
    const std::function<std::optional<std::string>(std::string_view name)>& get) {
  const auto first_of = [&](std::string_view upper, std::string_view lower_name) {
    auto value = get(upper);
    if (!value || value->empty()) value = get(lower_name);
    return value.value_or("");
  };
  ProxyConfig config;
  const bool cgi = !get("REQUEST_METHOD").value_or("").empty();
  const std::string http = first_of(cgi ? "http_proxy" : "HTTP_PROXY", "http_proxy");
  if (!http.empty()) {
    MS_TRY(config.http_, with_context(ProxyServer::parse(http), "reading HTTP_PROXY"));
  }
  if (const std::string https = first_of("HTTPS_PROXY", "https_proxy"); !https.empty()) {
    MS_TRY(config.https_, with_context(ProxyServer::parse(https), "reading HTTPS_PROXY"));
  }
  config.no_proxy_ = NoProxy(first_of("NO_PROXY", "no_proxy"));
  return config;
}

ProxyConfig ProxyConfig::always(ProxyServer proxy) {
  ProxyConfig config;
  config.http_ = proxy;
  config.https_ = std::move(proxy);
  config.always_ = true;
  return config;
}

const ProxyServer* ProxyConfig::choose(const Url& url) const {
  const std::optional<ProxyServer>& proxy = url.is_https() ? https_ : http_;
  if (!proxy) return nullptr;
  if (!always_ && no_proxy_.matches(url.host, url.effective_port())) return nullptr;
  return &*proxy;
}

}  // namespace mainspring::http
