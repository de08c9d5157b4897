#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/go_duration.h"

// Whatever parses must come back from its own text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto duration = parse_go_duration(text);
  if (duration && parse_go_duration(format_go_duration(*duration)) != *duration) std::abort();
  return 0;
}
