#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/quantity.h"

// Whatever parses must survive its own canonical form and arithmetic.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using mainspring::Quantity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = Quantity::parse(text);
  if (!quantity) return 0;
  const std::string canonical = quantity->to_string();
  const auto again = Quantity::parse(canonical);
  if (!again || *again != *quantity) std::abort();
  // 812.5Ki is written 832000, which reads as a decimal quantity: the family is lost, as it is in
  // Kubernetes, and only then may the text change again.
  if (again->format() == quantity->format() && again->to_string() != canonical) std::abort();
  const auto twice = quantity->plus(*quantity);
  if (twice && twice->minus(*quantity) != *quantity) std::abort();
  (void)quantity->value();
  (void)quantity->milli_value();
  return 0;
}
