// kube/core_objects.h
//
// Projections of the small kinds of the core group: Namespace, ConfigMap, Secret, Service. Values;
// kept in stores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "kube/conditions.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct Namespace {
  inline static const Resource kResource{"", "v1", "namespaces", "Namespace", false};

  Meta meta;
  bool terminating = false;  // Nothing can be created in it any more.

  bool operator==(const Namespace&) const = default;
};

namespace detail {
void read_namespace_phase(json::Reader& reader, Namespace& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<Namespace>) {
  return json::fields(json::field("metadata", &Namespace::meta),
                      json::group("status", json::field("phase", &detail::read_namespace_phase)));
}

struct ConfigMap {
  inline static const Resource kResource{"", "v1", "configmaps", "ConfigMap", true};

  Meta meta;
  json::StringMap data;
  json::StringMap binary_data;  // In base64, as the API has it.
  bool immutable = false;

  bool operator==(const ConfigMap&) const = default;
};

constexpr auto json_fields(json::Tag<ConfigMap>) {
  return json::fields(json::field("metadata", &ConfigMap::meta),
                      json::field("data", &ConfigMap::data),
                      json::field("binaryData", &ConfigMap::binary_data),
                      json::field("immutable", &ConfigMap::immutable));
}

// The kind Secret. mainspring::Secret is one value of it.
struct SecretObject {
  inline static const Resource kResource{"", "v1", "secrets", "Secret", true};

  Meta meta;
  std::string type;                                 // "Opaque", "kubernetes.io/tls", ...
  std::map<std::string, Secret, std::less<>> data;  // Decoded.
  bool immutable = false;

  // Null where there is no such key.
  const Secret* find(std::string_view key) const;

  bool operator==(const SecretObject&) const = default;
};

namespace detail {
void read_secret_data(json::Reader& reader, SecretObject& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<SecretObject>) {
  return json::fields(json::field("metadata", &SecretObject::meta),
                      json::field("type", &SecretObject::type),
                      json::field("data", &detail::read_secret_data),
                      json::field("immutable", &SecretObject::immutable));
}

struct ServicePort {
  Text name;
  Text protocol;
  Text target_port;  // A number, or the name of a container's port.
  std::int32_t port = 0;
  std::int32_t node_port = 0;

  bool operator==(const ServicePort&) const = default;
};

constexpr auto json_fields(json::Tag<ServicePort>) {
  return json::fields(
      json::field("name", &ServicePort::name), json::field("protocol", &ServicePort::protocol),
      scalar_field<&ServicePort::target_port>("targetPort"),
      json::field("port", &ServicePort::port), json::field("nodePort", &ServicePort::node_port));
}

struct Service {
  inline static const Resource kResource{"", "v1", "services", "Service", true};

  Meta meta;
  Text type;
  Text cluster_ip;  // "None" for a headless one.
  Text external_name;
  json::StringMap selector;
  Seq<ServicePort> ports;
  bool publish_not_ready_addresses = false;

  bool operator==(const Service&) const = default;
};

constexpr auto json_fields(json::Tag<Service>) {
  return json::fields(
      json::field("metadata", &Service::meta),
      json::group("spec", json::field("type", &Service::type),
                  json::field("clusterIP", &Service::cluster_ip),
                  json::field("externalName", &Service::external_name),
                  json::field("selector", &Service::selector),
                  json::field("ports", &Service::ports),
                  json::field("publishNotReadyAddresses", &Service::publish_not_ready_addresses)));
}

}  // namespace mainspring::kube
