#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "http/client.h"
#include "http/fake_network.h"
#include "http/line_reader.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

// A server that sends a line, which is the time, after each of `pauses`.
Task<Result<void>> send_times(net::Listener* listener, std::vector<Duration> pauses) {
  const net::Context context = co_await net::current_context();
  MS_CO_TRY(auto stream, co_await listener->accept());
  char request[1000];
  MS_CO_CHECK(co_await stream->read_some(request));
  MS_CO_CHECK(co_await stream->write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (const Duration pause : pauses) {
    MS_CO_CHECK(co_await net::sleep(pause));
    std::string chunk;
    append_chunk(chunk, std::to_string(context.executor->now().time_since_epoch().count()) + "\n");
    MS_CO_CHECK(co_await stream->write(chunk));
  }
  MS_CO_CHECK(co_await stream->write(kLastChunk));
  co_return co_await net::sleep(hours(1));
}

Task<Result<void>> send_body(net::Listener* listener, std::string body) {
  MS_CO_TRY(auto stream, co_await listener->accept());
  char request[1000];
  MS_CO_CHECK(co_await stream->read_some(request));
  MS_CO_CHECK(co_await stream->write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body));
  co_return co_await stream->finish();
}

struct Seen {
  std::vector<Duration> delays;  // Of each line: between sending and seeing it.
  std::set<TimePoint> wake_ups;
};

Task<Result<Seen>> see_times(Client* client, Request request) {
  const net::Context context = co_await net::current_context();
  MS_CO_TRY(auto response, co_await client->open(std::move(request)));
  LineReader lines(std::move(response), 1000);
  Seen seen;
  while (true) {
    MS_CO_TRY(const auto line, co_await lines.next());
    if (!line) co_return seen;
    const TimePoint sent{Duration(std::stoll(std::string(*line)))};
    seen.delays.push_back(context.executor->now() - sent);
    seen.wake_ups.insert(context.executor->now());
  }
}

Task<Result<std::string>> open_and_read(Client* client, Request request) {
  MS_CO_TRY(auto response, co_await client->open(std::move(request)));
  co_return co_await read_all(response.get(), std::size_t{1} << 30);
}

class ClientStreamTest : public ::testing::Test {
 protected:
  Seen see(std::vector<Duration> pauses) {
    group_.spawn(send_times(listener_.get(), std::move(pauses)));
    return executor_.run(see_times(&client_, request())).value();
  }
  static Request request() {
    Request request;
    request.url = *Url::parse("http://a/");
    return request;
  }

  net::VirtualExecutor executor_;
  FakeNetwork network_;
  Client client_{executor_, network_, {}};
  std::unique_ptr<net::Listener> listener_ = *network_.listen(*net::Endpoint::parse("a:80"), {});
  net::TaskGroup group_{executor_};
};

TEST_F(ClientStreamTest, PiecesThatComeAloneAreSeenAtOnce) {
  const Seen seen = see(std::vector<Duration>(100, milliseconds(10)));
  EXPECT_EQ(seen.delays, std::vector<Duration>(100));
}

TEST_F(ClientStreamTest, TheFirstPiecesOfManyAreSeenAtOnce) {
  const Seen seen = see({seconds(1), Duration(0), seconds(1), Duration(0)});
  EXPECT_EQ(seen.delays, std::vector<Duration>(4));
}

TEST_F(ClientStreamTest, PiecesThatComeDenselyAreGatheredAndHardlyDelayed) {
  const Seen seen = see(std::vector<Duration>(1000, microseconds(200)));
  ASSERT_EQ(seen.delays.size(), 1000u);
  EXPECT_LE(seen.wake_ups.size(), 55u);
  EXPECT_THAT(seen.delays, testing::Each(testing::Le(milliseconds(8))));
}

TEST_F(ClientStreamTest, ALargeBodyIsReadWithoutPauses) {
  const std::string body(std::size_t{8} << 20, 'x');
  group_.spawn(send_body(listener_.get(), body));
  const TimePoint begun = executor_.now();
  const auto read = executor_.run(open_and_read(&client_, request()));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_TRUE(*read == body);
  EXPECT_LE(executor_.now() - begun, milliseconds(8));
}

}  // namespace
}  // namespace mainspring::http
