// api/token.h
//
// Token: a JWT for one Slurm user, kept fresh in a Secret. A value.
#pragma once

#include "api/common.h"

namespace mainspring::api {

struct TokenSpec {
  std::optional<KeyRef> jwt_key_ref;
  std::optional<KeyRef> jwt_hs256_key_ref;
  std::string username;
  Duration lifetime = minutes(15);  // 0 or less: not a lifetime; no token can be made.
  bool refresh = true;
  std::optional<KeyRef> secret_ref;

  bool operator==(const TokenSpec&) const = default;
};

namespace detail {
void read_lifetime(json::Reader& reader, TokenSpec& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<TokenSpec>) {
  using T = TokenSpec;
  return json::fields(
      json::field("jwtKeyRef", &T::jwt_key_ref),
      json::field("jwtHs256KeyRef", &T::jwt_hs256_key_ref), json::field("username", &T::username),
      json::field("lifetime", &detail::read_lifetime), json::field("refresh", &T::refresh),
      json::field("secretRef", &T::secret_ref));
}

struct TokenStatus {
  std::optional<WallTime> issued_at;
  kube::Conditions conditions;
  std::int64_t observed_generation = 0;

  bool operator==(const TokenStatus&) const = default;
};

constexpr auto json_fields(json::Tag<TokenStatus>) {
  using T = TokenStatus;
  return json::fields(kube::time_field<&T::issued_at>("issuedAt"),
                      json::field("conditions", &T::conditions),
                      json::field("observedGeneration", &T::observed_generation));
}

struct Token {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "tokens", "Token",
                                               true};
  kube::Meta meta;
  TokenSpec spec;
  TokenStatus status;

  // The Secret to write, and its key.
  KeyRef secret() const;

  bool operator==(const Token&) const = default;
};

constexpr auto json_fields(json::Tag<Token>) {
  return json::fields(json::field("metadata", &Token::meta), json::field("spec", &Token::spec),
                      json::field("status", &Token::status));
}

}  // namespace mainspring::api
