// http/body_reader.h
//
// The body of one response as the caller wants it: chunks joined and gzip undone. Used by the
// client for buffered and for streamed responses; owned with the connection it reads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/client_connection.h"
#include "http/gzip.h"

namespace mainspring::http {

class BodyReader {
 public:
  // `limit` is on what gzip gives out. `connection` must outlive this.
  BodyReader(ClientConnection* connection, bool gzip, std::size_t limit);

  // As ClientConnection::take_body.
  Result<std::optional<std::string_view>> take();

 private:
  ClientConnection* connection_;
  std::optional<GzipDecoder> gzip_;
  std::string_view compressed_;
  std::string decoded_;
  bool any_compressed_ = false;
};

}  // namespace mainspring::http
