#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "http/fake_network.h"
#include "http/gzip.h"
#include "http/line_reader.h"
#include "http/not_sent.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What a scripted server does after reading one request head: waits, writes, perhaps closes.
struct Step {
  std::string write;
  Duration after{};
  bool close = false;
};

class ClientTest : public ::testing::Test {
 protected:
  // Each connection to `endpoint` follows its own script, one step per request.
  void serve(const std::string& endpoint, std::vector<std::vector<Step>> scripts) {
    auto listener = *network_.listen(*net::Endpoint::parse(endpoint), {});
    group_.spawn(accept(std::move(listener), std::move(scripts)));
  }

  Task<Result<void>> accept(std::unique_ptr<net::Listener> listener,
                            std::vector<std::vector<Step>> scripts) {
    for (auto& script : scripts) {
      MS_CO_TRY(auto stream, co_await listener->accept());
      group_.spawn(follow(std::move(stream), std::move(script)));
    }
    // Later connections are accepted by nobody and stay silent.
    co_return co_await net::sleep(hours(1000));
  }

  Task<Result<void>> follow(std::unique_ptr<net::Stream> stream, std::vector<Step> script) {
    std::string in;
    for (const Step& step : script) {
      while (in.find("\r\n\r\n") == std::string::npos) {
        char buffer[256];
        MS_CO_TRY(const std::size_t count, co_await stream->read_some(buffer));
        if (count == 0) {
          ++ended_by_client_;
          co_return Result<void>();
        }
        in.append(buffer, count);
      }
      requests_.push_back(std::exchange(in, ""));
      if (step.after > Duration(0)) MS_CO_CHECK(co_await net::sleep(step.after));
      MS_CO_CHECK(co_await stream->write(step.write));
      if (step.close) co_return Result<void>();
    }
    char byte[1];
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(byte));
    if (count == 0) ++ended_by_client_;
    co_return Result<void>();
  }

  static Request get(std::string_view url) {
    Request request;
    request.url = *Url::parse(url);
    return request;
  }
  Result<Response> send(Request request) {
    return executor_.run(client().send(std::move(request)));
  }
  Client& client() {
    if (!client_) client_.emplace(executor_, network_, options_);
    return *client_;
  }

  net::VirtualExecutor executor_;
  FakeNetwork network_;
  Client::Options options_;
  std::vector<std::string> requests_;
  int ended_by_client_ = 0;
  std::optional<Client> client_;
  net::TaskGroup group_{executor_};
};

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_F(ClientTest, SendsARequestAndReadsTheResponse) {
  serve("a:80", {{{"HTTP/1.1 201 Created\r\nX: y\r\nContent-Length: 5\r\n\r\nhello"}}});
  Request request = get("http://a/x?y=z");
  request.method = Method::kPost;
  request.body = "body";
  const auto response = send(request);
  ASSERT_TRUE(response.has_value()) << response.error().to_string();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->headers.get("x"), "y");
  EXPECT_EQ(response->body, "hello");
  EXPECT_THAT(requests_, ElementsAre("POST /x?y=z HTTP/1.1\r\nHost: a\r\nUser-Agent: mainspring\r\n"
                                     "Content-Length: 4\r\n\r\nbody"));
}

