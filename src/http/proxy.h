// http/proxy.h
//
// Which requests go through a proxy, from the customary environment variables, by the rules that Go
// programs (kubectl, helm) follow, so that a site sets them once. A value; reads no environment by
// itself.
//
//   HTTP_PROXY, HTTPS_PROXY   by the scheme of the request; lower-case names win if upper are unset
//   NO_PROXY                  comma-separated: "*", an IP address, a CIDR block, a domain and all
//                             below it ("example.com"), only those below it (".example.com" or
//                             "*.example.com"); an address or domain may carry a port
//
// Loopback addresses and "localhost" are never proxied.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"

namespace mainspring::http {

struct ProxyServer {
  Url url;                    // http or https: how to speak to the proxy itself.
  std::string authorization;  // "Basic ..." or empty.
  bool operator==(const ProxyServer&) const = default;

  // "http://user:password@proxy:3128", or "proxy:3128".
  static Result<ProxyServer> parse(std::string_view text);
};

class NoProxy {
 public:
  NoProxy() = default;
  // What cannot be understood matches nothing.
  explicit NoProxy(std::string_view list);
  // Whether to go directly.
  bool matches(std::string_view host, std::uint16_t port) const;

 private:
  using Address = std::array<unsigned char, 16>;  // IPv4 in its IPv6-mapped form.
  struct Block {
    Address address;
    int prefix = 128;
    std::uint16_t port = 0;
  };
  struct Domain {
    std::string suffix;  // With its leading dot.
    std::uint16_t port = 0;
    bool itself = false;
  };
  static std::optional<Address> parse_address(std::string_view text);
  void add(std::string_view item);

  bool all_ = false;
  std::vector<Block> blocks_;
  std::vector<Domain> domains_;
};

class ProxyConfig {
 public:
  // No proxy at all.
  ProxyConfig() = default;
  // `get` is asked for names of environment variables; nullopt where unset. HTTP_PROXY is ignored
  // when REQUEST_METHOD is set: in a CGI program it is a header that the client chose.
  static Result<ProxyConfig> from_env(
      const std::function<std::optional<std::string>(std::string_view name)>& get);

  // For every request, loopback included: somebody named it for this very server.
  static ProxyConfig always(ProxyServer proxy);

  // Null: connect directly. Valid as long as this.
  const ProxyServer* choose(const Url& url) const;

 private:
  std::optional<ProxyServer> http_;
  std::optional<ProxyServer> https_;
  NoProxy no_proxy_;
  bool always_ = false;
};

}  // namespace mainspring::http
