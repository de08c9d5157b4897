// kube/taints.h
//
// Taints of nodes and tolerations of pods, judged as kube-scheduler judges them. Values and pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kube/projection.h"

namespace mainspring::kube {

enum class TaintEffect : std::uint8_t {
  kAny,  // Of a toleration only.
  kNoSchedule,
  kPreferNoSchedule,
  kNoExecute,
  kOther,  // A newer API's; equal to no effect that we know.
};
bool read(json::Reader& reader, TaintEffect& out);

struct Taint {
  Text key;
  Text value;
  std::optional<WallTime> added;
  TaintEffect effect = TaintEffect::kOther;

  bool operator==(const Taint&) const = default;
};

constexpr auto json_fields(json::Tag<Taint>) {
  return json::fields(json::field("key", &Taint::key), json::field("value", &Taint::value),
                      json::field("effect", &Taint::effect),
                      time_field<&Taint::added>("timeAdded"));
}

// kLess and kGreater compare integers and came with Kubernetes 1.35.
enum class TolerationOperator : std::uint8_t { kEqual, kExists, kLess, kGreater, kOther };
bool read(json::Reader& reader, TolerationOperator& out);

struct Toleration {
  Text key;  // Empty: every key.
  Text value;
  std::optional<std::int64_t> seconds;  // How long, of NoExecute; none: for ever.
  TolerationOperator op = TolerationOperator::kEqual;
  TaintEffect effect = TaintEffect::kAny;

  bool tolerates(const Taint& taint) const;
  bool operator==(const Toleration&) const = default;
};

constexpr auto json_fields(json::Tag<Toleration>) {
  return json::fields(
      json::field("key", &Toleration::key), json::field("value", &Toleration::value),
      json::field("operator", &Toleration::op), json::field("effect", &Toleration::effect),
      json::field("tolerationSeconds", &Toleration::seconds));
}

bool tolerates(const Seq<Toleration>& tolerations, const Taint& taint);

// The first taint that keeps a new pod off a node (NoSchedule, NoExecute); null if none does.
const Taint* repelling_taint(const Seq<Taint>& taints, const Seq<Toleration>& tolerations);
// The first taint that drives a running pod away (NoExecute); null if none does. How long it may
// still stay is not asked here.
const Taint* evicting_taint(const Seq<Taint>& taints, const Seq<Toleration>& tolerations);
// How many PreferNoSchedule taints a pod does not tolerate: the fewer the better.
std::size_t disliked_taints(const Seq<Taint>& taints, const Seq<Toleration>& tolerations);
// Whether a pod may go to a cordoned node.
bool tolerates_cordon(const Seq<Toleration>& tolerations);

}  // namespace mainspring::kube
