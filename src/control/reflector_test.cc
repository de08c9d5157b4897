#include "control/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/metrics.h"
#include "control/fed_transport.h"
#include "control/sync.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace mainspring::control {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct Thing {
  inline static const kube::Resource kResource{"example.net", "v1", "things", "Thing", true};
  kube::Meta meta;
  std::int64_t size = 0;
  bool operator==(const Thing&) const = default;
};
constexpr auto json_fields(json::Tag<Thing>) {
  return json::fields(json::field("metadata", &Thing::meta),
                      json::group("spec", json::field("size", &Thing::size)));
}

std::string thing(std::string_view name, int version, std::string_view size) {
  return R"({"metadata":{"name":")" + std::string(name) + R"(","resourceVersion":")" +
         std::to_string(version) + R"("},"spec":{"size":)" + std::string(size) + "}}";
}
std::string event(std::string_view type, const std::string& object) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + object + "}";
}
std::string bookmark(int version, bool initial_end = false) {
  return event(
      "BOOKMARK",
      R"({"metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
          (initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"}}})" : "}}"));
}
std::string list(int version, const std::string& items, std::string_view token = "") {
  return R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"(","continue":")" +
         std::string(token) + R"("},"items":[)" + items + "]}";
}
std::string status(int code, std::string_view reason, std::string_view cause = "") {
  return R"({"kind":"Status","status":"Failure","reason":")" + std::string(reason) +
         R"(","message":"no","details":{"causes":[{"reason":")" + std::string(cause) +
         R"("}]},"code":)" + std::to_string(code) + "}";
}

