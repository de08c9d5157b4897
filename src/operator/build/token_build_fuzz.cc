// The text of a Secret is whatever somebody put there.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/base64.h"
#include "base/digest.h"
#include "operator/build/token_build.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Secret key("key");
  // Nobody guesses a signature: what is not signed is never read.
  if (op::build::read_token(Secret(bytes), key)) std::abort();
  std::string text = "e30." + base64url_encode(bytes);
  const Sha256Digest signature = hmac_sha256(key.reveal(), text);
  text += "." + base64url_encode(as_text(signature));
  if (const auto claims = op::build::read_token(Secret(text), key)) {
    if (claims->expires < WallTime() || claims->issued < WallTime()) std::abort();
  }
  return 0;
}
