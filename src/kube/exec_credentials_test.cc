#include "kube/exec_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/rfc3339.h"
#include "net/event_loop.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

std::string answer(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
         status + "}";
}

std::string error_of(const std::string& text) {
  const auto credential = parse_exec_credential(text, kV1);
  return credential ? "no error" : credential.error().to_string();
}

TEST(ExecCredentialText, IsReadWhole) {
  const auto credential = parse_exec_credential(
      answer(R"({"token":"t","clientCertificateData":"C","clientKeyData":"K",)"
             R"("expirationTimestamp":"2026-11-15T09:00:00Z"})"),
      kV1);
  ASSERT_TRUE(credential.has_value()) << credential.error().to_string();
  EXPECT_EQ(*credential, (ExecCredential{Secret("t"), "C", Secret("K"),
                                         parse_rfc3339("2026-11-15T09:00:00Z").value()}));
}

TEST(ExecCredentialText, ErrorsSayWhatIsWrongAndRepeatNoSecret) {
  EXPECT_EQ(error_of(answer("{}")), "status has neither a token nor a client certificate");
  EXPECT_EQ(error_of(answer(R"({"clientKeyData":"K"})")),
            "status has one of clientCertificateData and clientKeyData: both are needed");
  EXPECT_EQ(error_of(answer(R"({"token":"t","expirationTimestamp":"soon"})")),
            "status.expirationTimestamp is no time");
  EXPECT_EQ(error_of(R"({"apiVersion":"v1","kind":"ExecCredential"})"),
            "apiVersion is \"v1\" where client.authentication.k8s.io/v1 was asked for");
  EXPECT_EQ(error_of(R"({"apiVersion":"v1","kind":"Pod"})"), "kind is not ExecCredential");
  for (const char* status : {R"({"token":"hunter2 x"})", R"({"token":["hunter2"]})",
                             R"({"token":"hunter2","token":"hunter2"})", R"({"token":"hunter2)"}) {
    EXPECT_THAT(error_of(answer(status)), Not(HasSubstr("hunter2")));
  }
}

// Plugins are real programs in a temporary folder; each run leaves a line in "runs".
class ExecPlugins : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  void plugin(const std::string& script) {
    std::ofstream(folder / "plugin")
        << "#!/bin/sh\necho run >> " << (folder / "runs").string() << "\n"
        << script << "\n";
    ::chmod((folder / "plugin").c_str(), 0700);
  }
  void plugin_prints(const std::string& text) {
    std::ofstream(folder / "answer") << text;
    plugin("cat " + (folder / "answer").string());
  }
  std::string read(const char* file) const {
    std::ostringstream text;
    text << std::ifstream(folder / file).rdbuf();
    return text.str();
  }
  long runs() const {
    const std::string text = read("runs");
    return std::count(text.begin(), text.end(), '\n');
  }

  ExecCredentials::Options options() {
    ExecCredentials::Options result;
    result.plugin.command = "plugin";
    result.plugin.api_version = kV1;
    result.environment = {"PATH=" + folder.string() + ":/usr/bin:/bin", "A=ours"};
    result.clock = &clock;
    return result;
  }

  // What the next request carries, or the error.
  std::string authorization(ExecCredentials& credentials) {
    http::Headers headers;
    const auto added = executor.run(credentials.add_to(&headers));
    if (!added) return added.error().to_string();
    return std::string(headers.get("Authorization").value_or("none"));
  }

  net::VirtualExecutor executor;
  ManualClock clock{parse_rfc3339("2026-11-15T09:00:00Z").value()};
  fs::path folder;
};

TEST_F(ExecPlugins, RunOnceForManyRequests) {
  plugin_prints(answer(R"({"token":"one"})"));
  ExecCredentials credentials(options());
  EXPECT_EQ(runs(), 0);
  EXPECT_EQ(authorization(credentials), "Bearer one");
  clock.advance(hours(1000));
  EXPECT_EQ(authorization(credentials), "Bearer one");
  EXPECT_EQ(runs(), 1);
}

TEST_F(ExecPlugins, RunAgainShortlyBeforeExpiry) {
  plugin_prints(answer(R"({"token":"one","expirationTimestamp":"2026-11-15T09:15:00Z"})"));
  ExecCredentials credentials(options());
  EXPECT_EQ(authorization(credentials), "Bearer one");
  plugin_prints(answer(R"({"token":"two","expirationTimestamp":"2026-11-15T09:30:00Z"})"));
  clock.advance(minutes(14) + seconds(29));
  EXPECT_EQ(authorization(credentials), "Bearer one");
  clock.advance(seconds(1));
  EXPECT_EQ(authorization(credentials), "Bearer two");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ExecPlugins, ACredentialThatHasExpiredAlreadyIsStillTried) {
  plugin_prints(answer(R"({"token":"old","expirationTimestamp":"2020-01-01T00:00:00Z"})"));
  ExecCredentials credentials(options());
  EXPECT_EQ(authorization(credentials), "Bearer old");
  EXPECT_EQ(authorization(credentials), "Bearer old");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ExecPlugins, RunAgainWhenTheServerRefuses) {
  plugin_prints(answer(R"({"token":"one"})"));
  ExecCredentials credentials(options());
  EXPECT_EQ(authorization(credentials), "Bearer one");
  clock.advance(minutes(1));
  plugin_prints(answer(R"({"token":"two"})"));
  EXPECT_TRUE(credentials.refresh());
  EXPECT_EQ(authorization(credentials), "Bearer two");
  // Refusals of what was sent before that do not run it once more.
  EXPECT_TRUE(credentials.refresh());
  EXPECT_EQ(authorization(credentials), "Bearer two");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ExecPlugins, AreToldAboutTheClusterAndHaveOurEnvironmentWithTheirOwnOnTop) {
  plugin("echo \"$A $B $1\" >&2; echo \"$KUBERNETES_EXEC_INFO\" >&2; exit 1");
  auto asked = options();
  asked.plugin.args = {"get-token"};
  asked.plugin.env = {{"B", "theirs"}};
  asked.cluster = json::Value::object({{"server", "https://s"}});
  ExecCredentials credentials(std::move(asked));
  const std::string error = authorization(credentials);
  EXPECT_THAT(error, HasSubstr("ours theirs get-token"));
  EXPECT_THAT(error, HasSubstr(R"(\"spec\":{\"interactive\":false,\"cluster\":{\"server\":)"));
}

