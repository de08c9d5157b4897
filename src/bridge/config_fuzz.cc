// No configuration breaks its reader, and one that is accepted leaves the rest of the cluster
// alone.
#include "bridge/config.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::bridge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = parse_bridge_config(text);
  if (!config) return 0;
  const auto& selector = config->managed_namespace_selector;
  const bool found_once = config->slurm_rest_api.empty() == config->slurm_cluster.has_value();
  if (!found_once || config->scheduler_name == "default-scheduler" ||
      (selector && selector->matches_everything())) {
    std::abort();
  }
  (void)config->identity_of("default");
  return 0;
}
