#include "http/client_connection.h"

#include <algorithm>
#include <string>

namespace mainspring::http {
namespace {

// Enough for any honest server, and an end to a hostile one.
constexpr int kMaxInterimResponses = 16;
// Below this, copying is cheaper than a second packet.
constexpr std::size_t kCopyBodyUpTo = std::size_t{32} * 1024;
// So much comes when a TLS record of the largest size was waiting, and others may be behind it.
constexpr std::size_t kLargeRead = std::size_t{16} * 1024;

// A stream whose first bytes were read ahead by somebody else.
class PrefixedStream final : public net::Stream {
 public:
  PrefixedStream(std::string prefix, std::unique_ptr<net::Stream> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    if (prefix_.empty()) co_return co_await rest_->read_some(into);
    const std::size_t count = std::min(into.size(), prefix_.size());
    std::copy_n(prefix_.begin(), count, into.begin());
    prefix_.erase(0, count);
    co_return count;
  }
  void pause_reading() override { rest_->pause_reading(); }
  Task<Result<void>> write(std::string_view bytes) override { return rest_->write(bytes); }
  Task<Result<void>> finish() override { return rest_->finish(); }
  void close() override {
    prefix_.clear();
    rest_->close();
  }
  bool idle_and_open() const override { return prefix_.empty() && rest_->idle_and_open(); }
  std::string peer() const override { return rest_->peer(); }
  const net::PeerCertificate* peer_certificate() const override {
    return rest_->peer_certificate();
  }

 private:
  std::string prefix_;
  std::unique_ptr<net::Stream> rest_;
};

}  // namespace

Task<Result<void>> ClientConnection::write_request(std::string_view head, std::string_view body,
                                                   bool bodyless) {
  parser_.reset(bodyless);
  bodyless_ = bodyless;
  answered_ = false;
  ended_ = false;
  if (body.empty()) co_return co_await stream_->write(head);
  if (body.size() <= kCopyBodyUpTo) {
    std::string both;
    both.reserve(head.size() + body.size());
    both.append(head).append(body);
    co_return co_await stream_->write(both);
  }
  MS_CO_CHECK(co_await stream_->write(head));
  co_return co_await stream_->write(body);
}

Result<ParserEvent> ClientConnection::parse() {
  std::string_view input = buffer_.view();
  auto event = parser_.next(input);
  buffer_.keep_last(input.size());
  if (event && *event == ParserEvent::kNeedMore && end_seen_) {
    MS_CHECK(parser_.end_of_stream());
    return ParserEvent::kEnd;
  }
  return event;
}

Task<Result<bool>> ClientConnection::read_more() {
  if (end_seen_) co_return fail(Code::kTransient, "the server closed the connection in mid-answer");
  const std::span<char> space = buffer_.space();
  MS_CO_TRY(const std::size_t count, co_await stream_->read_some(space));
  buffer_.commit(count);
  end_seen_ = count == 0;
  answered_ = answered_ || count > 0;
  co_return count == space.size() || count >= kLargeRead;
}

Task<Result<ResponseHead*>> ClientConnection::read_head(bool upgrade) {
  int interim = 0;
  for (;;) {
    MS_CO_TRY(const ParserEvent event, parse());
    if (event == ParserEvent::kNeedMore) {
      MS_CO_CHECK(co_await read_more());
      continue;
    }
    if (event == ParserEvent::kEnd) {
      co_return fail(Code::kTransient, "the server closed the connection without an answer");
    }
    const int status = parser_.head().status;
    if (status == 101 && !upgrade) {
      co_return fail(Code::kInvalid,
                     "the server answered 101 Switching Protocols, and no upgrade was asked for");
    }
    if (status >= 200 || status == 101) co_return &parser_.mutable_head();
    if (++interim > kMaxInterimResponses) {
      co_return fail(Code::kInvalid, "the server sends interim responses without end");
    }
    parser_.reset(bodyless_);
  }
}

Result<std::optional<std::string_view>> ClientConnection::take_body() {
  if (ended_) return std::string_view();
  MS_TRY(const ParserEvent event, parse());
  if (event == ParserEvent::kNeedMore) return std::nullopt;
  if (event == ParserEvent::kBody) return parser_.body();
  ended_ = true;
  return std::string_view();
}

bool ClientConnection::reusable() const {
  // Whether the server has closed it meanwhile is asked when it is wanted again.
  return ended_ && parser_.head().keep_alive && !end_seen_ && buffer_.empty();
}

std::unique_ptr<net::Stream> ClientConnection::release() {
  if (buffer_.empty()) return std::move(stream_);
  return std::make_unique<PrefixedStream>(std::string(buffer_.view()), std::move(stream_));
}

}  // namespace mainspring::http
