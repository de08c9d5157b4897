// Who may not write, as a leader that has lost its lease, changes nothing in Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/virtual_executor.h"
#include "slurm/client.h"
#include "slurm/scripted_transport.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientLeave : public ::testing::Test {
 protected:
  Result<Answer> send(Endpoint endpoint, std::function<Result<Duration>()> may_write) {
    Client::Options options;
    options.server = *http::Url::parse("http://127.0.0.1:6820");
    options.version = Version::k45;
    options.may_write = std::move(may_write);
    Client client(transport_, executor_, random_, governor_, std::move(options));
    return executor_.run(client.send({.endpoint = endpoint, .path = {"gpu-3"}}));
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  Governor governor_{executor_, random_, {}};
  ScriptedTransport transport_;
};

TEST_F(ClientLeave, WritesNothingWithoutIt) {
  const auto no = [] { return fail(Code::kForbidden, "another leads"); };
  const auto refused = send(Endpoint::kUpdateNode, no);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("another leads"));
  EXPECT_FALSE(may_have_been_sent(refused.error()));
  EXPECT_THAT(transport_.asked, IsEmpty());
  transport_.add(200, R"({"errors":[]})");
  EXPECT_TRUE(send(Endpoint::kGetNode, no).has_value());
}

TEST_F(ClientLeave, NoWriteLastsLongerThanIt) {
  transport_.add(200, R"({"errors":[]})");
  EXPECT_TRUE(send(Endpoint::kUpdateNode, [] { return Result<Duration>(seconds(3)); }).has_value());
  EXPECT_EQ(transport_.asked.at(0).limits.timeout, seconds(3));
}

}  // namespace
}  // namespace mainspring::slurm
