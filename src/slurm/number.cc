// slurm/number.cc
#include "slurm/number.h"

#include "json/fields.h"

namespace mainspring::slurm {
namespace {

struct Parts {
  bool set = true;
  bool infinite = false;
  json::Number number;
};
constexpr auto kParts =
    json::fields(json::field("set", &Parts::set), json::field("infinite", &Parts::infinite),
                 json::field("number", &Parts::number));

// What 63 bits cannot hold is one of Slurm's marks for "no value" (all ones but the last) and "no
// limit" (all ones), which some fields let through. Fractions are cut off.
Number from(const json::Number& number) {
  constexpr std::uint64_t kNoValue = std::numeric_limits<std::uint64_t>::max() - 1;
  constexpr double kTooLarge = 9.2e18;
  switch (number.type) {
    case json::Number::Type::kInt:
      return number.integer;
    case json::Number::Type::kUint:
      return number.natural == kNoValue ? Number() : Number::infinite();
    case json::Number::Type::kDouble:
      break;
  }
  if (number.real >= kTooLarge) return Number::infinite();
  if (!(number.real > -kTooLarge)) return {};
  return static_cast<std::int64_t>(number.real);
}

}  // namespace

bool read(json::Reader& reader, Number& out) {
  Parts parts;
  if (reader.kind() != json::Reader::Kind::kObject) {
    if (!reader.read(parts.number)) return false;
  } else if (!json::read_fields<kParts>(reader, parts)) {
    return false;
  }
  if (parts.infinite) {
    out = Number::infinite();
  } else {
    out = parts.set ? from(parts.number) : Number();
  }
  return true;
}

json::Value to_json(Number number) {
  if (number.is_infinite()) return json::Value::object({{"set", false}, {"infinite", true}});
  if (!number.set()) return json::Value::object({{"set", false}});
  return json::Value::object({{"set", true}, {"number", number.value_or(0)}});
}

}  // namespace mainspring::slurm
