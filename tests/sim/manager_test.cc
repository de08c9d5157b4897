// A process of controllers against the API in memory: how it starts, hands over and ends.
#include "control/manager.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/core_objects.h"
#include "net/virtual_executor.h"
#include "net/wait.h"
#include "sim/kube_api.h"

namespace mainspring::sim {
namespace {

using control::Key;
using control::Manager;
using control::Requeue;
using kube::ConfigMap;
using kube::Namespace;
using net::Task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ManagerTest : public ::testing::Test {
 protected:
  // Keeps the writes that arrive, and is slow or deaf where told to.
  struct Wire final : http::Transport {
    explicit Wire(KubeApi& to) : api(to) {}
    Task<Result<http::Response>> send(http::Request request) override {
      if (cut) co_return fail(Code::kTransient, "connection refused");
      if (request.method != http::Method::kGet) {
        MS_CO_CHECK(co_await net::sleep(slow));
        writes.push_back(fmt::format("{} {}", http::to_string(request.method), request.url.path));
      }
      co_return co_await api.send(std::move(request));
    }
    Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
      if (cut) co_return fail(Code::kTransient, "connection refused");
      MS_CO_TRY(auto stream, co_await api.open(std::move(request)));
      co_return std::make_unique<Mute>(std::move(stream), mute);
    }
    struct Mute final : http::StreamingResponse {
      Mute(std::unique_ptr<http::StreamingResponse> from, const bool& is)
          : stream(std::move(from)), mute(is) {}
      int status() const override { return stream->status(); }
      const http::Headers& headers() const override { return stream->headers(); }
      Task<Result<std::string_view>> next_chunk() override {
        auto chunk = co_await stream->next_chunk();
        while (mute) MS_CO_CHECK(co_await net::sleep(seconds(1)));
        co_return chunk;
      }
      std::unique_ptr<http::StreamingResponse> stream;
      const bool& mute;
    };
    Task<Result<http::Upgraded>> upgrade(http::Request request) override {
      return api.upgrade(std::move(request));
    }
    KubeApi& api;
    Duration slow{};
    bool cut = false;
    bool mute = false;  // Watches that are open say nothing.
    std::vector<std::string> writes;
  };

  ManagerTest() {
    for (const char* ns : {"a", "b", "c"}) EXPECT_TRUE(api_.add_namespace(ns).has_value());
  }
  void add_map(const char* ns, const char* name) {
    json::Value map = json::Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"]["name"] = name;
    map["metadata"]["namespace"] = ns;
    ASSERT_TRUE(api_.add(std::move(map)).has_value());
  }
  static control::LeaderElector::Options lease(std::string identity) {
    return {.ns = "a", .name = "leader", .identity = std::move(identity)};
  }
  std::string holder() const {
    const Object found = api_.find(kube::Lease::kResource, "a", "leader");
    if (!found) return "";
    return std::string(found->at_pointer("/spec/holderIdentity")->as_string().value_or(""));
  }
  Task<Result<void>> note_end(Manager* manager, std::optional<Result<void>>* out) {
    out->emplace(co_await manager->run());
    co_return Result<void>();
  }

  static Task<Result<Requeue>> note(std::vector<std::string>* seen, Store<ConfigMap>* maps,
                                    Key key) {
    seen->push_back(key.to_string() + (maps->synced() ? " synced" : " too early"));
    co_return Requeue{};
  }
  // Two writes, one after the other.
  Task<Result<Requeue>> write_twice(Key key) {
    const kube::Api<ConfigMap> maps(client_, key.ns);
    for (const char* name : {"x", "y"}) {
      json::Value map;
      map["metadata"]["name"] = name;
      MS_CO_CHECK(co_await maps.apply(std::move(map)));
    }
    if (manager_ != nullptr) {
      manager_->events().event({"v1", "ConfigMap", "a", "one", ""}, control::EventType::kNormal,
                               "Stopped", "Stopping", "the end");
    }
    co_return Requeue{};
  }
  static Task<Result<void>> fail_after(Duration time) {
    MS_CO_CHECK(co_await net::sleep(time));
    co_return fail(Code::kInternal, "broken");
  }

