// Certificates come from Secrets and ConfigMaps that others write. The input is a PEM text, or,
// since hardly any random text is one, the bytes inside it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "net/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::net;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) {
    const std::string body = mainspring::base64_encode(text);
    text = "-----BEGIN CERTIFICATE-----\n";
    for (std::size_t at = 0; at < body.size(); at += 64) text += body.substr(at, 64) + "\n";
    text += "-----END CERTIFICATE-----\n";
  }
  const auto infos = inspect_all(text);
  if (!infos) return 0;
  // What was read is written so that it reads the same again.
  for (const CertificateInfo& info : *infos) {
    const auto again = inspect(info.pem);
    if (!again || !(*again == info)) __builtin_trap();
  }
  (void)is_issued_by(text, text);
  (void)key_fits({text, mainspring::Secret(text)});
  return 0;
}
