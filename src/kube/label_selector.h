// kube/label_selector.h
//
// Label selectors, in both forms that Kubernetes has: text for queries
// ("app=web,tier in (a,b),!canary,rank>3") and the object in specs (matchLabels,
// matchExpressions). Parsing, matching and writing follow the API server. A value, immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/string_map.h"
#include "kube/compact.h"

namespace mainspring::kube {

enum class LabelOperator : std::uint8_t {
  kIn,
  kNotIn,
  kEquals,        // a=b
  kDoubleEquals,  // a==b, the same but written so
  kNotEquals,
  kExists,
  kDoesNotExist,
  kGreaterThan,
  kLessThan,
};

// One condition on one label. Node affinity is made of these as well.
class LabelRequirement {
 public:
  // kInvalid where key, number of values or a value is not what the API allows.
  static Result<LabelRequirement> make(std::string_view key, LabelOperator op,
                                       std::vector<std::string> values);
  // For labels that the server has checked already, such as a nodeSelector.
  static LabelRequirement equals(std::string_view key, std::string_view value);

  const std::string& key() const { return key_; }
  LabelOperator op() const { return op_; }
  // Sorted, none twice.
  const std::vector<std::string>& values() const { return values_; }

  // An absent label satisfies "not in" and "not equal", and nothing else but "does not exist".
  bool matches(const json::StringMap& labels) const;
  std::string to_string() const;

  bool operator==(const LabelRequirement&) const = default;

 private:
  LabelRequirement(std::string_view key, LabelOperator op, std::vector<std::string> values);

  bool has_value(std::string_view value) const;

  std::string key_;
  std::vector<std::string> values_;
  LabelOperator op_ = LabelOperator::kExists;
};

class LabelSelector {
 public:
  // Matches nothing, as an absent selector in a spec does.
  LabelSelector() = default;
  static LabelSelector everything();
  explicit LabelSelector(std::vector<LabelRequirement> requirements);

  // Empty text matches everything.
  static Result<LabelSelector> parse(std::string_view text);

  bool matches(const json::StringMap& labels) const;
  bool matches_nothing() const { return nothing_; }
  bool matches_everything() const { return !nothing_ && requirements_.empty(); }
  // Sorted by key.
  std::span<const LabelRequirement> requirements() const { return requirements_; }

  // What parse() reads. Text cannot say "nothing": ask matches_nothing() before.
  std::string to_string() const;

  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<LabelRequirement> requirements_;
  bool nothing_ = true;
};

// The object form. {} matches everything.
bool read(json::Reader& reader, LabelSelector& out);

// What the API accepts: an optional DNS prefix and a name of 63 characters; a value of 63.
Result<void> check_label_key(std::string_view key);
Result<void> check_label_value(std::string_view value);

}  // namespace mainspring::kube
