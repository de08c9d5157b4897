// Foreign bytes in pieces of any size: the parts and the error are the same however they are cut,
// and parts that are JSON make up a document that is, and the other way round.
#include "json/list_splitter.h"

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "json/value.h"

namespace {

using namespace mainspring::json;

struct Parts {
  std::vector<std::string> elements;
  std::string envelope;
  std::string error;
  bool operator==(const Parts&) const = default;
};

Parts split(std::string_view text, ListSplitter::Options options, std::size_t size) {
  Parts parts;
  ListSplitter splitter(options);
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    const std::vector<char> piece(text.begin(), text.begin() + std::min(size, text.size()));
    static_cast<void>(splitter.feed({piece.data(), piece.size()}, [&](std::string_view element) {
      parts.elements.emplace_back(element);
    }));
  }
  const auto envelope = splitter.finish();
  if (envelope) {
    parts.envelope = *envelope;
  } else {
    parts.error = envelope.error().to_string();
  }
  return parts;
}

bool all_json(const Parts& parts) {
  if (!parts.error.empty() || !parse(parts.envelope)) return false;
  for (const std::string& element : parts.elements) {
    if (!parse(element)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ListSplitter::Options limited{.list = "a", .max_element = data[1], .max_envelope = data[1]};
  const std::size_t cut = 1 + data[0];
  if (split(text, limited, text.size()) != split(text, limited, cut)) std::abort();

  const auto document = parse(text);
  const Parts parts = split(text, {.list = "a"}, cut);
  const bool is_object = document && document->kind() == Value::Kind::kObject;
  // A document may be nested too deep where its elements are not.
  const bool too_deep = !document && document.error().code() == mainspring::Code::kTooLarge;
  if (is_object != all_json(parts) && !too_deep) std::abort();
  return 0;
}
