// Objects to convert are whatever users stored. What is accepted gets an answer that is JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "control/conversion.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  control::Converter converter;
  converter.add("a/v1", "a/v2", [](json::Value object) -> Result<json::Value> {
    object["spec"].set("seen", true);
    return object;
  });
  const auto text = converter.answer({reinterpret_cast<const char*>(data), size});
  if (text && !json::parse(*text)) __builtin_trap();
  return 0;
}
