// net/stream.h
//
// A connection that carries bytes both ways, whatever is under it: TCP, TLS over it, a Unix socket,
// or a pipe in memory. Network (net/network.h) connects them, Listener accepts them. All are
// interfaces so that a simulation can stand in, and so that no header of the socket or TLS library
// leaves this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/task.h"

namespace mainspring::net {

struct PeerCertificate;  // net/tls.h

// One reader and one writer at a time. A cancelled or failed call leaves the stream unusable for
// anything but close(): how much went through is unknown.
class Stream {
 public:
  virtual ~Stream() = default;

  // At least one byte, or 0 at the end of the stream. `into` must live until the task ends.
  virtual Task<Result<std::size_t>> read_some(std::span<char> into) = 0;
  // Nothing will be read for a moment, so what arrives meanwhile need not wake the loop. The next
  // read takes it.
  virtual void pause_reading() {}
  // All of it or an error. `bytes` must live until the task ends.
  virtual Task<Result<void>> write(std::string_view bytes) = 0;
  // Says that nothing more will be written; reading goes on. For TLS, a proper close_notify.
  virtual Task<Result<void>> finish() = 0;
  // At once and without ceremony. Pending calls fail with kCancelled. Destruction closes too.
  virtual void close() = 0;

  // False once the other side is known to have closed or sent bytes nobody asked for: a kept-alive
  // connection must not be used again then. Never blocks.
  virtual bool idle_and_open() const = 0;

  // Who is at the other end, for logs and access checks: "127.0.0.1:41234", "unix".
  virtual std::string peer() const = 0;
  // What a TLS peer showed in the handshake, which for an accepted stream is in its first call.
  // Null if it showed none. Lives as long as the stream.
  virtual const PeerCertificate* peer_certificate() const { return nullptr; }
};

class Listener {
 public:
  virtual ~Listener() = default;
  // A TLS listener gives the stream at once; its handshake happens in the stream's first call, so a
  // slow peer never delays the next accept.
  virtual Task<Result<std::unique_ptr<Stream>>> accept() = 0;
  virtual void close() = 0;
  // The port actually bound, for those who asked for port 0; 0 for a Unix socket.
  virtual std::uint16_t port() const = 0;
};

}  // namespace mainspring::net
