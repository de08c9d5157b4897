// A client whose server others find out about, and change: Client::move_to().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "slurm/client.h"
#include "slurm/scripted_transport.h"

namespace mainspring::slurm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientMoveTest : public ::testing::Test {
 protected:
  static http::Url url(std::string_view text) { return *http::Url::parse(text); }
  void make(http::Url server) {
    client_.emplace(transport_, executor_, random_, governor_,
                    Client::Options{.server = std::move(server)});
  }
  Result<Answer> get_node() {
    return executor_.run(client_->send({.endpoint = Endpoint::kGetNode, .path = {"gpu-3"}}));
  }
  void answer_as(const std::string& cluster, int times) {
    for (int i = 0; i < times; ++i) {
      transport_.add(200, R"({"errors":[],"meta":{"slurm":{"release":"26.05.5","cluster":")" +
                              cluster + R"("}}})");
    }
  }
  static Task<Result<void>> drain(Client* client, std::optional<Result<Answer>>* ended) {
    *ended = co_await client->send(
        {.endpoint = Endpoint::kUpdateNode, .path = {"gpu-3"}, .body = R"({"state":["DRAIN"]})"});
    co_return Result<void>();
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const auto& request : transport_.asked) out.push_back(request.url.to_string());
    return out;
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  Governor governor_{executor_, random_, {}};
  ScriptedTransport transport_;
  std::optional<Client> client_;
};

TEST_F(ClientMoveTest, AsksTheNewServerWhichVersionItSpeaks) {
  make(url("http://here:1"));
  answer_as("campus", 2);
  ASSERT_TRUE(get_node());
  client_->move_to(url("http://there:2/prefix"));
  EXPECT_EQ(client_->known_version(), std::nullopt);
  transport_.add_text(404, "Unable to find requested URL endpoint.");
  answer_as("campus", 2);
  ASSERT_TRUE(get_node());
  EXPECT_THAT(asked(), ElementsAre("http://here:1/slurm/v0.0.45/ping/",
                                   "http://here:1/slurm/v0.0.45/node/gpu-3",
                                   "http://there:2/prefix/slurm/v0.0.45/ping/",
                                   "http://there:2/prefix/slurm/v0.0.44/ping/",
                                   "http://there:2/prefix/slurm/v0.0.44/node/gpu-3"));
}

TEST_F(ClientMoveTest, AnotherSlurmIsAskedNothingButWhoItIs) {
  make(url("http://here:1"));
  answer_as("campus", 2);
  ASSERT_TRUE(get_node());
  client_->move_to(url("http://there:2"));
  transport_.asked.clear();
  for (int i = 0; i < 20; ++i) answer_as("lab", 1);
  const auto answer = get_node();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().to_string(),
              AllOf(HasSubstr("http://there:2"), HasSubstr("lab"), HasSubstr("campus")));
  EXPECT_FALSE(may_have_been_sent(answer.error()));
  EXPECT_EQ(answer.error().code(), Code::kTransient) << "nobody may take it for Slurm's word";
  for (const std::string& one : asked()) EXPECT_THAT(one, HasSubstr("/ping/"));
  // Nor when it is told of another address.
  client_->move_to(url("http://also-there:2"));
  EXPECT_FALSE(get_node());
  transport_.answers.clear();
  client_->move_to(url("http://here:1"));
  answer_as("campus", 2);
  EXPECT_TRUE(get_node());
}

TEST_F(ClientMoveTest, ACallThatWaitsItsTurnMeanwhileIsNotSentUnseen) {
  make(url("http://here:1"));
  answer_as("campus", 2);
  ASSERT_TRUE(get_node());
  std::vector<Governor::Permit> others;
  for (std::size_t i = 0; i < governor_.limit(); ++i) {
    others.push_back(*executor_.run(governor_.enter(Lane::kNormal)));
  }
  transport_.asked.clear();
  std::optional<Result<Answer>> ended;
  net::TaskGroup group(executor_);
  group.spawn(drain(&*client_, &ended));
  executor_.run_ready();
  client_->move_to(url("http://there:2"));
  others.clear();
  for (int i = 0; i < 20; ++i) answer_as("lab", 1);
  executor_.advance(seconds(20));
  ASSERT_TRUE(ended);
  ASSERT_FALSE(*ended);
  EXPECT_FALSE(may_have_been_sent(ended->error()));
  EXPECT_FALSE(asked().empty());
  for (const std::string& one : asked()) EXPECT_THAT(one, HasSubstr("there:2/slurm/v0.0.45/ping/"));
}

TEST_F(ClientMoveTest, AsksNobodyBeforeItKnowsWhom) {
  make({});
  const auto answer = get_node();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTransient);
  EXPECT_FALSE(may_have_been_sent(answer.error()));
  EXPECT_THAT(answer.error().to_string(), HasSubstr("address of slurmrestd is not known yet"));
  EXPECT_THAT(transport_.asked, IsEmpty());
  client_->move_to(url("http://here:1"));
  answer_as("campus", 2);
  EXPECT_TRUE(get_node());
}

}  // namespace
}  // namespace mainspring::slurm
