// Any bytes may be fed to the decoder, in any pieces, and never give out more than the limit.
#include "http/gzip.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::http;
  constexpr std::size_t kLimit = 1 << 20;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = gzip_decompress(text, kLimit);
  if (whole && whole->size() > kLimit) std::abort();
  GzipDecoder decoder(kLimit);
  std::string pieces;
  bool failed = false;
  for (std::size_t i = 0; i < size && !failed; ++i) {
    failed = !decoder.feed(text.substr(i, 1), pieces).has_value();
  }
  failed = failed || !decoder.finish().has_value();
  if (failed == whole.has_value() || (whole && *whole != pieces)) std::abort();
  if (gzip_decompress(gzip_compress(text), size) != std::string(text)) std::abort();
  return 0;
}
