// A small controller whole, from API to API, under faults: in every namespace with a team it keeps
// a ConfigMap "about" that names it. Whatever goes wrong on the way, in the end the world is as
// desired; and at rest nothing is written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds_testing.h"
#include "control/applier.h"
#include "control/manager.h"
#include "kube/core_objects.h"
#include "net/virtual_executor.h"
#include "sim/faults.h"
#include "sim/kube_api.h"

namespace mainspring::sim {
namespace {

using control::Key;
using control::Requeue;
using kube::ConfigMap;
using kube::Namespace;
using net::Task;

constexpr const char* kLabel = "example.com/team";

// Counts what changes something.
class Counting final : public http::Transport {
 public:
  explicit Counting(http::Transport& next) : next_(next) {}
  Task<Result<http::Response>> send(http::Request request) override {
    if (request.method != http::Method::kGet) ++writes;
    return next_.send(std::move(request));
  }
  Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    return next_.open(std::move(request));
  }
  Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return next_.upgrade(std::move(request));
  }
  int writes = 0;

 private:
  http::Transport& next_;
};

// One process: dies with this.
struct About {
  About(net::Executor& executor, http::Transport& transport, std::uint64_t seed)
      : random(seed),
        client(transport, executor.clock(), random, {.server = *http::Url::parse("https://sim")}),
        manager(executor, client, random, {.name = "example.com-about"}),
        namespaces(manager.store<Namespace>()),
        maps(manager.store<ConfigMap>()),
        applier(client, {.field_manager = "about"}),
        life(executor) {
    control::Controller& controller = manager.add(
        {.name = "about", .reconcile = [this](Key key) { return reconcile(std::move(key)); }});
    controller.watch(namespaces);
    controller.watch<ConfigMap>(maps, [](const auto& before, const auto& after, auto& to) {
      const kube::Meta& meta = after ? after->meta : before->meta;
      if (meta.name == "about") to.enqueue(Key("", meta.ns));
    });
    life.spawn(manager.run());
  }

  Task<Result<Requeue>> reconcile(Key key) {
    const auto ns = namespaces.get(key.view());
    if (!ns || ns->meta.deleting()) co_return Requeue{};
    const auto team = ns->meta.labels.find(kLabel);
    if (!team) co_return Requeue{};
    control::ApplyRequest wanted{.resource = ConfigMap::kResource};
    wanted.desired["metadata"]["name"] = "about";
    wanted.desired["metadata"]["namespace"] = key.name;
    wanted.desired["data"]["team"] = *team;
    if (const auto live = maps.get(key.name, "about")) wanted.seen = live->meta;
    MS_CO_CHECK(co_await applier.apply(std::move(wanted)));
    co_return Requeue{};
  }

  Random random;
  kube::Client client;
  control::Manager manager;
  Store<Namespace>& namespaces;
  Store<ConfigMap>& maps;
  control::Applier applier;
  net::TaskGroup life;
};

class Scene {
 public:
  explicit Scene(std::uint64_t seed) : chance_(seed), seed_(seed) {
    for (int i = 0; i < kNamespaces; ++i) EXPECT_TRUE(api_.add_namespace(name(i)).has_value());
  }

  std::string play() {
    start();
    for (int step = 0; step < 60; ++step) {
      act();
      executor_.advance(milliseconds(chance_.below(3000)));
    }
    faults_.heal();
    if (!about_) start();
    executor_.advance(minutes(6));
    if (std::string wrong = differences(); !wrong.empty()) {
      return fmt::format("seed {}: {}", seed_, wrong);
    }
    const int before = counting_.writes;
    executor_.advance(minutes(10));
    if (counting_.writes == before) return "";
    return fmt::format("seed {}: {} writes at rest", seed_, counting_.writes - before);
  }

 private:
  static constexpr int kNamespaces = 4;
  static std::string name(int i) { return fmt::format("ns-{}", i); }

  void start() { about_.emplace(executor_, faults_, chance_.next()); }
  http::Response ask(http::Method method, const std::string& path, std::string body = "") {
    http::Request request;
    request.method = method;
    request.url = *http::Url::parse("https://sim" + path);
    request.headers.set("Content-Type", "application/merge-patch+json");
    request.body = std::move(body);
    return api_.answer(request);
  }
  void label(const std::string& ns, const std::string& team) {
    ask(http::Method::kPatch, "/api/v1/namespaces/" + ns,
        fmt::format(R"({{"metadata":{{"labels":{{"{}":{}}}}}}})", kLabel, team));
  }
  void act() {
    const std::string ns = name(static_cast<int>(chance_.below(kNamespaces)));
    const std::string map = "/api/v1/namespaces/" + ns + "/configmaps/about";
    switch (chance_.below(8)) {
      case 0:
      case 1:
        return label(ns, fmt::format("\"team-{}\"", chance_.below(3)));
      case 2:
        ask(http::Method::kDelete, map);
        return;
      case 3:
        ask(http::Method::kPatch, map, R"({"data":{"team":"defaced"}})");
        return;
      case 4:
        return api_.drop_watches();
      case 5:
        api_.compact();
        return api_.drop_watches();
      case 6:
        about_.reset();
        return;
      default:
        if (!about_) start();
    }
  }
  std::string differences() const {
    for (int i = 0; i < kNamespaces; ++i) {
      const Object ns = api_.find(Namespace::kResource, "", name(i));
      const json::Value* labels = ns->at_pointer("/metadata/labels");
      const json::Value* team = labels == nullptr ? nullptr : labels->find(kLabel);
      const Object map = api_.find(ConfigMap::kResource, name(i), "about");
      if (team == nullptr) {
        if (map) return name(i) + " has a map and no team";
        continue;
      }
      const json::Value* told = map ? map->at_pointer("/data/team") : nullptr;
      if (told == nullptr || *told != *team) return name(i) + " is not as desired";
    }
    return "";
  }

  Random chance_;
  std::uint64_t seed_;
  net::VirtualExecutor executor_;
  KubeApi api_{executor_, {}};
  Counting counting_{api_};
  Faults faults_{counting_,
                 {.seed = seed_,
                  .delay_max = milliseconds(300),
                  .refuse = 0.1,
                  .lose_request = 0.05,
                  .lose_answer = 0.05,
                  .duplicate = 0.05,
                  .stale_list = 0.2,
                  .break_watch = 0.05,
                  .cut_line = 0.02}};
  std::optional<About> about_;
};

TEST(ControllerSim, InTheEndTheWorldIsAsDesiredAndAtRestNothingIsWritten) {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) ASSERT_EQ(Scene(seed).play(), "");
}

}  // namespace
}  // namespace mainspring::sim
