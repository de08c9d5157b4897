#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/os_error.h"
#include "net/socket_internal.h"
#include "net/socket_stream.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

constexpr Duration kFullBacklogPause = milliseconds(10);

// Connecting to a free local port can, rarely, connect a socket to itself: the kernel picked the
// same port for our end. Nobody is there.
bool connected_to_itself(int fd) {
  SocketAddress own;
  SocketAddress peer;
  own.size = sizeof(own.storage);
  peer.size = sizeof(peer.storage);
  if (::getsockname(fd, own.get(), &own.size) != 0) return false;
  if (::getpeername(fd, peer.get(), &peer.size) != 0) return false;
  return own.family() != AF_UNIX && own.size == peer.size &&
         std::memcmp(&own.storage, &peer.storage, own.size) == 0;
}

bool connected(int fd) {
  SocketAddress peer;
  peer.size = sizeof(peer.storage);
  return ::getpeername(fd, peer.get(), &peer.size) == 0;
}

Task<Result<void>> finish_connecting(std::shared_ptr<FdWatch> watch) {
  while (true) {
    MS_CO_CHECK(co_await watch->ready(FdWatch::For::kWrite));
    int number = 0;
    socklen_t size = sizeof(number);
    if (::getsockopt(watch->fd(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    if (number != 0) co_return fail(os_error(number));
    if (connected(watch->fd())) co_return Result<void>();
  }
}

}  // namespace

void tune_tcp(int fd) {
  const auto set = [fd](int level, int option, int value) {
    (void)::setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Task<Result<std::unique_ptr<Stream>>> connect_socket(EventLoop* loop, SocketAddress address) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return fail(os_error(errno));
  MS_CO_TRY(std::shared_ptr<FdWatch> watch, FdWatch::own(*loop, fd));
  // From here on the stream closes the socket, whichever way this ends.
  auto stream = make_socket_stream(watch, address.to_string());
  if (address.family() != AF_UNIX) tune_tcp(fd);

  while (::connect(fd, address.get(), address.size) != 0) {
    const int number = errno;
    if (number == EINPROGRESS) {
      MS_CO_CHECK(co_await finish_connecting(watch));
      watch->quiet();  // It is writable from now on, and nobody wants to hear of it.
      break;
    }
    if (number != EINTR && number != EAGAIN) co_return fail(os_error(number));
    // A Unix listener's backlog is full; unlike TCP, the kernel does not wait for us.
    MS_CO_CHECK(co_await sleep(kFullBacklogPause));
  }
  if (connected_to_itself(fd)) co_return fail(os_error(ECONNREFUSED));
  co_return stream;
}

}  // namespace mainspring::net
