#include "kube/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/core_objects.h"
#include "kube/dynamic.h"
#include "kube/scripted_transport.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kMap = R"({"metadata":{"name":"a","namespace":"web","resourceVersion":"5"},)"
                             R"("data":{"k":"v"}})";

Value object(std::string_view name) {
  Value made;
  made["metadata"]["name"] = name;
  return made;
}

class ApiTest : public ::testing::Test {
 protected:
  void answer(std::string body, int status = 200) {
    transport_.answers.push_back(http::json_response(status, std::move(body)));
  }
  // "GET /api/v1/... type body" of the last request.
  std::string asked() const {
    const http::Request& request = transport_.asked.back();
    std::string text = std::string(http::to_string(request.method)) + " " + request.url.target();
    if (const auto type = request.headers.get("Content-Type")) text += " " + std::string(*type);
    if (!request.body.empty()) text += " " + request.body;
    return text;
  }
  template <class T>
  std::string after(Task<Result<T>> task, std::string body = kMap) {
    answer(std::move(body));
    const auto result = executor_.run(std::move(task));
    return result ? asked() : result.error().to_string();
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Client client_{transport_,
                 executor_.clock(),
                 random_,
                 {.server = *http::Url::parse("https://api"), .backoff = {}}};
  Api<ConfigMap> maps_{client_, "web"};
};

TEST_F(ApiTest, Gets) {
  answer(kMap);
  const auto map = executor_.run(maps_.get("a"));
  ASSERT_TRUE(map.has_value()) << map.error().to_string();
  EXPECT_EQ(map->data.find("k"), "v");
  EXPECT_EQ(asked(), "GET /api/v1/namespaces/web/configmaps/a");
  EXPECT_EQ(after(maps_.get("a", {.resource_version = "0", .subresource = "status"})),
            "GET /api/v1/namespaces/web/configmaps/a/status?resourceVersion=0");
  EXPECT_EQ(after(maps_.get("a", {.timeout = seconds(3)})),
            "GET /api/v1/namespaces/web/configmaps/a");
  EXPECT_EQ(transport_.asked.back().limits.timeout, seconds(3));
}

TEST_F(ApiTest, Lists) {
  EXPECT_EQ(after(maps_.list(), "{}"), "GET /api/v1/namespaces/web/configmaps");
  const ListOptions all{.label_selector = "a in (b,c)",
                        .field_selector = "metadata.name!=x",
                        .resource_version = "7",
                        .match = VersionMatch::kExact,
                        .limit = 50,
                        .continue_token = "t="};
  EXPECT_EQ(after(maps_.list(all), "{}"),
            "GET /api/v1/namespaces/web/configmaps?labelSelector=a%20in%20%28b%2Cc%29"
            "&fieldSelector=metadata.name%21%3Dx&limit=50&continue=t%3D&resourceVersion=7"
            "&resourceVersionMatch=Exact");
  EXPECT_EQ(
      after(maps_.list({.resource_version = "0", .match = VersionMatch::kNotOlderThan}), "{}"),
      "GET /api/v1/namespaces/web/configmaps?resourceVersion=0"
      "&resourceVersionMatch=NotOlderThan");
}

TEST_F(ApiTest, ReadsAPage) {
  answer(R"({"metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":4},"items":[)" +
         std::string(kMap) + "]}");
  const auto page = executor_.run(maps_.list());
  ASSERT_TRUE(page.has_value()) << page.error().to_string();
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->continue_token, "c");
  EXPECT_EQ(page->remaining, 4);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0]->meta.name, "a");
}