class ReflectorTest : public ::testing::Test {
 protected:
  void start() {
    options_.log = Logger({.clock = &executor_.clock(), .sink = sink_});
    reflector_.emplace(kube::Api<Thing>(client_), store_, options_);
    group_.spawn(reflector_->run());
    executor_.run_ready();
  }
  // Begins in pages, with these objects at version 10, and returns the watch that follows.
  Feed start_listed(const std::string& items) {
    options_.streaming_list = false;
    api_.answer(200, list(10, items));
    Feed watch = api_.stream();
    start();
    return watch;
  }
  // "a=1 b=2"
  std::string contents() const {
    std::map<std::string, std::int64_t> sizes;
    store_.for_each([&](const auto& object) { sizes[object->meta.name] = object->size; });
    std::string text;
    for (const auto& [name, size] : sizes) {
      text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
    }
    return text;
  }
  void settle() { executor_.run_ready(); }
  const std::string& last_request() const { return api_.requests.back(); }
  std::string logged() const {
    std::string text;
    for (const auto& line : sink_->lines()) text += line + "\n";
    return text;
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  FedTransport api_;
  kube::Client client_{
      api_, executor_.clock(), random_, {.server = *http::Url::parse("http://127.0.0.1")}};
  Store<Thing> store_;
  ReflectorOptions options_{.streaming_list = true};
  std::shared_ptr<MemoryLogSink> sink_ = std::make_shared<MemoryLogSink>();
  std::optional<Reflector<Thing>> reflector_;
  net::TaskGroup group_{executor_};
};

TEST_F(ReflectorTest, FillsTheStoreFromOneStreamWhereTheServerCan) {
  const Feed watch = api_.stream();
  start();
  EXPECT_THAT(
      last_request(),
      AllOf(HasSubstr("sendInitialEvents=true"), HasSubstr("allowWatchBookmarks=true"),
            HasSubstr("resourceVersionMatch=NotOlderThan"), Not(HasSubstr("resourceVersion="))));
  watch.line(event("ADDED", thing("b", 9, "2")));
  watch.line(event("ADDED", thing("a", 4, "1")));
  settle();
  EXPECT_FALSE(store_.synced());
  EXPECT_EQ(contents(), "");

  watch.line(bookmark(12, true));
  settle();
  EXPECT_TRUE(store_.synced());
  EXPECT_TRUE(reflector_->synced());
  EXPECT_EQ(contents(), "a=1 b=2");

  watch.line(event("MODIFIED", thing("a", 13, "5")));
  watch.line(event("DELETED", thing("b", 14, "2")));
  settle();
  EXPECT_EQ(contents(), "a=5");
  EXPECT_THAT(api_.requests, SizeIs(1));
}

TEST_F(ReflectorTest, ListsInPagesWhereTheServerDoesNotStreamAndAsksItNoMore) {
  const Feed refusal = api_.stream(422);
  refusal.send(status(422, "Invalid"));
  refusal.end();
  api_.answer(200, list(10, thing("a", 3, "1"), "more"));
  api_.answer(200, list(10, thing("b", 4, "2")));
  Feed watch = api_.stream();
  start();
  watch.end();
  watch = api_.stream(410);
  watch.send(status(410, "Expired"));
  watch.end();
  api_.answer(200, list(20, ""));
  api_.stream();
  EXPECT_EQ(contents(), "a=1 b=2");
  executor_.advance(seconds(5));

  EXPECT_EQ(contents(), "");
  EXPECT_THAT(api_.requests,
              ElementsAre(HasSubstr("sendInitialEvents"), Not(HasSubstr("continue")),
                          HasSubstr("continue=more"), HasSubstr("resourceVersion=10"),
                          HasSubstr("resourceVersion=10"), HasSubstr("limit=500"),
                          HasSubstr("resourceVersion=20")));
}

TEST_F(ReflectorTest, GivesUpOnStreamedListsThatAreNeverComplete) {
  const Feed silent = api_.stream();
  silent.line(event("ADDED", thing("a", 3, "1")));
  api_.stream().end();
  api_.answer(200, list(10, thing("a", 3, "1")));
  api_.stream();
  start();
  executor_.advance(minutes(1));

  EXPECT_TRUE(silent.left());
  EXPECT_TRUE(store_.synced());
  EXPECT_THAT(logged(), HasSubstr("does not complete streamed lists"));
}

TEST_F(ReflectorTest, StreamThatBreaksBeforeItIsCompleteLeavesTheStoreAlone) {
  const Feed first = api_.stream();
  start();
  first.line(event("ADDED", thing("a", 3, "1")));
  first.line(bookmark(5, true));
  first.line(event("ERROR", status(410, "Expired")));
  const Feed second = api_.stream();
  executor_.advance(seconds(2));
  second.line(event("ADDED", thing("b", 7, "2")));
  second.drop();
  const Feed third = api_.stream();
  executor_.advance(seconds(2));
  EXPECT_EQ(contents(), "a=1");
  EXPECT_THAT(last_request(), HasSubstr("sendInitialEvents"));

  third.line(event("ADDED", thing("b", 7, "2")));
  third.line(bookmark(8, true));
  settle();
  EXPECT_EQ(contents(), "b=2");
}

TEST_F(ReflectorTest, GoesOnWhereADroppedConnectionStopped) {
  const Feed watch = start_listed("");
  watch.line(event("ADDED", thing("a", 11, "1")));
  watch.line(bookmark(15));
  watch.send(R"({"type":"ADDED","object":{"meta)");
  watch.drop();
  const Feed next = api_.stream();
  executor_.advance(seconds(2));

  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=15"));
  EXPECT_EQ(contents(), "a=1");
  EXPECT_THAT(reflector_->last_error(), std::nullopt);
}

TEST_F(ReflectorTest, GoesOnAfterTheLastEventWhereThereAreNoBookmarks) {
  const Feed watch = start_listed("");
  watch.line(event("ADDED", thing("a", 11, "1")));
  watch.line(event("DELETED", thing("a", 12, "1")));
  watch.end();
  api_.stream();
  executor_.advance(seconds(2));

  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=12"));
}

TEST_F(ReflectorTest, ListsAgainWhenItsVersionIsTooOld) {
  const Feed watch = start_listed(thing("a", 3, "1") + "," + thing("b", 4, "2"));
  watch.line(event("ERROR", status(410, "Expired")));
  api_.answer(200, list(30, thing("b", 4, "2")));
  api_.stream();
  executor_.advance(seconds(2));

  EXPECT_EQ(contents(), "b=2");
  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=30"));
}

TEST_F(ReflectorTest, ListsAnewWhenToldToAndVouchesForNothingOlder) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  reflector_->renew();
  EXPECT_FALSE(store_.current());
  // What the old watch still says is no list.
  watch.line(event("MODIFIED", thing("a", 11, "2")));
  api_.answer(200, list(30, thing("b", 20, "5")));
  api_.stream();
  settle();
  EXPECT_TRUE(watch.left());
  EXPECT_TRUE(store_.current());
  EXPECT_EQ(contents(), "b=5");
  EXPECT_THAT(api_.requests[api_.requests.size() - 2], Not(HasSubstr("resourceVersion")));
  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=30"));
}

TEST_F(ReflectorTest, AListThatBeganBeforeItWasToldToListAnewDoesNotCount) {
  const Feed streamed = api_.stream();
  start();
  streamed.line(event("ADDED", thing("a", 4, "1")));
  settle();
  reflector_->renew();
  streamed.line(bookmark(10, true));
  const Feed second = api_.stream();
  settle();
  EXPECT_FALSE(store_.current());
  second.line(event("ADDED", thing("b", 14, "2")));
  second.line(bookmark(20, true));
  settle();
  EXPECT_TRUE(store_.current());
  EXPECT_EQ(contents(), "b=2");
}

TEST_F(ReflectorTest, WaitsForNothingWhenToldToListAnew) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  for (int i = 0; i < 8; ++i) api_.stream(503);
  watch.drop();
  executor_.advance(seconds(20));
  reflector_->renew();
  api_.answer(200, list(30, thing("a", 3, "1")));
  settle();
  EXPECT_TRUE(store_.current());
}

