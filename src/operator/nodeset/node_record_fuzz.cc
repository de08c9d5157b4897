// A node's comment in Slurm is anybody's to write. Whatever it is: no crash, and what is read as
// ours comes back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/nodeset/projection.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::op;
  const auto info = parse_comment(std::string_view(reinterpret_cast<const char*>(data), size));
  if (info && to_comment(*info).size() <= 4096 && parse_comment(to_comment(*info)) != info) {
    __builtin_trap();
  }
  return 0;
}
