// A document and a patch: applying either kind never crashes, and the patch made between two
// documents leads from one to the other.
#include <cstdlib>

#include "json/diff.h"
#include "json/fuzz_pair.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::json;
  const auto pair = fuzz_pair(data, size);
  if (!pair) return 0;
  const auto& [a, b] = *pair;
  static_cast<void>(apply_json_patch(a, b));
  static_cast<void>(apply_merge_patch(a, b));
  const auto result = apply_json_patch(a, make_json_patch(a, b));
  // A long array may need more operations than one patch may have.
  if (result ? !(*result == b) : result.error().code() != mainspring::Code::kTooLarge) std::abort();
  if (diff(a, b).empty() != (a == b)) std::abort();
  return 0;
}
