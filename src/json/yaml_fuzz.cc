// No text breaks the reader, what it makes is JSON, and JSON means the same to both readers.
#include "json/yaml.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const YamlOptions limits{.max_bytes = 1 << 16, .max_depth = 32, .max_copied = 1 << 16};
  const auto documents = parse_yaml_documents(text, limits);
  if (!documents) return 0;
  for (const Value& document : *documents) {
    const std::string json = to_text(document);
    const auto again = parse(json);
    if (!again || !(*again == document)) std::abort();
    const auto as_yaml = parse_yaml(json);
    if (!as_yaml || !(*as_yaml == document)) std::abort();
  }
  return 0;
}
