// kube/apps.h
//
// StatefulSet, Deployment, ReplicaSet and DaemonSet: how far they are, and what of their templates
// tells one roll-out from the next. Values. ControllerRevision has a header of its own.
#pragma once

#include <cstdint>

#include "kube/conditions.h"
#include "kube/label_selector.h"
#include "kube/resource.h"

namespace mainspring::kube {

// What the four have in common.
struct AppSpec {
  std::int32_t replicas = 1;
  LabelSelector selector;
  json::StringMap template_labels;
  json::StringMap template_annotations;

  bool operator==(const AppSpec&) const = default;
};

struct StatefulSet {
  inline static const Resource kResource{"apps", "v1", "statefulsets", "StatefulSet", true};

  Meta meta;
  AppSpec spec;
  Text service_name;
  Text current_revision;
  Text update_revision;
  Conditions conditions;
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t ready = 0;
  std::int32_t available = 0;
  std::int32_t updated = 0;

  bool operator==(const StatefulSet&) const = default;
};

struct Deployment {
  inline static const Resource kResource{"apps", "v1", "deployments", "Deployment", true};

  Meta meta;
  AppSpec spec;
  Conditions conditions;
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t ready = 0;
  std::int32_t available = 0;
  std::int32_t updated = 0;
  bool paused = false;

  bool operator==(const Deployment&) const = default;
};

struct ReplicaSet {
  inline static const Resource kResource{"apps", "v1", "replicasets", "ReplicaSet", true};

  Meta meta;
  AppSpec spec;
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t ready = 0;
  std::int32_t available = 0;

  bool operator==(const ReplicaSet&) const = default;
};

struct DaemonSet {
  inline static const Resource kResource{"apps", "v1", "daemonsets", "DaemonSet", true};

  Meta meta;
  AppSpec spec;  // `replicas` means nothing here.
  std::int64_t observed_generation = 0;
  std::int32_t desired = 0;
  std::int32_t current = 0;
  std::int32_t ready = 0;
  std::int32_t available = 0;
  std::int32_t updated = 0;
  std::int32_t misscheduled = 0;

  bool operator==(const DaemonSet&) const = default;
};

bool read(json::Reader& reader, StatefulSet& out);
bool read(json::Reader& reader, Deployment& out);
bool read(json::Reader& reader, ReplicaSet& out);
bool read(json::Reader& reader, DaemonSet& out);

}  // namespace mainspring::kube
