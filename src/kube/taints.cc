#include "kube/taints.h"

#include <algorithm>

#include "base/text.h"

namespace mainspring::kube {

namespace {

constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

// As Go reads numbers: a sign of either kind is fine.
Result<std::int64_t> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && is_ascii_digit(text[1])) text.remove_prefix(1);
  return parse_integer<std::int64_t>(text);
}

template <class Wanted>
const Taint* first_untolerated(const Seq<Taint>& taints, const Seq<Toleration>& tolerations,
                               Wanted wanted) {
  const Taint* const found = std::find_if(taints.begin(), taints.end(), [&](const Taint& taint) {
    return wanted(taint.effect) && !tolerates(tolerations, taint);
  });
  return found == taints.end() ? nullptr : found;
}

}  // namespace

bool read(json::Reader& reader, TaintEffect& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  out = text.empty()                 ? TaintEffect::kAny
        : text == "NoSchedule"       ? TaintEffect::kNoSchedule
        : text == "PreferNoSchedule" ? TaintEffect::kPreferNoSchedule
        : text == "NoExecute"        ? TaintEffect::kNoExecute
                                     : TaintEffect::kOther;
  return true;
}

bool read(json::Reader& reader, TolerationOperator& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  out = text.empty() || text == "Equal" ? TolerationOperator::kEqual
        : text == "Exists"              ? TolerationOperator::kExists
        : text == "Lt"                  ? TolerationOperator::kLess
        : text == "Gt"                  ? TolerationOperator::kGreater
                                        : TolerationOperator::kOther;
  return true;
}

bool Toleration::tolerates(const Taint& taint) const {
  if (effect != TaintEffect::kAny && (effect != taint.effect || effect == TaintEffect::kOther)) {
    return false;
  }
  if (!key.empty() && key != taint.key) return false;
  switch (op) {
    case TolerationOperator::kEqual:
      return value == taint.value;
    case TolerationOperator::kExists:
      return true;
    case TolerationOperator::kOther:
      return false;
    case TolerationOperator::kLess:
    case TolerationOperator::kGreater:
      break;
  }
  const auto bound = parse_number(value);
  const auto actual = parse_number(taint.value);
  if (!bound || !actual) return false;
  return op == TolerationOperator::kLess ? *actual < *bound : *actual > *bound;
}

bool tolerates(const Seq<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(taint); });
}

const Taint* repelling_taint(const Seq<Taint>& taints, const Seq<Toleration>& tolerations) {
  return first_untolerated(taints, tolerations, [](TaintEffect effect) {
    return effect == TaintEffect::kNoSchedule || effect == TaintEffect::kNoExecute;
  });
}

const Taint* evicting_taint(const Seq<Taint>& taints, const Seq<Toleration>& tolerations) {
  return first_untolerated(taints, tolerations,
                           [](TaintEffect effect) { return effect == TaintEffect::kNoExecute; });
}

std::size_t disliked_taints(const Seq<Taint>& taints, const Seq<Toleration>& tolerations) {
  return static_cast<std::size_t>(
      std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
        return taint.effect == TaintEffect::kPreferNoSchedule && !tolerates(tolerations, taint);
      }));
}

bool tolerates_cordon(const Seq<Toleration>& tolerations) {
  return tolerates(tolerations, Taint{kUnschedulable, {}, {}, TaintEffect::kNoSchedule});
}

}  // namespace mainspring::kube
