// tests/sim/custom_kind.h
//
// A custom kind, served by an API server in memory: any fields, with a status of its own.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "sim/kube_api.h"

namespace mainspring::sim {

inline void serve_kind(KubeApi& server, const kube::Resource& kind) {
  json::Value crd = json::Value::object(
      {{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}});
  crd["metadata"]["name"] = kind.plural + "." + kind.group;
  json::Value& spec = crd["spec"];
  spec["group"] = kind.group;
  spec["scope"] = "Namespaced";
  spec["names"] = json::Value::object({{"plural", kind.plural}, {"kind", kind.kind}});
  json::Value version =
      json::Value::object({{"name", kind.version}, {"served", true}, {"storage", true}});
  version["schema"]["openAPIV3Schema"] =
      json::Value::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
  version["subresources"]["status"] = json::Value::object();
  spec["versions"] = json::Value::array({version});
  const auto added = server.add(std::move(crd));
  EXPECT_TRUE(added.has_value()) << added.error().to_string();
}

}  // namespace mainspring::sim
