#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/hostlist.h"

// Whatever expands must compress, and come back from the canonical form unchanged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = expand_hostlist(text, 10'000);
  if (!names) return 0;
  const auto ordered = compress_hostlist_in_order(*names);
  if (!ordered || expand_hostlist(*ordered) != names) std::abort();
  const auto canonical = compress_hostlist(*names);
  if (!canonical) std::abort();
  const auto again = expand_hostlist(*canonical);
  if (!again || compress_hostlist(*again) != canonical) std::abort();
  return 0;
}