TEST_F(ApiTest, TurnsAllPagesAndNamesAVersionOnlyForTheFirst) {
  answer(
      R"({"metadata":{"resourceVersion":"9","continue":"c1"},"items":[{"metadata":{"name":"a"}}]})");
  answer(R"({"metadata":{"resourceVersion":"9","continue":"c2"},"items":[]})");
  answer(R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}}]})");
  const auto all = executor_.run(maps_.list_all({.label_selector = "x",
                                                 .resource_version = "0",
                                                 .match = VersionMatch::kNotOlderThan,
                                                 .limit = 1}));
  ASSERT_TRUE(all.has_value()) << all.error().to_string();
  ASSERT_EQ(all->items.size(), 2u);
  EXPECT_EQ(all->items[1]->meta.name, "b");
  EXPECT_EQ(all->resource_version, "9");
  EXPECT_EQ(all->continue_token, "");
  std::vector<std::string> queries;
  for (const auto& request : transport_.asked) queries.push_back(request.url.query);
  EXPECT_THAT(queries, ElementsAre("labelSelector=x&limit=1&resourceVersion=0"
                                   "&resourceVersionMatch=NotOlderThan",
                                   "labelSelector=x&limit=1&continue=c1",
                                   "labelSelector=x&limit=1&continue=c2"));
}

TEST_F(ApiTest, APageThatExpiredIsGone) {
  answer(R"({"metadata":{"continue":"c1"}})");
  answer(R"({"status":"Failure","reason":"Expired","code":410,"message":"too old"})", 410);
  EXPECT_EQ(executor_.run(maps_.list_all()).error().code(), Code::kGone);
}

TEST_F(ApiTest, Watches) {
  EXPECT_EQ(after(maps_.watch(), ""),
            "GET /api/v1/namespaces/web/configmaps?watch=true&allowWatchBookmarks=true"
            "&timeoutSeconds=300");
  EXPECT_EQ(transport_.asked.back().limits.idle_timeout, seconds(315));
  EXPECT_EQ(after(maps_.watch({.label_selector = "l",
                               .field_selector = "f",
                               .resource_version = "3",
                               .bookmarks = false,
                               .send_initial_events = true,
                               .timeout = seconds(9)}),
                  ""),
            "GET /api/v1/namespaces/web/configmaps?watch=true&labelSelector=l&fieldSelector=f"
            "&resourceVersion=3&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&timeoutSeconds=9");
}

TEST_F(ApiTest, CreatesAndReplaces) {
  EXPECT_EQ(after(maps_.create(object("a"))),
            "POST /api/v1/namespaces/web/configmaps?fieldManager=mainspring application/json "
            R"({"metadata":{"name":"a"}})");
  const WriteOptions options{.field_manager = "m",
                             .subresource = "status",
                             .dry_run = true,
                             .field_validation = "Strict",
                             .timeout = seconds(4)};
  EXPECT_EQ(after(maps_.replace(object("a"), options)),
            "PUT /api/v1/namespaces/web/configmaps/a/status?fieldManager=m&fieldValidation=Strict"
            R"(&dryRun=All application/json {"metadata":{"name":"a"}})");
  EXPECT_EQ(transport_.asked.back().limits.timeout, seconds(4));
  EXPECT_EQ(after(maps_.raw().post("a", "eviction", object("a"), {.field_manager = ""})),
            "POST /api/v1/namespaces/web/configmaps/a/eviction application/json "
            R"({"metadata":{"name":"a"}})");
}

TEST_F(ApiTest, Patches) {
  const std::string path = "PATCH /api/v1/namespaces/web/configmaps/a?fieldManager=mainspring ";
  EXPECT_EQ(after(maps_.patch("a", {PatchKind::kMerge, Value::object({{"x", 1}})})),
            path + R"(application/merge-patch+json {"x":1})");
  EXPECT_EQ(after(maps_.patch("a", {PatchKind::kStrategic, Value::object()})),
            path + "application/strategic-merge-patch+json {}");
  EXPECT_EQ(after(maps_.patch("a", {PatchKind::kJson, Value::array()})),
            path + "application/json-patch+json []");
}

TEST_F(ApiTest, RepeatsPatchesThatSayWhatShallBeAndNotThoseThatSayWhatToDo) {
  for (const PatchKind kind : {PatchKind::kMerge, PatchKind::kStrategic, PatchKind::kJson}) {
    transport_.answers.clear();
    answer("{}", 500);
    answer(kMap);
    EXPECT_EQ(executor_.run(maps_.patch("a", {kind, Value::object()})).has_value(),
              kind != PatchKind::kJson);
  }
  transport_.answers.clear();
  answer("{}", 500);
  answer(kMap);
  EXPECT_TRUE(executor_.run(maps_.apply(object("a"))).has_value());
}

