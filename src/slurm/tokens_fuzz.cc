// Whatever stands in the place of a token, reading its expiry gives a time or nothing.
#include <cstdint>
#include <cstdlib>

#include "base/base64.h"
#include "slurm/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  using namespace mainspring::slurm;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& token : {text, "e30." + base64url_encode(text) + ".x"}) {
    const auto ends = token_expiry(Secret(token));
    if (ends && *ends < WallTime()) std::abort();
  }
  const auto minted = mint_token(Secret("key"), text, WallTime(seconds(5)), minutes(1));
  if (minted && token_expiry(*minted) != WallTime(seconds(65))) std::abort();
  return 0;
}