TEST_F(ExecPlugins, FailuresNameTheProgramAndTheEndOfItsComplaint) {
  plugin("echo hunter2; echo 'log in first' >&2; exit 3");
  ExecCredentials credentials(options());
  EXPECT_EQ(authorization(credentials),
            "credential plugin \"plugin\": ended with exit code 3; it printed \"log in first\"");
  plugin("kill -9 $$");
  EXPECT_EQ(
      authorization(credentials),
      "credential plugin \"plugin\": ended by signal 9; it printed no reason to standard error");
  plugin("echo hunter2");
  EXPECT_THAT(authorization(credentials), Not(HasSubstr("hunter2")));
  // It recovers by itself.
  plugin_prints(answer(R"({"token":"one"})"));
  EXPECT_EQ(authorization(credentials), "Bearer one");
}

TEST_F(ExecPlugins, AMissingProgramShowsItsInstallHint) {
  auto asked = options();
  asked.plugin.install_hint = "Install it from the app store.\n";
  ExecCredentials credentials(std::move(asked));
  EXPECT_EQ(authorization(credentials),
            "credential plugin \"plugin\": \"plugin\" is not an executable in any folder of PATH. "
            "Install it from the app store.");
}

TEST_F(ExecPlugins, ANewCertificateIsHandedOnOnceAndItsRefusalIsAFailure) {
  plugin_prints(answer(R"({"clientCertificateData":"C","clientKeyData":"K"})"));
  std::vector<std::string> seen;
  auto asked = options();
  asked.on_certificate = [&](const std::string& cert, const Secret&) -> Result<void> {
    seen.push_back(cert);
    if (cert == "bad") return fail(Code::kInvalid, "not a certificate");
    return {};
  };
  ExecCredentials credentials(std::move(asked));
  EXPECT_EQ(authorization(credentials), "none");
  clock.advance(minutes(1));
  credentials.refresh();
  EXPECT_EQ(authorization(credentials), "none");
  EXPECT_EQ(runs(), 2);
  EXPECT_THAT(seen, ElementsAre("C"));
  plugin_prints(answer(R"({"clientCertificateData":"bad","clientKeyData":"K"})"));
  clock.advance(minutes(1));
  credentials.refresh();
  EXPECT_EQ(authorization(credentials), "credential plugin \"plugin\": not a certificate");
}

net::Task<Result<void>> ask(ExecCredentials* credentials, std::vector<std::string>* answers) {
  http::Headers headers;
  auto added = co_await credentials->add_to(&headers);
  answers->push_back(added ? std::string(headers.get("Authorization").value_or("none"))
                           : added.error().to_string());
  co_return Result<void>();
}

net::Task<Result<void>> join(net::TaskGroup* group) {
  co_await group->join();
  co_return Result<void>();
}

TEST_F(ExecPlugins, RequestsThatWaitTogetherShareOneRunAndItsFailure) {
  for (const bool good : {true, false}) {
    fs::remove(folder / "runs");
    if (good) {
      plugin_prints(answer(R"({"token":"one"})"));
    } else {
      plugin("exit 1");
    }
    net::EventLoop loop;
    ExecCredentials credentials(options());
    std::vector<std::string> answers;
    net::TaskGroup group(loop);
    for (int i = 0; i < 5; ++i) group.spawn(ask(&credentials, &answers));
    ASSERT_TRUE(loop.run(join(&group)).has_value());
    EXPECT_EQ(answers.size(), 5U);
    for (const auto& text : answers) {
      EXPECT_THAT(text, good ? HasSubstr("Bearer one") : HasSubstr("exit code 1"));
    }
    EXPECT_EQ(runs(), 1);
  }
}

net::Task<Result<void>> until_exists(fs::path file) {
  while (!fs::exists(file)) MS_CO_CHECK(co_await net::sleep(milliseconds(1)));
  co_return Result<void>();
}

TEST_F(ExecPlugins, WhenTheOneWhoRanItIsCancelledAnotherTakesOver) {
  plugin("sleep 1000");
  net::EventLoop loop;
  ExecCredentials credentials(options());
  std::vector<std::string> answers;
  net::TaskGroup waiting(loop);
  {
    net::TaskGroup first(loop);
    first.spawn(ask(&credentials, &answers));
    ASSERT_TRUE(loop.run(until_exists(folder / "runs")).has_value());
    waiting.spawn(ask(&credentials, &answers));
    ASSERT_TRUE(loop.run(net::sleep(milliseconds(1))).has_value());
    plugin_prints(answer(R"({"token":"one"})"));
  }
  ASSERT_TRUE(loop.run(join(&waiting)).has_value());
  EXPECT_THAT(answers, ElementsAre("Bearer one"));
  EXPECT_EQ(runs(), 2);
}

}  // namespace
}  // namespace mainspring::kube
