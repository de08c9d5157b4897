#include "operator/build/takeover.h"

#include "base/digest.h"

namespace mainspring::op::build {
namespace {

constexpr std::string_view kComplete = "complete";
constexpr std::string_view kAsFound = "as-found-";

}  // namespace

TemplateChoice choose_template(json::Value complete, json::Value as_found,
                               const json::StringMap* live) {
  if (live != nullptr && complete != as_found) {
    std::string mark(kAsFound);
    mark += hex_encode(sha256(json::to_text(complete, {.sort_keys = true})));
    const auto before = live->find(kTemplateAnnotation);
    if (!before || *before == mark) return {std::move(as_found), std::move(mark)};
  }
  return {std::move(complete), std::string(kComplete)};
}

}  // namespace mainspring::op::build
