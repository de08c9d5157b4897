// kube/node.h
//
// Node, as operator and bridge read it. Without what the kubelet rewrites every few seconds
// (heartbeats, images, volumes in use), so a node at rest is equal to itself. A value.
#pragma once

#include "kube/conditions.h"
#include "kube/resource.h"
#include "kube/taints.h"

namespace mainspring::kube {

struct NodeAddress {
  Text type;  // "InternalIP", "Hostname", ...
  Text address;

  bool operator==(const NodeAddress&) const = default;
};

constexpr auto json_fields(json::Tag<NodeAddress>) {
  return json::fields(json::field("type", &NodeAddress::type),
                      json::field("address", &NodeAddress::address));
}

struct Node {
  inline static const Resource kResource{"", "v1", "nodes", "Node", false};

  Meta meta;
  Text provider_id;
  Text architecture;
  Text operating_system;
  Text kubelet_version;
  Text boot_id;
  Quantities capacity;
  Quantities allocatable;
  Seq<Taint> taints;
  Seq<NodeAddress> addresses;
  Conditions conditions;
  bool unschedulable = false;  // Cordoned.

  bool ready() const { return is_true(conditions, "Ready"); }

  bool operator==(const Node&) const = default;
};

constexpr auto json_fields(json::Tag<Node>) {
  return json::fields(
      json::field("metadata", &Node::meta),
      json::group("spec", json::field("providerID", &Node::provider_id),
                  json::field("taints", &Node::taints),
                  json::field("unschedulable", &Node::unschedulable)),
      json::group("status", json::field("capacity", &Node::capacity),
                  json::field("allocatable", &Node::allocatable),
                  json::field("addresses", &Node::addresses),
                  json::field("conditions", &Node::conditions),
                  json::group("nodeInfo", json::field("architecture", &Node::architecture),
                              json::field("operatingSystem", &Node::operating_system),
                              json::field("kubeletVersion", &Node::kubelet_version),
                              json::field("bootID", &Node::boot_id))));
}

}  // namespace mainspring::kube
