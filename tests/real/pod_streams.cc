// What is done to pods by way of a real API server and a real kubelet: exec, attach, port-forward,
// logs, binding and eviction. Run by nodes_test.py, which makes the pods and says in the
// environment where the cluster is. The pod `main` runs `/pod serve :8080`; see dev/pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "http/client.h"
#include "http/line_reader.h"
#include "kube/discovery.h"
#include "kube/exec.h"
#include "kube/pods.h"
#include "kube/port_forward.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run tests/real/nodes_test.py instead";
  return value == nullptr ? "" : value;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

http::Client::Options transport_options() {
  net::TlsClientOptions tls;
  tls.ca_pem = contents(variable("KUBE_CA"));
  tls.cert_pem = contents(variable("KUBE_CERT"));
  tls.key_pem = contents(variable("KUBE_KEY"));
  http::Client::Options options;
  options.tls = *net::TlsContext::client(tls);
  return options;
}

Task<Result<std::string>> read_to_end(net::Stream* stream) {
  std::string all;
  char piece[4096];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(piece));
    if (count == 0) co_return all;
    all.append(piece, count);
  }
}

Task<Result<std::string>> get_from_pod(Client* client, std::uint16_t port, std::string path) {
  MS_CO_TRY(const auto stream, co_await port_forward(client, "default", "main", port));
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n";
  MS_CO_CHECK(co_await stream->write(request));
  co_return co_await read_to_end(stream.get());
}

Task<Result<void>> ask_for_ever(Client* client, std::string path) {
  for (;;) MS_CO_CHECK(co_await get_from_pod(client, 8080, path));
}

// What the process writes until `wanted` is among it.
Task<Result<std::string>> output_until(RemoteProcess* process, std::string wanted) {
  std::string all;
  while (all.find(wanted) == std::string::npos) {
    MS_CO_TRY(const auto piece, co_await process->next());
    if (!piece) break;
    all.append(piece->data);
  }
  co_return all;
}

Task<Result<std::string>> lines_until(http::LineReader* lines, std::string wanted) {
  for (;;) {
    MS_CO_TRY(const auto line, co_await lines->next());
    if (!line) co_return fail(Code::kNotFound, "the log ended");
    if (line->find(wanted) != std::string_view::npos) co_return std::string(*line);
  }
}

class PodStreams : public ::testing::Test {
 protected:
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    auto result = loop_.run(net::with_timeout(seconds(60), "the test", std::move(task)));
    if (!result) error_ = result.error().to_string();
    return result;
  }
  Result<Finished> finish(ExecOptions options, std::string input = {}) {
    return run(run_to_end(&client_, "default", "main", std::move(options), std::move(input)));
  }

  net::EventLoop loop_;
  net::SocketNetwork network_{loop_};
  http::Client transport_{loop_, network_, transport_options()};
  Random random_ = Random::from_system();
  Client client_{
      transport_, loop_.clock(), random_, {.server = *http::Url::parse(variable("KUBE_URL"))}};
  std::string error_;
};

TEST_F(PodStreams, ExecGivesOutputAndSuccess) {
  const auto done = finish({.command = {"/pod", "get", "http://127.0.0.1:8080/"}});
  ASSERT_TRUE(done.has_value()) << error_;
  EXPECT_EQ(done->exit.code, 0);
  EXPECT_EQ(done->output, "main 127.0.0.1\n");
  EXPECT_EQ(done->errors, "");
}

TEST_F(PodStreams, ExecGivesErrorsAndTheExitCode) {
  const auto done = finish({.command = {"/pod", "juggle"}, .container = "main"});
  ASSERT_TRUE(done.has_value()) << error_;
  EXPECT_EQ(done->exit.code, 1);
  EXPECT_EQ(done->output, "");
  EXPECT_THAT(done->errors, HasSubstr("do not know what to do with \"juggle\""));
}

