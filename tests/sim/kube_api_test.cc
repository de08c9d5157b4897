#include "sim/kube_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "net/virtual_executor.h"
#include "sim/meta.h"

namespace mainspring::sim {
namespace {

using http::Method;
using http::Request;
using http::Response;
using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

class KubeApiTest : public ::testing::Test {
 protected:
  static Request request(Method method, const std::string& path, std::string body = "",
                         const std::string& type = "application/json") {
    Request made;
    made.method = method;
    made.url = *http::Url::parse("https://sim" + path);
    made.body = std::move(body);
    made.headers.set("Content-Type", type);
    made.headers.set("User-Agent", "test/1");
    return made;
  }
  Response ask(Method method, const std::string& path, std::string body = "",
               const std::string& type = "application/json") {
    return api_.answer(request(method, path, std::move(body), type));
  }
  Value body(const Response& response) { return *json::parse(response.body); }
  std::string reason(const Response& response) {
    return std::string(text_at(body(response), "/reason"));
  }
  std::string map(const std::string& name, const std::string& rest = "") {
    return R"({"metadata":{"name":")" + name + "\"}" + rest + "}";
  }

  // "ADDED a", ... until the watch ends.
  std::vector<std::string> watch(const std::string& query) {
    const auto response = executor_.run(
        api_.send(request(Method::kGet, std::string(kMaps) + "?watch=1&timeoutSeconds=5" + query)));
    std::vector<std::string> events;
    if (!response) return {response.error().to_string()};
    for (const std::string_view line : split(response->body, '\n')) {
      if (line.empty()) continue;
      const Value event = *json::parse(line);
      events.push_back(std::string(text_at(event, "/type")) + " " +
                       std::string(name_of(*event.find("object"))));
    }
    return events;
  }

  net::VirtualExecutor executor_;
  KubeApi api_{executor_, {}};
};

TEST_F(KubeApiTest, RefusesAnUpdateFromAnOldVersion) {
  const std::string old(version_of(body(ask(Method::kPost, kMaps, map("a")))));
  ask(Method::kPatch, std::string(kMaps) + "/a", R"({"data":{"k":"v"}})", kMerge);
  const Response late = ask(Method::kPut, std::string(kMaps) + "/a",
                            R"({"metadata":{"name":"a","resourceVersion":")" + old + "\"}}");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(reason(late), "Conflict");
}

TEST_F(KubeApiTest, WritesNothingWhereNothingChanges) {
  const Value made = body(ask(Method::kPost, kMaps, map("a", R"(,"data":{"k":"v"})")));
  const Value again =
      body(ask(Method::kPatch, std::string(kMaps) + "/a", R"({"data":{"k":"v"}})", kMerge));
  EXPECT_EQ(version_of(made), version_of(again));
}

TEST_F(KubeApiTest, NamesTheManagerWhoHoldsAField) {
  const std::string path = std::string(kMaps) + "/a?fieldManager=";
  const std::string config = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},)";
  EXPECT_EQ(ask(Method::kPatch, path + "one", config + R"("data":{"k":"1"}})", kApply).status, 201);
  const Response refused =
      ask(Method::kPatch, path + "two", config + R"("data":{"k":"2"}})", kApply);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("FieldManagerConflict"));
  EXPECT_THAT(refused.body, HasSubstr(R"(conflict with \"one\")"));

  const Response forced =
      ask(Method::kPatch, path + "two&force=true", config + R"("data":{"k":"2"}})", kApply);
  EXPECT_EQ(text_at(body(forced), "/data/k"), "2");
}

TEST_F(KubeApiTest, TakesBackWhatIsNoLongerApplied) {
  const std::string path = std::string(kMaps) + "/a?fieldManager=";
  const std::string config = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},)";
  ask(Method::kPatch, path + "one", config + R"("data":{"k":"1","shared":"s"}})", kApply);
  ask(Method::kPatch, path + "two", config + R"("data":{"shared":"s"}})", kApply);
  const Value left =
      body(ask(Method::kPatch, path + "one", config + R"("data":{"new":"n"}})", kApply));
  EXPECT_EQ(*left.find("data"), *json::parse(R"({"new":"n","shared":"s"})"));
}

TEST_F(KubeApiTest, ShowsAWatchWhatLeavesItsSelectionAsDeleted) {
  ask(Method::kPost, kMaps, R"({"metadata":{"name":"a","labels":{"x":"1"}}})");
  const std::string from = std::to_string(api_.storage().version());
  ask(Method::kPatch, std::string(kMaps) + "/a", R"({"metadata":{"labels":{"x":"2"}}})", kMerge);
  ask(Method::kPatch, std::string(kMaps) + "/a", R"({"metadata":{"labels":{"x":"1"}}})", kMerge);
  EXPECT_THAT(watch("&labelSelector=x%3D1&resourceVersion=" + from),
              ElementsAre("DELETED a", "ADDED a"));
}

TEST_F(KubeApiTest, EndsInitialEventsWithABookmark) {
  ask(Method::kPost, kMaps, map("a"));
  EXPECT_THAT(watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                    "&allowWatchBookmarks=true"),
              ElementsAre("ADDED a", "BOOKMARK "));
}

