#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "net/descriptors_testing.h"
#include "net/os_error.h"
#include "net/resolver.h"
#include "net/socket_network.h"
#include "net/streams_testing.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Sockets : public ::testing::Test {
 protected:
  std::unique_ptr<Listener> listen(const Endpoint& endpoint = Endpoint::tcp("127.0.0.1", 0)) {
    auto listener = network.listen(endpoint, {});
    EXPECT_TRUE(listener.has_value()) << listener.error().to_string();
    return *std::move(listener);
  }
  std::unique_ptr<Stream> connect(const Endpoint& endpoint) {
    auto stream = loop.run(network.connect(endpoint, {}));
    EXPECT_TRUE(stream.has_value()) << stream.error().to_string();
    return *std::move(stream);
  }
  // Both ends of a new connection: ours, and the accepted one.
  std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pair() {
    auto listener = listen();
    auto near = connect(Endpoint::tcp("127.0.0.1", listener->port()));
    auto far = loop.run(listener->accept());
    return {std::move(near), *std::move(far)};
  }

  EventLoop loop;
  SocketNetwork network{loop};
};

Task<Result<std::string>> call(Network* network, Endpoint endpoint, std::string bytes) {
  MS_CO_TRY(auto stream, co_await network->connect(std::move(endpoint), {}));
  const Context context = co_await current_context();
  TaskGroup writer(*context.executor, context.scope);
  writer.spawn(write_all_and_finish(stream.get(), std::move(bytes)));
  MS_CO_TRY(std::string answer, co_await read_to_end(stream.get()));
  MS_CO_CHECK(co_await writer.join());
  co_return answer;
}

TEST_F(Sockets, CarryMegabytesBothWaysAtOnce) {
  auto listener = listen();
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  const std::string bytes = pattern(8 << 20);
  auto answer = loop.run(call(&network, Endpoint::tcp("127.0.0.1", listener->port()), bytes));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_TRUE(*answer == bytes);
}

Task<Result<void>> call_and_compare(Network* network, Endpoint endpoint, std::string bytes) {
  MS_CO_TRY(const std::string answer, co_await call(network, std::move(endpoint), bytes));
  if (answer != bytes) co_return fail(Code::kInternal, "the echo differs");
  co_return Result<void>();
}

TEST_F(Sockets, ServeManyConnectionsAtOnce) {
  auto listener = listen();
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  TaskGroup clients(loop);
  const auto endpoint = Endpoint::tcp("127.0.0.1", listener->port());
  for (std::size_t i = 0; i < 300; ++i) {
    clients.spawn(call_and_compare(&network, endpoint, pattern(1 + i * 37)));
  }
  auto result = loop.run(join_all(&clients));
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
}

TEST_F(Sockets, WorkByAddressAndByName) {
  auto listener = listen(Endpoint::tcp("", 0));
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  for (const char* host : {"127.0.0.1", "localhost"}) {
    auto answer = loop.run(call(&network, Endpoint::tcp(host, listener->port()), "hi"));
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(*answer, "hi");
  }
}

TEST_F(Sockets, WorkOverIPv6) {
  auto probe = network.listen(Endpoint::tcp("::1", 0), {});
  if (!probe) GTEST_SKIP() << "this machine has no IPv6: " << probe.error().to_string();
  auto listener = *std::move(probe);
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  auto answer = loop.run(call(&network, Endpoint::tcp("::1", listener->port()), "hello"));
  EXPECT_EQ(answer, Result<std::string>("hello"));
}

TEST_F(Sockets, ARefusedConnectionIsTransientAndSaysWhere) {
  const std::uint16_t port = listen()->port();  // Free again at once.
  auto stream = loop.run(network.connect(Endpoint::tcp("127.0.0.1", port), {}));
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::kTransient);
  EXPECT_EQ(stream.error().to_string(),
            "connecting to 127.0.0.1:" + std::to_string(port) + ": connection refused");
}

