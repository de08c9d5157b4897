// Whatever parses can be written, parses again, and is the same.
#include <cstdlib>
#include <string_view>

#include "json/value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = parse(text);
  const auto document = Document::parse(text);
  if (value.has_value() != document.has_value()) std::abort();
  if (!value) return 0;
  const auto again = parse(to_text(*value, {.indent = 1, .sort_keys = true}));
  if (!again || !(*again == *value) || !(document->root() == *value)) std::abort();
  return 0;
}
