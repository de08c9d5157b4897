#include "control/status_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/scripted_api.h"

namespace mainspring::control {
namespace {

using ::testing::HasSubstr;

constexpr const char* kKnown =
    R"({"status":{"authenticated":true,"user":{"username":"ann","groups":["dev"]}}})";

struct StatusPagesTest : ::testing::Test {
  http::Response get(const std::string& target, const std::string& authorization = "") {
    http::Request request;
    request.url = *http::Url::parse_target(target);
    if (!authorization.empty()) request.headers.set("Authorization", authorization);
    auto response = kube.executor.run(router.handle(std::move(request)));
    return response ? *std::move(response)
                    : http::error_response(599, response.error().to_string());
  }

  ScriptedClient kube;
  Health health{kube.executor.clock()};
  Metrics metrics;
  DelegatedAuth auth{kube.client};
  http::Router router;
};

TEST_F(StatusPagesTest, SaysOkAndMoreToWhoAsks) {
  add_health_pages(router, health);
  health.add("loop", HealthKind::kLive).ok();
  for (const char* path : {"/healthz", "/livez"}) {
    EXPECT_EQ(get(path).status, 200);
    EXPECT_EQ(get(path).body, "ok");
    EXPECT_THAT(get(std::string(path) + "?verbose").body, HasSubstr("[+]loop ok"));
  }
}

TEST_F(StatusPagesTest, NamesWhatFailsOnThePageOfItsKind) {
  add_health_pages(router, health);
  health.add("loop", HealthKind::kLive).ok();
  const Check caches = health.add("caches", HealthKind::kReady);
  caches.fail("not listed yet: pods");
  EXPECT_EQ(get("/readyz").status, 500);
  EXPECT_THAT(get("/readyz").body, HasSubstr("[-]caches failed: not listed yet: pods"));
  EXPECT_EQ(get("/healthz").status, 200);
  caches.ok();
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(StatusPagesTest, ServesMetricsInTheTextFormat) {
  add_metrics_page(router, metrics, nullptr);
  metrics.counter("things_total", "Things.").add(3);
  const http::Response page = get("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("things_total 3"));
}

TEST_F(StatusPagesTest, ShowsMetricsOnlyToThoseWhoMaySeeThem) {
  add_metrics_page(router, metrics, &auth);
  for (const char* none : {"", "Basic YTpi", "Bearer ", "Bearer"}) {
    EXPECT_EQ(get("/metrics", none).status, 401) << none;
  }
  EXPECT_TRUE(kube.api.requests.empty());

  kube.api.reply(201, R"({"status":{"authenticated":false}})");
  EXPECT_EQ(get("/metrics", "Bearer bad").status, 401);

  kube.api.reply(201, kKnown);
  kube.api.reply(201, R"({"status":{"allowed":false,"reason":"no rule fits"}})");
  EXPECT_EQ(get("/metrics", "Bearer good").status, 403);

  kube.executor.advance(minutes(10));
  kube.api.requests.clear();
  kube.api.reply(201, kKnown);
  kube.api.reply(201, R"({"status":{"allowed":true}})");
  EXPECT_EQ(get("/metrics", "bearer good").status, 200);
  ASSERT_EQ(kube.api.requests.size(), 2u);
  const json::Value review = kube.api.body(1);
  EXPECT_EQ(json::to_text(*review.at_pointer("/spec/nonResourceAttributes")),
            R"({"path":"/metrics","verb":"get"})");
}

}  // namespace
}  // namespace mainspring::control
