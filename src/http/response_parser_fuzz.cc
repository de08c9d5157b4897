// The response parser: no input may crash or stall it, and cutting the input into pieces must not
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

std::string transcript(std::string_view text, std::size_t step, bool bodyless) {
  ResponseParser parser(ParserLimits{512, 8, 4096});
  parser.reset(bodyless);
  std::string said;
  std::string pending;
  for (;;) {
    std::string_view input = pending;
    const auto event = parser.next(input);
    if (!event) return std::string(kRefused);
    if (*event == ParserEvent::kHead) {
      if (parser.head().status < 100 || parser.head().status > 599) std::abort();
      said += std::to_string(parser.head().status) + "\n";
    }
    if (*event == ParserEvent::kBody) said.append(parser.body());
    pending.erase(0, pending.size() - input.size());
    if (*event == ParserEvent::kEnd) return said + "<end>";
    if (*event != ParserEvent::kNeedMore) continue;
    if (text.empty()) return said.append(parser.end_of_stream() ? "<end>" : kIncomplete);
    pending.append(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool bodyless : {false, true}) {
    const std::string whole = transcript(text, text.size() + 1, bodyless);
    const std::string pieces = transcript(text, 1, bodyless);
    if (whole == pieces) continue;
    // A fault may go unnoticed while the message is incomplete, but only then.
    const std::string& other = whole == kRefused ? pieces : whole;
    if ((whole != kRefused && pieces != kRefused) || !other.ends_with(kIncomplete)) std::abort();
  }
  return 0;
}
