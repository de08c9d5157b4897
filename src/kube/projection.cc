#include "kube/projection.h"

#include <vector>

namespace mainspring::kube {

Result<Quantity> Quantities::amount(std::string_view resource) const {
  const auto text = text_.find(resource);
  if (!text) return Quantity();
  return with_context(Quantity::parse(*text), "amount of " + std::string(resource));
}

bool read(json::Reader& reader, Quantities& out) {
  std::vector<json::StringMap::Member> members;
  const bool whole = reader.object([&](std::string_view key) {
    std::string_view amount;
    const bool found = reader.kind() == json::Reader::Kind::kString
                           ? reader.read(amount)
                           : reader.kind() == json::Reader::Kind::kNumber && reader.raw(amount);
    if (found) members.emplace_back(key, amount);
  });
  if (!whole) return false;
  out = Quantities(json::StringMap(members));
  return true;
}

}  // namespace mainspring::kube
