// control/cut_text.cc
#include "control/cut_text.h"

#include <string_view>

#include "base/text.h"

namespace mainspring::control {

void cut_text(std::string& text, std::size_t max_bytes) {
  constexpr std::string_view kMore = "...";
  if (!is_valid_utf8(text)) text = sanitize_utf8(text);
  if (text.size() <= max_bytes) return;
  std::size_t end = max_bytes > kMore.size() ? max_bytes - kMore.size() : 0;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && continues(end)) --end;
  text.resize(end);
  text += kMore.substr(0, max_bytes);
}

}  // namespace mainspring::control