  net::VirtualExecutor executor_;
  KubeApi api_{executor_, {}};
  Wire wire_{api_};
  Random random_{5};
  kube::Client client_{
      wire_, executor_.clock(), random_, {.server = *http::Url::parse("https://x")}};
  std::optional<Result<void>> ended_;
  Manager* manager_ = nullptr;  // For what write_twice() tells.
};

TEST_F(ManagerTest, ReconcilesNothingBeforeAllIsListedAndSaysSo) {
  control::Health health(executor_.clock());
  add_map("a", "one");
  Manager manager(executor_, client_, random_, {.name = "m", .health = &health});
  auto& maps = manager.store<ConfigMap>();
  std::vector<std::string> seen;
  auto& controller = manager.add(
      {.name = "c", .reconcile = [&](Key key) { return note(&seen, &maps, std::move(key)); }});
  controller.watch(maps);
  wire_.cut = true;
  net::TaskGroup life(executor_);
  life.spawn(note_end(&manager, &ended_));
  executor_.advance(seconds(10));
  EXPECT_THAT(seen, ElementsAre());
  EXPECT_THAT(health.report(control::HealthKind::kReady).to_text(),
              HasSubstr("not listed yet: configmaps"));
  wire_.cut = false;
  executor_.advance(minutes(2));
  EXPECT_THAT(seen, ElementsAre("a/one synced"));
  EXPECT_TRUE(health.report(control::HealthKind::kReady).ok);
}

TEST_F(ManagerTest, SeesOnlyItsNamespacesAndAllThatHasNone) {
  for (const char* ns : {"a", "b", "c"}) add_map(ns, "one");
  Manager manager(executor_, client_, random_, {.name = "m", .namespaces = {"a", "b", "a"}});
  auto& maps = manager.store<ConfigMap>();
  auto& namespaces = manager.store<Namespace>();
  EXPECT_EQ(&maps, &manager.store<ConfigMap>());
  EXPECT_NE(&maps, &manager.store<ConfigMap>({.label_selector = "x"}));
  net::TaskGroup life(executor_);
  life.spawn(note_end(&manager, &ended_));
  executor_.advance(seconds(5));
  EXPECT_TRUE(maps.synced());
  EXPECT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps.get("c", "one"), nullptr);
  EXPECT_NE(namespaces.get("", "c"), nullptr);
}

TEST_F(ManagerTest, EndsInOrderWritesThenEventsThenTheLease) {
  add_map("a", "one");
  Manager manager(executor_, client_, random_, {.name = "m.dev/m", .leader = lease("me")});
  auto& maps = manager.store<ConfigMap>({.field_selector = "metadata.name=one"});
  auto& controller =
      manager.add({.name = "c", .reconcile = [&](Key key) { return write_twice(std::move(key)); }});
  controller.watch(maps);
  net::CancelScope stop;
  net::TaskGroup life(executor_, &stop);
  life.spawn(note_end(&manager, &ended_));
  wire_.slow = seconds(1);
  executor_.advance(milliseconds(1500));
  EXPECT_EQ(holder(), "me");
  manager_ = &manager;
  wire_.writes.clear();
  stop.cancel();
  executor_.advance(seconds(20));
  ASSERT_TRUE(ended_ && ended_->has_value());
  EXPECT_EQ(holder(), "");
  std::erase(wire_.writes, "PATCH /apis/coordination.k8s.io/v1/namespaces/a/leases/leader");
  ASSERT_GE(wire_.writes.size(), 2u);
  EXPECT_EQ(wire_.writes[wire_.writes.size() - 1],
            "POST /apis/events.k8s.io/v1/namespaces/a/events");
  EXPECT_EQ(wire_.writes[wire_.writes.size() - 2], "PATCH /api/v1/namespaces/a/configmaps/y");
}

TEST_F(ManagerTest, TheLeaseIsLeftToRunOutWhereSomethingWasCutOff) {
  add_map("a", "one");
  Manager manager(executor_, client_, random_, {.name = "m", .leader = lease("me")});
  auto& maps = manager.store<ConfigMap>();
  auto& controller = manager.add({.name = "c",
                                  .reconcile = [&](Key key) { return write_twice(std::move(key)); },
                                  .grace = seconds(3)});
  controller.watch(maps);
  net::CancelScope stop;
  net::TaskGroup life(executor_, &stop);
  life.spawn(note_end(&manager, &ended_));
  executor_.advance(milliseconds(1));
  wire_.slow = seconds(4);
  add_map("a", "two");
  executor_.advance(seconds(1));
  stop.cancel();
  executor_.advance(seconds(30));
  ASSERT_TRUE(ended_ && ended_->has_value());
  EXPECT_EQ(holder(), "me");
}