TEST_F(ClientTest, UsesAConnectionAgain) {
  serve("a:80", {{{kOk}, {kOk}, {kOk}}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(send(get("http://a/")).has_value());
  EXPECT_THAT(network_.connected, ElementsAre("a:80"));
  EXPECT_EQ(client().idle_connections(), 1u);
}

TEST_F(ClientTest, ClosesAConnectionThatTheServerWillNotKeep) {
  const std::string close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
  const std::string old = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const std::string extra = kOk + "unasked";
  for (const std::string& answer : {close, old, extra}) {
    serve("a:80", {{{answer}}});
    EXPECT_TRUE(send(get("http://a/")).has_value());
    EXPECT_EQ(client().idle_connections(), 0u);
  }
}

TEST_F(ClientTest, ReadsABodyThatEndsWithTheConnection) {
  serve("a:80", {{{"HTTP/1.0 200 OK\r\n\r\nall of it", {}, true}}});
  EXPECT_EQ(send(get("http://a/"))->body, "all of it");
}

TEST_F(ClientTest, ReadsChunks) {
  serve("a:80",
        {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"},
          {kOk}}});
  EXPECT_EQ(send(get("http://a/"))->body, "abcde");
  EXPECT_EQ(send(get("http://a/"))->body, "ok");
  EXPECT_THAT(network_.connected, SizeIs(1));
}

TEST_F(ClientTest, KnowsWhichResponsesHaveNoBody) {
  serve("a:80", {{{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"},
                  {"HTTP/1.1 204 No Content\r\n\r\n"},
                  {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"},
                  {kOk}}});
  Request head = get("http://a/");
  head.method = Method::kHead;
  EXPECT_EQ(send(head)->headers.get("Content-Length"), "100");
  EXPECT_EQ(send(get("http://a/"))->status, 204);
  EXPECT_EQ(send(get("http://a/"))->status, 304);
  EXPECT_EQ(send(get("http://a/"))->body, "ok");
  EXPECT_THAT(network_.connected, SizeIs(1));
}

TEST_F(ClientTest, SkipsInterimResponses) {
  serve("a:80",
        {{{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk}}});
  EXPECT_EQ(send(get("http://a/"))->body, "ok");
}

TEST_F(ClientTest, GivesUpOnEndlessInterimResponses) {
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  serve("a:80", {{{endless}}});
  EXPECT_FALSE(send(get("http://a/")).has_value());
}

TEST_F(ClientTest, ARedirectIsJustAResponse) {
  serve("a:80", {{{"HTTP/1.1 302 Found\r\nLocation: http://b/\r\nContent-Length: 0\r\n\r\n"}}});
  EXPECT_EQ(send(get("http://a/"))->status, 302);
  EXPECT_THAT(network_.connected, ElementsAre("a:80"));
}

TEST_F(ClientTest, ReplacesAStaleConnectionForAnIdempotentRequest) {
  // The server answers once and closes only when the second request is there.
  serve("a:80", {{{kOk}, {"", {}, true}}, {{kOk}}});
  EXPECT_TRUE(send(get("http://a/")).has_value());
  EXPECT_TRUE(send(get("http://a/")).has_value());
  EXPECT_THAT(requests_, SizeIs(3));
}

TEST_F(ClientTest, SaysWhereNothingWasSent) {
  const auto nobody = send(get("http://nobody/"));
  ASSERT_FALSE(nobody.has_value());
  EXPECT_TRUE(was_not_sent(nobody.error()));
  serve("a:80", {{{"", {}, true}}});
  Request post = get("http://a/");
  post.method = Method::kPost;
  const auto cut = send(post);
  ASSERT_FALSE(cut.has_value());
  EXPECT_FALSE(was_not_sent(cut.error()));
}

TEST_F(ClientTest, NeverRepeatsWhatMayHaveTakenEffect) {
  serve("a:80", {{{kOk}, {"", {}, true}}, {{kOk}}});
  EXPECT_TRUE(send(get("http://a/")).has_value());
  Request post = get("http://a/");
  post.method = Method::kPost;
  const auto response = send(post);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Code::kTransient);
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(ClientTest, NeverRepeatsOnceTheAnswerHasBegun) {
  serve("a:80", {{{kOk}, {"HTTP/1.1 200 O", {}, true}}, {{kOk}}});
  EXPECT_TRUE(send(get("http://a/")).has_value());
  EXPECT_FALSE(send(get("http://a/")).has_value());
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(ClientTest, DoesNotRepeatOnAFreshConnection) {
  serve("a:80", {{{"", {}, true}}, {{kOk}}});
  const auto response = send(get("http://a/"));
  ASSERT_FALSE(response.has_value());
  EXPECT_THAT(response.error().to_string(), HasSubstr("GET http://a:80/"));
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(ClientTest, AClosedKeptConnectionIsNotEvenTried) {
  serve("a:80", {{{kOk, {}, true}}, {{kOk}}});
  EXPECT_TRUE(send(get("http://a/")).has_value());
  executor_.run_ready();
  Request post = get("http://a/");
  post.method = Method::kPost;
  EXPECT_TRUE(send(post).has_value());
}

TEST_F(ClientTest, IdleConnectionsAreClosedInTime) {
  options_.pool.idle_timeout = seconds(30);
  serve("a:80", {{{kOk}, {kOk}}, {{kOk}}});
  EXPECT_TRUE(send(get("http://a/")).has_value());
  executor_.advance(seconds(31));
  EXPECT_EQ(client().idle_connections(), 0u);
  EXPECT_EQ(ended_by_client_, 1);
  EXPECT_TRUE(send(get("http://a/")).has_value());
  EXPECT_THAT(network_.connected, SizeIs(2));
}

TEST_F(ClientTest, WaitsForAFreeConnectionBeyondTheLimit) {
  options_.pool.max_per_origin = 2;
  const Step slow{kOk, seconds(1)};
  serve("a:80", {{slow, slow, slow}, {slow, slow, slow}});
  int answered = 0;
  auto one = [](Client* client, Request request, int* count) -> Task<Result<void>> {
    MS_CO_CHECK(co_await client->send(std::move(request)));
    ++*count;
    co_return Result<void>();
  };
  net::TaskGroup group(executor_);
  for (int i = 0; i < 6; ++i) group.spawn(one(&client(), get("http://a/"), &answered));
  executor_.advance(milliseconds(1500));
  EXPECT_EQ(answered, 2);
  executor_.advance(seconds(2));
  EXPECT_EQ(answered, 6);
  EXPECT_THAT(network_.connected, SizeIs(2));
}

TEST_F(ClientTest, ACancelledWaiterDoesNotTakeAPlaceFromTheOthers) {
  options_.pool.max_per_origin = 1;
  serve("a:80", {{{kOk, seconds(5)}, {kOk}, {kOk}}});
  int answered = 0;
  auto one = [](Client* client, Request request, int* count) -> Task<Result<void>> {
    MS_CO_CHECK(co_await client->send(std::move(request)));
    ++*count;
    co_return Result<void>();
  };
  net::TaskGroup first(executor_);
  net::TaskGroup second(executor_);
  net::TaskGroup third(executor_);
  first.spawn(one(&client(), get("http://a/"), &answered));
  executor_.run_ready();
  second.spawn(one(&client(), get("http://a/"), &answered));
  executor_.run_ready();
  third.spawn(one(&client(), get("http://a/"), &answered));
  executor_.advance(seconds(1));
  second.cancel();
  executor_.advance(seconds(10));
  EXPECT_EQ(answered, 2);
}

TEST_F(ClientTest, ADestroyedWaiterDoesNotTakeAPlaceFromTheOthers) {
  options_.pool.max_per_origin = 1;
  serve("a:80", {{{kOk, seconds(5)}, {kOk}, {kOk}}});
  int answered = 0;
  auto one = [](Client* client, Request request, int* count) -> Task<Result<void>> {
    MS_CO_CHECK(co_await client->send(std::move(request)));
    ++*count;
    co_return Result<void>();
  };
  net::TaskGroup first(executor_);
  std::optional<net::TaskGroup> second(std::in_place, executor_);
  net::TaskGroup third(executor_);
  first.spawn(one(&client(), get("http://a/"), &answered));
  executor_.run_ready();
  second->spawn(one(&client(), get("http://a/"), &answered));
  executor_.run_ready();
  third.spawn(one(&client(), get("http://a/"), &answered));
  executor_.run_ready();
  second.reset();
  executor_.advance(seconds(10));
  EXPECT_EQ(answered, 2);
}

TEST_F(ClientTest, SaysInWhichPhaseTheTimeRanOut) {
  serve("a:80", {{{"", seconds(100)}}, {{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"}}});
  Request request = get("http://a/");
  request.limits.timeout = seconds(3);
  auto waiting = send(request);
  ASSERT_FALSE(waiting.has_value());
  EXPECT_EQ(waiting.error().code(), Code::kTimeout);
  EXPECT_THAT(waiting.error().to_string(), HasSubstr("waiting for the response headers"));
  EXPECT_THAT(waiting.error().to_string(), HasSubstr("3000 ms"));
  auto reading = send(request);
  ASSERT_FALSE(reading.has_value());
  EXPECT_EQ(reading.error().code(), Code::kTimeout);
  EXPECT_THAT(reading.error().to_string(), HasSubstr("reading the body"));
  EXPECT_EQ(client().idle_connections(), 0u);
}

TEST_F(ClientTest, LimitsTheBody) {
  serve("a:80", {{{kOk}},
                 {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}}});
  for (int i = 0; i < 2; ++i) {
    Request request = get("http://a/");
    request.limits.max_body = 1;
    const auto response = send(request);
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code(), Code::kTooLarge);
  }
}

TEST_F(ClientTest, DecodesGzipWhenItAskedForIt) {
  options_.accept_gzip = true;
  const std::string packed = gzip_compress(std::string(100'000, 'x'));
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                             std::to_string(packed.size()) + "\r\n\r\n" + packed;
  serve("a:80", {{{answer}, {answer}, {answer}}});
  const auto response = send(get("http://a/"));
  ASSERT_TRUE(response.has_value()) << response.error().to_string();
  EXPECT_EQ(response->body, std::string(100'000, 'x'));
  EXPECT_FALSE(response->headers.contains("Content-Encoding"));
  EXPECT_THAT(requests_[0], HasSubstr("Accept-Encoding: gzip\r\n"));

  Request bomb = get("http://a/");
  bomb.limits.max_body = 50'000;
  const auto refused = send(bomb);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::kTooLarge);
}

TEST_F(ClientTest, LeavesGzipAloneWhenItDidNotAsk) {
  const std::string packed = gzip_compress("text");
  serve("a:80", {{{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                   std::to_string(packed.size()) + "\r\n\r\n" + packed}}});
  EXPECT_EQ(send(get("http://a/"))->body, packed);
  EXPECT_EQ(requests_[0].find("Accept-Encoding"), std::string::npos);
}

Task<Result<std::vector<std::string>>> watch(Client* client, Request request) {
  MS_CO_TRY(auto response, co_await client->open(std::move(request)));
  LineReader lines(std::move(response), 1000);
  std::vector<std::string> seen;
  for (;;) {
    auto line = co_await lines.next();
    if (!line) {
      seen.push_back(line.error().to_string());
      co_return seen;
    }
    if (!*line) co_return seen;
    seen.emplace_back(**line);
  }
}

TEST_F(ClientTest, StreamsAWatchAsItArrives) {
  serve("a:80", {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n"
                   "2\r\ntw\r\n2\r\no\n\r\n0\r\n\r\n"},
                  {kOk}}});
  EXPECT_THAT(executor_.run(watch(&client(), get("http://a/"))).value(), ElementsAre("one", "two"));
  EXPECT_EQ(client().idle_connections(), 1u);
}

TEST_F(ClientTest, AStreamOutlivesTheRequestTimeoutButNotItsIdleTimeout) {
  options_.timeout = seconds(2);
  serve("a:80", {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n"}}});
  Request request = get("http://a/");
  request.limits.idle_timeout = seconds(60);
  const TimePoint begun = executor_.now();
  const auto seen = executor_.run(watch(&client(), request)).value();
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[0], "one");
  EXPECT_THAT(seen[1], HasSubstr("waiting for the next piece"));
  EXPECT_EQ(executor_.now() - begun, seconds(60));
}

TEST_F(ClientTest, AStreamThatIsCutOffIsNotAnEnd) {
  serve("a:80",
        {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n", {}, true}}});
  const auto seen = executor_.run(watch(&client(), get("http://a/"))).value();
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_THAT(seen[1], HasSubstr("mid-answer"));
}

TEST_F(ClientTest, DroppingAStreamClosesTheConnection) {
  serve("a:80", {{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n"}}});
  { ASSERT_TRUE(executor_.run(client().open(get("http://a/"))).has_value()); }
  executor_.run_ready();
  EXPECT_EQ(client().idle_connections(), 0u);
  EXPECT_EQ(ended_by_client_, 1);
}

TEST_F(ClientTest, AStreamMayOutliveTheClient) {
  serve("a:80", {{{kOk}}});
  auto response = executor_.run(client().open(get("http://a/")));
  ASSERT_TRUE(response.has_value());
  client_.reset();
  EXPECT_EQ(executor_.run(read_all(response->get(), 100)), Result<std::string>("ok"));
}

TEST_F(ClientTest, CancellingClosesTheConnection) {
  serve("a:80", {{{"", hours(1)}, {kOk}}});
  net::CancelScope scope;
  const net::Timer timer(executor_, seconds(1), [&] { scope.cancel(); });
  const auto response = executor_.run(client().send(get("http://a/")), &scope);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Code::kCancelled);
  EXPECT_EQ(client().idle_connections(), 0u);
}

TEST_F(ClientTest, UpgradesToARawStream) {
  serve("a:80", {{{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nSec: y\r\n\r\nfirst"}}});
  Request request = get("http://a/exec");
  request.headers.add("Upgrade", "x");
  auto upgraded = executor_.run(client().upgrade(request));
  ASSERT_TRUE(upgraded.has_value()) << upgraded.error().to_string();
  EXPECT_EQ(upgraded->headers.get("Sec"), "y");
  EXPECT_THAT(requests_[0], HasSubstr("Connection: Upgrade\r\n"));
  char buffer[3];
  EXPECT_EQ(executor_.run(upgraded->stream->read_some(buffer)), Result<std::size_t>(3u));
  EXPECT_EQ(std::string_view(buffer, 3), "fir");
}

TEST_F(ClientTest, AnUpgradeThatNobodyAskedForIsNoAnswer) {
  const std::string switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
  serve("a:80", {{{switched}}, {{switched}}});
  const auto sent = send(get("http://a/"));
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code(), Code::kInvalid);
  EXPECT_THAT(sent.error().to_string(), HasSubstr("101"));
  const auto opened = executor_.run(client().open(get("http://a/")));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::kInvalid);
  // What the server says next is not HTTP.
  EXPECT_EQ(client().idle_connections(), 0u);
  EXPECT_EQ(ended_by_client_, 2);
  EXPECT_THAT(network_.connected, SizeIs(2));
}

TEST_F(ClientTest, ARefusedUpgradeIsTheStatusAsAnError) {
  serve("a:80", {{{"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"}}});
  Request request = get("http://a/exec");
  request.headers.add("Upgrade", "x");
  const auto upgraded = executor_.run(client().upgrade(request));
  ASSERT_FALSE(upgraded.has_value());
  EXPECT_EQ(upgraded.error().code(), Code::kForbidden);
  EXPECT_THAT(upgraded.error().to_string(), HasSubstr("no"));
}

TEST_F(ClientTest, PlainRequestsGoThroughTheProxyInAbsoluteForm) {
  options_.proxy = *ProxyConfig::from_env([](std::string_view name) {
    return name == "HTTP_PROXY" ? std::optional<std::string>("http://u:p@proxy:3128")
                                : std::nullopt;
  });
  serve("proxy:3128", {{{kOk}, {kOk}}});
  EXPECT_TRUE(send(get("http://a/x")).has_value());
  EXPECT_TRUE(send(get("http://b/y")).has_value());
  EXPECT_THAT(requests_[0], StartsWith("GET http://a/x HTTP/1.1\r\nHost: a\r\n"));
  EXPECT_THAT(requests_[0], HasSubstr("Proxy-Authorization: Basic dTpw\r\n"));
  EXPECT_THAT(requests_[1], StartsWith("GET http://b/y HTTP/1.1\r\nHost: b\r\n"));
  EXPECT_THAT(network_.connected, ElementsAre("proxy:3128"));
}

TEST_F(ClientTest, ConnectsThroughAUnixSocket) {
  options_.unix_socket = "/run/x.sock";
  serve("unix:/run/x.sock", {{{kOk}}});
  EXPECT_TRUE(send(get("http://slurm/x")).has_value());
  EXPECT_THAT(requests_[0], HasSubstr("Host: slurm\r\n"));
}

TEST_F(ClientTest, HttpsNeedsTlsSettings) {
  const auto response = send(get("https://a/"));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace mainspring::http
