#include "net/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring::net {
namespace {

using ::testing::HasSubstr;

TEST(Endpoint, ReadsNamesAddressesAndPaths) {
  EXPECT_EQ(Endpoint::parse("api.example:6443"), Endpoint::tcp("api.example", 6443));
  EXPECT_EQ(Endpoint::parse("127.0.0.1:0"), Endpoint::tcp("127.0.0.1", 0));
  EXPECT_EQ(Endpoint::parse("[::1]:6443"), Endpoint::tcp("::1", 6443));
  EXPECT_EQ(Endpoint::parse("[fe80::1%eth0]:80"), Endpoint::tcp("fe80::1%eth0", 80));
  EXPECT_EQ(Endpoint::parse(":8080"), Endpoint::tcp("", 8080));
  EXPECT_EQ(Endpoint::parse("unix:/run/x.sock"), Endpoint::unix_socket("/run/x.sock"));
}

TEST(Endpoint, WritesWhatItReads) {
  for (const char* text : {"a.b:1", "[::1]:6443", ":8080", "unix:/run/x.sock", "10.0.0.1:65535"}) {
    auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.has_value()) << text;
    EXPECT_EQ(endpoint->to_string(), text);
  }
}

struct Refused {
  const char* text;
  const char* why;
};

TEST(Endpoint, SaysWhatIsWrong) {
  const Refused cases[] = {
      {"", "the port is missing"},
      {"host", "the port is missing"},
      {"host:", "a number from 0 to 65535"},
      {"host:65536", "a number from 0 to 65535"},
      {"host:-1", "a number from 0 to 65535"},
      {"host:80x", "a number from 0 to 65535"},
      {"::1:80", "in brackets"},
      {"[::1:80", "never closed"},
      {"[]:80", "never closed"},
      {"[host]:80", "IPv6 addresses only"},
      {"ho st:80", "no name or address has"},
      {"a/b:80", "no name or address has"},
      {"unix:", "a path must follow"},
  };
  for (const Refused& refused : cases) {
    auto endpoint = Endpoint::parse(refused.text);
    ASSERT_FALSE(endpoint.has_value()) << refused.text;
    EXPECT_EQ(endpoint.error().code(), Code::kInvalid);
    EXPECT_THAT(endpoint.error().message(), HasSubstr(refused.why)) << refused.text;
  }
}

TEST(Endpoint, AnyTextIsRefusedOrSurvivesARoundTrip) {
  EXPECT_TRUE(rc::check("parse(to_string(parse(x))) == parse(x)", [](const std::string& text) {
    const auto once = Endpoint::parse(text + ":80");
    if (!once) return;
    const bool same = Endpoint::parse(once->to_string()) == once;
    RC_ASSERT(same);
  }));
}

}  // namespace
}  // namespace mainspring::net