TEST_F(ApiTest, AppliesAndFillsInWhatTheKindIs) {
  EXPECT_EQ(after(maps_.apply(object("a"))),
            "PATCH /api/v1/namespaces/web/configmaps/a?fieldManager=mainspring&force=true "
            "application/apply-patch+yaml "
            R"({"metadata":{"name":"a"},"apiVersion":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(after(maps_.apply(
                object("a"),
                {.field_manager = "m", .subresource = "status", .force = false, .dry_run = true})),
            "PATCH /api/v1/namespaces/web/configmaps/a/status?fieldManager=m&dryRun=All "
            "application/apply-patch+yaml "
            R"({"metadata":{"name":"a"},"apiVersion":"v1","kind":"ConfigMap"})");
}

TEST_F(ApiTest, Removes) {
  const std::string path = "DELETE /api/v1/namespaces/web/configmaps";
  const std::string body = R"( application/json {"apiVersion":"v1","kind":"DeleteOptions")";
  EXPECT_EQ(after(maps_.remove("a")), path + "/a" + body + "}");
  EXPECT_EQ(after(maps_.remove("a", {.grace_seconds = 0,
                                     .propagation = Propagation::kForeground,
                                     .uid = "u",
                                     .resource_version = "3",
                                     .dry_run = true})),
            path + "/a" + body +
                R"(,"gracePeriodSeconds":0,"propagationPolicy":"Foreground",)"
                R"("preconditions":{"uid":"u","resourceVersion":"3"},"dryRun":["All"]})");
  EXPECT_EQ(after(maps_.remove("a", {.propagation = Propagation::kBackground})),
            path + "/a" + body + R"(,"propagationPolicy":"Background"})");
  EXPECT_EQ(after(maps_.remove_all({.label_selector = "x"}, {.propagation = Propagation::kOrphan})),
            path + "?labelSelector=x" + body + R"(,"propagationPolicy":"Orphan"})");
}

TEST_F(ApiTest, ServesAnyKindByItsName) {
  const Api<Dynamic> things(client_, {"x.dev", "v1", "things", "Thing", false}, "ignored");
  EXPECT_EQ(after(things.get("a")), "GET /apis/x.dev/v1/things/a");
}

TEST_F(ApiTest, RefusesToWriteWhatHasNoName) {
  for (auto* write : {+[](const Api<ConfigMap>& api) { return api.apply(Value::object()); },
                      +[](const Api<ConfigMap>& api) { return api.replace(object("")); }}) {
    const auto refused = executor_.run(write(maps_));
    EXPECT_EQ(refused.error().code(), Code::kInvalid);
    EXPECT_THAT(refused.error().message(), HasSubstr("metadata.name"));
  }
  EXPECT_TRUE(transport_.asked.empty());
}

TEST_F(ApiTest, SaysWhichCallFailed) {
  const std::string no = R"({"status":"Failure","reason":"NotFound","code":404,"message":"no"})";
  const auto failure = [&](auto task) {
    answer(no, 404);
    return executor_.run(std::move(task)).error().to_string();
  };
  EXPECT_EQ(failure(maps_.get("a", {.subresource = "status"})), "get configmaps/status web/a: no");
  EXPECT_EQ(failure(maps_.list()), "list configmaps: no");
  EXPECT_EQ(failure(maps_.watch()), "watch configmaps: no");
  EXPECT_EQ(failure(maps_.remove("a")), "delete configmaps web/a: no");
  EXPECT_EQ(failure(maps_.create(object("a"))), "create configmaps web/a: no");
}

TEST_F(ApiTest, AnAnswerThatIsNotTheObjectIsAnError) {
  answer("[]");
  EXPECT_EQ(executor_.run(maps_.get("a")).error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace mainspring::kube
