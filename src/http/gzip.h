// http/gzip.h
//
// gzip (RFC 1952), a piece at a time. Owned by whoever reads or writes one body. The limit is on
// what comes out, because a small input can stand for a very large output.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainspring::http {

class GzipDecoder {
 public:
  // kTooLarge once more than `limit` bytes came out.
  explicit GzipDecoder(std::size_t limit);
  ~GzipDecoder();
  GzipDecoder(GzipDecoder&&) noexcept;
  GzipDecoder& operator=(GzipDecoder&&) noexcept;

  // Appends everything that `input` makes known. Several gzip members in a row are one text.
  Result<void> feed(std::string_view input, std::string& out);
  // The input is over: kInvalid if the text is not.
  Result<void> finish() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string gzip_compress(std::string_view text);
Result<std::string> gzip_decompress(std::string_view bytes, std::size_t limit);

}  // namespace mainspring::http
