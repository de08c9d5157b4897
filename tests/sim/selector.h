// tests/sim/selector.h
//
// Label and field selectors as a list or watch request carries them, evaluated on stored objects.
// Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "sim/kinds.h"

namespace mainspring::sim {

class Selector {
 public:
  // Either may be empty. Refusals are those of the API server.
  static Result<Selector> parse(const Kind& kind, std::string_view labels, std::string_view fields);
  // Of the form {matchLabels, matchExpressions}, as objects carry it.
  static Selector from_object(const json::Value& selector);

  bool matches(const json::Value& object) const;
  bool empty() const { return labels_.empty() && fields_.empty(); }

 private:
  enum class Op { kIn, kNotIn, kExists, kAbsent, kAbove, kBelow };
  struct Requirement {
    std::string key;
    Op op = Op::kExists;
    std::vector<std::string> values;
  };
  struct FieldRequirement {
    std::string pointer;
    std::string value;
    bool equal = true;
  };

  static Result<Requirement> parse_requirement(std::string_view text);
  static bool holds(const Requirement& requirement, const json::Value* labels);

  std::vector<Requirement> labels_;
  std::vector<FieldRequirement> fields_;
};

}  // namespace mainspring::sim
