// No kubeconfig breaks the reader, and what it gives can be used: a server that can be asked, and
// at most one way to say who we are.
#include "kube/config.h"

#include <cstdlib>

#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  using namespace mainspring::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto kubeconfig = parse_kubeconfig(text, "/fuzz/config");
  if (!kubeconfig) return 0;
  const Kubeconfig merged = merge_kubeconfigs({*kubeconfig, *kubeconfig});
  if (merged.users.size() != kubeconfig->users.size()) std::abort();
  for (const auto& context : merged.contexts) {
    const auto config = resolve_kubeconfig(merged, context.name);
    if (!config) {
      if (config.error().to_string().find("kubeconfig /fuzz/config") != 0) std::abort();
      continue;
    }
    if (config->server.host.empty() || config->client_cert.empty() != config->client_key.empty()) {
      std::abort();
    }
    const int ways = int{!config->token.empty() || !config->token_file.empty()} +
                     int{!config->username.empty() || !config->password.empty()} +
                     int{config->exec.has_value()};
    if (ways > 1) std::abort();
  }
  return 0;
}