TEST_F(KubeApiTest, SendsAnErrorToAWatchFromBeforeTheCompaction) {
  const std::string from = std::to_string(api_.storage().version());
  ask(Method::kPost, kMaps, map("a"));
  api_.compact();
  EXPECT_THAT(watch("&resourceVersion=" + from), ElementsAre("ERROR "));
}

TEST_F(KubeApiTest, TurnsPagesOverOneStateUntilItIsCompacted) {
  for (const char* name : {"a", "b", "c"}) ask(Method::kPost, kMaps, map(name));
  const Value first = body(ask(Method::kGet, std::string(kMaps) + "?limit=2"));
  ask(Method::kPost, kMaps, map("d"));
  const std::string rest = std::string(kMaps) + "?limit=2&continue=" +
                           http::percent_encode(text_at(first, "/metadata/continue"));
  const Value second = body(ask(Method::kGet, rest));
  ASSERT_EQ(second.find("items")->size(), 1u);
  EXPECT_EQ(name_of(second.find("items")->at(0)), "c");
  api_.compact();
  const Response late = ask(Method::kGet, rest);
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(reason(late), "Expired");
}

TEST_F(KubeApiTest, HoldsAnObjectUntilItsLastFinalizerIsGone) {
  ask(Method::kPost, kMaps, R"({"metadata":{"name":"a","finalizers":["x.dev/y"]}})");
  EXPECT_EQ(ask(Method::kDelete, std::string(kMaps) + "/a").status, 200);
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/a").status, 200);
  ask(Method::kPatch, std::string(kMaps) + "/a", R"({"metadata":{"finalizers":null}})", kMerge);
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/a").status, 404);
}

TEST_F(KubeApiTest, GivesABoundPodItsGracePeriod) {
  ask(Method::kPost, kPods,
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(
      ask(Method::kPost, std::string(kPods) + "/p/binding", R"({"target":{"name":"n"}})").status,
      201);
  EXPECT_EQ(
      ask(Method::kPost, std::string(kPods) + "/p/binding", R"({"target":{"name":"m"}})").status,
      409);
  const Value marked = body(ask(Method::kDelete, std::string(kPods) + "/p"));
  EXPECT_EQ(*marked.at_pointer("/metadata/deletionGracePeriodSeconds"), Value(30));
  ask(Method::kDelete, std::string(kPods) + "/p?gracePeriodSeconds=0");
  EXPECT_EQ(ask(Method::kGet, std::string(kPods) + "/p").status, 404);
}

TEST_F(KubeApiTest, CollectsWhatItsOwnerLeavesBehind) {
  const std::string uid(uid_of(body(ask(Method::kPost, kMaps, map("owner")))));
  const std::string owned =
      R"({"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",)"
      R"("name":"owner","blockOwnerDeletion":true,"uid":")" +
      uid + "\"}]}}";
  ask(Method::kPost, kMaps, owned);
  executor_.advance(seconds(10));
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/owned").status, 200);
  ask(Method::kDelete, std::string(kMaps) + "/owner", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/owner").status, 200);
  executor_.advance(seconds(10));
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/owned").status, 404);
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/owner").status, 404);
}

TEST_F(KubeApiTest, LetsOrphansLive) {
  const std::string uid(uid_of(body(ask(Method::kPost, kMaps, map("owner")))));
  ask(Method::kPost, kMaps,
      R"({"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",)"
      R"("name":"owner","uid":")" +
          uid + "\"}]}}");
  ask(Method::kDelete, std::string(kMaps) + "/owner", R"({"propagationPolicy":"Orphan"})");
  executor_.advance(seconds(10));
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/owner").status, 404);
  const Value left = body(ask(Method::kGet, std::string(kMaps) + "/owned"));
  EXPECT_EQ(left.at_pointer("/metadata/ownerReferences"), nullptr);
}

TEST_F(KubeApiTest, EmptiesANamespaceBeforeItGoes) {
  ASSERT_TRUE(api_.add_namespace("n").has_value());
  ask(Method::kPost, "/api/v1/namespaces/n/configmaps", map("a"));
  ask(Method::kDelete, "/api/v1/namespaces/n");
  const Response late = ask(Method::kPost, "/api/v1/namespaces/n/configmaps", map("b"));
  EXPECT_EQ(late.status, 403);
  EXPECT_THAT(late.body, HasSubstr("NamespaceTerminating"));
  executor_.advance(seconds(10));
  EXPECT_EQ(ask(Method::kGet, "/api/v1/namespaces/n").status, 404);
  EXPECT_EQ(ask(Method::kGet, "/api/v1/namespaces/n/configmaps/a").status, 404);
}

