// base/secret.h
//
// A string that must not be shown: a token, a key, a password. It has no way into a stream, a log
// field or fmt other than as "<redacted>"; whoever needs the bytes says reveal(), which is easy to
// search for. The bytes are wiped when it dies. A value, owned by whoever holds it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace mainspring {

inline constexpr std::string_view kRedacted = "<redacted>";

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) noexcept : value_(std::move(value)) { wipe(value); }
  Secret(const Secret& other) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { wipe(other.value_); }
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { wipe(value_); }

  // For the moment of use only: hand it to what needs it and keep no copy.
  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

  // In a time that does not depend on where they differ.
  friend bool operator==(const Secret& a, const Secret& b);

  friend std::ostream& operator<<(std::ostream& out, const Secret&) { return out << kRedacted; }

 private:
  // Overwrites and empties. A moved-from short string still has its bytes in place.
  static void wipe(std::string& value) noexcept;

  std::string value_;
};

}  // namespace mainspring
