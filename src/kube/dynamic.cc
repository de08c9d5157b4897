#include "kube/dynamic.h"

#include <utility>
#include <vector>

namespace mainspring::kube {

Result<json::Value> Dynamic::member(std::string_view name) const {
  const auto text = members.find(name);
  if (!text) return json::Value();
  return json::parse(*text);
}

bool read(json::Reader& reader, Dynamic& out) {
  std::vector<json::StringMap::Member> members;
  const bool found = reader.object([&](std::string_view key) {
    if (key == "metadata") {
      json::read(reader, out.meta);
      return;
    }
    std::string_view text;
    if (reader.raw(text)) members.emplace_back(key, text);
  });
  out.members = json::StringMap(members);
  return found;
}

}  // namespace mainspring::kube
