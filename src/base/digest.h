// base/digest.h
//
// Digests: SHA-256 and HMAC-SHA-256 for contents and tokens, FNV where Kubernetes uses it to name
// things after what is in them. Pure functions over bytes. FNV is for naming, never for trust.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mainspring {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest sha256(std::string_view data);
// Long broken for trust; what old protocols (websocket handshakes) still name.
std::array<std::uint8_t, 20> sha1(std::string_view data);
Sha256Digest hmac_sha256(std::string_view key, std::string_view data);

// Whether two digests or tokens are equal, in a time that does not tell where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Lower-case.
std::string hex_encode(std::span<const std::uint8_t> bytes);

// The bytes of a digest as text, for base64 and comparison.
inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t fnv1_32(std::string_view data);
std::uint32_t fnv1a_32(std::string_view data);
std::uint64_t fnv1a_64(std::string_view data);

// Each byte as one of 27 letters and digits, without vowels so that no words come out. Kubernetes
// writes a template's hash so: safe_encode_string(std::to_string(fnv1a_32(template))).
std::string safe_encode_string(std::string_view text);

}  // namespace mainspring
