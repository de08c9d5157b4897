#include "operator/build/ssh_keys.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/base64.h"

namespace mainspring::op::build {
namespace {

template <auto Free>
struct Release {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Release<BN_clear_free>>;

tl::unexpected<Error> openssl_failure(std::string_view what) {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  return fail(Code::kInternal, fmt::format("{}: OpenSSL says: {}", what, reason.data()));
}

// What SSH writes (RFC 4251): numbers and texts with their length before them. The bytes may be
// secret and are wiped; they must not be copied about by a growing string, so room comes first.
class Wire {
 public:
  Wire() { bytes_.reserve(std::size_t{8} << 10); }
  ~Wire() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void number(std::uint32_t value) {
    for (const int shift : {24, 16, 8, 0}) bytes_.push_back(static_cast<char>(value >> shift));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  // A number without sign: a leading zero keeps the highest bit from being one.
  void big_number(const BIGNUM* value) {
    std::vector<unsigned char> raw(static_cast<std::size_t>(BN_num_bytes(value)) + 1);
    BN_bn2bin(value, raw.data() + 1);
    const bool needs_zero = raw.size() > 1 && (raw[1] & 0x80U) != 0;
    const std::size_t skip = needs_zero ? 0 : 1;
    text({reinterpret_cast<const char*>(raw.data()) + skip, raw.size() - skip});
    OPENSSL_cleanse(raw.data(), raw.size());
  }
  void raw(std::string_view value) { bytes_ += value; }
  void pad(std::size_t block) {
    for (char next = 1; bytes_.size() % block != 0; ++next) bytes_.push_back(next);
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

Result<void> big_number(Wire& wire, const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) {
    return openssl_failure(fmt::format("reading {} of a host key", name));
  }
  const NumberPtr owned(number);
  wire.big_number(number);
  return {};
}

// One kind of key, as SSH names and writes it.
struct KeyKind {
  std::string_view file;
  std::string_view name;
  KeyPtr (*make)(const SshKeyOptions&);
  Result<void> (*write_public)(Wire&, const EVP_PKEY*);
  // Behind what the two have in common.
  Result<void> (*write_private)(Wire&, const EVP_PKEY*);
};

Result<void> rsa_public(Wire& wire, const EVP_PKEY* key) {
  MS_CHECK(big_number(wire, key, OSSL_PKEY_PARAM_RSA_E));
  return big_number(wire, key, OSSL_PKEY_PARAM_RSA_N);
}

Result<void> rsa_private(Wire& wire, const EVP_PKEY* key) {
  for (const char* const name : {OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E,
                                 OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
                                 OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2}) {
    MS_CHECK(big_number(wire, key, name));
  }
  return {};
}

Result<void> ecdsa_public(Wire& wire, const EVP_PKEY* key) {
  std::array<unsigned char, 65> point{};  // 0x04 and both coordinates.
  std::size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(),
                                      &size) != 1 ||
      size != point.size()) {
    return openssl_failure("reading the point of an ECDSA host key");
  }
  wire.text("nistp256");
  wire.text({reinterpret_cast<const char*>(point.data()), size});
  return {};
}

Result<void> ecdsa_private(Wire& wire, const EVP_PKEY* key) {
  MS_CHECK(ecdsa_public(wire, key));
  return big_number(wire, key, OSSL_PKEY_PARAM_PRIV_KEY);
}

using Half = std::array<unsigned char, 32>;

std::string_view as_text(const Half& half) {
  return {reinterpret_cast<const char*>(half.data()), half.size()};
}

Result<Half> ed25519_half(const EVP_PKEY* key, decltype(&EVP_PKEY_get_raw_public_key) read) {
  Half half{};
  std::size_t size = half.size();
  if (read(key, half.data(), &size) != 1 || size != half.size()) {
    return openssl_failure("reading an Ed25519 host key");
  }
  return half;
}

Result<void> ed25519_public(Wire& wire, const EVP_PKEY* key) {
  MS_TRY(const Half half, ed25519_half(key, &EVP_PKEY_get_raw_public_key));
  wire.text(as_text(half));
  return {};
}

Result<void> ed25519_private(Wire& wire, const EVP_PKEY* key) {
  MS_TRY(Half seed, ed25519_half(key, &EVP_PKEY_get_raw_private_key));
  MS_TRY(const Half half, ed25519_half(key, &EVP_PKEY_get_raw_public_key));
  wire.text(as_text(half));
  wire.number(static_cast<std::uint32_t>(seed.size() + half.size()));
  wire.raw(as_text(seed));
  wire.raw(as_text(half));
  OPENSSL_cleanse(seed.data(), seed.size());
  return {};
}

const std::array<KeyKind, 3> kKinds = {
    KeyKind{"ssh_host_rsa_key", "ssh-rsa",
            [](const SshKeyOptions& options) { return KeyPtr(EVP_RSA_gen(options.rsa_bits)); },
            &rsa_public, &rsa_private},
    KeyKind{"ssh_host_ecdsa_key", "ecdsa-sha2-nistp256",
            [](const SshKeyOptions&) { return KeyPtr(EVP_EC_gen("P-256")); }, &ecdsa_public,
            &ecdsa_private},
    KeyKind{
        "ssh_host_ed25519_key", "ssh-ed25519",
        [](const SshKeyOptions&) { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); },
        &ed25519_public, &ed25519_private}};

Secret armoured(std::string_view bytes) {
  const Secret encoded(base64_encode(bytes));
  constexpr std::size_t kWidth = 70;
  std::string text;
  text.reserve(2 * encoded.reveal().size());
  text += "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (std::size_t at = 0; at < encoded.reveal().size(); at += kWidth) {
    text += std::string_view(encoded.reveal()).substr(at, kWidth);
    text += '\n';
  }
  text += "-----END OPENSSH PRIVATE KEY-----\n";
  return Secret(std::move(text));
}

// OpenSSH's PROTOCOL.key, without cipher and passphrase.
Result<Secret> private_file(const KeyKind& kind, const EVP_PKEY* key, std::string_view blob) {
  std::uint32_t check = 0;
  std::array<unsigned char, sizeof(check)> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) return openssl_failure("asking for chance");
  for (const unsigned char byte : random) check = check << 8U | byte;

  Wire section;
  section.number(check);  // Twice the same: how a wrong passphrase is noticed.
  section.number(check);
  section.text(kind.name);
  MS_CHECK(kind.write_private(section, key));
  section.text("");  // No comment.
  section.pad(8);

  Wire file;
  file.raw(std::string_view("openssh-key-v1\0", 15));
  file.text("none");
  file.text("none");
  file.text("");
  file.number(1);
  file.text(blob);
  file.text(section.bytes());
  return armoured(file.bytes());
}

}  // namespace

Result<std::map<std::string, Secret>> make_ssh_host_keys(SshKeyOptions options) {
  std::map<std::string, Secret> files;
  for (const KeyKind& kind : kKinds) {
    const KeyPtr key = kind.make(options);
    if (!key) return openssl_failure(fmt::format("making {}", kind.file));
    Wire blob;
    blob.text(kind.name);
    MS_CHECK(kind.write_public(blob, key.get()));
    MS_TRY(Secret text, private_file(kind, key.get(), blob.bytes()));
    files[std::string(kind.file)] = std::move(text);
    files[fmt::format("{}.pub", kind.file)] =
        Secret(fmt::format("{} {}\n", kind.name, base64_encode(blob.bytes())));
  }
  return files;
}

}  // namespace mainspring::op::build