TEST_F(ReflectorTest, AKindThatIsNotServedIsWhatIsTrueOfIt) {
  options_.streaming_list = false;
  options_.scope.optional = true;
  api_.answer(404, status(404, "NotFound"));
  start();
  reflector_->renew();
  EXPECT_FALSE(store_.current());
  api_.answer(404, status(404, "NotFound"));
  settle();
  EXPECT_TRUE(store_.current());
}

TEST_F(ReflectorTest, StartsOverWhenAPageExpiresAndThenAsksForAllAtOnce) {
  options_.streaming_list = false;
  for (int i = 0; i < 3; ++i) {
    api_.answer(200, list(10, thing("old", 3, "1"), "more"));
    api_.answer(410, status(410, "Expired"));
  }
  api_.answer(200, list(11, thing("a", 3, "1")));
  api_.stream();
  start();

  EXPECT_EQ(contents(), "a=1");
  ASSERT_THAT(api_.requests, SizeIs(8));
  EXPECT_THAT(api_.requests[6], Not(HasSubstr("limit")));
}

TEST_F(ReflectorTest, DoesNotHammerAServerThatEndsEveryWatchAtOnce) {
  start_listed("").end();
  for (int i = 0; i < 100; ++i) api_.stream().end();
  executor_.advance(seconds(10));
  EXPECT_THAT(api_.requests, SizeIs(12));
}

TEST_F(ReflectorTest, DoesNotHammerAServerWhoseVersionsExpireAtOnce) {
  start_listed("").line(event("ERROR", status(410, "Expired")));
  for (int i = 0; i < 100; ++i) {
    api_.answer(200, list(10, ""));
    const Feed watch = api_.stream();
    watch.line(bookmark(11));
    watch.line(event("ERROR", status(410, "Expired")));
  }
  executor_.advance(minutes(5));
  EXPECT_LT(api_.requests.size(), 50U);
}

TEST_F(ReflectorTest, NoticesAConnectionThatIsSilentForTooLong) {
  const Feed silent = start_listed("");
  executor_.advance(minutes(5));
  EXPECT_FALSE(silent.left());
  api_.stream();
  executor_.advance(minutes(1));

  EXPECT_TRUE(silent.left());
  EXPECT_THAT(api_.requests, SizeIs(3));
  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=10"));
}

TEST_F(ReflectorTest, BusyConnectionIsNotSilent) {
  const Feed watch = start_listed("");
  for (int minute = 0; minute < 30; ++minute) {
    watch.line(bookmark(20 + minute));
    executor_.advance(minutes(1));
  }
  EXPECT_THAT(api_.requests, SizeIs(2));
  EXPECT_EQ(reflector_->last_event_time(), executor_.now() - minutes(1));
}

TEST_F(ReflectorTest, ObjectThatCannotBeReadIsNamedAndNothingIsLost) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  watch.line(event("MODIFIED", thing("a", 11, "\"large\"")));
  for (int i = 0; i < 100; ++i) api_.answer(200, list(12, thing("a", 11, "\"large\"")));
  executor_.advance(minutes(5));

  EXPECT_EQ(contents(), "a=1");
  EXPECT_LT(api_.requests.size(), 30U);
  ASSERT_TRUE(reflector_->last_error());
  EXPECT_THAT(reflector_->last_error()->to_string(), HasSubstr("spec.size: expected"));
  EXPECT_THAT(logged(), HasSubstr(R"("object":"a","resourceVersion":"11")"));
}

TEST_F(ReflectorTest, AnswerThatIsNoListIsNotAnEmptyList) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  watch.line(event("ERROR", status(410, "Gone")));
  api_.answer(200, "{}");
  api_.answer(200, R"({"items":[]})");
  api_.answer(200, R"({"metadata":{"resourceVersion":"7"},"items":[{"spec":{}}]})");
  executor_.advance(seconds(5));

  EXPECT_EQ(contents(), "a=1");
}

TEST_F(ReflectorTest, ListsAgainWhenTheServerNeverLearnsItsVersion) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  watch.end();
  const auto too_large = event("ERROR", status(504, "Timeout", "ResourceVersionTooLarge"));
  for (int i = 0; i < 3; ++i) api_.stream().line(too_large);
  api_.answer(200, list(2, thing("a", 1, "0")));
  api_.stream();
  executor_.advance(minutes(1));

  EXPECT_EQ(contents(), "a=0");
  EXPECT_THAT(last_request(), HasSubstr("resourceVersion=2"));
}

