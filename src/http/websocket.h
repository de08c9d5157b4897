// http/websocket.h
//
// Messages over an upgraded connection (RFC 6455), either end of it. Owned by the task or object
// that speaks; lives on one loop and must outlive its calls. The handshake comes before, in
// http/websocket_handshake.h; extensions are never agreed on, so there is no compression.
//
// One task reads, with next(); any number may send. Pings are answered while somebody reads, and
// never wait behind a message that the other side is slow to take. What the other side may make us
// hold is one message of bounded size. A breach of the protocol ends the connection, as RFC 6455
// asks: the other side is told why where possible, and next() fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "http/read_buffer.h"
#include "net/notify.h"
#include "net/stream.h"

namespace mainspring::http {

using net::Task;

class WebSocket {
 public:
  enum class Role { kClient, kServer };
  enum class Kind { kText, kBinary };

  struct Options {
    Role role = Role::kClient;
    std::size_t max_message = std::size_t{16} * 1024 * 1024;
  };

  struct Message {
    Kind kind = Kind::kBinary;
    std::string_view data;  // Valid until the next call of next(). Text is valid UTF-8.
  };

  // What the other side said at the end. RFC 6455, 7.4 lists the codes.
  struct Closed {
    std::uint16_t code = kNoCode;
    std::string reason;
    bool operator==(const Closed&) const = default;
  };
  static constexpr std::uint16_t kNormal = 1000;
  static constexpr std::uint16_t kNoCode = 1005;

  // `random` makes the masks of a client and must outlive this.
  WebSocket(std::unique_ptr<net::Stream> stream, Random& random, Options options);
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // The next message; nullopt once the other side has closed properly, see closed(). A connection
  // that ends without that is kTransient, a message over the limit kTooLarge, a breach of the
  // protocol kInvalid. After a failure nothing more can be read.
  Task<Result<std::optional<Message>>> next();

  // One message, of `prefix` and `data` behind each other. Both must live until the task ends.
  Task<Result<void>> send(Kind kind, std::string_view data, std::string_view prefix = {});

  Task<Result<void>> ping();
  // Pings for ever, so that nothing on the way takes a silent connection for an unused one. An
  // answer is not asked for: a peer whose reader is slow is slow to answer, and alive.
  Task<Result<void>> keep_alive(Duration period);

  // Says that nothing more will be sent. Read on until nullopt for the other side's goodbye.
  Task<Result<void>> close(std::uint16_t code = kNormal, std::string reason = {});
  // At once and without ceremony.
  void abort() { stream_->close(); }

  const std::optional<Closed>& closed() const { return closed_; }
  const net::Stream& stream() const { return *stream_; }

 private:
  enum class Opcode : std::uint8_t;
  struct Frame;
  class WriteTurn;

  static Result<std::optional<Frame>> parse_head(std::string_view bytes, Role role);
  Task<Result<void>> read_more();
  Task<Result<std::optional<Message>>> read_message();
  Task<Result<std::optional<Frame>>> read_head();
  Task<Result<void>> read_payload(const Frame* frame, std::string* into);
  Task<Result<void>> take_control(const Frame* frame);
  Result<void> note_close();
  Task<Result<void>> write_frame(Opcode opcode, std::string_view data, std::string_view prefix);
  Task<Result<void>> write_locked(Opcode opcode, std::string_view data, std::string_view prefix);
  void append_masked(std::string_view data, std::string_view mask, std::size_t offset);

  std::unique_ptr<net::Stream> stream_;
  Random& random_;
  Options options_;
  ReadBuffer buffer_;
  std::string message_;
  std::string control_;
  std::optional<Closed> closed_;
  std::optional<Error> failed_;
  std::uint16_t failure_code_ = 0;  // What to tell the other side about it; 0: nothing.

  std::string out_;
  bool writing_ = false;
  bool close_sent_ = false;
  std::optional<std::string> pong_due_;  // RFC 6455, 5.5.3: only the latest need be answered.
  net::Notify written_;
};

}  // namespace mainspring::http
