// The request parser: no input may crash or stall it, and cutting the input into pieces must not
// change what it says.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/codec.h"

namespace {

using namespace mainspring;
using namespace mainspring::http;

constexpr std::string_view kRefused = "<refused>";
constexpr std::string_view kIncomplete = "<incomplete>";

std::string transcript(std::string_view text, std::size_t step) {
  RequestParser parser(ParserLimits{512, 8, 4096});
  parser.reset();
  std::string said;
  std::string body;
  std::string pending;
  int messages = 0;
  for (;;) {
    std::string_view input = pending;
    const auto event = parser.next(input);
    if (!event) return std::string(kRefused);
    if (*event == ParserEvent::kHead) {
      said += parser.head().method_text + " " + parser.head().target + "\n";
      for (const Field field : parser.head().headers) {
        if (!is_valid_field(field.name, field.value)) std::abort();
        said.append(field.name).append(":").append(field.value).append("\n");
      }
    }
    if (*event == ParserEvent::kBody) body.append(parser.body());
    pending.erase(0, pending.size() - input.size());
    if (*event == ParserEvent::kEnd) {
      said += body + "<end>";
      body.clear();
      if (++messages == 16) return said;
      parser.reset();
      continue;
    }
    if (*event != ParserEvent::kNeedMore) continue;
    if (text.empty()) return said + body + std::string(kIncomplete);
    pending.append(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string whole = transcript(text, text.size() + 1);
  const std::string pieces = transcript(text, 1);
  if (whole == pieces) return 0;
  // A fault may go unnoticed while the message is incomplete, but only then.
  const std::string& other = whole == kRefused ? pieces : whole;
  if ((whole != kRefused && pieces != kRefused) || !other.ends_with(kIncomplete)) std::abort();
  return 0;
}
