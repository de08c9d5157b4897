// Whatever is read as a selector, as text or as an object, is written as text that reads as the
// same selector.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "json/fields.h"
#include "kube/label_selector.h"

using mainspring::kube::LabelSelector;

namespace {

void check(const LabelSelector& selector) {
  if (selector.matches_nothing()) return;
  const auto again = LabelSelector::parse(selector.to_string());
  if (!again || *again != selector) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto selector = LabelSelector::parse(text)) check(*selector);
  mainspring::json::Reader reader;
  if (const auto selector = mainspring::json::decode<LabelSelector>(reader, text)) check(*selector);
  return 0;
}
