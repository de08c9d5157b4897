#include "net/fd_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "net/socket_network.h"
#include "net/socket_stream.h"
#include "net/streams_testing.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

// What the loop is woken for by `fd`, as the system says; 0: by nothing.
std::uint32_t woken_for(int fd) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      int number = -1;
      std::uint32_t events = 0;
      words >> name >> number >> name >> std::hex >> events;
      if (line.starts_with("tfd:") && number == fd) return events;
    }
  }
  return 0;
}

class FdWatches : public ::testing::Test {
 protected:
  FdWatches() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    far_ = ends[1];
    watch_ = *FdWatch::own(loop_, ends[0]);
    stream_ = make_socket_stream(watch_, "test");
  }
  void TearDown() override { ::close(far_); }

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(far_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  Result<std::string> read(std::size_t size) {
    return loop_.run(read_exactly(stream_.get(), size));
  }

  EventLoop loop_;
  std::shared_ptr<FdWatch> watch_;
  std::unique_ptr<Stream> stream_;
  int far_ = -1;
};

Task<Result<void>> wait_to_write(std::shared_ptr<FdWatch> watch) {
  co_return co_await watch->ready(FdWatch::For::kWrite);
}

Task<Result<void>> send_later(int fd, std::string bytes) {
  MS_CO_CHECK(co_await sleep(milliseconds(1)));
  EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  co_return Result<void>();
}

TEST_F(FdWatches, WakeTheLoopAgainAtTheNextWait) {
  EXPECT_NE(woken_for(watch_->fd()), 0u);
  stream_->pause_reading();
  EXPECT_EQ(woken_for(watch_->fd()), 0u);

  send("in a pause");
  EXPECT_EQ(read(10), Result<std::string>("in a pause"));
  EXPECT_EQ(woken_for(watch_->fd()), 0u);

  TaskGroup later(loop_);
  later.spawn(send_later(far_, "after it"));
  EXPECT_EQ(read(8), Result<std::string>("after it"));
  EXPECT_NE(woken_for(watch_->fd()), 0u);
}

TEST_F(FdWatches, ForgetThatSomebodyWaitedToWrite) {
  ASSERT_TRUE(loop_.run(wait_to_write(watch_)).has_value());
  EXPECT_NE(woken_for(watch_->fd()) & EPOLLOUT, 0u);
  watch_->quiet();
  TaskGroup later(loop_);
  later.spawn(send_later(far_, "x"));
  EXPECT_EQ(read(1), Result<std::string>("x"));
  EXPECT_NE(woken_for(watch_->fd()), 0u);
  EXPECT_EQ(woken_for(watch_->fd()) & EPOLLOUT, 0u);
}

TEST_F(FdWatches, StayAwakeWhileSomebodyWaits) {
  std::optional<Result<std::string>> answer;
  RootTask reader = store_result(read_exactly(stream_.get(), 1), &answer);
  reader.start(Context{&loop_, nullptr});
  watch_->quiet();
  EXPECT_NE(woken_for(watch_->fd()), 0u);
  send("x");
  while (!reader.done()) ASSERT_TRUE(loop_.run(sleep(milliseconds(1))).has_value());
  EXPECT_EQ(*answer, Result<std::string>("x"));
}

TEST_F(FdWatches, CloseInAPause) {
  stream_->pause_reading();
  stream_->close();
  char byte = 0;
  EXPECT_EQ(::recv(far_, &byte, 1, 0), 0);
  EXPECT_FALSE(read(1).has_value());
}

TEST(SocketNetwork, AConnectedSocketDoesNotWakeTheLoopForWriting) {
  EventLoop loop;
  SocketNetwork network(loop);
  auto listener = *network.listen(Endpoint::tcp("127.0.0.1", 0), {});
  TaskGroup group(loop);
  group.spawn(echo_server(listener.get(), &group));
  auto stream = *loop.run(network.connect(Endpoint::tcp("127.0.0.1", listener->port()), {}));
  ASSERT_TRUE(loop.run(stream->write("x")).has_value());
  EXPECT_EQ(loop.run(read_exactly(stream.get(), 1)), Result<std::string>("x"));
  for (int fd = 0; fd < 1000; ++fd) EXPECT_EQ(woken_for(fd) & EPOLLOUT, 0u) << fd;
}

}  // namespace
}  // namespace mainspring::net
