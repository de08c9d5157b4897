// api/common.h
//
// What the kinds of slinky.slurm.net share: references, templates, addresses. Values, decoded like
// every projection; a container or a pod template is kept as the JSON that the user wrote, so that
// fields which we do not know survive and an explicit false, 0 or "" can be told from silence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/fields.h"
#include "json/string_map.h"
#include "json/value.h"
#include "kube/conditions.h"
#include "kube/meta.h"
#include "kube/resource.h"

namespace mainspring::api {

inline constexpr std::string_view kGroup = "slinky.slurm.net";
inline constexpr std::string_view kVersion = "v1beta1";

// Decoding never refuses what the schema lets through: an object that cannot be decoded would stop
// the watch of its kind, for every namespace. What is wrong with it is said by validate.h.
namespace detail {
template <auto Member>
struct ReadClamped {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    using Int = std::remove_reference_t<decltype(out.*Member)>;
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<Int>::min());
    constexpr auto kMost = static_cast<double>(std::numeric_limits<Int>::max());
    double number = 0;
    if (reader.read(number)) out.*Member = static_cast<Int>(std::clamp(number, kLeast, kMost));
  }
};
}  // namespace detail

// An integer that the schema does not bound; one that does not fit becomes the nearest that does.
template <auto Member>
constexpr auto clamped_field(std::string_view name) {
  return json::field(name, detail::ReadClamped<Member>());
}

// One key of a Secret or a ConfigMap in the same namespace.
struct KeyRef {
  std::string name;
  std::string key;
  bool optional = false;

  bool operator==(const KeyRef&) const = default;
};

constexpr auto json_fields(json::Tag<KeyRef>) {
  return json::fields(json::field("name", &KeyRef::name), json::field("key", &KeyRef::key),
                      json::field("optional", &KeyRef::optional));
}

// Another object in the same namespace, by name. Empty: none.
struct NameRef {
  std::string name;

  bool operator==(const NameRef&) const = default;
};

constexpr auto json_fields(json::Tag<NameRef>) {
  return json::fields(json::field("name", &NameRef::name));
}

struct TemplateMeta {
  json::StringMap labels;
  json::StringMap annotations;

  bool operator==(const TemplateMeta&) const = default;
};

constexpr auto json_fields(json::Tag<TemplateMeta>) {
  return json::fields(json::field("labels", &TemplateMeta::labels),
                      json::field("annotations", &TemplateMeta::annotations));
}

struct PodTemplate {
  TemplateMeta meta;
  json::Value spec;  // A PodSpec as written; null where absent.

  bool operator==(const PodTemplate&) const = default;
};

constexpr auto json_fields(json::Tag<PodTemplate>) {
  return json::fields(json::field("metadata", &PodTemplate::meta),
                      json::field("spec", &PodTemplate::spec));
}

struct ServiceTemplate {
  TemplateMeta meta;
  json::Value spec;       // A ServiceSpec as written; null where absent.
  std::int32_t port = 0;  // 0: the daemon's own.
  std::int32_t node_port = 0;

  bool operator==(const ServiceTemplate&) const = default;
};

constexpr auto json_fields(json::Tag<ServiceTemplate>) {
  return json::fields(json::field("metadata", &ServiceTemplate::meta),
                      json::field("spec", &ServiceTemplate::spec),
                      clamped_field<&ServiceTemplate::port>("port"),
                      clamped_field<&ServiceTemplate::node_port>("nodePort"));
}

// A daemon that runs outside this cluster.
struct ExternalAddress {
  std::string host;
  std::int32_t port = 0;

  bool operator==(const ExternalAddress&) const = default;
};

constexpr auto json_fields(json::Tag<ExternalAddress>) {
  return json::fields(json::field("host", &ExternalAddress::host),
                      clamped_field<&ExternalAddress::port>("port"));
}

// The key that tokens are signed with: jwtKeyRef, or else the deprecated jwtHs256KeyRef. Null where
// neither is set. For every spec that has both.
template <class Spec>
const KeyRef* jwt_key_of(const Spec& spec) {
  if (spec.jwt_key_ref) return &*spec.jwt_key_ref;
  return spec.jwt_hs256_key_ref ? &*spec.jwt_hs256_key_ref : nullptr;
}

}  // namespace mainspring::api