TEST_F(ManagerTest, AnotherTakesOverAndOneThatLostTheLeaseEndsAtOnce) {
  kube::Client other_client(api_, executor_.clock(), random_,
                            {.server = *http::Url::parse("https://x")});
  Manager first(executor_, client_, random_, {.name = "m", .leader = lease("first")});
  Manager second(executor_, other_client, random_, {.name = "m", .leader = lease("second")});
  net::TaskGroup life(executor_);
  std::optional<Result<void>> second_ended;
  life.spawn(note_end(&first, &ended_));
  executor_.advance(seconds(3));
  life.spawn(note_end(&second, &second_ended));
  executor_.advance(seconds(20));
  EXPECT_TRUE(first.leading());
  EXPECT_FALSE(second.leading());
  wire_.cut = true;
  executor_.advance(seconds(25));
  ASSERT_TRUE(ended_ && !ended_->has_value());
  EXPECT_THAT(ended_->error().to_string(), HasSubstr("was not renewed"));
  EXPECT_TRUE(second.leading());
  EXPECT_EQ(holder(), "second");
}

TEST_F(ManagerTest, OneThatTakesOverSeesWhatWasWrittenBeforeItActs) {
  kube::Client other_client(api_, executor_.clock(), random_,
                            {.server = *http::Url::parse("https://x")});
  add_map("a", "one");
  Manager first(executor_, other_client, random_, {.name = "m", .leader = lease("first")});
  Manager second(executor_, client_, random_, {.name = "m", .leader = lease("second")});
  auto& maps = second.store<ConfigMap>();
  std::vector<std::string> seen;
  bool told = false;
  second.on_takeover([&] { told = true; });
  second
      .add({.name = "c",
            .reconcile =
                [&](Key key) {
                  seen.push_back(maps.get("a", "two") ? "knows" : "does not know");
                  return note(&seen, &maps, std::move(key));
                }})
      .watch(maps);
  net::CancelScope stop;
  net::TaskGroup life(executor_, &stop);
  life.spawn(note_end(&first, &ended_));
  executor_.advance(seconds(3));
  net::TaskGroup next_life(executor_);
  std::optional<Result<void>> second_ended;
  next_life.spawn(note_end(&second, &second_ended));
  executor_.advance(seconds(10));
  ASSERT_EQ(maps.size(), 1u);
  // A watch that lags says nothing of what the leader still writes.
  wire_.mute = true;
  add_map("a", "two");
  EXPECT_FALSE(told);
  stop.cancel();
  executor_.advance(seconds(5));
  ASSERT_TRUE(second.leading());
  EXPECT_TRUE(told);
  ASSERT_FALSE(seen.empty());
  for (std::size_t i = 0; i < seen.size(); i += 2) EXPECT_EQ(seen[i], "knows");
}

TEST_F(ManagerTest, OneThatLeadsFromTheStartListsOnce) {
  Metrics metrics;
  Manager manager(executor_, client_, random_,
                  {.name = "m", .leader = lease("me"), .metrics = &metrics});
  auto& maps = manager.store<ConfigMap>();
  bool told = false;
  manager.on_takeover([&] { told = true; });
  net::TaskGroup life(executor_);
  life.spawn(note_end(&manager, &ended_));
  executor_.advance(seconds(30));
  EXPECT_TRUE(maps.current());
  EXPECT_FALSE(told);
  EXPECT_THAT(metrics.to_text(), HasSubstr("reflector_lists_total{name=\"configmaps\"} 1"));
}

TEST_F(ManagerTest, WorkThatFailsEndsItAlsoWhileAnotherLeads) {
  for (const bool waits : {false, true}) {
    kube::Client other_client(api_, executor_.clock(), random_,
                              {.server = *http::Url::parse("https://x")});
    Manager leader(executor_, other_client, random_, {.name = "m", .leader = lease("leader")});
    net::TaskGroup life(executor_);
    std::optional<Result<void>> leader_ended;
    if (waits) life.spawn(note_end(&leader, &leader_ended));
    executor_.advance(seconds(30));
    Manager manager(executor_, client_, random_, {.name = "m", .leader = lease("me")});
    manager.add_work("certificates", Manager::When::kAlways,
                     [] { return fail_after(seconds(20)); });
    ended_.reset();
    life.spawn(note_end(&manager, &ended_));
    executor_.advance(seconds(30));
    ASSERT_TRUE(ended_ && !ended_->has_value()) << waits;
    EXPECT_EQ(ended_->error().to_string(), "certificates: broken");
  }
}

}  // namespace
}  // namespace mainspring::sim