TEST_F(Sockets, ListeningTwiceOnOnePortIsRefused) {
  auto first = listen();
  auto second = network.listen(Endpoint::tcp("127.0.0.1", first->port()), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::kAlreadyExists);
  EXPECT_THAT(second.error().to_string(), StartsWith("listening on 127.0.0.1:"));
}

TEST_F(Sockets, ListeningOnANameIsRefused) {
  auto listener = network.listen(Endpoint::tcp("example.invalid", 0), {});
  ASSERT_FALSE(listener.has_value());
  EXPECT_EQ(listener.error().code(), Code::kInvalid);
}

TEST_F(Sockets, AfterFinishTheOtherDirectionGoesOn) {
  auto [near, far] = pair();
  ASSERT_TRUE(loop.run(near->finish()).has_value());
  EXPECT_EQ(loop.run(read_to_end(far.get())), Result<std::string>(""));
  ASSERT_TRUE(loop.run(far->write("still here")).has_value());
  EXPECT_EQ(loop.run(read_exactly(near.get(), 10)), Result<std::string>("still here"));
}

TEST_F(Sockets, AResetIsATransientError) {
  auto [near, far] = pair();
  // Closing with unread bytes makes the kernel send RST.
  ASSERT_TRUE(loop.run(near->write("unread")).has_value());
  EXPECT_EQ(loop.run(read_exactly(far.get(), 1)), Result<std::string>("u"));
  far->close();
  auto result = loop.run(read_to_end(near.get()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTransient);
  EXPECT_THAT(result.error().to_string(), HasSubstr("connection reset by peer"));
}

TEST_F(Sockets, WritingToAPeerThatIsGoneIsAnErrorAndNotASignal) {
  auto [near, far] = pair();
  far->close();
  Result<void> result;
  for (int i = 0; i < 100 && result; ++i) result = loop.run(near->write(pattern(100'000)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTransient);
}

TEST_F(Sockets, ACancelledReadEndsWithTheReason) {
  auto [near, far] = pair();
  auto result = loop.run(with_timeout(milliseconds(5), "reading", read_to_end(near.get())));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "reading took longer than 5 ms");
}

TEST_F(Sockets, ACancelledWriteEndsWithTheReason) {
  auto [near, far] = pair();
  const std::string more_than_fits = pattern(64 << 20);
  auto result = loop.run(with_timeout(milliseconds(20), "writing", near->write(more_than_fits)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTimeout);
}

TEST_F(Sockets, ACancelledAcceptEndsWithTheReason) {
  auto listener = listen();
  auto result = loop.run(with_timeout(milliseconds(5), "accepting", listener->accept()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTimeout);
}

TEST_F(Sockets, ConnectingToAFullBacklogTimesOut) {
  ListenOptions tiny;
  tiny.backlog = 1;
  auto listener = network.listen(Endpoint::tcp("127.0.0.1", 0), tiny);
  ASSERT_TRUE(listener.has_value());
  ConnectOptions options;
  options.timeout = milliseconds(50);
  std::vector<std::unique_ptr<Stream>> accepted_by_kernel;
  std::optional<Error> refused;
  for (int i = 0; i < 16 && !refused; ++i) {
    auto stream =
        loop.run(network.connect(Endpoint::tcp("127.0.0.1", (*listener)->port()), options));
    if (stream) {
      accepted_by_kernel.push_back(*std::move(stream));
    } else {
      refused = stream.error();
    }
  }
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code(), Code::kTimeout);
  EXPECT_THAT(refused->to_string(), HasSubstr(": it took longer than 50 ms"));
}

TEST_F(Sockets, CloseEndsAPendingReadOfTheSameStream) {
  auto [near, far] = pair();
  TaskGroup group(loop);
  auto close_soon = [](Stream* stream) -> Task<Result<void>> {
    MS_CO_CHECK(co_await sleep(milliseconds(2)));
    stream->close();
    co_return Result<void>();
  };
  group.spawn(close_soon(near.get()));
  auto result = loop.run(read_to_end(near.get()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST_F(Sockets, CloseEndsAPendingAccept) {
  auto listener = listen();
  TaskGroup group(loop);
  auto close_soon = [](Listener* which) -> Task<Result<void>> {
    MS_CO_CHECK(co_await sleep(milliseconds(2)));
    which->close();
    co_return Result<void>();
  };
  group.spawn(close_soon(listener.get()));
  auto result = loop.run(listener->accept());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

// Reads into its own frame, so that a write into it after its death is one into freed memory.
Task<Result<void>> read_into_own_frame(Stream* stream) {
  char buffer[4096];
  MS_CO_CHECK(co_await stream->read_some(buffer));
  co_return Result<void>();
}

TEST_F(Sockets, DestroyingATaskThatReadsIsSafeAndLosesNoBytes) {
  auto [near, far] = pair();
  {
    TaskGroup group(loop);
    group.spawn(read_into_own_frame(near.get()));
    ASSERT_TRUE(loop.run(sleep(milliseconds(1))).has_value());
    EXPECT_EQ(group.running(), 1u);
  }
  ASSERT_TRUE(loop.run(far->write("late")).has_value());
  ASSERT_TRUE(loop.run(sleep(milliseconds(1))).has_value());
  EXPECT_EQ(loop.run(read_exactly(near.get(), 4)), Result<std::string>("late"));
}

TEST_F(Sockets, DestroyingAStreamUnderATaskThatReadsIsSafe) {
  auto [near, far] = pair();
  TaskGroup group(loop);
  group.spawn(read_into_own_frame(near.get()));
  ASSERT_TRUE(loop.run(sleep(milliseconds(1))).has_value());
  near.reset();
  auto result = loop.run(join_all(&group));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST_F(Sockets, DestroyingATaskThatConnectsOrAcceptsIsSafe) {
  auto listener = listen();
  auto endpoint = Endpoint::tcp("localhost", listener->port());
  for (int turns = 0; turns < 6; ++turns) {
    TaskGroup group(loop);
    group.spawn(call_and_compare(&network, endpoint, "x"));
    group.spawn(echo_server(listener.get(), &group));
    for (int i = 0; i < turns; ++i) ASSERT_TRUE(loop.run(sleep(Duration(0))).has_value());
  }
}

TEST_F(Sockets, KnowWhetherAKeptConnectionIsStillGood) {
  auto [near, far] = pair();
  EXPECT_TRUE(near->idle_and_open());
  ASSERT_TRUE(loop.run(far->write("unasked")).has_value());
  EXPECT_FALSE(near->idle_and_open());
  EXPECT_EQ(loop.run(read_exactly(near.get(), 7)), Result<std::string>("unasked"));
  EXPECT_TRUE(near->idle_and_open());
  far->close();
  EXPECT_FALSE(near->idle_and_open());
  near->close();
  EXPECT_FALSE(near->idle_and_open());
}

TEST_F(Sockets, NameTheirPeers) {
  auto listener = listen();
  auto near = connect(Endpoint::tcp("127.0.0.1", listener->port()));
  auto far = loop.run(listener->accept());
  EXPECT_EQ(near->peer(), "127.0.0.1:" + std::to_string(listener->port()));
  EXPECT_THAT((*far)->peer(), StartsWith("127.0.0.1:"));
}

TEST_F(Sockets, ABusyStreamDoesNotStarveTheLoop) {
  auto listener = listen();
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  auto endless = [](Network* on, Endpoint endpoint) -> Task<Result<void>> {
    MS_CO_TRY(auto stream, co_await on->connect(std::move(endpoint), {}));
    for (;;) {
      MS_CO_CHECK(co_await stream->write("x"));
      MS_CO_CHECK(co_await read_exactly(stream.get(), 1));
    }
  };
  group.spawn(endless(&network, Endpoint::tcp("127.0.0.1", listener->port())));
  EXPECT_TRUE(loop.run(sleep(milliseconds(5))).has_value());
}

TEST_F(Sockets, AcceptWaitsOutAShortageOfDescriptors) {
  auto listener = listen();
  auto near = connect(Endpoint::tcp("127.0.0.1", listener->port()));
  {
    const NoDescriptorsLeft shortage;
    auto result = loop.run(with_timeout(milliseconds(20), "accepting", listener->accept()));
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), Code::kTimeout);
  }
  EXPECT_TRUE(loop.run(listener->accept()).has_value());
}

class UnixSockets : public Sockets {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = name + "/x.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  std::string path;
};

TEST_F(UnixSockets, CarryBytesAndCleanUpTheirFile) {
  auto listener = listen(Endpoint::unix_socket(path));
  EXPECT_EQ(listener->port(), 0);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  const std::string bytes = pattern(1 << 20);
  auto answer = loop.run(call(&network, Endpoint::unix_socket(path), bytes));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_TRUE(*answer == bytes);
  listener->close();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixSockets, AStaleFileIsReplacedAndALiveOneIsNot) {
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    auto address = SocketAddress::of_unix(path);
    ASSERT_EQ(::bind(fd, address->get(), address->size), 0);
    ::close(fd);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  auto first = listen(Endpoint::unix_socket(path));
  auto second = network.listen(Endpoint::unix_socket(path), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::kAlreadyExists);
  EXPECT_THAT(second.error().message(), HasSubstr("somebody else listens"));
}

TEST_F(UnixSockets, AFileThatIsNoSocketIsLeftAlone) {
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  auto listener = network.listen(Endpoint::unix_socket(path), {});
  ASSERT_FALSE(listener.has_value());
  EXPECT_EQ(listener.error().code(), Code::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(UnixSockets, SomebodyElsesNewFileIsNotRemovedOnClose) {
  auto first = listen(Endpoint::unix_socket(path));
  std::filesystem::remove(path);
  auto second = listen(Endpoint::unix_socket(path));
  first->close();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(UnixSockets, AMissingSocketIsTransient) {
  auto stream = loop.run(network.connect(Endpoint::unix_socket(path), {}));
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::kTransient);
  EXPECT_THAT(stream.error().to_string(), HasSubstr("no such file or directory"));
}

TEST_F(Sockets, ResolverAnswersAddressesAtOnceAndNamesFromTheSystem) {
  auto literal = loop.run(resolve("127.0.0.1", 80));
  ASSERT_TRUE(literal.has_value());
  EXPECT_EQ(literal->front().to_string(), "127.0.0.1:80");
  auto v6 = loop.run(resolve("::1", 80));
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->front().to_string(), "[::1]:80");
  auto name = loop.run(resolve("localhost", 443));
  ASSERT_TRUE(name.has_value()) << name.error().to_string();
  EXPECT_EQ(name->front().port(), 443);
}

TEST_F(Sockets, ANameThatNobodyKnowsIsATroubleOfTheWayAndNotAnAnswer) {
  EXPECT_EQ(loop.run(resolve("example.invalid", 80)).error().code(), Code::kTransient);
  auto stream = loop.run(network.connect(Endpoint::tcp("example.invalid", 80), {}));
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::kTransient);
}

TEST_F(Sockets, NoFreePortForOurEndMayBeOtherwiseLater) {
  EXPECT_TRUE(os_error(EADDRNOTAVAIL).retryable());
}

TEST_F(Sockets, ResolverRefusesWhatCannotBeAName) {
  EXPECT_EQ(loop.run(resolve("", 80)).error().code(), Code::kInvalid);
  EXPECT_EQ(loop.run(resolve(std::string("a\0b", 3), 80)).error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace mainspring::net
