// http/codec.h
//
// HTTP/1.1 messages to bytes and back; knows no sockets. The parsers are incremental: hand them
// what has arrived, get one event at a time. Owned by one connection each and used again for its
// next message after reset().
//
// They are strict where two readers of the same bytes could disagree about where a message ends,
// which is how requests are smuggled: Content-Length together with Transfer-Encoding, repeated or
// listed lengths, any coding but "chunked", folded lines, bare LF or CR and control characters are
// errors, never repaired. After an error the connection can only be closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/headers.h"
#include "http/message.h"

namespace mainspring::http {

struct ParserLimits {
  std::size_t header_bytes =
      std::size_t{64} * 1024;  // Start line and fields; also a chunk's head and trailers.
  std::size_t header_count = 128;
  std::uint64_t body_bytes = std::numeric_limits<std::uint64_t>::max();
};

enum class ParserEvent {
  kNeedMore,  // Append to what is left of the input and call again.
  kHead,      // head() is complete.
  kBody,      // body() is a piece of the body: a view into the input.
  kEnd,       // The message is complete; the rest of the input belongs to the next.
};

struct MessageHead {
  // RFC 9112, 9.3: what the version and Connection say about the time after this message.
  bool keep_alive = false;
  bool http_1_0 = false;
  bool has_body = false;
  std::optional<std::uint64_t> content_length;
  Headers headers;
};

struct RequestHead : MessageHead {
  // Unset for a method that we do not know, which is not an error of syntax.
  std::optional<Method> method;
  std::string method_text;
  std::string target;
};

struct ResponseHead : MessageHead {
  int status = 0;
  std::string reason;
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes what it understands off the front of `input`. kTooLarge where a limit was hit, kInvalid
  // for everything else.
  Result<ParserEvent> next(std::string_view& input);
  // After an error: the status to refuse the request with.
  int error_status() const;
  // A byte of this message has been seen.
  bool started() const;
  const RequestHead& head() const;
  // May be moved from once kHead was given.
  RequestHead& mutable_head();
  std::string_view body() const;
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  explicit ResponseParser(ParserLimits limits);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  Result<ParserEvent> next(std::string_view& input);
  // The connection has ended. Success if that is how this message ends; kTransient if it is cut
  // off.
  Result<void> end_of_stream();
  bool started() const;
  const ResponseHead& head() const;
  ResponseHead& mutable_head();
  std::string_view body() const;
  // `bodyless`: what follows answers HEAD or CONNECT and has no body whatever its fields say.
  void reset(bool bodyless);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether RFC 9110 lets it be sent: a token as the name; no control characters in the value.
bool is_valid_field(std::string_view name, std::string_view value);
// The fields that say how a message is framed. Those of the caller are not sent; the codec's are.
bool is_framing_field(std::string_view name);

enum class TargetForm { kOrigin, kAbsolute };

struct RequestFraming {
  TargetForm form = TargetForm::kOrigin;
  bool upgrade = false;  // "Connection: Upgrade"; the caller gives the Upgrade field.
  bool accept_gzip = false;
  std::string_view user_agent;  // Sent where the request has none of its own.
  std::string_view proxy_authorization;
};
// Appends the head, with Content-Length where there is or could be a body. kInvalid names a field
// that may not be sent; `out` is then to be thrown away.
Result<void> append_request_head(std::string& out, const Request& request,
                                 const RequestFraming& framing);

struct ResponseFraming {
  bool http_1_0 = false;
  bool keep_alive = true;
  bool chunked = false;
  bool until_close = false;  // HTTP/1.0 has no chunks: the end of the connection ends the body.
  std::string_view date;
};
Result<void> append_response_head(std::string& out, int status, const Headers& headers,
                                  std::size_t body_size, const ResponseFraming& framing);

// One chunk of a chunked body. An empty one would end the body and is left out.
void append_chunk(std::string& out, std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace mainspring::http
