#include "base/secret.h"

#include <openssl/crypto.h>

#include "base/digest.h"

namespace mainspring {

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe(value_);
    value_ = other.value_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe(value_);
    value_ = std::move(other.value_);
    wipe(other.value_);
  }
  return *this;
}

bool operator==(const Secret& a, const Secret& b) {
  return equal_in_constant_time(a.value_, b.value_);
}

void Secret::wipe(std::string& value) noexcept {
  // All that was ever written lies within the capacity; a plain memset could be optimised away.
  value.resize(value.capacity());
  OPENSSL_cleanse(value.data(), value.size());
  value.clear();
}

}  // namespace mainspring
