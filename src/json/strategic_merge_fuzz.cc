// A pod and a patch: merging never crashes, whatever the directives say.
#include "json/fuzz_pair.h"
#include "json/strategic_merge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::json;
  const auto pair = fuzz_pair(data, size);
  if (!pair) return 0;
  static_cast<void>(apply_strategic_merge(pair->first, pair->second, MergeType::kPodSpec));
  static_cast<void>(apply_strategic_merge(pair->first, pair->second, MergeType::kPod));
  return 0;
}
