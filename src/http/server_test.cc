#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_network.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Task<Result<Response>> echo(Request request) {
  co_return text_response(200, std::string(to_string(request.method)) + " " + request.url.target() +
                                   " " + request.body);
}
Task<Result<Response>> slow(Request) {
  MS_CO_CHECK(co_await net::sleep(seconds(5)));
  co_return text_response(200, "slow");
}
Task<Result<Response>> failing(Request) { co_return fail(Code::kInternal, "secret"); }
Task<Result<Response>> unsendable(Request) {
  co_return Response{200, {{"X", "a\r\nInjected: b"}}, "x"};
}
Task<Result<void>> ticks(Request, ResponseWriter* out) {
  MS_CO_CHECK(co_await out->start(200, {{"Content-Type", "text/plain"}}));
  for (;;) {
    MS_CO_CHECK(co_await out->write("tick\n"));
    MS_CO_CHECK(co_await net::sleep(seconds(10)));
  }
}
Task<Result<void>> three(Request, ResponseWriter* out) {
  MS_CO_CHECK(co_await out->start(200, {}));
  for (const char* word : {"one", "two", "three"}) MS_CO_CHECK(co_await out->write(word));
  co_return Result<void>();
}
Task<Result<void>> fails_early(Request, ResponseWriter*) { co_return fail(Code::kGone, "too old"); }

// Everything that comes until the end of the stream or until nothing comes for a second.
Task<Result<std::string>> read_for_a_second(net::Stream* stream) {
  std::string all;
  char buffer[512];
  for (;;) {
    auto count = co_await net::with_timeout(seconds(1), "reading", stream->read_some(buffer));
    if (!count) co_return all;
    if (*count == 0) co_return all + "<end>";
    all.append(buffer, *count);
  }
}

class ServerTest : public ::testing::Test {
 protected:
  void start() {
    Router router;
    for (const Method method : {Method::kGet, Method::kPost, Method::kPut}) {
      router.add(method, "/echo", echo);
    }
    router.add(Method::kGet, "/slow", slow);
    router.add(Method::kGet, "/failing", failing);
    router.add(Method::kGet, "/unsendable", unsendable);
    router.add_stream(Method::kGet, "/ticks", ticks);
    router.add_stream(Method::kGet, "/three", three);
    router.add_stream(Method::kGet, "/fails-early", fails_early);
    server_.emplace(executor_, options_, std::move(router));
    group_.spawn(server_->serve(*network_.listen(net::Endpoint::tcp("s", 80), {})));
    executor_.run_ready();
  }
  std::unique_ptr<net::Stream> connect() {
    if (!server_) start();
    auto stream = *executor_.run(network_.connect(net::Endpoint::tcp("s", 80), {}));
    executor_.run_ready();
    return stream;
  }
  void write(net::Stream& stream, std::string_view text) {
    EXPECT_TRUE(executor_.run(stream.write(text)).has_value());
    executor_.run_ready();
  }
  std::string read(net::Stream& stream) {
    return executor_.run(read_for_a_second(&stream)).value_or("<error>");
  }
  // Sends `text` on a connection of its own and gives all that comes back.
  std::string talk(std::string_view text) {
    const auto stream = connect();
    write(*stream, text);
    return read(*stream);
  }

  net::VirtualExecutor executor_;
  FakeNetwork network_;
  Server::Options options_;
  std::optional<Server> server_;
  net::TaskGroup group_{executor_};
};

TEST_F(ServerTest, AnswersARequestAndKeepsTheConnection) {
  const auto stream = connect();
  write(*stream, "GET /echo?a=b HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_EQ(read(*stream),
            "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
            "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\n\r\nGET /echo?a=b ");
}

