#include "slurm/push.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "net/virtual_executor.h"

namespace mainspring::slurm {
namespace {

using Kind = PushedEvent::Kind;

TEST(ParsePush, ReadsAFormAsCurlSendsIt) {
  const auto event = parse_push("event=start&job_id=123&nodes=n%5B1-3%5D&more=x");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kJobStarted);
  EXPECT_EQ(event->job, JobId(123));
  EXPECT_EQ(event->nodes, "n[1-3]");
}

TEST(ParsePush, ReadsJsonWithTheNumberEitherWay) {
  EXPECT_EQ(parse_push(R"({"event":"end","job_id":"7"})")->kind, Kind::kJobEnded);
  EXPECT_EQ(parse_push(R"({"event":"x","job_id":7,"nodes":"a"})")->job, JobId(7));
}

TEST(ParsePush, KnowsSlurmsOwnWords) {
  EXPECT_EQ(parse_push("event=prolog_slurmctld&job_id=1")->kind, Kind::kJobStarted);
  EXPECT_EQ(parse_push("event=epilog_slurmctld&job_id=1")->kind, Kind::kJobEnded);
}

TEST(ParsePush, RefusesWhatNamesNoJobOrNoNodes) {
  for (const char* body : {"", "event=start", "job_id=0", "job_id=1_2", "job_id=99999999999", "{",
                           R"({"job_id":-1})", "job_id=1&nodes=n%5B1", "job_id=%zz"}) {
    EXPECT_FALSE(parse_push(body)) << body;
  }
}

class PushRoute : public testing::Test {
 protected:
  PushRoute() {
    add_push_route(
        router_, "/events/{cluster}", [this] { return key_; },
        [this](const http::Request& request, PushedEvent event) {
          events_.push_back(std::move(event));
          clusters_.emplace_back(request.parameter("cluster"));
        });
  }
  int post(std::string_view authorization, std::string body) {
    http::Request request{.method = http::Method::kPost,
                          .url = *http::Url::parse("http://h/events/green")};
    if (!authorization.empty()) request.headers.set("Authorization", authorization);
    request.body = std::move(body);
    return executor_.run(router_.handle(std::move(request)))->status;
  }
  net::VirtualExecutor executor_;
  http::Router router_;
  Secret key_{"sesame"};
  std::vector<PushedEvent> events_;
  std::vector<std::string> clusters_;
};

TEST_F(PushRoute, HandsOnWhatComesWithTheKey) {
  EXPECT_EQ(post("Bearer sesame", "event=start&job_id=5"), 204);
  ASSERT_EQ(events_.size(), 1);
  EXPECT_EQ(events_[0].job, JobId(5));
  EXPECT_EQ(clusters_, std::vector<std::string>{"green"});
}

TEST_F(PushRoute, KnowsTheKeyAsItIsNow) {
  key_ = Secret("other");
  EXPECT_EQ(post("Bearer sesame", "event=start&job_id=5"), 401);
  EXPECT_EQ(post("Bearer other", "event=start&job_id=5"), 204);
}

TEST_F(PushRoute, TellsNobodyWhereTheKeyIsWrongOrMissing) {
  for (const char* header : {"", "Bearer ", "Bearer sesam", "Bearer sesame2", "Basic sesame"}) {
    EXPECT_EQ(post(header, "event=start&job_id=5"), 401) << header;
  }
  EXPECT_TRUE(events_.empty());
}

TEST_F(PushRoute, RefusesBodiesThatAreNoEventOrTooLong) {
  EXPECT_EQ(post("Bearer sesame", "event=start"), 400);
  EXPECT_EQ(post("Bearer sesame", "job_id=5&x=" + std::string(kMaxPushBytes, 'a')), 413);
  EXPECT_TRUE(events_.empty());
}

TEST(PushRouteWithoutKey, AcceptsNobody) {
  net::VirtualExecutor executor;
  http::Router router;
  add_push_route(
      router, kPushPath, [] { return Secret(); },
      [](const http::Request&, const PushedEvent&) { FAIL(); });
  http::Request request{.method = http::Method::kPost,
                        .url = *http::Url::parse("http://h/slurm/events")};
  request.headers.set("Authorization", "Bearer ");
  request.body = "job_id=5";
  EXPECT_EQ(executor.run(router.handle(std::move(request)))->status, 401);
}

TEST(PushKeyFile, IsReadAnewAndEmptyWhereItCannotBe) {
  const auto path = std::filesystem::path(testing::TempDir()) / "push-key";
  std::ofstream(path) << "  sesame\n";
  const PushKey key = push_key_file(path);
  EXPECT_EQ(key(), Secret("sesame"));
  std::ofstream(path) << "other";
  EXPECT_EQ(key(), Secret("other"));
  std::filesystem::remove(path);
  EXPECT_TRUE(key().empty());
}

}  // namespace
}  // namespace mainspring::slurm
