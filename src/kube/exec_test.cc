#include "kube/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/scripted_transport.h"
#include "kube/status.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

constexpr const char* kSuccess = "\x03{\"metadata\":{},\"status\":\"Success\"}";
constexpr const char* kExit3 =
    "\x03{\"metadata\":{},\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\","
    "\"message\":\"command terminated with non-zero exit code\","
    "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}";
constexpr const char* kNoSuchFile =
    "\x03{\"metadata\":{},\"status\":\"Failure\",\"reason\":\"InternalError\",\"code\":500,"
    "\"message\":\"exec: \\\"nope\\\": executable file not found\"}";

Task<Result<void>> say(http::WebSocket* socket, std::vector<std::string> messages) {
  for (const std::string& message : messages) {
    MS_CO_CHECK(co_await socket->send(http::WebSocket::Kind::kBinary, message));
  }
  co_return co_await socket->close();
}

// Everything that the server was told.
Task<Result<std::vector<std::string>>> hear(http::WebSocket* socket, std::size_t count) {
  std::vector<std::string> heard;
  while (heard.size() < count) {
    MS_CO_TRY(const auto message, co_await socket->next());
    if (!message) break;
    heard.emplace_back(message->data);
  }
  co_return heard;
}

// A command that prints its input and ends with it. Begins after the upgrade.
Task<Result<void>> play_cat(ScriptedTransport* server) {
  for (;;) {
    MS_CO_TRY(const auto message, co_await server->socket->next());
    if (!message) co_return Result<void>();
    if (message->data == "\xFF\0"s) break;
    const std::string echoed = "\x01" + std::string(message->data.substr(1));
    MS_CO_CHECK(co_await server->socket->send(http::WebSocket::Kind::kBinary, echoed));
  }
  co_return co_await say(server->socket.get(), {kSuccess});
}

class ExecTest : public ::testing::Test {
 protected:
  ExecTest() { transport_.protocols = {"v5.channel.k8s.io", "v4.channel.k8s.io"}; }

