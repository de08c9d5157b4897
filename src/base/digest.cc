#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>

namespace mainspring {
namespace {

constexpr std::uint32_t kFnvOffset32 = 0x811c9dc5;
constexpr std::uint32_t kFnvPrime32 = 0x01000193;
constexpr std::uint64_t kFnvOffset64 = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime64 = 0x00000100000001b3;

std::uint8_t byte(char c) { return static_cast<std::uint8_t>(c); }

// OpenSSL fails here only when it is out of memory or built without SHA-256: nothing could go on.
void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

Sha256Digest sha256(std::string_view data) {
  Sha256Digest digest;
  require(EVP_Digest(data.data(), data.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::array<std::uint8_t, 20> sha1(std::string_view data) {
  std::array<std::uint8_t, 20> digest;
  require(EVP_Digest(data.data(), data.size(), digest.data(), nullptr, EVP_sha1(), nullptr) == 1);
  return digest;
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view data) {
  Sha256Digest digest;
  // OpenSSL reads a null key as "the key of last time".
  const char* key_bytes = key.empty() ? "" : key.data();
  require(HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data(),
               nullptr) != nullptr);
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex_encode(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t value : bytes) {
    text += kDigits[value >> 4];
    text += kDigits[value & 0xF];
  }
  return text;
}

std::uint32_t fnv1_32(std::string_view data) {
  std::uint32_t hash = kFnvOffset32;
  for (const char c : data) hash = (hash * kFnvPrime32) ^ byte(c);
  return hash;
}

std::uint32_t fnv1a_32(std::string_view data) {
  std::uint32_t hash = kFnvOffset32;
  for (const char c : data) hash = (hash ^ byte(c)) * kFnvPrime32;
  return hash;
}

std::uint64_t fnv1a_64(std::string_view data) {
  std::uint64_t hash = kFnvOffset64;
  for (const char c : data) hash = (hash ^ byte(c)) * kFnvPrime64;
  return hash;
}

std::string safe_encode_string(std::string_view text) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) encoded += kLetters[byte(c) % kLetters.size()];
  return encoded;
}

}  // namespace mainspring
