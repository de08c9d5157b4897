#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/endpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mainspring::net::Endpoint;
  const auto once = Endpoint::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (once && Endpoint::parse(once->to_string()) != once) std::abort();
  return 0;
}
