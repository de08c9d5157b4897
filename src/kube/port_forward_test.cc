#include "kube/port_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/scripted_transport.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

// 8080 is 0x1F90, the lower byte first.
const std::string kDataPort = "\0\x90\x1F"s;
const std::string kErrorPort = "\x01\x90\x1F"s;

Task<Result<void>> say(http::WebSocket* socket, std::vector<std::string> messages) {
  for (const std::string& message : messages) {
    MS_CO_CHECK(co_await socket->send(http::WebSocket::Kind::kBinary, message));
  }
  co_return Result<void>();
}

Task<Result<std::string>> read_to_end(net::Stream* stream) {
  std::string all;
  char piece[1000];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(piece));
    if (count == 0) co_return all;
    all.append(piece, count);
  }
}

class PortForwardTest : public ::testing::Test {
 protected:
  PortForwardTest() {
    transport_.protocols = {"v4.channel.k8s.io"};
    auto opened = executor_.run(port_forward(&client_, "ml", "web-0", 8080));
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    stream_ = *std::move(opened);
  }
  void kubelet_says(std::vector<std::string> messages, bool goodbye = true) {
    ASSERT_TRUE(executor_.run(say(transport_.socket.get(), std::move(messages))).has_value());
    if (goodbye) ASSERT_TRUE(executor_.run(transport_.socket->close()).has_value());
  }
  Result<std::string> read_all() { return executor_.run(read_to_end(stream_.get())); }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Client client_{
      transport_, executor_.clock(), random_, {.server = *http::Url::parse("https://api:6443")}};
  std::unique_ptr<net::Stream> stream_;
};

TEST_F(PortForwardTest, AsksForThePort) {
  EXPECT_EQ(transport_.asked.at(0).url.target(),
            "/api/v1/namespaces/ml/pods/web-0/portforward?ports=8080");
  EXPECT_EQ(stream_->peer(), "pod/ml/web-0:8080");
}

TEST_F(PortForwardTest, CarriesBytesUntilThePodHangsUp) {
  kubelet_says({kDataPort, kErrorPort, "\0hel"s, "\0lo"s});
  EXPECT_EQ(read_all().value(), "hello");
}

TEST_F(PortForwardTest, FindsThePortWhereverTheKubeletPutsIt) {
  kubelet_says({"\0\x90"s, "\0\x1Fhel"s, kErrorPort, "\0lo"s});
  EXPECT_EQ(read_all().value(), "hello");
}

TEST_F(PortForwardTest, HandsOutALargePieceInSmallOnes) {
  std::string large;
  while (large.size() < 100'000) large += std::to_string(large.size()) + ",";
  kubelet_says({kDataPort, kErrorPort, "\0"s + large});
  EXPECT_EQ(read_all().value(), large);
}

TEST_F(PortForwardTest, SaysWhyNobodyAnswers) {
  kubelet_says({kDataPort, kErrorPort,
                "\x01"
                "dial tcp4 127.0.0.1:8080: connection refused"});
  const auto read = read_all();
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), Code::kTransient);
  EXPECT_THAT(read.error().to_string(), HasSubstr("pod/ml/web-0:8080: dial tcp4"));
}

TEST_F(PortForwardTest, NoticesAnotherPort) {
  kubelet_says({"\0\x91\x1F"s});
  EXPECT_EQ(read_all().error().code(), Code::kInvalid);
}

TEST_F(PortForwardTest, NeverTakesALostConnectionForAnEnd) {
  kubelet_says({kDataPort, kErrorPort, "\0half"s}, false);
  transport_.socket.reset();
  EXPECT_EQ(read_all().error().code(), Code::kTransient);
}

TEST_F(PortForwardTest, WritesToTheDataChannel) {
  ASSERT_TRUE(executor_.run(stream_->write("GET /")).has_value());
  EXPECT_EQ(executor_.run(transport_.socket->next()).value()->data, "\0GET /"s);
  // Which the protocol cannot say; reading goes on.
  ASSERT_TRUE(executor_.run(stream_->finish()).has_value());
  kubelet_says({kDataPort, kErrorPort, "\0ok"s});
  EXPECT_EQ(read_all().value(), "ok");
}

TEST_F(PortForwardTest, EndsWhenItIsClosed) {
  EXPECT_TRUE(stream_->idle_and_open());
  stream_->close();
  EXPECT_FALSE(read_all().has_value());
  EXPECT_EQ(executor_.run(transport_.socket->next()).error().code(), Code::kTransient);
}

TEST_F(PortForwardTest, KnowsNoPortZero) {
  EXPECT_EQ(executor_.run(port_forward(&client_, "ml", "web-0", 0)).error().code(), Code::kInvalid);
}

TEST_F(PortForwardTest, NeedsTheProtocolThatItSpeaks) {
  transport_.protocols = {"SPDY/3.1+portforward.k8s.io"};
  EXPECT_EQ(executor_.run(port_forward(&client_, "ml", "web-0", 8080)).error().code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace mainspring::kube
