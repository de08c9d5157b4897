// api/checks.h
//
// The checks that validation of several kinds is made of. Each adds to the findings what is wrong
// with one field, its value and what to do instead. For validate*.cc only. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/validate.h"

namespace mainspring::api {

class Checks {
 public:
  void refuse(std::string field, std::string message);
  void warn(std::string text);

  // The name of another object of this namespace, or nothing.
  void name(const std::string& field, std::string_view value);
  void required_name(const std::string& field, std::string_view value);
  void key_ref(const std::string& field, const KeyRef& ref);
  void key_ref(const std::string& field, const std::optional<KeyRef>& ref);
  void name_refs(const std::string& field, const std::vector<NameRef>& refs);

  // One word of a configuration file: no blanks, quotes, comments or continuations. May be empty.
  void word(const std::string& field, std::string_view value);
  // One line of a configuration file.
  void line(const std::string& field, std::string_view value);
  // Lines of a file: no control characters but tabs and line breaks.
  void text(const std::string& field, std::string_view value);

  // 0 stands for the default where `may_default`.
  void port(const std::string& field, std::int32_t value, bool may_default);
  void not_negative(const std::string& field, std::int32_t value);
  void address(const std::string& field, const std::optional<ExternalAddress>& address);
  void service(const ServiceTemplate& service);

  // `what` was `before` and may not become `after`.
  void immutable(const std::string& field, std::string_view before, std::string_view after);
  template <class Spec>
  void immutable_jwt_key(const Spec& before, const Spec& after) {
    immutable_key("spec.jwtKeyRef", jwt_key_of(before), jwt_key_of(after));
  }
  template <class Spec>
  void deprecated_jwt_key(const Spec& spec) {
    if (spec.jwt_hs256_key_ref) warn("spec.jwtHs256KeyRef is deprecated: use spec.jwtKeyRef");
  }

  // Without the problems that the object had already: an old fault must not stand in the way of
  // another change, such as scaling a set or taking off a finalizer.
  void forgive(const Findings& before);
  Findings take() { return std::move(findings_); }

 private:
  void immutable_key(const std::string& field, const KeyRef* before, const KeyRef* after);

  Findings findings_;
};

// What validate() does for every kind, by `check` for the object itself and `compare` for a change.
template <class Kind>
Findings validate_with(const Kind& after, const Kind* before, void (*check)(Checks&, const Kind&),
                       void (*compare)(Checks&, const Kind& before, const Kind& after)) {
  Checks checks;
  if (after.meta.deleting()) return checks.take();
  check(checks, after);
  if (before != nullptr) {
    Checks earlier;
    check(earlier, *before);
    checks.forgive(earlier.take());
    if (compare != nullptr) compare(checks, *before, after);
  }
  return checks.take();
}

}  // namespace mainspring::api
