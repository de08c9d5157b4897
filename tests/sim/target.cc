#include "sim/target.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sim/refusals.h"

namespace mainspring::sim {

// /api/v1/... or /apis/GROUP/VERSION/..., then [namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]].
Result<KubeApi::Target> KubeApi::resolve(const http::Request& request) const {
  std::vector<std::string> parts;
  for (const std::string_view part : split(request.url.path, '/')) {
    if (part.empty()) continue;
    MS_TRY(std::string decoded, http::percent_decode(part));
    parts.push_back(std::move(decoded));
  }
  const bool core = !parts.empty() && parts[0] == "api";
  const std::size_t begin = core ? 2 : 3;
  if (parts.size() <= begin || (!core && parts[0] != "apis")) return fail(no_such_resource());
  const std::string group = core ? "" : parts[1];
  const std::string version = parts[begin - 1];
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(begin));

  Target target;
  const bool scoped = parts[0] == "namespaces" && parts.size() > 2 &&
                      !(core && (parts[2] == "status" || parts[2] == "finalize"));
  if (scoped) {
    target.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  target.kind = kinds_.find(group, version, parts[0]);
  if (target.kind == nullptr || parts.size() > 3) return fail(no_such_resource());
  if (scoped != target.kind->resource.namespaced && (scoped || parts.size() > 1)) {
    return fail(no_such_resource());
  }
  if (parts.size() > 1) target.name = parts[1];
  if (parts.size() > 2) target.subresource = parts[2];
  return target;
}

}  // namespace mainspring::sim
