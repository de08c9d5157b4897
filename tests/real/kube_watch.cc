// Watches and reflectors against the real API server: order, bookmarks, streamed lists, versions
// too old, and a server that is killed and started again while we watch. Run by kube_test.py, which
// says in KUBE_CONTROL how to do such things to the cluster.
#include <gmock/gmock.h>

#include <map>

#include "control/reflector.h"
#include "control/sync.h"
#include "kube_fixture.h"
#include "net/task_group.h"

namespace mainspring::kube {
namespace {

using control::Reflector;
using json::Value;
using ::testing::ElementsAre;

void do_to_cluster(const std::string& what) {
  const auto program = from_environment("KUBE_CONTROL");
  ASSERT_TRUE(program) << "run tests/real/kube_test.py instead";
  ASSERT_EQ(std::system((*program + " " + what).c_str()), 0) << what;
}

class Watching : public KubeTest {
 protected:
  Task<Result<std::vector<std::string>>> read_events(WatchOptions options, std::size_t count) {
    MS_CO_TRY(Watch<ConfigMap> watch, co_await config_maps().watch(std::move(options)));
    std::vector<std::string> seen;
    while (seen.size() < count) {
      MS_CO_TRY(auto event, co_await watch.next());
      if (!event) co_return fail(Code::kTransient, "the watch ended early");
      if (event->initial_events_end) seen.push_back("all sent");
      if (!event->object || event->object->meta.name == "kube-root-ca.crt") continue;
      constexpr std::array<const char*, 4> kNames = {"+", "~", "-", "?"};
      seen.push_back(kNames[static_cast<std::size_t>(event->type)] + event->object->meta.name);
    }
    co_return seen;
  }
  void change(std::string_view name, std::string_view value) {
    const auto changed = run(config_maps().apply(config_map(name, value)));
    ASSERT_TRUE(changed) << why(changed);
  }
  std::map<std::string, std::string> on_server() {
    std::map<std::string, std::string> all;
    const auto list = run(config_maps().list());
    EXPECT_TRUE(list) << why(list);
    for (const auto& item : list->items) all[item->meta.name] = item->data.find("key").value_or("");
    return all;
  }
};

TEST_F(Watching, ChangesArriveInOrder) {
  const auto list = run(config_maps().list());
  ASSERT_TRUE(list);
  change("a", "1");
  change("a", "2");
  change("b", "1");
  ASSERT_TRUE(run(config_maps().remove("a")));
  const auto seen = run(read_events({.resource_version = list->resource_version}, 4));
  ASSERT_TRUE(seen) << why(seen);
  EXPECT_THAT(*seen, ElementsAre("+a", "~a", "+b", "-a"));
}

TEST_F(Watching, AStreamedListEndsWithABookmark) {
  change("a", "1");
  change("b", "1");
  const auto seen = run(read_events({.send_initial_events = true}, 3));
  ASSERT_TRUE(seen) << why(seen);
  EXPECT_THAT(*seen, ::testing::UnorderedElementsAre("+a", "+b", "all sent"));
  EXPECT_EQ(seen->back(), "all sent");
}

TEST_F(Watching, ASelectorShowsWhatLeavesItAsDeleted) {
  Value object = config_map("a", "1");
  object["metadata"]["labels"]["in"] = "yes";
  const auto created = run(config_maps().create(object));
  ASSERT_TRUE(created);
  Value out;
  out["metadata"]["labels"]["in"] = "no";
  ASSERT_TRUE(run(config_maps().patch("a", {PatchKind::kMerge, out})));
  const auto seen = run(read_events(
      {.label_selector = "in=yes", .resource_version = created->meta.resource_version}, 1));
  ASSERT_TRUE(seen) << why(seen);
  EXPECT_THAT(*seen, ElementsAre("-a"));
}

TEST_F(Watching, AVersionThatTheServerForgotIsGone) {
  change("a", "1");
  auto page = run(config_maps().list({.limit = 1}));
  ASSERT_TRUE(page);
  ASSERT_FALSE(page->continue_token.empty());
  for (int i = 0; i < 5; ++i) change("a", std::to_string(i));
  do_to_cluster("compact");
  // The server also keeps some history in memory, which only a restart takes away.
  do_to_cluster("restart");
  const auto exact = run(config_maps().list(
      {.resource_version = page->resource_version, .match = VersionMatch::kExact}));
  ASSERT_FALSE(exact);
  EXPECT_EQ(exact.error().code(), Code::kGone) << why(exact);
  const auto next = run(config_maps().list({.limit = 1, .continue_token = page->continue_token}));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code(), Code::kGone) << why(next);
  EXPECT_EQ(status_of(next.error())->reason, "Expired");
  const auto watched = run(read_events({.resource_version = "1"}, 1));
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code(), Code::kGone) << why(watched);
}

class Reflecting : public Watching {
 protected:
  void SetUp() override {
    Watching::SetUp();
    options_.backoff = {.first = milliseconds(50), .max = milliseconds(500)};
  }
  std::map<std::string, std::string> in_store() {
    std::map<std::string, std::string> all;
    store_.for_each([&](const auto& object) {
      all[object->meta.name] = object->data.find("key").value_or("");
    });
    return all;
  }
  static Task<Result<void>> until_equal(Reflecting* self) {
    for (int i = 0; i < 300; ++i) {
      MS_CO_TRY(const auto list, co_await self->config_maps().list());
      std::map<std::string, std::string> server;
      for (const auto& item : list.items) {
        server[item->meta.name] = item->data.find("key").value_or("");
      }
      if (server == self->in_store()) co_return Result<void>();
      MS_CO_CHECK(co_await net::sleep(milliseconds(100)));
    }
    co_return fail(Code::kTimeout, "the store never became what the server has");
  }
  // Runs `action` while a reflector runs.
  void while_reflecting(const std::function<void()>& action) {
    Reflector<ConfigMap> reflector(config_maps(), store_, options_);
    net::TaskGroup group(peer_.loop);
    group.spawn(reflector.run());
    ASSERT_TRUE(run(control::wait_synced(&store_)));
    action();
    const auto equal = run(until_equal(this));
    EXPECT_TRUE(equal) << why(equal);
    group.cancel();
    run(group.join());
  }

  Store<ConfigMap> store_;
  control::ReflectorOptions options_;
};

TEST_F(Reflecting, FollowsTheServer) {
  for (const bool streaming : {true, false}) {
    options_.streaming_list = streaming;
    options_.page_size = 2;
    while_reflecting([&] {
      for (int i = 0; i < 20; ++i) change("m" + std::to_string(i % 7), std::to_string(i));
      ASSERT_TRUE(run(config_maps().remove("m3")));
    });
  }
}

TEST_F(Reflecting, SurvivesAServerThatIsKilledAndStartedAgain) {
  change("kept", "1");
  while_reflecting([&] {
    change("before", "1");
    do_to_cluster("restart");
    change("after", "1");
    ASSERT_TRUE(run(config_maps().remove("before")));
  });
}

TEST_F(Reflecting, ListsAgainWhenItsVersionIsForgotten) {
  change("kept", "1");
  change("removed", "1");
  while_reflecting([&] {
    do_to_cluster("stop");
    do_to_cluster("start");
    ASSERT_TRUE(run(config_maps().remove("removed")));
    change("kept", "2");
    do_to_cluster("compact");
    do_to_cluster("restart");
  });
}

}  // namespace
}  // namespace mainspring::kube
