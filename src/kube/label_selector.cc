#include "kube/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace mainspring::kube {

namespace {

constexpr std::size_t kMaxPart = 63;

bool is_alphanumeric(char c) {
  return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
}

// Letters and digits at both ends; in between also '-', '_' and '.'.
bool is_label_part(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPart && is_alphanumeric(part.front()) &&
         is_alphanumeric(part.back()) && std::all_of(part.begin(), part.end(), [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

std::string_view word(LabelOperator op) {
  switch (op) {
    case LabelOperator::kIn:
      return " in ";
    case LabelOperator::kNotIn:
      return " notin ";
    case LabelOperator::kEquals:
      return "=";
    case LabelOperator::kDoubleEquals:
      return "==";
    case LabelOperator::kNotEquals:
      return "!=";
    case LabelOperator::kGreaterThan:
      return ">";
    case LabelOperator::kLessThan:
      return "<";
    case LabelOperator::kExists:
    case LabelOperator::kDoesNotExist:
      break;
  }
  return "";
}

bool is_set(LabelOperator op) { return op == LabelOperator::kIn || op == LabelOperator::kNotIn; }

bool is_presence(LabelOperator op) {
  return op == LabelOperator::kExists || op == LabelOperator::kDoesNotExist;
}

bool is_comparison(LabelOperator op) {
  return op == LabelOperator::kGreaterThan || op == LabelOperator::kLessThan;
}

Result<void> check_values(std::string_view key, LabelOperator op,
                          const std::vector<std::string>& values) {
  if (is_set(op) && values.empty()) {
    return fail(Code::kInvalid, fmt::format("label {}:{}needs at least one value", key, word(op)));
  }
  if (is_presence(op) && !values.empty()) {
    return fail(Code::kInvalid, fmt::format("label {}: a test of presence takes no value", key));
  }
  if (!is_set(op) && !is_presence(op) && values.size() != 1) {
    return fail(Code::kInvalid, fmt::format("label {}: {} needs exactly one value", key, word(op)));
  }
  for (const std::string& value : values) {
    MS_CHECK(with_context(check_label_value(value), fmt::format("label {}", key)));
    if (is_comparison(op) && !parse_integer<std::int64_t>(value)) {
      return fail(Code::kInvalid, fmt::format("label {}: {} compares integers, not {}", key,
                                              word(op), quoted(value)));
    }
  }
  return {};
}

}  // namespace

Result<void> check_label_key(std::string_view key) {
  const auto slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (slash != std::string_view::npos && !is_dns1123_subdomain(key.substr(0, slash))) {
    return fail(Code::kInvalid, "label key " + quoted(key) +
                                    ": what stands before '/' must be a "
                                    "lower-case DNS name");
  }
  if (!is_label_part(name)) {
    return fail(Code::kInvalid, "label key " + quoted(key) +
                                    ": a name has 1 to 63 letters, digits, '-', '_' or '.', with a "
                                    "letter or digit at both ends");
  }
  return {};
}

Result<void> check_label_value(std::string_view value) {
  if (value.empty() || is_label_part(value)) return {};
  return fail(Code::kInvalid,
              "label value " + quoted(value) +
                  ": a value has at most 63 letters, digits, '-', '_' or '.', with a "
                  "letter or digit at both ends");
}

LabelRequirement::LabelRequirement(std::string_view key, LabelOperator op,
                                   std::vector<std::string> values)
    : key_(key), values_(std::move(values)), op_(op) {
  std::sort(values_.begin(), values_.end());
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

Result<LabelRequirement> LabelRequirement::make(std::string_view key, LabelOperator op,
                                                std::vector<std::string> values) {
  MS_CHECK(check_label_key(key));
  MS_CHECK(check_values(key, op, values));
  return LabelRequirement(key, op, std::move(values));
}

LabelRequirement LabelRequirement::equals(std::string_view key, std::string_view value) {
  return {key, LabelOperator::kEquals, {std::string(value)}};
}

bool LabelRequirement::has_value(std::string_view value) const {
  return std::binary_search(values_.begin(), values_.end(), value, std::less<>());
}

bool LabelRequirement::matches(const json::StringMap& labels) const {
  const auto label = labels.find(key_);
  switch (op_) {
    case LabelOperator::kIn:
    case LabelOperator::kEquals:
    case LabelOperator::kDoubleEquals:
      return label && has_value(*label);
    case LabelOperator::kNotIn:
    case LabelOperator::kNotEquals:
      return !label || !has_value(*label);
    case LabelOperator::kExists:
      return label.has_value();
    case LabelOperator::kDoesNotExist:
      return !label;
    case LabelOperator::kGreaterThan:
    case LabelOperator::kLessThan:
      break;
  }
  if (!label) return false;
  const auto actual = parse_integer<std::int64_t>(*label);
  const auto bound = parse_integer<std::int64_t>(values_.front());
  if (!actual || !bound) return false;
  return op_ == LabelOperator::kGreaterThan ? *actual > *bound : *actual < *bound;
}

std::string LabelRequirement::to_string() const {
  if (op_ == LabelOperator::kDoesNotExist) return "!" + key_;
  std::string text = key_;
  text += word(op_);
  if (is_set(op_)) {
    // Parentheses with nothing in them are refused; a comma has an empty value on each side.
    const bool only_empty = values_.size() == 1 && values_.front().empty();
    text += "(" + (only_empty ? "," : join(values_, ",")) + ")";
  } else if (!values_.empty()) {
    text += values_.front();
  }
  return text;
}

LabelSelector::LabelSelector(std::vector<LabelRequirement> requirements)
    : requirements_(std::move(requirements)), nothing_(false) {
  std::stable_sort(requirements_.begin(), requirements_.end(),
                   [](const auto& a, const auto& b) { return a.key() < b.key(); });
}

LabelSelector LabelSelector::everything() { return LabelSelector(std::vector<LabelRequirement>()); }

bool LabelSelector::matches(const json::StringMap& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&](const auto& r) { return r.matches(labels); });
}

std::string LabelSelector::to_string() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.to_string();
  }
  return text;
}

