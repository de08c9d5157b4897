// Whatever a plugin prints is refused, or is a credential that can be sent.
#include "kube/exec_credentials.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto credential = parse_exec_credential(text, "client.authentication.k8s.io/v1");
  if (!credential) return 0;
  if (credential->token.empty() && credential->cert_pem.empty()) std::abort();
  if (credential->cert_pem.empty() != credential->key_pem.empty()) std::abort();
  if (credential->token.reveal().find_first_of("\r\n ") != std::string::npos) std::abort();
  return 0;
}
