#include "kube/core_objects.h"

#include <utility>

#include "base/base64.h"

namespace mainspring::kube {

const Secret* SecretObject::find(std::string_view key) const {
  const auto found = data.find(key);
  return found == data.end() ? nullptr : &found->second;
}

namespace detail {

void read_namespace_phase(json::Reader& reader, Namespace& out) {
  std::string_view phase;
  if (reader.read(phase)) out.terminating = phase == "Terminating";
}

void read_secret_data(json::Reader& reader, SecretObject& out) {
  reader.object([&](std::string_view key) {
    std::string_view text;
    if (!reader.read(text)) return;
    Result<std::string> bytes = base64_decode(text);
    if (!bytes) return reader.refuse(bytes.error().message());
    if (!out.data.emplace(key, Secret(*std::move(bytes))).second) reader.refuse_repeated(key);
  });
}

}  // namespace detail

}  // namespace mainspring::kube
