#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/virtual_executor.h"
#include "sim/kube_api.h"

namespace mainspring::sim {
namespace {

using http::Method;
using http::Request;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

Request request(Method method, const std::string& path, std::string body = "") {
  Request made;
  made.method = method;
  made.url = *http::Url::parse("https://sim" + path);
  made.body = std::move(body);
  made.headers.set("Content-Type", "application/json");
  return made;
}

Request create(int number) {
  return request(Method::kPost, kMaps,
                 R"({"metadata":{"name":"m)" + std::to_string(number) + "\"}}");
}

class FaultsTest : public ::testing::Test {
 protected:
  bool exists(int number) {
    const std::string path = std::string(kMaps) + "/m" + std::to_string(number);
    return api_.answer(request(Method::kGet, path)).ok();
  }

  net::VirtualExecutor executor_;
  KubeApi api_{executor_, {}};
};

TEST_F(FaultsTest, LosesNothingThatIsReportedAsDone) {
  Faults faults(api_, {.seed = 5,
                       .delay_max = milliseconds(50),
                       .refuse = 0.2,
                       .lose_request = 0.2,
                       .lose_answer = 0.2});
  std::size_t done = 0;
  for (int i = 0; i < 50; ++i) {
    const auto response = executor_.run(faults.send(create(i)));
    if (!response || !response->ok()) continue;
    ++done;
    EXPECT_TRUE(exists(i));
  }
  EXPECT_GT(faults.injected(), 0u);
  EXPECT_GT(done, 0u);
}

TEST_F(FaultsTest, DoesTheSameForTheSameSeed) {
  const auto statuses = [](std::uint64_t seed) {
    net::VirtualExecutor executor;
    KubeApi api(executor, {});
    Faults faults(api, {.seed = seed, .refuse = 0.3, .lose_request = 0.3});
    std::vector<int> found;
    for (int i = 0; i < 30; ++i) {
      const auto response = executor.run(faults.send(create(i)));
      found.push_back(response ? response->status : 0);
    }
    return found;
  };
  EXPECT_EQ(statuses(3), statuses(3));
  EXPECT_NE(statuses(3), statuses(4));
}

TEST_F(FaultsTest, LosesAnAnswerOnlyAfterTheCallTookEffect) {
  Faults faults(api_, {.lose_answer = 1});
  EXPECT_FALSE(executor_.run(faults.send(create(1))).has_value());
  EXPECT_TRUE(exists(1));
}

TEST_F(FaultsTest, LosesARequestBeforeItTookEffect) {
  Faults faults(api_, {.lose_request = 1});
  EXPECT_FALSE(executor_.run(faults.send(create(1))).has_value());
  EXPECT_FALSE(exists(1));
}

TEST_F(FaultsTest, SendsACallTwiceAndShowsTheSecondAnswer) {
  Faults faults(api_, {.duplicate = 1});
  const auto response = executor_.run(faults.send(create(1)));
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 409);
  EXPECT_TRUE(exists(1));
}

TEST_F(FaultsTest, AnswersOnlyListsThatAllowItFromThePast) {
  Faults faults(api_, {.stale_list = 1});
  const std::string cached = std::string(kMaps) + "?resourceVersion=0";
  const auto names = [&](const std::string& path) {
    return executor_.run(faults.send(request(Method::kGet, path)))->body;
  };
  EXPECT_THAT(names(cached), Not(HasSubstr("\"m1\"")));
  EXPECT_TRUE(api_.answer(create(1)).ok());
  EXPECT_THAT(names(cached), Not(HasSubstr("\"m1\"")));
  EXPECT_THAT(names(kMaps), HasSubstr("\"m1\""));
}

TEST_F(FaultsTest, CutsAWatchInTheMiddleOfALine) {
  EXPECT_TRUE(api_.answer(create(1)).ok());
  Faults faults(api_, {.cut_line = 1});
  const auto stream =
      executor_.run(faults.open(request(Method::kGet, std::string(kMaps) + "?watch=1")));
  ASSERT_TRUE(stream.has_value());
  const auto first = executor_.run((*stream)->next_chunk());
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->ends_with('\n'));
  EXPECT_FALSE(executor_.run((*stream)->next_chunk()).has_value());
}

TEST_F(FaultsTest, HarmsNothingOnceHealed) {
  Faults faults(api_, {.refuse = 1, .lose_request = 1});
  EXPECT_FALSE(executor_.run(faults.send(create(1))).has_value());
  faults.heal();
  EXPECT_EQ(executor_.run(faults.send(create(1)))->status, 201);
}

}  // namespace
}  // namespace mainspring::sim
