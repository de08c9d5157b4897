#include "http/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "http/websocket_handshake.h"
#include "net/memory_stream.h"
#include "net/streams_testing.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

using Kind = WebSocket::Kind;
using Role = WebSocket::Role;

Task<Result<std::vector<std::string>>> read_all_messages(WebSocket* socket) {
  std::vector<std::string> all;
  for (;;) {
    MS_CO_TRY(const auto message, co_await socket->next());
    if (!message) co_return all;
    all.push_back((message->kind == Kind::kText ? "text:" : "") + std::string(message->data));
  }
}

Task<Result<void>> drain(WebSocket* socket) {
  MS_CO_CHECK(co_await read_all_messages(socket));
  co_return Result<void>();
}

// A frame as a client would send it, masked by zeros so that tests can be read.
std::string from_client(unsigned first, std::string_view payload) {
  std::string frame(1, static_cast<char>(first));
  frame.push_back(static_cast<char>(0x80U | payload.size()));
  frame.append(4, '\0');
  return frame.append(payload);
}

class WebSocketTest : public ::testing::Test {
 protected:
  // What a server makes of these bytes, and then the end of the stream.
  Result<std::vector<std::string>> server_reads(std::string bytes, std::size_t max_message = 1024) {
    auto [near, far] = net::make_memory_streams();
    peer_ = std::move(near);
    server_.emplace(std::move(far), random_, WebSocket::Options{Role::kServer, max_message});
    EXPECT_TRUE(executor_.run(net::write_all_and_finish(peer_.get(), std::move(bytes))));
    return executor_.run(read_all_messages(&*server_));
  }
  Error server_refuses(std::string bytes) {
    auto read = server_reads(std::move(bytes));
    EXPECT_FALSE(read.has_value());
    return read ? Error(Code::kInternal, "accepted") : read.error();
  }
  // What the server has said until now.
  std::string answered() {
    server_.reset();
    return *executor_.run(net::read_to_end(peer_.get()));
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  std::unique_ptr<net::Stream> peer_;
  std::optional<WebSocket> server_;
};

TEST_F(WebSocketTest, JoinsFragmentsAndLetsControlFramesStandBetweenThem) {
  const auto read = server_reads(from_client(0x01, "hel") + from_client(0x89, "ping") +
                                 from_client(0x80, "lo") + from_client(0x82, "bin") +
                                 from_client(0x88,
                                             "\x03\xE8"
                                             "bye"));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_THAT(*read, ElementsAre("text:hello", "bin"));
  EXPECT_EQ(server_->closed(), (WebSocket::Closed{1000, "bye"}));
  EXPECT_EQ(answered(), "\x8A\x04ping\x88\x02\x03\xE8");
}

TEST_F(WebSocketTest, TakesAnEndWithoutGoodbyeForALostConnection) {
  EXPECT_EQ(server_refuses("").code(), Code::kTransient);
  EXPECT_EQ(server_refuses(from_client(0x82, "x").substr(0, 3)).code(), Code::kTransient);
  EXPECT_EQ(server_refuses(from_client(0x02, "x")).code(), Code::kTransient);
}

TEST_F(WebSocketTest, SaysWhyItRefusesAFrame) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {from_client(0xC2, "x"), "reserved bit"},
      {from_client(0x83, "x"), "opcode 3"},
      {from_client(0x8B, "x"), "opcode 11"},
      {from_client(0x80, "x"), "nothing to continue"},
      {from_client(0x02, "x") + from_client(0x82, "y"), "begins inside another"},
      {from_client(0x09, "x"), "control frame is fragmented"},
      {"\x89\xFE\x00\x7E"s, "too long"},
      {"\x82\x01x", "a client must mask"},
      {"\x82\xFE\x00\x05\0\0\0\0"s, "shortest form"},
      {"\x82\xFF\0\0\0\0\0\0\xFF\xFF\0\0\0\0"s, "shortest form"},
      {"\x82\xFF\x80\0\0\0\0\0\0\0\0\0\0\0"s, "63 bits"},
      {from_client(0x88, "\x03"), "half a close code"},
      {from_client(0x88, "\x03\xEE"), "close code 1006"},
      {from_client(0x88, "\x03\xE8\xFF"), "not UTF-8"},
  };
  for (const auto& [bytes, why] : cases) {
    const Error error = server_refuses(bytes);
    EXPECT_EQ(error.code(), Code::kInvalid) << why;
    EXPECT_THAT(error.to_string(), HasSubstr(why));
    const std::string goodbye = answered();
    EXPECT_EQ(goodbye.substr(0, 1), "\x88") << why;
    EXPECT_EQ(goodbye.substr(2, 2), "\x03\xEA") << why;
  }
}

