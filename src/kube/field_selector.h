// kube/field_selector.h
//
// Field selectors: "spec.nodeName=gpu-0,status.phase!=Failed". Which fields a kind can be selected
// by is the API server's choice; this parses, matches and writes. A value, immutable.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainspring::kube {

struct FieldTerm {
  std::string field;
  std::string value;
  bool equal = true;

  bool operator==(const FieldTerm&) const = default;
};

class FieldSelector {
 public:
  // Matches everything.
  FieldSelector() = default;
  explicit FieldSelector(std::vector<FieldTerm> terms) : terms_(std::move(terms)) {}

  // Nothing is trimmed. In values '\', ',' and '=' are written with a '\' before them.
  static Result<FieldSelector> parse(std::string_view text);

  const std::vector<FieldTerm>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }

  // `value_of(field)` is the object's value, "" where it has none.
  template <class ValueOf>
  bool matches(const ValueOf& value_of) const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const FieldTerm& term) {
      return (std::string_view(value_of(term.field)) == term.value) == term.equal;
    });
  }

  // kInvalid names the first field that is not among these.
  Result<void> check(std::span<const std::string_view> selectable) const;

  std::string to_string() const;

  bool operator==(const FieldSelector&) const = default;

 private:
  std::vector<FieldTerm> terms_;
};

struct Pod;

// What pods can be selected by, and the value of each.
std::span<const std::string_view> pod_fields();
std::string_view pod_field(const Pod& pod, std::string_view field);

}  // namespace mainspring::kube
