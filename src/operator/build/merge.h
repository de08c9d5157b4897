// operator/build/merge.h
//
// Lays what the user wrote (containers, pod templates, services) over what we need, as the public
// contract has it, but presence-aware: an explicit false, 0, "" or empty list of the user's wins.
// Pure.
#pragma once

#include <string>

#include "api/common.h"
#include "base/result.h"
#include "json/value.h"

namespace mainspring::op::build {

// Lists of args are joined, ours first; env, ports, mounts, devices merge by key; command replaces.
// A probe's handler is replaced only where the user gave one.
Result<json::Value> merge_container(json::Value ours, const json::Value& users);

// `ours` is a PodSpec with our containers and initContainers in place; the user's are appended.
Result<json::Value> merge_pod_spec(json::Value ours, const json::Value& users);

// A whole Service object. The user's spec is the base; our port is added to the user's ports, our
// selector wins, externalIPs are dropped.
struct ServicePort {
  std::string name;
  int port = 0;        // Of the service.
  std::string target;  // The container's port by name.
  int node_port = 0;   // 0: none.
};
struct ServiceParts {
  std::string name;
  std::string ns;
  json::Value labels;
  json::Value annotations;
  json::Value selector;
  std::vector<ServicePort> ports;
  bool headless = false;  // clusterIP None, not-ready addresses published.
};
Result<json::Value> build_service(ServiceParts parts, const json::Value& users_spec);

}  // namespace mainspring::op::build