TEST_F(WebSocketTest, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(server_refuses(from_client(0x81, "\xC3(")).to_string(), HasSubstr("UTF-8"));
  EXPECT_EQ(answered().substr(2, 2), "\x03\xEF");
  // A character may be split between fragments.
  EXPECT_THAT(
      *server_reads(from_client(0x01, "\xC3") + from_client(0x80, "\xA4") + from_client(0x88, "")),
      ElementsAre("text:\xC3\xA4"));
}

TEST_F(WebSocketTest, RefusesAMessageThatIsTooLargeBeforeItArrives) {
  const auto huge = server_reads("\x82\xFF\0\0\0\x10\0\0\0\0\0\0\0\0"s);
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code(), Code::kTooLarge);
  EXPECT_EQ(answered().substr(2, 2), "\x03\xF1");
  const auto pieces = server_reads(from_client(0x02, "12345") + from_client(0x80, "6789"), 8);
  ASSERT_FALSE(pieces.has_value());
  EXPECT_EQ(pieces.error().code(), Code::kTooLarge);
  EXPECT_THAT(*server_reads(from_client(0x82, "12345678") + from_client(0x88, ""), 8),
              ElementsAre("12345678"));
}

TEST_F(WebSocketTest, ReadsNothingMoreAfterAFailure) {
  const Error first = server_refuses(from_client(0x83, "") + from_client(0x82, "x"));
  const auto again = executor_.run(server_->next());
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error(), first);
}

class WebSocketPairTest : public ::testing::Test {
 protected:
  WebSocketPairTest() : WebSocketPairTest(net::make_memory_streams()) {}
  explicit WebSocketPairTest(
      std::pair<std::unique_ptr<net::Stream>, std::unique_ptr<net::Stream>> streams)
      : client_(std::move(streams.first), random_, {Role::kClient, 1 << 20}),
        server_(std::move(streams.second), random_, {Role::kServer, 1 << 20}) {}

  net::VirtualExecutor executor_;
  Random random_{1};
  WebSocket client_;
  WebSocket server_;
  net::TaskGroup group_{executor_};
};

Task<Result<void>> send_all(WebSocket* socket, std::vector<std::string> messages) {
  for (const std::string& message : messages) {
    const std::size_t half = message.size() / 2;
    MS_CO_CHECK(co_await socket->send(Kind::kBinary, std::string_view(message).substr(half),
                                      std::string_view(message).substr(0, half)));
  }
  co_return co_await socket->close();
}

TEST(WebSocketProperty, WhatOneSideSendsTheOtherReads) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& small, bool from_client) {
    std::vector<std::string> messages = small;
    // Where the length changes its form.
    messages.push_back(net::pattern(*rc::gen::element(125U, 126U, 65535U, 65536U, 100'000U)));
    net::VirtualExecutor executor;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    auto [near, far] = net::make_memory_streams();
    WebSocket client(std::move(near), random, {Role::kClient});
    WebSocket server(std::move(far), random, {Role::kServer});
    net::TaskGroup group(executor);
    group.spawn(send_all(from_client ? &client : &server, messages));
    const auto read = executor.run(read_all_messages(from_client ? &server : &client));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == messages);
  }));
}

TEST_F(WebSocketPairTest, EndsBothSidesAfterOneGoodbye) {
  group_.spawn(drain(&server_));
  ASSERT_TRUE(executor_.run(client_.close(4000, "enough")).has_value());
  const auto rest = executor_.run(read_all_messages(&client_));
  ASSERT_TRUE(rest.has_value()) << rest.error().to_string();
  EXPECT_EQ(server_.closed(), (WebSocket::Closed{4000, "enough"}));
  EXPECT_EQ(client_.closed(), (WebSocket::Closed{4000, ""}));
  const auto late = executor_.run(client_.send(Kind::kText, "late"));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), Code::kCancelled);
}

TEST_F(WebSocketPairTest, CutsALongReasonBetweenCharacters) {
  group_.spawn(drain(&server_));
  std::string reason;
  for (int i = 0; i < 100; ++i) reason += "\xC3\xA4";
  ASSERT_TRUE(executor_.run(client_.close(1000, reason)).has_value());
  ASSERT_TRUE(executor_.run(drain(&client_)).has_value());
  EXPECT_EQ(server_.closed()->reason, reason.substr(0, 122));
}

TEST_F(WebSocketPairTest, KeepsASilentConnectionAlive) {
  group_.spawn(client_.keep_alive(seconds(30)));
  auto bytes =
      executor_.run(net::with_timeout(seconds(95), "reading", read_all_messages(&server_)));
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().code(), Code::kTimeout);
  // The server answered each ping.
  EXPECT_FALSE(client_.stream().idle_and_open());
}

