#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/rfc3339.h"

// Whatever parses must come back from its own text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto time = parse_rfc3339(text);
  if (!time) return 0;
  if (parse_rfc3339(format_rfc3339(*time, TimePrecision::kNanoseconds)) != *time) std::abort();
  return 0;
}
