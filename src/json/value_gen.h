// json/value_gen.h
//
// Random values for property tests: nested, with shared keys so that two of them overlap, and with
// the characters and numbers that codecs get wrong. Only for tests.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "json/value.h"

namespace mainspring::json {

// How RapidCheck and GoogleTest show a value that failed.
inline void PrintTo(const Value& value, std::ostream* out) { *out << to_text(value); }
inline void showValue(const Value& value, std::ostream& out) { out << to_text(value); }

inline rc::Gen<std::string> any_key() {
  return rc::gen::element<std::string>("a", "b", "name", "spec", "", "a/b", "m~n", "~1", "0", "-",
                                       "k\"l", "\xC3\xA4", "app.kubernetes.io/name");
}

inline rc::Gen<Value> any_scalar(bool nulls) {
  auto text =
      rc::gen::map(rc::gen::element<std::string>("", "a", "x\ny", "\"\\/", "\x01", "\xE2\x82\xAC",
                                                 "true", "\xF0\x9F\x98\x80"),
                   [](const std::string& s) { return Value(s); });
  auto integer = rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](auto n) { return Value(n); });
  auto edge = rc::gen::element(Value(std::numeric_limits<std::int64_t>::min()),
                               Value(std::numeric_limits<std::uint64_t>::max()), Value(0),
                               Value(1.0), Value(-0.5), Value(1e300), Value(1e-300));
  auto real = rc::gen::map(rc::gen::arbitrary<double>(), [](double n) { return Value(n); });
  auto truth = rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); });
  if (!nulls) return rc::gen::oneOf(text, integer, edge, real, truth);
  return rc::gen::oneOf(text, integer, edge, real, truth, rc::gen::just(Value(nullptr)));
}

inline rc::Gen<Value> any_value(bool nulls = true, int depth = 3) {
  if (depth == 0) return any_scalar(nulls);
  auto inner = rc::gen::lazy([=] { return any_value(nulls, depth - 1); });
  auto few = [](auto item) {
    return rc::gen::mapcat(rc::gen::inRange(0, 5), [item](int n) {
      return rc::gen::container<std::vector<typename decltype(item)::ValueType>>(
          static_cast<std::size_t>(n), item);
    });
  };
  auto array = rc::gen::map(few(inner), [](const std::vector<Value>& items) {
    Value value = Value::array();
    for (const Value& item : items) value.push_back(item);
    return value;
  });
  auto object = rc::gen::map(few(rc::gen::pair(any_key(), inner)),
                             [](const std::vector<std::pair<std::string, Value>>& members) {
                               Value value = Value::object();
                               for (const auto& [key, member] : members) value.set(key, member);
                               return value;
                             });
  return rc::gen::oneOf(any_scalar(nulls), array, object, object);
}

}  // namespace mainspring::json
