#include "http/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace mainspring::http {
namespace {

ProxyConfig from(std::map<std::string, std::string, std::less<>> variables) {
  auto config = ProxyConfig::from_env([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().to_string());
  return config.value_or(ProxyConfig{});
}

std::string chosen(const ProxyConfig& config, std::string_view url) {
  const ProxyServer* proxy = config.choose(*Url::parse(url));
  return proxy == nullptr ? "direct" : proxy->url.origin();
}

TEST(ProxyConfig, ChoosesByScheme) {
  const auto config = from({{"HTTP_PROXY", "http://plain:3128"}, {"HTTPS_PROXY", "secure:8080"}});
  EXPECT_EQ(chosen(config, "http://a/"), "http://plain:3128");
  EXPECT_EQ(chosen(config, "https://a/"), "http://secure:8080");
}

TEST(ProxyConfig, WithoutVariablesEverythingIsDirect) {
  EXPECT_EQ(chosen(from({}), "http://a/"), "direct");
  EXPECT_EQ(chosen(from({{"HTTP_PROXY", ""}}), "http://a/"), "direct");
}

TEST(ProxyConfig, ReadsLowerCaseNamesToo) {
  const auto config = from({{"http_proxy", "http://p:1"}, {"no_proxy", "skip.me"}});
  EXPECT_EQ(chosen(config, "http://a/"), "http://p:1");
  EXPECT_EQ(chosen(config, "http://skip.me/"), "direct");
}

TEST(ProxyConfig, ACgiProgramIgnoresHttpProxy) {
  const auto config = from({{"HTTP_PROXY", "http://evil:1"}, {"REQUEST_METHOD", "GET"}});
  EXPECT_EQ(chosen(config, "http://a/"), "direct");
}

TEST(ProxyConfig, LoopbackIsNeverProxied) {
  const auto config = from({{"HTTP_PROXY", "http://p:1"}});
  EXPECT_EQ(chosen(config, "http://localhost/"), "direct");
  EXPECT_EQ(chosen(config, "http://127.3.2.1:8080/"), "direct");
  EXPECT_EQ(chosen(config, "http://[::1]/"), "direct");
  EXPECT_EQ(chosen(config, "http://localhost.example/"), "http://p:1");
}

TEST(ProxyServer, TakesItsPasswordFromTheUrl) {
  const auto proxy = ProxyServer::parse("http://us%40er:p%3Aw@proxy:3128");
  ASSERT_TRUE(proxy.has_value());
  EXPECT_EQ(proxy->authorization, "Basic dXNAZXI6cDp3");
  EXPECT_EQ(proxy->url.host, "proxy");
  EXPECT_EQ(ProxyServer::parse("http://user@proxy")->authorization, "Basic dXNlcjo=");
}

TEST(ProxyServer, RefusesWhatWeCannotSpeak) {
  EXPECT_FALSE(ProxyServer::parse("socks5://proxy:1080").has_value());
  EXPECT_FALSE(ProxyServer::parse("http://pro xy").has_value());
  EXPECT_FALSE(ProxyServer::parse("http://").has_value());
}

TEST(NoProxy, MatchesDomainsAndTheirSubdomains) {
  const NoProxy rules("example.com, .only.sub ,*.star.io");
  EXPECT_TRUE(rules.matches("example.com", 80));
  EXPECT_TRUE(rules.matches("a.b.EXAMPLE.com", 80));
  EXPECT_FALSE(rules.matches("notexample.com", 80));
  EXPECT_FALSE(rules.matches("only.sub", 80));
  EXPECT_TRUE(rules.matches("x.only.sub", 80));
  EXPECT_FALSE(rules.matches("star.io", 80));
  EXPECT_TRUE(rules.matches("x.star.io", 80));
}

TEST(NoProxy, MatchesAddressesAndBlocks) {
  const NoProxy rules("10.0.0.0/8,192.168.1.7,fd00::/16,[2001:db8::1]");
  EXPECT_TRUE(rules.matches("10.200.3.4", 80));
  EXPECT_FALSE(rules.matches("11.0.0.1", 80));
  EXPECT_TRUE(rules.matches("192.168.1.7", 443));
  EXPECT_FALSE(rules.matches("192.168.1.8", 443));
  EXPECT_TRUE(rules.matches("fd00:1::2", 80));
  EXPECT_FALSE(rules.matches("fd01::", 80));
  EXPECT_TRUE(rules.matches("2001:db8::1", 80));
  EXPECT_FALSE(NoProxy("::/0").matches("8.8.8.8", 80));
  EXPECT_TRUE(NoProxy("0.0.0.0/0").matches("8.8.8.8", 80));
  EXPECT_TRUE(NoProxy("10.0.0.4/30").matches("10.0.0.7", 80));
  EXPECT_FALSE(NoProxy("10.0.0.4/30").matches("10.0.0.8", 80));
}

TEST(NoProxy, APortNarrowsTheRule) {
  const NoProxy rules("a.example:8080,10.1.2.3:6443,[fd00::1]:1");
  EXPECT_TRUE(rules.matches("a.example", 8080));
  EXPECT_FALSE(rules.matches("a.example", 80));
  EXPECT_TRUE(rules.matches("10.1.2.3", 6443));
  EXPECT_FALSE(rules.matches("10.1.2.3", 443));
  EXPECT_TRUE(rules.matches("fd00::1", 1));
  EXPECT_FALSE(rules.matches("fd00::1", 2));
}

TEST(NoProxy, AStarMatchesEverything) {
  EXPECT_TRUE(NoProxy("x,*").matches("anything", 1));
  EXPECT_FALSE(NoProxy("").matches("anything", 1));
  EXPECT_FALSE(NoProxy(",,:80,[],/8,10.0.0.0/33,10.0.0.0/-1").matches("10.0.0.1", 80));
}

TEST(ProxyConfig, OneThatIsNamedForAServerIsUsedForLoopbackToo) {
  const auto config = ProxyConfig::always(*ProxyServer::parse("http://proxy:3128"));
  for (const char* url : {"https://127.0.0.1:6443/", "http://localhost/", "https://example.com/"}) {
    const ProxyServer* chosen = config.choose(*Url::parse(url));
    ASSERT_NE(chosen, nullptr) << url;
    EXPECT_EQ(chosen->url.host, "proxy");
  }
}

}  // namespace
}  // namespace mainspring::http
