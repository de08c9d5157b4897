// No script breaks Lua's compiler, and what it says fits into one line.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "slurm/lua_syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto error =
      mainspring::slurm::check_lua(std::string_view(reinterpret_cast<const char*>(data), size));
  if (error && (error->message.empty() || error->message.find('\n') != std::string::npos)) {
    std::abort();
  }
  return 0;
}