TEST_F(ServerTest, ReadsBodiesByLengthAndByChunks) {
  EXPECT_THAT(talk("POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\nhi"),
              EndsWith("POST /echo hi"));
  EXPECT_THAT(talk("PUT /echo HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
              EndsWith("PUT /echo abc"));
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  const std::string out = talk(
      "GET /slow HTTP/1.1\r\nHost: s\r\n\r\nPOST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n"
      "\r\nxGET /none HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_EQ(out, "");
  const auto stream = connect();
  write(
      *stream,
      "GET /slow HTTP/1.1\r\nHost: s\r\n\r\nPOST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n"
      "\r\nxGET /none HTTP/1.1\r\nHost: s\r\n\r\n");
  executor_.advance(seconds(6));
  const std::string all = read(*stream);
  const auto first = all.find("slow");
  const auto second = all.find("POST /echo x");
  const auto third = all.find("404 Not Found");
  ASSERT_NE(third, std::string::npos) << all;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_F(ServerTest, HeadGetsTheLengthButNoBody) {
  const std::string out = talk("HEAD /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(out, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_THAT(out, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, HonoursConnectionCloseAndHttp10) {
  EXPECT_THAT(talk("GET /echo HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET /echo <end>")));
  EXPECT_THAT(talk("GET /echo HTTP/1.0\r\n\r\n"), EndsWith("<end>"));
  EXPECT_THAT(talk("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              AllOf(HasSubstr("Connection: keep-alive\r\n"), EndsWith("GET /echo ")));
}

TEST_F(ServerTest, SaysContinueToThoseWhoWait) {
  const auto stream = connect();
  write(*stream,
        "POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(read(*stream), "HTTP/1.1 100 Continue\r\n\r\n");
  const auto again = connect();
  write(*again,
        "POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi");
  EXPECT_THAT(read(*again), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("POST /echo hi")));
  EXPECT_THAT(talk("GET /echo HTTP/1.1\r\nHost: s\r\nExpect: x\r\n\r\n"),
              StartsWith("HTTP/1.1 417"));
}

TEST_F(ServerTest, RefusesBadRequestsAndCloses) {
  for (const auto& [text, status] : std::vector<std::pair<std::string, std::string>>{
           {"nonsense\r\n\r\n", "400"},
           {"GET /echo HTTP/1.1\r\n\r\n", "400"},
           {"GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
           {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
           {"GET echo HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
           {"GET http://u@h/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
           {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
           {"BREW /echo HTTP/1.1\r\nHost: a\r\n\r\n", "501"},
           {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
            "chunked\r\n\r\n",
            "400"},
           {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", "413"},
           {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
           {"GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x'), "431"},
           {"GET / HTTP/1.1\r\nTransfer-Encoding: br\r\n\r\n", "501"}}) {
    const std::string out = talk(text);
    EXPECT_THAT(out, StartsWith("HTTP/1.1 " + status)) << text.substr(0, 100);
    EXPECT_THAT(out, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(out, HasSubstr("{\"error\":{\"code\":" + status));
    EXPECT_THAT(out, EndsWith("<end>"));
  }
}

TEST_F(ServerTest, UnderstandsTheAbsoluteForm) {
  EXPECT_THAT(talk("GET http://s/echo HTTP/1.1\r\nHost: s\r\n\r\n"), EndsWith("GET /echo "));
}

TEST_F(ServerTest, SaysWhatIsMissingAndWhatIsAllowed) {
  EXPECT_THAT(talk("GET /none HTTP/1.1\r\nHost: s\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found"));
  EXPECT_THAT(talk("DELETE /slow HTTP/1.1\r\nHost: s\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: OPTIONS, GET, HEAD\r\n")));
}

TEST_F(ServerTest, AHandlerThatFailsIsA500AndNothingElse) {
  const auto stream = connect();
  write(*stream, "GET /failing HTTP/1.1\r\nHost: s\r\n\r\nGET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  const std::string out = read(*stream);
  EXPECT_THAT(out, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(out, Not(HasSubstr("secret")));
  EXPECT_THAT(out, EndsWith("GET /echo "));
}

TEST_F(ServerTest, AResponseThatCannotBeSentIsA500) {
  const std::string out = talk("GET /unsendable HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(out, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(out, Not(HasSubstr("Injected")));
}

TEST_F(ServerTest, ASlowHeadIsCutOff) {
  options_.header_timeout = seconds(10);
  const auto stream = connect();
  for (const char c : std::string_view("GET /echo HTTP/1.")) {
    executor_.advance(seconds(1));
    if (!stream->idle_and_open()) break;
    (void)executor_.run(stream->write(std::string(1, c)));
  }
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, AConnectionThatSaysNothingIsCutOff) {
  options_.header_timeout = seconds(10);
  const auto stream = connect();
  EXPECT_EQ(server_->connections(), 1u);
  executor_.advance(seconds(11));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, AnIdleConnectionIsKeptForItsTime) {
  options_.idle_timeout = seconds(100);
  const auto stream = connect();
  write(*stream, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  executor_.advance(seconds(99));
  EXPECT_EQ(server_->connections(), 1u);
  executor_.advance(seconds(2));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, ASlowBodyIsCutOff) {
  options_.body_timeout = seconds(20);
  const auto stream = connect();
  write(*stream, "POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 30 && server_->connections() > 0; ++i) {
    write(*stream, "x");
    executor_.advance(seconds(1));
  }
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, BusyMeans503) {
  options_.max_requests_in_flight = 1;
  const auto first = connect();
  write(*first, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_EQ(server_->requests_in_flight(), 1u);
  EXPECT_THAT(talk("GET /echo HTTP/1.1\r\nHost: s\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1\r\n")));
  executor_.advance(seconds(6));
  EXPECT_EQ(server_->requests_in_flight(), 0u);
  EXPECT_THAT(talk("GET /echo HTTP/1.1\r\nHost: s\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, MakesRoomByClosingAnIdleConnection) {
  options_.max_connections = 2;
  const auto busy = connect();
  write(*busy, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  const auto idle = connect();
  write(*idle, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(talk("GET /echo HTTP/1.1\r\nHost: s\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(read(*idle), EndsWith("<end>"));
  executor_.advance(seconds(5));
  EXPECT_THAT(read(*busy), HasSubstr("slow"));
}

TEST_F(ServerTest, MakesRoomAsSoonAsABusyConnectionIsIdle) {
  options_.max_connections = 2;
  const auto first = connect();
  write(*first, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  const auto second = connect();
  write(*second, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  const auto third = connect();
  write(*third, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_EQ(read(*third), "");
  executor_.advance(seconds(5));
  EXPECT_THAT(read(*third), StartsWith("HTTP/1.1 200"));
  // One of the two was enough.
  EXPECT_THAT(read(*first), EndsWith("slow<end>"));
  EXPECT_THAT(read(*second), EndsWith("slow"));
}

TEST_F(ServerTest, ANewConnectionIsNotClosedForOneThatAlreadyWaited) {
  options_.max_connections = 1;
  start();
  // Accepted in one go, so that the second waits before the first has begun.
  std::unique_ptr<net::Stream> first;
  std::unique_ptr<net::Stream> second;
  const auto connect_both = [](net::Network* network, std::unique_ptr<net::Stream>* one,
                               std::unique_ptr<net::Stream>* two) -> Task<Result<void>> {
    MS_CO_TRY(*one, co_await network->connect(net::Endpoint::tcp("s", 80), {}));
    MS_CO_TRY(*two, co_await network->connect(net::Endpoint::tcp("s", 80), {}));
    co_return Result<void>();
  };
  ASSERT_TRUE(executor_.run(connect_both(&network_, &first, &second)).has_value());
  executor_.run_ready();
  write(*first, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  write(*second, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(read(*first), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("<end>")));
  EXPECT_THAT(read(*second), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, StreamsInChunks) {
  EXPECT_THAT(talk("GET /three HTTP/1.1\r\nHost: s\r\n\r\n"),
              AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"),
                    EndsWith("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n<end>")));
  EXPECT_THAT(talk("GET /three HTTP/1.0\r\n\r\n"),
              AllOf(Not(HasSubstr("chunked")), EndsWith("\r\n\r\nonetwothree<end>")));
  EXPECT_THAT(talk("HEAD /three HTTP/1.1\r\nHost: s\r\n\r\n"), EndsWith("\r\n\r\n<end>"));
}

TEST_F(ServerTest, AStreamThatFailsEarlyIsAnErrorResponse) {
  EXPECT_THAT(talk("GET /fails-early HTTP/1.1\r\nHost: s\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 410"), HasSubstr("too old")));
}

TEST_F(ServerTest, HeadOfAStreamThatFailsEarlyGetsNoBody) {
  std::vector<std::size_t> sent;
  options_.access_log = [&](const AccessRecord& record) { sent.push_back(record.response_bytes); };
  EXPECT_THAT(talk("HEAD /fails-early HTTP/1.1\r\nHost: s\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 410"), EndsWith("\r\n\r\n<end>")));
  EXPECT_THAT(sent, ElementsAre(0U));
}

TEST_F(ServerTest, AStreamEndsWhenTheClientGoesAway) {
  auto stream = connect();
  write(*stream, "GET /ticks HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(read(*stream), EndsWith("5\r\ntick\n\r\n"));
  EXPECT_EQ(server_->requests_in_flight(), 1u);
  stream.reset();
  executor_.run_ready();
  EXPECT_EQ(server_->requests_in_flight(), 0u);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, ShutdownFinishesWhatIsAtWork) {
  const auto busy = connect();
  const auto idle = connect();
  write(*idle, "GET /echo HTTP/1.1\r\nHost: s\r\n\r\n");
  write(*busy, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  const auto watching = connect();
  write(*watching, "GET /ticks HTTP/1.1\r\nHost: s\r\n\r\n");
  server_->shutdown(seconds(30));
  executor_.run_ready();
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_FALSE(executor_.run(network_.connect(net::Endpoint::tcp("s", 80), {})).has_value());
  EXPECT_THAT(read(*watching), EndsWith("5\r\ntick\n\r\n0\r\n\r\n<end>"));
  executor_.advance(seconds(5));
  EXPECT_THAT(read(*busy), AllOf(HasSubstr("Connection: close"), EndsWith("slow<end>")));
  EXPECT_EQ(group_.running(), 0u);
}

TEST_F(ServerTest, ShutdownCancelsWhatOutlastsTheGrace) {
  const auto busy = connect();
  write(*busy, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  server_->shutdown(seconds(2));
  executor_.advance(seconds(1));
  EXPECT_EQ(server_->connections(), 1u);
  executor_.advance(seconds(2));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(group_.running(), 0u);
}

TEST_F(ServerTest, TheAccessLogSeesEveryAnswer) {
  std::vector<std::string> log;
  options_.access_log = [&](const AccessRecord& record) {
    log.push_back(std::string(record.method) + " " + std::string(record.target) + " " +
                  std::to_string(record.status) + " " + std::to_string(record.request_bytes) + " " +
                  std::to_string(record.response_bytes) + " " +
                  std::to_string(record.duration / seconds(1)) +
                  (record.error != nullptr ? " " + record.error->message() : ""));
  };
  const auto stream = connect();
  write(*stream, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n");
  executor_.advance(seconds(5));
  write(*stream, "POST /echo HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\nhi");
  write(*stream, "GET /failing HTTP/1.1\r\nHost: s\r\n\r\n");
  (void)talk("GET /three HTTP/1.1\r\nHost: s\r\n\r\n");
  EXPECT_THAT(log, ElementsAre("GET /slow 200 0 4 5", "POST /echo 200 2 13 0",
                               StartsWith("GET /failing 500 0 "), "GET /three 200 0 11 0"));
  EXPECT_THAT(log[2], EndsWith(" secret"));
}

}  // namespace
}  // namespace mainspring::http