// Ends only if the end of the input arrives, and large enough for every buffer on the way.
TEST_F(PodStreams, ExecTakesInputAndItsEnd) {
  std::string input;
  for (int i = 0; i < 300'000; ++i) input += std::to_string(i) + "\n";
  const auto done = finish({.command = {"/pod", "read", "/dev/stdin"}}, input);
  ASSERT_TRUE(done.has_value()) << error_;
  EXPECT_EQ(done->exit.code, 0) << done->errors;
  EXPECT_TRUE(done->output == input) << done->output.size() << " bytes of " << input.size();
}

TEST_F(PodStreams, ExecHasATerminal) {
  const auto process =
      run(exec(&client_, "default", "main",
               {.command = {"/pod", "read", "/dev/stdin"}, .input = true, .tty = true}));
  ASSERT_TRUE(process.has_value()) << error_;
  ASSERT_TRUE(run((*process)->resize(100, 30)).has_value()) << error_;
  // The terminal echoes, makes CR LF of LF, and takes Ctrl-D for the end.
  ASSERT_TRUE(run((*process)->write("typed\n\x04")).has_value()) << error_;
  const auto output = run(output_until(process->get(), "no such text: until the end"));
  ASSERT_TRUE(output.has_value()) << error_;
  EXPECT_THAT(*output, HasSubstr("typed\r\n"));
  EXPECT_EQ((*process)->exit().code, 0);
}

TEST_F(PodStreams, ExecSaysWhatCannotBeRun) {
  ASSERT_FALSE(finish({.command = {"/no/such/file"}}).has_value());
  EXPECT_THAT(error_, HasSubstr("/no/such/file"));
  ASSERT_FALSE(finish({.command = {"/pod"}, .container = "nobody"}).has_value());
  EXPECT_THAT(error_, HasSubstr("nobody"));
  ASSERT_FALSE(run(exec(&client_, "default", "no-such-pod", {.command = {"/pod"}})).has_value());
  EXPECT_THAT(error_, HasSubstr("no-such-pod"));
}

TEST_F(PodStreams, PortForwardReachesTheServer) {
  const auto answer = run(get_from_pod(&client_, 8080, "/forwarded"));
  ASSERT_TRUE(answer.has_value()) << error_;
  EXPECT_THAT(*answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(*answer, HasSubstr("\r\n\r\nmain "));
}

TEST_F(PodStreams, PortForwardSaysThatNobodyListens) {
  ASSERT_FALSE(run(get_from_pod(&client_, 8081, "/")).has_value());
  EXPECT_THAT(error_, HasSubstr("refused"));
}

TEST_F(PodStreams, AttachHearsTheMainProcess) {
  const auto process = run(attach(&client_, "default", "main", {}));
  ASSERT_TRUE(process.has_value()) << error_;
  // Being attached is not announced, and what was written before that goes unheard.
  net::TaskGroup requests(loop_);
  requests.spawn(ask_for_ever(&client_, "/while-attached"));
  const auto output = run(output_until(process->get(), "/while-attached"));
  ASSERT_TRUE(output.has_value()) << error_;
  EXPECT_THAT(*output, HasSubstr("GET /while-attached"));
}

TEST_F(PodStreams, LogsAreReadAndFollowed) {
  auto whole = run(open_log(&client_, "default", "main", {.limit_bytes = 17}));
  ASSERT_TRUE(whole.has_value()) << error_;
  EXPECT_EQ(run(http::read_all(whole->get(), 1000)).value_or("failed"), "serving on :8080\n");

  auto following = run(
      open_log(&client_, "default", "main", {.follow = true, .timestamps = true, .tail_lines = 0}));
  ASSERT_TRUE(following.has_value()) << error_;
  http::LineReader lines(*std::move(following), 10'000);
  ASSERT_TRUE(run(get_from_pod(&client_, 8080, "/while-following")).has_value()) << error_;
  const auto line = run(lines_until(&lines, "/while-following"));
  ASSERT_TRUE(line.has_value()) << error_;
  EXPECT_THAT(*line, StartsWith("20"));

  ASSERT_FALSE(run(open_log(&client_, "default", "main", {.previous = true})).has_value());
  EXPECT_THAT(error_, HasSubstr("previous terminated container"));
}

TEST_F(PodStreams, BindsThePodThatWasDecidedAboutAndNoOther) {
  const std::string uid = variable("UNBOUND_UID");
  const std::string node = variable("NODE");
  const auto other =
      run(bind_pod(&client_, "default", "unbound", "11111111-aaaa-bbbb-cccc-222222222222", node));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code(), Code::kConflict) << error_;
  ASSERT_TRUE(
      run(bind_pod(&client_, "default", "unbound", uid, node, {.dry_run = true})).has_value());
  ASSERT_TRUE(run(bind_pod(&client_, "default", "unbound", uid, node,
                           {.annotations = {{"mainspring/test", "bound"}}}))
                  .has_value())
      << error_;
  const auto again = run(bind_pod(&client_, "default", "unbound", uid, node));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code(), Code::kConflict) << error_;
}

TEST_F(PodStreams, EvictsUnlessABudgetForbidsIt) {
  const auto kept = run(evict_pod(&client_, "default", "main"));
  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().code(), Code::kThrottled) << error_;
  EXPECT_TRUE(blocked_by_budget(kept.error())) << error_;

  const auto other = run(evict_pod(&client_, "default", "expendable",
                                   {.uid = "11111111-aaaa-bbbb-cccc-222222222222"}));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code(), Code::kConflict) << error_;
  ASSERT_TRUE(run(evict_pod(&client_, "default", "expendable", {.dry_run = true})).has_value())
      << error_;
  ASSERT_TRUE(run(evict_pod(&client_, "default", "expendable", {.grace_seconds = 0})).has_value())
      << error_;
}

TEST_F(PodStreams, DiscoveryKnowsWhatWasUsedHere) {
  const auto version = run(server_version(&client_));
  ASSERT_TRUE(version.has_value()) << error_;
  EXPECT_TRUE(version->at_least(1, 30)) << version->git_version;
  const auto all = run(discover(&client_));
  ASSERT_TRUE(all.has_value()) << error_;
  const DiscoveredResource* pods = all->find("", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->resource, (Resource{"", "v1", "pods", "Pod", true}));
  EXPECT_TRUE(pods->can("watch"));
  for (const char* name : {"binding", "eviction", "exec", "log", "portforward"}) {
    EXPECT_NE(pods->subresource(name), nullptr) << name;
  }
  EXPECT_EQ(all->preferred("apps", "Deployment")->resource.to_string(), "deployments.apps");
  EXPECT_FALSE(all->preferred("", "Node")->resource.namespaced);
  EXPECT_TRUE(all->serves("coordination.k8s.io", "v1", "leases"));
  EXPECT_FALSE(all->serves("extensions", "v1beta1", "ingresses"));
}

}  // namespace
}  // namespace mainspring::kube