  std::unique_ptr<RemoteProcess> start(ExecOptions options = {.command = {"run"}}) {
    auto process = executor_.run(exec(&client_, "ml", "web-0", std::move(options)));
    EXPECT_TRUE(process.has_value()) << process.error().to_string();
    return *std::move(process);
  }
  void server_says(std::vector<std::string> messages) {
    ASSERT_TRUE(executor_.run(say(transport_.socket.get(), std::move(messages))).has_value());
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Client client_{
      transport_, executor_.clock(), random_, {.server = *http::Url::parse("https://api:6443")}};
};

TEST_F(ExecTest, AsksForTheCommandAndItsStreams) {
  start({.command = {"sh", "-c", "a b"}, .container = "main", .input = true});
  const http::Request& request = transport_.asked.at(0);
  EXPECT_EQ(request.method, http::Method::kGet);
  EXPECT_EQ(request.url.target(),
            "/api/v1/namespaces/ml/pods/web-0/exec?command=sh&command=-c&command=a%20b"
            "&container=main&stdout=true&stdin=true&stderr=true");
  EXPECT_EQ(request.headers.get("Accept"), "*/*");
  EXPECT_EQ(request.headers.get("Sec-WebSocket-Protocol"), "v5.channel.k8s.io, v4.channel.k8s.io");
}

TEST_F(ExecTest, AsksForOneOutputOfATerminal) {
  start({.command = {"sh"}, .input = true, .tty = true});
  EXPECT_THAT(transport_.asked.at(0).url.query, HasSubstr("tty=true"));
  EXPECT_THAT(transport_.asked.at(0).url.query, ::testing::Not(HasSubstr("stderr")));
}

TEST_F(ExecTest, TellsOutputFromErrorsAndThenTheExitCode) {
  const auto process = start();
  server_says({"\x01"s, "\x02"s, "\x01out",
               "\x02"
               "err",
               "\x09?", kExit3});
  auto piece = executor_.run(process->next()).value();
  EXPECT_EQ(piece->source, RemoteProcess::Source::kOutput);
  EXPECT_EQ(piece->data, "out");
  piece = executor_.run(process->next()).value();
  EXPECT_EQ(piece->source, RemoteProcess::Source::kError);
  EXPECT_EQ(piece->data, "err");
  EXPECT_FALSE(executor_.run(process->next()).value().has_value());
  EXPECT_EQ(process->exit().code, 3);
}

TEST_F(ExecTest, FailsWhereTheCommandCannotBeRun) {
  const auto process = start();
  server_says({kNoSuchFile});
  const auto end = executor_.run(process->next());
  ASSERT_FALSE(end.has_value());
  EXPECT_THAT(end.error().to_string(), HasSubstr("executable file not found"));
  ASSERT_NE(status_of(end.error()), nullptr);
  EXPECT_EQ(status_of(end.error())->reason, "InternalError");
}

TEST_F(ExecTest, NeverTakesALostConnectionForAnEnd) {
  auto process = start();
  server_says({"\x01out"});
  EXPECT_TRUE(executor_.run(process->next()).value().has_value());
  EXPECT_EQ(executor_.run(process->next()).error().code(), Code::kTransient);

  process = start();
  transport_.socket.reset();
  EXPECT_EQ(executor_.run(process->next()).error().code(), Code::kTransient);
}

TEST_F(ExecTest, SpeaksToTheProcess) {
  const auto process = start({.command = {"sh"}, .input = true, .tty = true});
  const std::string large(40'000, 'x');
  ASSERT_TRUE(executor_.run(process->write("ls\n")).has_value());
  ASSERT_TRUE(executor_.run(process->write("")).has_value());
  ASSERT_TRUE(executor_.run(process->resize(80, 24)).has_value());
  ASSERT_TRUE(executor_.run(process->write(large)).has_value());
  ASSERT_TRUE(executor_.run(process->close_input()).has_value());
  const auto heard = executor_.run(hear(transport_.socket.get(), 5));
  ASSERT_TRUE(heard.has_value()) << heard.error().to_string();
  EXPECT_THAT(*heard,
              ElementsAre("\0ls\n"s, "\x04{\"Width\":80,\"Height\":24}",
                          "\0"s + large.substr(0, 32768), "\0"s + large.substr(32768), "\xFF\0"s));
}

TEST_F(ExecTest, SaysThatAnOldServerCannotEndTheInput) {
  transport_.protocols = {"v4.channel.k8s.io"};
  const auto process = start({.command = {"cat"}, .input = true});
  EXPECT_FALSE(process->can_close_input());
  EXPECT_EQ(executor_.run(process->close_input()).error().code(), Code::kUnsupported);
  const auto finished =
      executor_.run(run_to_end(&client_, "ml", "web-0", {.command = {"cat"}}, "input"));
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code(), Code::kUnsupported);
}

TEST_F(ExecTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(executor_.run(exec(&client_, "ml", "web-0", {})).error().code(), Code::kInvalid);
  EXPECT_EQ(executor_.run(attach(&client_, "ml", "web-0", {.command = {"x"}})).error().code(),
            Code::kInvalid);
  EXPECT_TRUE(transport_.asked.empty());
}

TEST_F(ExecTest, AttachesToTheMainProcess) {
  ASSERT_TRUE(executor_.run(attach(&client_, "ml", "web-0", {})).has_value());
  EXPECT_EQ(transport_.asked.at(0).url.target(),
            "/api/v1/namespaces/ml/pods/web-0/attach?stdout=true&stderr=true");
}

TEST_F(ExecTest, RunsACommandToItsEndWithLargeInput) {
  std::string input;
  for (int i = 0; i < 30'000; ++i) input += std::to_string(i) + "\n";
  net::TaskGroup server(executor_);
  server.spawn(play_cat(&transport_));
  const auto finished =
      executor_.run(run_to_end(&client_, "ml", "web-0", {.command = {"cat"}}, input));
  ASSERT_TRUE(finished.has_value()) << finished.error().to_string();
  EXPECT_EQ(finished->exit.code, 0);
  EXPECT_EQ(finished->output, input);
}

TEST_F(ExecTest, StopsACommandThatWritesTooMuch) {
  net::TaskGroup server(executor_);
  server.spawn(play_cat(&transport_));
  const auto finished = executor_.run(
      run_to_end(&client_, "ml", "web-0", {.command = {"cat"}}, std::string(2000, 'x'), 1000));
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code(), Code::kTooLarge);
}

TEST(ExitStatus, IsReadFromTheStatusOrRefused) {
  EXPECT_EQ(parse_exit_status(kSuccess + 1)->code, 0);
  EXPECT_EQ(parse_exit_status(kExit3 + 1)->code, 3);
  EXPECT_FALSE(parse_exit_status("").has_value());
  EXPECT_FALSE(parse_exit_status(R"({"status":"Failure","reason":"NonZeroExitCode"})").has_value());
  EXPECT_FALSE(parse_exit_status(R"({"status":"Failure","reason":"NonZeroExitCode",
    "details":{"causes":[{"reason":"ExitCode","message":"many"}]}})")
                   .has_value());
}

}  // namespace
}  // namespace mainspring::kube
