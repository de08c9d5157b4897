// The first line is a NO_PROXY list, the second a host; and all of it a proxy address.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/proxy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::http;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto end = text.find('\n');
  const std::string_view host = end == std::string_view::npos ? text : text.substr(end + 1);
  const NoProxy rules(text.substr(0, end));
  (void)rules.matches(host, 80);
  if (!rules.matches("localhost", 80) || !rules.matches("127.0.0.1", 1)) std::abort();
  (void)ProxyServer::parse(text);
  return 0;
}