TEST_F(ReflectorTest, BeingForbiddenIsVisibleAndPasses) {
  options_.streaming_list = false;
  for (int i = 0; i < 4; ++i) api_.answer(403, status(403, "Forbidden"));
  start();
  ASSERT_TRUE(reflector_->last_error());
  EXPECT_EQ(reflector_->last_error()->code(), Code::kForbidden);
  executor_.advance(milliseconds(500));
  EXPECT_THAT(logged(), HasSubstr(R"("level":"warn")"));
  api_.answer(200, list(5, ""));
  api_.stream();
  executor_.advance(seconds(10));

  EXPECT_TRUE(reflector_->synced());
  EXPECT_FALSE(reflector_->last_error());
}

TEST_F(ReflectorTest, AKindThatTheServerDoesNotServeHasNoObjectsUntilItDoes) {
  options_.streaming_list = false;
  options_.scope.optional = true;
  api_.answer(404, status(404, "NotFound"));
  start();
  EXPECT_TRUE(store_.synced());
  EXPECT_FALSE(reflector_->last_error());

  api_.answer(200, list(5, thing("a", 3, "1")));
  api_.stream();
  executor_.advance(minutes(1));
  EXPECT_EQ(contents(), "a=1");
}

TEST_F(ReflectorTest, AKindThatMustBeThereIsWaitedFor) {
  options_.streaming_list = false;
  api_.answer(404, status(404, "NotFound"));
  start();
  EXPECT_FALSE(store_.synced());
  EXPECT_TRUE(reflector_->last_error());
}

TEST_F(ReflectorTest, KeepsOnlyWhatItIsToldTo) {
  options_.streaming_list = false;
  api_.answer(200, list(10, thing("a", 3, "1") + "," + thing("b", 4, "200")));
  const Feed watch = api_.stream();
  reflector_.emplace(kube::Api<Thing>(client_), store_, options_,
                     [](const Thing& one) { return one.size >= 100; });
  group_.spawn(reflector_->run());
  settle();
  EXPECT_EQ(contents(), "b=200");
  watch.line(event("MODIFIED", thing("a", 11, "300")));
  watch.line(event("MODIFIED", thing("b", 12, "2")));
  settle();
  EXPECT_EQ(contents(), "a=300");
}

TEST_F(ReflectorTest, RepeatedEventsTellNobody) {
  const Feed watch = start_listed(thing("a", 3, "1"));
  int told = 0;
  store_.add_handler([&](const auto&, const auto&) { ++told; });
  for (int i = 0; i < 3; ++i) watch.line(event("MODIFIED", thing("a", 11 + i, "1")));
  settle();

  EXPECT_EQ(told, 1);
  EXPECT_EQ(store_.get("", "a")->meta.resource_version, "13");
}

TEST_F(ReflectorTest, AsksForItsScopeOnly) {
  options_.scope = {.ns = "web", .label_selector = "app=x", .field_selector = "spec.node=n"};
  start_listed("");
  for (const std::string& request : api_.requests) {
    EXPECT_THAT(request,
                AllOf(HasSubstr("/namespaces/web/things?"), HasSubstr("labelSelector=app%3Dx"),
                      HasSubstr("fieldSelector=spec.node%3Dn")));
  }
}

TEST_F(ReflectorTest, CountsWhatItDoes) {
  Metrics metrics;
  options_.metrics = &metrics;
  const Feed watch = start_listed("");
  watch.line(bookmark(11));
  settle();
  const std::string text = metrics.to_text();
  EXPECT_THAT(text, HasSubstr(R"(reflector_lists_total{name="things.example.net"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(reflector_watches_total{name="things.example.net"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(reflector_watch_events_total{name="things.example.net"} 1)"));
}

TEST_F(ReflectorTest, EndsWhenCancelled) {
  start_listed("");
  EXPECT_EQ(group_.running(), 1U);
  group_.cancel();
  settle();
  EXPECT_EQ(group_.running(), 0U);
}

TEST(WaitSynced, WaitsForAllStores) {
  net::VirtualExecutor executor;
  Store<Thing> a;
  Store<Thing> b;
  std::optional<Result<void>> done;
  net::RootTask root = net::store_result(wait_synced(&a, &b), &done);
  root.start({&executor, nullptr});
  for (Store<Thing>* store : {&b, &a}) {
    executor.run_ready();
    EXPECT_FALSE(done);
    store->begin_replace();
    store->end_replace();
  }
  executor.run_ready();
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->has_value());
}

TEST(WaitSynced, CanBeCancelled) {
  net::VirtualExecutor executor;
  Store<Thing> store;
  net::CancelScope scope;
  std::optional<Result<void>> done;
  net::RootTask root = net::store_result(wait_synced(&store), &done);
  root.start({&executor, &scope});
  scope.cancel();
  executor.run_ready();
  EXPECT_EQ(done->error().code(), Code::kCancelled);
  store.begin_replace();
  store.end_replace();
}

}  // namespace
}  // namespace mainspring::control
