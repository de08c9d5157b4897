#include "operator/build/metadata.h"

#include "base/digest.h"

namespace mainspring::op::build {
namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string hash_of_text(const std::string& joined) {
  return joined.empty() ? std::string() : hex_encode(sha256(joined));
}

}  // namespace

void add(Labels& to, const json::StringMap& from) {
  for (const auto& [key, value] : from) {
    if (key != kLastApplied) to.insert_or_assign(std::string(key), std::string(value));
  }
}

json::Value to_json(const Labels& labels) {
  json::Value object = json::Value::object();
  for (const auto& [key, value] : labels) object.set(key, value);
  return object;
}

json::Value object_meta(std::string_view name, std::string_view ns, const Metadata& metadata,
                        const kube::Resource& owner_resource, const kube::Meta& owner) {
  json::Value meta = json::Value::object({{"name", name}, {"namespace", ns}});
  if (!metadata.labels.empty()) meta.set("labels", to_json(metadata.labels));
  if (!metadata.annotations.empty()) meta.set("annotations", to_json(metadata.annotations));
  meta.set("ownerReferences",
           json::Value::array({json::Value::object({{"apiVersion", owner_resource.api_version()},
                                                    {"kind", owner_resource.kind},
                                                    {"name", owner.name},
                                                    {"uid", owner.uid},
                                                    {"controller", true},
                                                    {"blockOwnerDeletion", true}})}));
  return meta;
}

std::string hash_of(const std::map<std::string, std::string>& values) {
  std::string joined;
  for (const auto& [key, value] : values) joined += value;
  return hash_of_text(joined);
}

std::string hash_of(const kube::ConfigMap& config) {
  std::string joined;
  for (const auto& [key, value] : config.data) joined += value;
  return hash_of_text(joined);
}

std::string hash_of(const kube::SecretObject& secret) {
  std::string joined;
  for (const auto& [key, value] : secret.data) joined += value.reveal();
  std::string hash = hash_of_text(joined);
  // The bytes go into a Secret to be wiped.
  const Secret wiped(std::move(joined));
  return hash;
}

}  // namespace mainspring::op::build