namespace {

struct Expression {
  std::string key;
  std::string op;
  std::vector<std::string> values;
};

constexpr auto json_fields(json::Tag<Expression>) {
  return json::fields(json::field("key", &Expression::key),
                      json::field("operator", &Expression::op),
                      json::field("values", &Expression::values));
}

Result<LabelRequirement> to_requirement(Expression expression) {
  constexpr std::pair<std::string_view, LabelOperator> kOperators[] = {
      {"In", LabelOperator::kIn},
      {"NotIn", LabelOperator::kNotIn},
      {"Exists", LabelOperator::kExists},
      {"DoesNotExist", LabelOperator::kDoesNotExist},
  };
  for (const auto& [name, op] : kOperators) {
    if (expression.op != name) continue;
    return LabelRequirement::make(expression.key, op, std::move(expression.values));
  }
  return fail(Code::kInvalid, fmt::format("label {}: {} is no operator of a label selector; use "
                                          "In, NotIn, Exists or DoesNotExist",
                                          expression.key, quoted(expression.op)));
}

}  // namespace

bool read(json::Reader& reader, LabelSelector& out) {
  std::vector<LabelRequirement> requirements;
  const auto add = [&](Result<LabelRequirement> requirement) {
    if (requirement) {
      requirements.push_back(*std::move(requirement));
    } else {
      reader.refuse(requirement.error().to_string());
    }
  };
  const bool whole = reader.object([&](std::string_view key) {
    if (key == "matchLabels") {
      json::StringMap labels;
      read(reader, labels);
      for (const auto& [name, value] : labels) {
        add(LabelRequirement::make(name, LabelOperator::kEquals, {std::string(value)}));
      }
    } else if (key == "matchExpressions") {
      reader.array([&] {
        Expression expression;
        if (read(reader, expression)) add(to_requirement(std::move(expression)));
      });
    }
  });
  if (!whole) return false;
  out = LabelSelector(std::move(requirements));
  return true;
}

}  // namespace mainspring::kube