TEST_F(KubeApiTest, ShapesAndChecksCustomObjectsByTheirSchema) {
  ask(Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      R"({"metadata":{"name":"toys.x.dev"},"spec":{"group":"x.dev","scope":"Namespaced",
          "names":{"plural":"toys","kind":"Toy"},"versions":[{"name":"v1","served":true,
          "storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
          "properties":{"spec":{"type":"object","properties":{
          "size":{"type":"integer","default":3,"maximum":5}}},"status":{"type":"object",
          "properties":{"on":{"type":"boolean"}}}}}}}]}})");
  const std::string toys = "/apis/x.dev/v1/namespaces/default/toys";
  const Value made = body(ask(
      Method::kPost, toys, R"({"metadata":{"name":"t"},"spec":{"odd":1},"status":{"on":true}})"));
  EXPECT_EQ(*made.find("spec"), *json::parse(R"({"size":3})"));
  EXPECT_EQ(made.find("status"), nullptr);
  const Response large = ask(Method::kPatch, toys + "/t", R"({"spec":{"size":6}})", kMerge);
  EXPECT_EQ(large.status, 422);
  EXPECT_THAT(large.body, HasSubstr("spec.size in body should be less than or equal to 5"));
  const Value on =
      body(ask(Method::kPatch, toys + "/t/status", R"({"status":{"on":true}})", kMerge));
  EXPECT_EQ(*on.at_pointer("/metadata/generation"), Value(1));
  const Value grown = body(ask(Method::kPatch, toys + "/t", R"({"spec":{"size":4}})", kMerge));
  EXPECT_EQ(*grown.at_pointer("/metadata/generation"), Value(2));
  EXPECT_EQ(*grown.at_pointer("/status/on"), Value(true));
}

TEST_F(KubeApiTest, RefusesAnEvictionThatTheBudgetDoesNotAllow) {
  ask(Method::kPost, kPods,
      R"({"metadata":{"name":"p","labels":{"app":"x"}},"spec":{"containers":[{"name":"c"}]}})");
  ask(Method::kPatch, std::string(kPods) + "/p/status", R"({"status":{"phase":"Running"}})",
      kMerge);
  const std::string budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  ask(Method::kPost, budgets,
      R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"}}}})");
  const Response refused = ask(Method::kPost, std::string(kPods) + "/p/eviction", map("p"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("The disruption budget b needs"));
  EXPECT_EQ(ask(Method::kGet, std::string(kPods) + "/p").status, 200);

  ask(Method::kPatch, budgets + "/b/status", R"({"status":{"disruptionsAllowed":1}})", kMerge);
  EXPECT_EQ(ask(Method::kPost, std::string(kPods) + "/p/eviction", map("p")).status, 201);
  EXPECT_EQ(ask(Method::kGet, std::string(kPods) + "/p").status, 404);
  const Value after = body(ask(Method::kGet, budgets + "/b"));
  EXPECT_EQ(*after.at_pointer("/status/disruptionsAllowed"), Value(0));
}

TEST_F(KubeApiTest, DeletesWhatASelectorNamesAndNothingElse) {
  for (const char* name : {"a", "b"}) {
    ask(Method::kPost, kMaps,
        R"({"metadata":{"labels":{"x":"1"},"name":")" + std::string(name) + "\"}}");
  }
  ask(Method::kPost, kMaps, map("c"));
  const Value deleted = body(ask(Method::kDelete, std::string(kMaps) + "?labelSelector=x%3D1"));
  EXPECT_EQ(deleted.find("items")->size(), 2u);
  const Value left = body(ask(Method::kGet, kMaps));
  ASSERT_EQ(left.find("items")->size(), 1u);
  EXPECT_EQ(name_of(left.find("items")->at(0)), "c");
}

TEST_F(KubeApiTest, TellsAWatchOfDeletions) {
  ask(Method::kPost, kMaps, map("a"));
  const std::string from = std::to_string(api_.storage().version());
  ask(Method::kDelete, std::string(kMaps) + "/a");
  EXPECT_THAT(watch("&resourceVersion=" + from), ElementsAre("DELETED a"));
}

TEST_F(KubeApiTest, ChangesNothingInADryRun) {
  const std::uint64_t before = api_.storage().version();
  EXPECT_EQ(ask(Method::kPost, std::string(kMaps) + "?dryRun=All", map("a")).status, 201);
  EXPECT_EQ(ask(Method::kGet, std::string(kMaps) + "/a").status, 404);
  EXPECT_EQ(api_.storage().version(), before);
}

TEST_F(KubeApiTest, CreditsWhatWasThereBeforeTheFirstApply) {
  ask(Method::kPost, kMaps, map("a", R"(,"data":{"k":"1","l":"1"})"));
  ask(Method::kPatch, std::string(kMaps) + "/a", R"({"metadata":{"managedFields":[{}]}})", kMerge);
  const std::string config =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}})";
  const Value made =
      body(ask(Method::kPatch, std::string(kMaps) + "/a?fieldManager=m", config, kApply));
  std::vector<std::string> managers;
  for (const Value& entry : *made.at_pointer("/metadata/managedFields")) {
    managers.emplace_back(text_at(entry, "/manager"));
  }
  EXPECT_THAT(managers, ElementsAre("m", "before-first-apply"));
}

}  // namespace
}  // namespace mainspring::sim