// A stream whose writes last until they are released.
class SlowStream final : public net::Stream {
 public:
  SlowStream(std::unique_ptr<net::Stream> under, net::Notify* release)
      : under_(std::move(under)), release_(release) {}
  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    return under_->read_some(into);
  }
  Task<Result<void>> write(std::string_view bytes) override {
    MS_CO_CHECK(co_await release_->wait());
    co_return co_await under_->write(bytes);
  }
  Task<Result<void>> finish() override { return under_->finish(); }
  void close() override { under_->close(); }
  bool idle_and_open() const override { return under_->idle_and_open(); }
  std::string peer() const override { return "slow"; }

 private:
  std::unique_ptr<net::Stream> under_;
  net::Notify* release_;
};

TEST_F(WebSocketTest, ReadsOnWhileItsOwnMessageIsSlowToLeaveAndAnswersThePingAfterIt) {
  auto [near, far] = net::make_memory_streams();
  net::Notify release;
  WebSocket server(std::make_unique<SlowStream>(std::move(far), &release), random_,
                   {Role::kServer, 1024});
  net::TaskGroup group(executor_);
  group.spawn(server.send(Kind::kText, "slow"));
  executor_.run_ready();
  ASSERT_TRUE(executor_
                  .run(near->write(from_client(0x89, "one") + from_client(0x89, "two") +
                                   from_client(0x82, "data")))
                  .has_value());
  const auto message = executor_.run(server.next());
  ASSERT_TRUE(message.has_value() && message->has_value());
  EXPECT_EQ((*message)->data, "data");

  while (group.running() > 0) {
    release.notify_all();
    executor_.run_ready();
  }
  EXPECT_EQ(*executor_.run(net::read_exactly(near.get(), 11)), "\x81\x04slow\x8A\x03two");
}

TEST(WebSocketHandshake, GivesTheAnswerOfTheStandard) {
  EXPECT_EQ(websocket_accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

Request upgrade_request(const WebSocketOffer& offer) {
  Request request;
  offer.add_to(request.headers);
  return request;
}

TEST(WebSocketHandshake, AgreesOnTheFirstProtocolThatBothKnow) {
  Random random(1);
  const auto offer = WebSocketOffer::make(random, {"v5", "v4"});
  const auto answer = accept_websocket(upgrade_request(offer), {"v3", "v4"});
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 101);
  EXPECT_EQ(*offer.check(answer->headers), "v4");
  EXPECT_EQ(accept_websocket(upgrade_request(offer), {"v3"}).error().code(), Code::kUnsupported);
}

TEST(WebSocketHandshake, NeedsNoProtocol) {
  Random random(1);
  const auto offer = WebSocketOffer::make(random, {});
  EXPECT_EQ(*offer.check(accept_websocket(upgrade_request(offer), {"v3"})->headers), "");
}

TEST(WebSocketHandshake, BelievesOnlyAnAnswerToItsOwnOffer) {
  Random random(1);
  const auto offer = WebSocketOffer::make(random, {"v5"});
  const auto other = WebSocketOffer::make(random, {"v5"});
  const Headers good = accept_websocket(upgrade_request(offer), {"v5"})->headers;
  EXPECT_TRUE(offer.check(good).has_value());
  EXPECT_THAT(other.check(good).error().message(), HasSubstr("Sec-WebSocket-Accept"));
  for (const char* name : {"Upgrade", "Connection", "Sec-WebSocket-Accept"}) {
    Headers bad = good;
    bad.remove(name);
    EXPECT_THAT(offer.check(bad).error().message(), HasSubstr(name));
  }
  Headers extended = good;
  extended.set("Sec-WebSocket-Extensions", "permessage-deflate");
  EXPECT_THAT(offer.check(extended).error().message(), HasSubstr("extensions"));
  Headers none = good;
  none.remove("Sec-WebSocket-Protocol");
  EXPECT_EQ(offer.check(none).error().code(), Code::kUnsupported);
}

TEST(WebSocketHandshake, RefusesARequestThatIsNone) {
  Random random(1);
  const Request good = upgrade_request(WebSocketOffer::make(random, {}));
  for (const char* name : {"Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key"}) {
    Request bad = good;
    bad.headers.remove(name);
    EXPECT_THAT(accept_websocket(bad, {}).error().message(), HasSubstr(name));
  }
  Request bad = good;
  bad.headers.set("Sec-WebSocket-Key", "c2hvcnQ=");
  EXPECT_THAT(accept_websocket(bad, {}).error().message(), HasSubstr("16 bytes"));
  bad = good;
  bad.method = Method::kPost;
  EXPECT_FALSE(accept_websocket(bad, {}).has_value());
}

}  // namespace
}  // namespace mainspring::http
