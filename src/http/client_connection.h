// http/client_connection.h
//
// The client's end of one connection: writes a request, reads the response to it, and says whether
// the connection can carry another. Owned by a pool lease; one exchange at a time. Knows nothing of
// pools, deadlines or content codings. After an error it can only be destroyed.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "http/codec.h"
#include "http/read_buffer.h"
#include "http/transport.h"

namespace mainspring::http {

class ClientConnection {
 public:
  ClientConnection(std::unique_ptr<net::Stream> stream, ParserLimits limits)
      : stream_(std::move(stream)), parser_(limits) {}

  // `head` and `body` must live until the task ends. `bodyless`: the answer will have no body
  // (HEAD, CONNECT).
  Task<Result<void>> write_request(std::string_view head, std::string_view body, bool bodyless);
  // The final response's head; interim ones (100, 103) are skipped. Valid until the next request.
  // 101 is an answer to an `upgrade` alone: to anything else it is kInvalid, as what follows it
  // would not be HTTP.
  Task<Result<ResponseHead*>> read_head(bool upgrade);
  // The next piece of the body if it has arrived already. Empty view: the body has ended. nullopt:
  // call read_more() first.
  Result<std::optional<std::string_view>> take_body();
  // Waits for bytes, or for the end of the connection. True if more seem to have come already.
  Task<Result<bool>> read_more();
  // See net::Stream.
  void pause_reading() { stream_->pause_reading(); }

  // Any byte of the answer has arrived: the server has seen the request.
  bool answered() const { return answered_; }
  // The exchange is complete and both sides agree that another may follow.
  bool reusable() const;
  bool idle_and_open() const { return buffer_.empty() && stream_->idle_and_open(); }

  // The raw stream, after 101 or a successful CONNECT; it begins with what was read ahead.
  std::unique_ptr<net::Stream> release();

 private:
  Result<ParserEvent> parse();

  std::unique_ptr<net::Stream> stream_;
  ReadBuffer buffer_;
  ResponseParser parser_;
  bool bodyless_ = false;
  bool answered_ = false;
  bool ended_ = false;     // The response is complete.
  bool end_seen_ = false;  // The server will send nothing more.
};

}  // namespace mainspring::http
