#include "http/websocket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "net/wait.h"

namespace mainspring::http {

enum class WebSocket::Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

struct WebSocket::Frame {
  bool fin = false;
  bool masked = false;
  Opcode opcode = Opcode::kContinuation;
  std::array<char, 4> mask{};
  std::uint64_t length = 0;
  std::size_t head_size = 0;

  bool control() const { return opcode >= Opcode::kClose; }
};

// One writer at a time. Its end lets the next one in, however it ends.
class WebSocket::WriteTurn {
 public:
  explicit WriteTurn(WebSocket& socket) : socket_(socket) { socket_.writing_ = true; }
  ~WriteTurn() {
    socket_.writing_ = false;
    socket_.written_.notify_all();
  }
  WriteTurn(const WriteTurn&) = delete;
  WriteTurn& operator=(const WriteTurn&) = delete;

 private:
  WebSocket& socket_;
};

namespace {

constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kNotUtf8 = 1007;
constexpr std::uint16_t kTooBig = 1009;
constexpr std::size_t kMaxControl = 125;
constexpr std::size_t kKeepAtRest = std::size_t{64} * 1024;

tl::unexpected<Error> breach(std::string_view what) {
  return fail(Code::kInvalid, fmt::format("malformed websocket frame: {}", what));
}

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

// RFC 6455, 7.4: the others are reserved, or never sent.
bool may_be_sent(std::uint64_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

bool known(std::uint8_t opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

WebSocket::WebSocket(std::unique_ptr<net::Stream> stream, Random& random, Options options)
    : stream_(std::move(stream)), random_(random), options_(options) {}
WebSocket::~WebSocket() = default;

Result<std::optional<WebSocket::Frame>> WebSocket::parse_head(std::string_view bytes, Role role) {
  if (bytes.size() < 2) return std::nullopt;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  Frame frame;
  frame.fin = (first & 0x80U) != 0;
  frame.masked = (second & 0x80U) != 0;
  frame.length = second & 0x7FU;
  if ((first & 0x70U) != 0) return breach("a reserved bit is set");
  if (!known(first & 0x0FU)) return breach(fmt::format("opcode {}", first & 0x0FU));
  frame.opcode = static_cast<Opcode>(first & 0x0FU);
  if (frame.control() && (!frame.fin || frame.length > kMaxControl)) {
    return breach("a control frame is fragmented or too long");
  }
  if (frame.masked != (role == Role::kServer)) {
    return breach(frame.masked ? "a server must not mask" : "a client must mask");
  }
  const std::size_t extended = frame.length == 126 ? 2 : frame.length == 127 ? 8 : 0;
  frame.head_size = 2 + extended + (frame.masked ? 4 : 0);
  if (bytes.size() < frame.head_size) return std::nullopt;
  if (extended != 0) frame.length = read_big_endian(bytes.substr(2, extended));
  if (extended == 2 ? frame.length < 126 : extended == 8 && frame.length <= 0xFFFF) {
    return breach("the length is not in its shortest form");
  }
  if (frame.length >> 63U != 0) return breach("the length has more than 63 bits");
  if (frame.masked) std::copy_n(bytes.data() + 2 + extended, 4, frame.mask.begin());
  return frame;
}

Task<Result<void>> WebSocket::read_more() {
  MS_CO_TRY(const std::size_t count, co_await stream_->read_some(buffer_.space()));
  if (count == 0) {
    co_return fail(Code::kTransient, "the websocket connection ended without a goodbye");
  }
  buffer_.commit(count);
  co_return Result<void>();
}

// nullopt where the other side answered our goodbye by hanging up.
Task<Result<std::optional<WebSocket::Frame>>> WebSocket::read_head() {
  for (;;) {
    MS_CO_TRY(const auto frame, parse_head(buffer_.view(), options_.role));
    if (frame) {
      buffer_.keep_last(buffer_.view().size() - frame->head_size);
      co_return frame;
    }
    buffer_.rest();
    auto more = co_await read_more();
    if (more) continue;
    if (close_sent_ && more.error().code() == Code::kTransient) co_return std::nullopt;
    co_return fail(std::move(more).error());
  }
}

Task<Result<void>> WebSocket::read_payload(const Frame* frame, std::string* into) {
  std::uint64_t left = frame->length;
  std::size_t offset = 0;  // Into the payload, for the mask.
  while (left > 0) {
    if (buffer_.empty()) MS_CO_CHECK(co_await read_more());
    const std::string_view here = buffer_.view().substr(0, left);
    const std::size_t begin = into->size();
    into->append(here);
    if (frame->masked) {
      for (std::size_t i = begin; i < into->size(); ++i) {
        (*into)[i] = static_cast<char>((*into)[i] ^ frame->mask[offset++ % 4]);
      }
    }
    left -= here.size();
    buffer_.keep_last(buffer_.view().size() - here.size());
  }
  co_return Result<void>();
}

Result<void> WebSocket::note_close() {
  Closed said;
  if (control_.size() == 1) return breach("half a close code");
  if (control_.size() >= 2) {
    const std::uint64_t code = read_big_endian(std::string_view(control_).substr(0, 2));
    if (!may_be_sent(code)) return breach(fmt::format("close code {}", code));
    said.code = static_cast<std::uint16_t>(code);
    said.reason = control_.substr(2);
    if (!is_valid_utf8(said.reason)) return breach("the reason of a close is not UTF-8");
  }
  closed_ = std::move(said);
  return {};
}

Task<Result<void>> WebSocket::take_control(const Frame* frame) {
  control_.clear();
  MS_CO_CHECK(co_await read_payload(frame, &control_));
  if (frame->opcode == Opcode::kPing) {
    if (writing_) {
      pong_due_ = control_;
      co_return Result<void>();
    }
    if (close_sent_) co_return Result<void>();
    co_return co_await write_frame(Opcode::kPong, control_, {});
  }
  if (frame->opcode != Opcode::kClose) co_return Result<void>();
  MS_CO_CHECK(note_close());
  // The other side knows by our goodbye that it was heard. If it does not wait for that, or is slow
  // to take what we are sending, there is nothing to add.
  if (close_sent_ || writing_) co_return Result<void>();
  (void)co_await write_frame(Opcode::kClose, std::string_view(control_).substr(0, 2), {});
  co_return Result<void>();
}

Task<Result<std::optional<WebSocket::Message>>> WebSocket::read_message() {
  message_.clear();
  if (message_.capacity() > kKeepAtRest) message_ = std::string();
  std::optional<Kind> kind;
  while (!closed_) {
    MS_CO_TRY(const auto frame, co_await read_head());
    if (!frame) {
      closed_ = Closed{kNoCode, {}};
      break;
    }
    if (frame->control()) {
      MS_CO_CHECK(co_await take_control(&*frame));
      continue;
    }
    if ((frame->opcode == Opcode::kContinuation) != kind.has_value()) {
      co_return breach(kind ? "a message begins inside another" : "nothing to continue");
    }
    if (!kind) kind = frame->opcode == Opcode::kText ? Kind::kText : Kind::kBinary;
    if (frame->length > options_.max_message - message_.size()) {
      failure_code_ = kTooBig;
      co_return fail(Code::kTooLarge, fmt::format("a websocket message of more than {} bytes",
                                                  options_.max_message));
    }
    MS_CO_CHECK(co_await read_payload(&*frame, &message_));
    if (!frame->fin) continue;
    if (*kind == Kind::kText && !is_valid_utf8(message_)) {
      failure_code_ = kNotUtf8;
      co_return fail(Code::kInvalid, "a websocket text message is not UTF-8");
    }
    co_return Message{*kind, message_};
  }
  co_return std::nullopt;
}

Task<Result<std::optional<WebSocket::Message>>> WebSocket::next() {
  if (failed_) co_return fail(*failed_);
  auto message = co_await read_message();
  if (message) co_return message;
  failed_ = message.error();
  if (failure_code_ == 0 && failed_->code() == Code::kInvalid) failure_code_ = kProtocolError;
  if (failure_code_ != 0 && !writing_ && !close_sent_) {
    (void)co_await close(failure_code_, failed_->message());
  }
  co_return fail(*failed_);
}

void WebSocket::append_masked(std::string_view data, std::string_view mask, std::size_t offset) {
  const std::size_t begin = out_.size();
  out_.append(data);
  if (mask.empty()) return;
  for (std::size_t i = begin; i < out_.size(); ++i) {
    out_[i] = static_cast<char>(out_[i] ^ mask[offset++ % 4]);
  }
}

Task<Result<void>> WebSocket::write_locked(Opcode opcode, std::string_view data,
                                           std::string_view prefix) {
  const std::size_t size = prefix.size() + data.size();
  const unsigned mask_bit = options_.role == Role::kClient ? 0x80 : 0;
  out_.clear();
  out_.push_back(static_cast<char>(0x80U | static_cast<unsigned>(opcode)));
  const std::size_t length_code = size <= kMaxControl ? size : size <= 0xFFFF ? 126 : 127;
  out_.push_back(static_cast<char>(mask_bit | length_code));
  if (length_code == 126) append_big_endian(out_, size, 2);
  if (length_code == 127) append_big_endian(out_, size, 8);
  std::string mask;
  if (mask_bit != 0) append_big_endian(mask, random_.next(), 4);
  out_.append(mask);
  append_masked(prefix, mask, 0);
  append_masked(data, mask, prefix.size());
  auto written = co_await stream_->write(out_);
  if (out_.capacity() > kKeepAtRest) out_ = std::string();
  co_return written;
}

Task<Result<void>> WebSocket::write_frame(Opcode opcode, std::string_view data,
                                          std::string_view prefix) {
  while (writing_) MS_CO_CHECK(co_await written_.wait());
  if (close_sent_) co_return fail(Code::kCancelled, "the websocket was closed by this side");
  close_sent_ = opcode == Opcode::kClose;
  const WriteTurn turn(*this);
  MS_CO_CHECK(co_await write_locked(opcode, data, prefix));
  while (pong_due_ && !close_sent_) {
    const std::string payload = *std::exchange(pong_due_, std::nullopt);
    MS_CO_CHECK(co_await write_locked(Opcode::kPong, payload, {}));
  }
  co_return Result<void>();
}

Task<Result<void>> WebSocket::send(Kind kind, std::string_view data, std::string_view prefix) {
  return write_frame(kind == Kind::kText ? Opcode::kText : Opcode::kBinary, data, prefix);
}

Task<Result<void>> WebSocket::ping() { return write_frame(Opcode::kPing, {}, {}); }

Task<Result<void>> WebSocket::keep_alive(Duration period) {
  for (;;) {
    MS_CO_CHECK(co_await net::sleep(period));
    MS_CO_CHECK(co_await ping());
  }
}

Task<Result<void>> WebSocket::close(std::uint16_t code, std::string reason) {
  std::string payload;
  append_big_endian(payload, code, 2);
  std::string_view text = reason;
  // Cut between characters: half of one is not UTF-8.
  while (text.size() > kMaxControl - 2 || !is_valid_utf8(text)) text.remove_suffix(1);
  payload.append(text);
  co_return co_await write_frame(Opcode::kClose, payload, {});
}

}  // namespace mainspring::http
