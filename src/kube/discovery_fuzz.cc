// Discovery documents from a hostile server: an aggregated API may be anybody's.
#include "kube/discovery.h"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace mainspring::kube;

void check_findable(const Discovery& all) {
  for (const DiscoveredGroup& group : all.groups()) {
    for (const DiscoveredVersion& version : group.versions) {
      for (const DiscoveredResource& each : version.resources) {
        if (each.resource.group != group.name) std::abort();
        if (each.resource.version != version.version) std::abort();
        // The first group of a name stands for it.
        if (all.group(group.name) != &group) continue;
        if (all.find(group.name, each.resource.plural) == nullptr) std::abort();
        if (all.preferred(group.name, each.resource.kind) == nullptr) std::abort();
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto document = parse_discovery(text)) check_findable(Discovery(std::move(document->groups)));
  DiscoveredVersion version{"v1", true, {}};
  if (parse_resource_list(text, "apps", version) && version.stale) std::abort();
  (void)parse_server_version(text);
  return 0;
}
