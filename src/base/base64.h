// base/base64.h
//
// Base64 of RFC 4648: the standard alphabet (Kubernetes Secrets) and the one for URLs (JWT), with
// and without padding. Strict: one text for each sequence of bytes, no blanks, no line breaks. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mainspring {

enum class Base64Alphabet { kStandard, kUrl };
enum class Base64Padding { kRequired, kNone };

std::string base64_encode(std::string_view bytes,
                          Base64Alphabet alphabet = Base64Alphabet::kStandard,
                          Base64Padding padding = Base64Padding::kRequired);

// kInvalid names the position and never repeats the text, which may be a secret.
Result<std::string> base64_decode(std::string_view text,
                                  Base64Alphabet alphabet = Base64Alphabet::kStandard,
                                  Base64Padding padding = Base64Padding::kRequired);

// What JSON Web Tokens use.
inline std::string base64url_encode(std::string_view bytes) {
  return base64_encode(bytes, Base64Alphabet::kUrl, Base64Padding::kNone);
}
inline Result<std::string> base64url_decode(std::string_view text) {
  return base64_decode(text, Base64Alphabet::kUrl, Base64Padding::kNone);
}

}  // namespace mainspring
