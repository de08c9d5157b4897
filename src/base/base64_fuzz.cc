#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/base64.h"

// Strict means: whatever decodes is exactly what its bytes encode to.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto alphabet : {Base64Alphabet::kStandard, Base64Alphabet::kUrl}) {
    for (const auto padding : {Base64Padding::kRequired, Base64Padding::kNone}) {
      const auto bytes = base64_decode(text, alphabet, padding);
      if (bytes && base64_encode(*bytes, alphabet, padding) != text) std::abort();
    }
  }
  return 0;
}
