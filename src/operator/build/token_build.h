// operator/build/token_build.h
//
// The Secret of a Token: a JWT as slurmctld accepts it (HS256, "sun" names the user), and what is
// to be made of the one that is there. Pure: time and chance are handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/token.h"
#include "base/result.h"
#include "base/secret.h"
#include "json/value.h"
#include "kube/core_objects.h"

namespace mainspring::op::build {

// A random UUID (version 4) from 128 bits of chance.
std::string uuid_of(std::uint64_t high, std::uint64_t low);

// As the spec has it, bounded by what Slurm takes for "for ever". kInvalid where it is no time.
Result<Duration> token_lifetime(const api::Token& token);

// Who it is for: "nobody" where the spec names none.
std::string token_user(const api::Token& token);

struct TokenClaims {
  std::string user;
  WallTime issued;
  WallTime expires;

  bool operator==(const TokenClaims&) const = default;
};

// `id`: its claim "jti".
Result<Secret> sign_token(const api::Token& token, const Secret& key, WallTime now,
                          std::string_view id);
// What a token says; nothing where this key did not sign it.
std::optional<TokenClaims> read_token(const Secret& text, const Secret& key);

// What to do about the Secret that is there.
struct TokenPlan {
  bool write = false;            // A new token is needed now.
  std::optional<Duration> wait;  // Until one is; unset where it is never.
  std::string why;  // "Missing", "Expired", "Due", "KeyChanged", "UserChanged" or "Valid"
};
// `secret`: null where there is none. A token is renewed when four fifths of its life are over. One
// of spec.refresh=false is written once and then left alone, whatever becomes of it.
TokenPlan plan_token(const api::Token& token, const kube::SecretObject* secret, const Secret& key,
                     WallTime now);

// Whether the Secret is the Token's to write: owned by it, or made by the operator before us, which
// named the JWT key's Secret as the owner.
bool is_own_token_secret(const api::Token& token, const kube::SecretObject& secret);

json::Value token_secret(const api::Token& token, const Secret& text);

}  // namespace mainspring::op::build
