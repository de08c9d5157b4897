#include "control/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "control/status_pages.h"
#include "http/client.h"
#include "net/socket_network.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

using net::Endpoint;
using net::Task;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Asks from a loop of its own, as the kubelet and Prometheus do.
struct Asker {
  Result<http::Response> get(std::uint16_t port, const std::string& path) {
    http::Request request;
    request.url = *http::Url::parse("http://127.0.0.1:" + std::to_string(port) + path);
    return loop.run(client.send(std::move(request)));
  }
  net::EventLoop loop;
  net::SocketNetwork network{loop};
  http::Client client{loop, network, {}};
};

struct ServingTest : ::testing::Test {
  std::uint16_t listen(http::Router router) {
    const auto port = serving.listen("test", Endpoint::tcp("127.0.0.1", 0), std::move(router));
    EXPECT_TRUE(port.has_value()) << port.error().to_string();
    return port.value_or(0);
  }
  SystemClock clock;
  Health health{clock};
  Metrics metrics;
  Serving serving{Logger()};
  Asker asker;
};

TEST_F(ServingTest, ServesThePagesAboutTheProcessWhileOthersWriteThem) {
  http::Router router;
  add_health_pages(router, health);
  add_metrics_page(router, metrics, nullptr);
  const std::uint16_t port = listen(std::move(router));
  const Check ready = health.add("caches", HealthKind::kReady);
  const Counter counter = metrics.counter("things_total", "Things.");
  serving.start();
  for (int i = 0; i < 20; ++i) {
    i % 2 == 0 ? ready.ok() : ready.fail("not listed yet: pods");
    counter.add();
    EXPECT_EQ(asker.get(port, "/readyz")->status, i % 2 == 0 ? 200 : 500);
    EXPECT_THAT(asker.get(port, "/metrics")->body,
                HasSubstr("things_total " + std::to_string(i + 1)));
  }
  EXPECT_THAT(asker.get(port, "/readyz")->body,
              HasSubstr("[-]caches failed: not listed yet: pods"));
  EXPECT_EQ(asker.get(port, "/healthz")->body, "ok");
  serving.stop(seconds(5));
  EXPECT_FALSE(asker.get(port, "/healthz").has_value());
}

TEST_F(ServingTest, APortInUseIsKnownBeforeAnythingStarts) {
  const std::uint16_t port = listen(http::Router());
  Serving second{Logger()};
  const auto refused = second.listen("metrics", Endpoint::tcp("127.0.0.1", port), http::Router());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(),
              AllOf(HasSubstr("serving metrics"), HasSubstr(std::to_string(port))));
}

struct Gate {
  std::promise<void> entered;
  net::OneShot<net::Unit> open;
};
Task<Result<http::Response>> pass(Gate* gate) {
  gate->entered.set_value();
  MS_CO_CHECK(co_await gate->open.wait());
  co_return http::text_response(200, "done");
}

TEST_F(ServingTest, LetsARequestInFlightFinish) {
  Gate gate;
  http::Router router;
  router.add(http::Method::kGet, "/slow", [&gate](http::Request) { return pass(&gate); });
  const std::uint16_t port = listen(std::move(router));
  serving.start();
  auto answer = std::async(std::launch::async, [&] { return asker.get(port, "/slow"); });
  gate.entered.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { serving.stop(minutes(1)); });
  // The doors are closed when nobody can come in any more, and then the one inside may go on.
  Asker other;
  while (other.get(port, "/slow2")) {
  }
  serving.loop().post([&gate] { gate.open.set(net::Unit{}); });
  const auto response = answer.get();
  ASSERT_TRUE(response.has_value()) << response.error().to_string();
  EXPECT_EQ(response->body, "done");
  stopped.get();
}

TEST_F(ServingTest, CutsOffWhatDoesNotFinishInTime) {
  Gate gate;
  http::Router router;
  router.add(http::Method::kGet, "/slow", [&gate](http::Request) { return pass(&gate); });
  const std::uint16_t port = listen(std::move(router));
  serving.start();
  auto answer = std::async(std::launch::async, [&] { return asker.get(port, "/slow"); });
  gate.entered.get_future().wait();
  serving.stop(Duration::zero());
  const auto response = answer.get();
  EXPECT_FALSE(response && response->ok());
}

Task<Result<void>> run_until_told(std::promise<void>* started, std::atomic<bool>* ended) {
  started->set_value();
  Result<void> slept = co_await net::sleep(hours(1));
  *ended = true;
  co_return slept;
}

TEST_F(ServingTest, TasksRunUntilItStopsAlsoWithoutAnyDoor) {
  std::promise<void> started;
  std::atomic<bool> ended = false;
  serving.add_task("waiting", run_until_told(&started, &ended));
  serving.start();
  started.get_future().wait();
  std::promise<void> turned;
  serving.loop().post([&] { serving.loop().post([&] { turned.set_value(); }); });
  turned.get_future().wait();
  EXPECT_FALSE(ended);
  serving.stop(seconds(1));
  EXPECT_TRUE(ended);
}

Task<Result<void>> fail_at_once() { co_return fail(Code::kInternal, "broken"); }

TEST(Serving, ATaskThatFailsIsLoggedAndTheRestIsServed) {
  const SystemClock clock;
  const auto sink = std::make_shared<MemoryLogSink>();
  Serving serving(Logger(Logger::Options{&clock, sink}));
  serving.add_task("certificates", fail_at_once());
  const auto port = serving.listen("test", Endpoint::tcp("127.0.0.1", 0), http::Router());
  ASSERT_TRUE(port.has_value());
  serving.start();
  Asker asker;
  EXPECT_EQ(asker.get(*port, "/")->status, 404);
  serving.stop(seconds(1));
  EXPECT_THAT(sink->lines(),
              ::testing::Contains(AllOf(HasSubstr("certificates"), HasSubstr("broken"))));
}

TEST(Serving, OneThatNeverStartedEndsQuietly) {
  Serving serving{Logger()};
  EXPECT_TRUE(serving.listen("a", Endpoint::tcp("127.0.0.1", 0), http::Router()).has_value());
}

}  // namespace
}  // namespace mainspring::control
