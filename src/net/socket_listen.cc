#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "net/fd_watch.h"
#include "net/os_error.h"
#include "net/resolver.h"
#include "net/socket_internal.h"
#include "net/socket_stream.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

constexpr Duration kOutOfDescriptorsPause = milliseconds(100);

// A Unix socket's file as we made it, to recognise it when it is time to remove it.
struct UnixFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;

  static UnixFile at(const std::string& path) {
    struct stat info {};
    if (path.empty() || path.front() == '@' || ::lstat(path.c_str(), &info) != 0) return {};
    return {path, info.st_dev, info.st_ino};
  }
  void remove() const {
    const UnixFile now = at(path);
    if (!path.empty() && now.device == device && now.inode == inode) ::unlink(path.c_str());
  }
};

// Errors of accept that belong to one connection, or will pass.
bool only_this_connection(int number) {
  switch (number) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EOPNOTSUPP:
    case EPERM:
      return true;
    default:
      return false;
  }
}

bool out_of_resources(int number) {
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

struct State {
  EventLoop& loop;
  std::shared_ptr<FdWatch> watch;
  std::shared_ptr<TlsSource> tls;
  UnixFile file;
};

class SocketListener final : public Listener {
 public:
  SocketListener(std::shared_ptr<State> state, std::uint16_t port)
      : state_(std::move(state)), port_(port) {}
  ~SocketListener() override { close_socket(); }

  Task<Result<std::unique_ptr<Stream>>> accept() override {
    const auto state = state_;
    for (;;) {
      if (state->watch->closed()) co_return fail(Code::kCancelled, "the listener was closed");
      SocketAddress peer;
      peer.size = sizeof(peer.storage);
      const int fd =
          ::accept4(state->watch->fd(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) co_return wrap(*state, fd, peer);
      const int number = errno;
      if (number == EAGAIN || number == EWOULDBLOCK) {
        MS_CO_CHECK(co_await state->watch->ready(FdWatch::For::kRead));
      } else if (out_of_resources(number)) {
        // The connection stays in the backlog and the socket stays ready: asking again at once
        // would spin until somebody closes something.
        MS_CO_CHECK(co_await sleep(kOutOfDescriptorsPause));
      } else if (!only_this_connection(number)) {
        co_return fail(os_error(number).with_context("accepting a connection"));
      }
    }
  }

  void close() override { close_socket(); }
  std::uint16_t port() const override { return port_; }

 private:
  static Result<std::unique_ptr<Stream>> wrap(const State& state, int fd,
                                              const SocketAddress& peer) {
    MS_TRY(std::shared_ptr<FdWatch> watch, FdWatch::own(state.loop, fd));
    if (peer.family() != AF_UNIX) tune_tcp(fd);
    auto stream = make_socket_stream(std::move(watch), peer.to_string());
    if (state.tls == nullptr) return stream;
    return tls_accept(std::move(stream), state.tls->current());
  }

  void close_socket() {
    if (state_->watch->closed()) return;
    state_->file.remove();
    state_->watch->close();
  }

  std::shared_ptr<State> state_;
  std::uint16_t port_;
};

// Closes the descriptor unless somebody took it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int open_socket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

bool bind_to(int fd, const SocketAddress& address) {
  return ::bind(fd, address.get(), address.size) == 0;
}

Result<void> remove_if_stale(const std::string& path, const SocketAddress& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return fail(Code::kAlreadyExists, "a file that is not a socket is in the way");
  }
  const Descriptor probe(open_socket(AF_UNIX));
  if (probe.get() < 0) return fail(os_error(errno));
  if (::connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED) {
    return fail(Code::kAlreadyExists, "somebody else listens there");
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(os_error(errno));
  return {};
}

Result<void> bind_unix(int fd, const std::string& path, unsigned mode) {
  MS_TRY(const SocketAddress address, SocketAddress::of_unix(path));
  // Before bind it narrows what the new file gets, so that it is never open to more than asked for.
  if (::fchmod(fd, mode) != 0) return fail(os_error(errno));
  if (!bind_to(fd, address)) {
    if (errno != EADDRINUSE || path.front() == '@') return fail(os_error(errno));
    MS_CHECK(remove_if_stale(path, address));
    if (!bind_to(fd, address)) return fail(os_error(errno));
  }
  if (path.front() != '@' && ::chmod(path.c_str(), mode) != 0) return fail(os_error(errno));
  return {};
}

Result<SocketAddress> listening_address(const Endpoint& endpoint) {
  const std::string host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host;
  auto addresses = resolve_literal(host, endpoint.port);
  if (!addresses) {
    return fail(Code::kInvalid, "only an IP address, \"localhost\" or nothing can be listened on");
  }
  // For "every address", an IPv6 socket takes IPv4 too.
  for (const SocketAddress& address : *addresses) {
    if (address.family() == AF_INET6) {
      const Descriptor probe(open_socket(AF_INET6));
      if (probe.get() >= 0) return address;
    }
  }
  return addresses->front();
}

Result<void> bind_tcp(int fd, const SocketAddress& address, bool every_address) {
  const int on = 1;
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.family() == AF_INET6) {
    const int only_6 = every_address ? 0 : 1;
    (void)::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_6, sizeof(only_6));
  }
  if (!bind_to(fd, address)) return fail(os_error(errno));
  return {};
}

Result<std::unique_ptr<Listener>> try_listen(EventLoop& loop, const Endpoint& endpoint,
                                             ListenOptions options) {
  SocketAddress address;
  address.storage.ss_family = AF_UNIX;
  if (!endpoint.is_unix()) {
    MS_TRY(address, listening_address(endpoint));
  }
  Descriptor socket(open_socket(address.family()));
  if (socket.get() < 0) return fail(os_error(errno));
  if (endpoint.is_unix()) {
    MS_CHECK(bind_unix(socket.get(), endpoint.unix_path, options.unix_mode));
  } else {
    MS_CHECK(bind_tcp(socket.get(), address, endpoint.host.empty()));
  }
  if (::listen(socket.get(), options.backlog) != 0) return fail(os_error(errno));

  SocketAddress bound;
  bound.size = sizeof(bound.storage);
  if (::getsockname(socket.get(), bound.get(), &bound.size) != 0) return fail(os_error(errno));
  MS_TRY(auto watch, FdWatch::own(loop, socket.take()));
  auto state = std::make_shared<State>(
      State{loop, std::move(watch), std::move(options.tls), UnixFile::at(endpoint.unix_path)});
  return std::make_unique<SocketListener>(std::move(state), bound.port());
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_socket(EventLoop& loop, const Endpoint& endpoint,
                                                ListenOptions options) {
  return with_context(try_listen(loop, endpoint, std::move(options)),
                      "listening on " + endpoint.to_string());
}

}  // namespace mainspring::net
