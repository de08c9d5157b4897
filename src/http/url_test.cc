#include "http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Url parsed(std::string_view text) {
  auto url = Url::parse(text);
  EXPECT_TRUE(url.has_value()) << (url ? "" : url.error().to_string());
  return url.value_or(Url{});
}

TEST(Url, SplitsIntoItsParts) {
  const Url url = parsed("https://API.example.com:6443/api/v1/pods?limit=500&watch=1");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "api.example.com");
  EXPECT_EQ(url.effective_port(), 6443);
  EXPECT_EQ(url.path, "/api/v1/pods");
  EXPECT_EQ(url.query, "limit=500&watch=1");
  EXPECT_EQ(url.target(), "/api/v1/pods?limit=500&watch=1");
  EXPECT_EQ(url.authority(), "api.example.com:6443");
  EXPECT_EQ(url.origin(), "https://api.example.com:6443");
}

TEST(Url, HasDefaultPortsAndPath) {
  EXPECT_EQ(parsed("http://a").target(), "/");
  EXPECT_EQ(parsed("http://a").effective_port(), 80);
  EXPECT_EQ(parsed("https://a?x=1").target(), "/?x=1");
  EXPECT_EQ(parsed("https://a:443").authority(), "a");
  EXPECT_EQ(parsed("https://a").host_and_port(), "a:443");
}

TEST(Url, TakesIpv6LiteralsInBrackets) {
  const Url url = parsed("https://[FD00::1]:6443/");
  EXPECT_EQ(url.host, "fd00::1");
  EXPECT_EQ(url.authority(), "[fd00::1]:6443");
  EXPECT_EQ(url.to_string(), "https://[fd00::1]:6443/");
  for (const char* bad : {"http://::1/", "http://[::1/", "http://[::g]/", "http://[1::2::3]/",
                          "http://[::1]x/", "http://[fe80::1%25eth0]/"}) {
    EXPECT_FALSE(Url::parse(bad).has_value()) << bad;
  }
}

TEST(Url, RefusesWhatTwoReadersCouldReadDifferently) {
  for (const std::string_view bad : {"http://trusted@evil/",
                                     "http://user:pw@host/",
                                     "http://trusted\\@evil/",
                                     "http://a b/",
                                     "http://a/x y",
                                     "http://a/\r\nHost: b",
                                     "http://a/\t",
                                     "http://a/\x7f",
                                     "http://a/\xc3\xa9",
                                     "http:///x",
                                     "http://a:0/",
                                     "http://a:99999/",
                                     "http://a:+80/",
                                     "http://a:80x/",
                                     "http://a:/",
                                     "http://a/%zz",
                                     "http://a/%4",
                                     "http://a/#frag",
                                     "http://a?q=<",
                                     "//a/",
                                     "a/b",
                                     "",
                                     "http:/a",
                                     "http://a\\b/"}) {
    EXPECT_FALSE(Url::parse(bad).has_value()) << bad;
  }
  EXPECT_FALSE(Url::parse(std::string_view("http://a\0b/", 11)).has_value());
}

TEST(Url, NamesTheProblemWithoutRepeatingAPassword) {
  const auto url = Url::parse("http://user:secret@host/");
  ASSERT_FALSE(url.has_value());
  EXPECT_THAT(url.error().message(), HasSubstr("Authorization"));
  EXPECT_EQ(url.error().message().find("secret"), std::string::npos);
}

TEST(Url, OnlyHttpIsSupported) {
  const auto url = Url::parse("ftp://a/");
  ASSERT_FALSE(url.has_value());
  EXPECT_EQ(url.error().code(), Code::kUnsupported);
}

TEST(Url, BuildsPathsAndQueriesFromRawText) {
  Url url = parsed("https://a/api");
  url.append_segment("name space").append_segment("a/b").append_segment("..");
  url.add_query("labelSelector", "app in (x,y)").add_query("e", "");
  EXPECT_EQ(url.path, "/api/name%20space/a%2Fb/%2E%2E");
  EXPECT_EQ(url.query, "labelSelector=app%20in%20%28x%2Cy%29&e=");
  EXPECT_EQ(url.query_value("labelSelector"), "app in (x,y)");
  EXPECT_EQ(url.query_value("e"), "");
  EXPECT_EQ(url.query_value("absent"), std::nullopt);
}

TEST(Url, ReadsQueriesThatOthersWrote) {
  const Url url = parsed("http://a/?x=1+2&&y&x=%26&=v");
  EXPECT_THAT(url.query_pairs(),
              ElementsAre(Pair("x", "1 2"), Pair("y", ""), Pair("x", "&"), Pair("", "v")));
}

TEST(Url, ReadsTheTargetOfARequestLine) {
  const auto url = Url::parse_target("/a?b=c");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->path, "/a");
  EXPECT_EQ(url->query, "b=c");
  EXPECT_FALSE(Url::parse_target("a").has_value());
  EXPECT_FALSE(Url::parse_target("").has_value());
}

TEST(Url, EncodingThenDecodingGivesAnyTextBack) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [](const std::string& text) {
    RC_ASSERT(percent_decode(percent_encode(text)).value() == text);
  }));
}

TEST(Url, AnythingPutInAQueryComesBackAfterParsing) {
  EXPECT_TRUE(rc::check("query round trip", [](const std::string& name, const std::string& value) {
    Url url;
    url.host = "a";
    url.add_query("first", "1").add_query(name, value).append_segment(value);
    const auto again = Url::parse(url.to_string());
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == url);
    if (name != "first") RC_ASSERT(again->query_value(name) == value);
  }));
}

TEST(HostPort, IsReadWithAndWithoutPort) {
  EXPECT_EQ(parse_host_port("Host:80"), Result<HostPort>(HostPort{"host", 80}));
  EXPECT_EQ(parse_host_port("host"), Result<HostPort>(HostPort{"host", 0}));
  EXPECT_EQ(parse_host_port("[::1]"), Result<HostPort>(HostPort{"::1", 0}));
  EXPECT_EQ(parse_host_port("[::1]:1"), Result<HostPort>(HostPort{"::1", 1}));
  EXPECT_FALSE(parse_host_port("::1").has_value());
  EXPECT_FALSE(parse_host_port("").has_value());
}

}  // namespace
}  // namespace mainspring::http
