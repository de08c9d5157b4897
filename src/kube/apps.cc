#include "kube/apps.h"

namespace mainspring::kube {

namespace {

// The part of spec that all four share; `more` are a kind's own fields.
template <class T, class... More>
consteval auto spec_group(More... more) {
  return json::group(
      "spec", json::field("replicas", [](json::Reader& r, T& t) { r.read(t.spec.replicas); }),
      json::field("selector", [](json::Reader& r, T& t) { read(r, t.spec.selector); }),
      json::group(
          "template",
          json::group(
              "metadata",
              json::field("labels", [](json::Reader& r, T& t) { read(r, t.spec.template_labels); }),
              json::field("annotations",
                          [](json::Reader& r, T& t) { read(r, t.spec.template_annotations); }))),
      more...);
}

}  // namespace

bool read(json::Reader& reader, StatefulSet& out) {
  using T = StatefulSet;
  static constexpr auto kFields = json::fields(
      json::field("metadata", &T::meta),
      spec_group<T>(json::field("serviceName", &T::service_name)),
      json::group("status", json::field("observedGeneration", &T::observed_generation),
                  json::field("replicas", &T::replicas), json::field("readyReplicas", &T::ready),
                  json::field("availableReplicas", &T::available),
                  json::field("updatedReplicas", &T::updated),
                  json::field("currentRevision", &T::current_revision),
                  json::field("updateRevision", &T::update_revision),
                  json::field("conditions", &T::conditions)));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, Deployment& out) {
  using T = Deployment;
  static constexpr auto kFields = json::fields(
      json::field("metadata", &T::meta), spec_group<T>(json::field("paused", &T::paused)),
      json::group("status", json::field("observedGeneration", &T::observed_generation),
                  json::field("replicas", &T::replicas), json::field("readyReplicas", &T::ready),
                  json::field("availableReplicas", &T::available),
                  json::field("updatedReplicas", &T::updated),
                  json::field("conditions", &T::conditions)));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, ReplicaSet& out) {
  using T = ReplicaSet;
  static constexpr auto kFields = json::fields(
      json::field("metadata", &T::meta), spec_group<T>(),
      json::group("status", json::field("observedGeneration", &T::observed_generation),
                  json::field("replicas", &T::replicas), json::field("readyReplicas", &T::ready),
                  json::field("availableReplicas", &T::available)));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, DaemonSet& out) {
  using T = DaemonSet;
  static constexpr auto kFields =
      json::fields(json::field("metadata", &T::meta), spec_group<T>(),
                   json::group("status", json::field("observedGeneration", &T::observed_generation),
                               json::field("desiredNumberScheduled", &T::desired),
                               json::field("currentNumberScheduled", &T::current),
                               json::field("numberReady", &T::ready),
                               json::field("numberAvailable", &T::available),
                               json::field("updatedNumberScheduled", &T::updated),
                               json::field("numberMisscheduled", &T::misscheduled)));
  return json::read_fields<kFields>(reader, out);
}

}  // namespace mainspring::kube
