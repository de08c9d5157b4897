#include "operator/build/token_build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "operator/build/pod_parts.h"

namespace mainspring::op::build {
namespace {

using json::Value;

// What Slurm calls infinite.
constexpr Duration kLongest = seconds((std::int64_t{1} << 31) - 2);
// Nanoseconds since 1970 in 64 bits end in 2262.
constexpr double kLastSecond = 9'223'372'035;

std::int64_t whole_seconds(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

std::string signature_of(const Secret& key, std::string_view text) {
  return base64url_encode(as_text(hmac_sha256(key.reveal(), text)));
}

std::optional<WallTime> time_in(const Value& claims, std::string_view claim) {
  const Value* const found = claims.find(claim);
  const auto number = found == nullptr ? std::nullopt : found->as_double();
  if (!number || !(*number >= 0) || *number > kLastSecond) return std::nullopt;
  return WallTime(seconds(static_cast<std::int64_t>(*number)));
}

TokenPlan write_now(std::string why) { return {.write = true, .wait = {}, .why = std::move(why)}; }

}  // namespace

std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  high = (high & 0xFFFFFFFFFFFF0FFFU) | 0x4000U;            // Version 4: random.
  low = (low & 0x3FFFFFFFFFFFFFFFU) | 0x8000000000000000U;  // Variant of RFC 9562.
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU,
                     high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFU);
}

Result<Duration> token_lifetime(const api::Token& token) {
  if (token.spec.lifetime < seconds(1)) {
    return fail(Code::kInvalid,
                "spec.lifetime must be a time of at least one second, such as 15m or 24h");
  }
  return std::chrono::floor<seconds>(std::min(token.spec.lifetime, kLongest));
}

std::string token_user(const api::Token& token) {
  return token.spec.username.empty() ? "nobody" : token.spec.username;
}

Result<Secret> sign_token(const api::Token& token, const Secret& key, WallTime now,
                          std::string_view id) {
  if (key.empty()) return fail(Code::kInvalid, "the key for signing Slurm tokens is empty");
  MS_TRY(const Duration lifetime, token_lifetime(token));
  const std::int64_t issued = whole_seconds(now);
  const Value header = Value::object({{"alg", "HS256"}, {"typ", "JWT"}});
  const Value claims =
      Value::object({{"iss", "slurm-operator"},
                     {"exp", issued + std::chrono::floor<seconds>(lifetime).count()},
                     {"nbf", issued},
                     {"iat", issued},
                     {"jti", id},
                     {"sun", token_user(token)}});
  std::string text =
      base64url_encode(json::to_text(header)) + "." + base64url_encode(json::to_text(claims));
  text += "." + signature_of(key, text);
  return Secret(std::move(text));
}

std::optional<TokenClaims> read_token(const Secret& text, const Secret& key) {
  const std::string_view whole = text.reveal();
  const auto parts = split(whole, '.');
  if (parts.size() != 3) return std::nullopt;
  const std::string_view body = whole.substr(0, parts[0].size() + 1 + parts[1].size());
  if (!equal_in_constant_time(signature_of(key, body), parts[2])) return std::nullopt;
  const auto decoded = base64url_decode(parts[1]);
  if (!decoded) return std::nullopt;
  const auto claims = json::parse(*decoded, {.max_bytes = std::size_t{64} << 10});
  if (!claims) return std::nullopt;
  const Value* const user = claims->find("sun");
  const auto issued = time_in(*claims, "iat");
  const auto expires = time_in(*claims, "exp");
  if (user == nullptr || !user->is_string() || !issued || !expires) return std::nullopt;
  return TokenClaims{std::string(*user->as_string()), *issued, *expires};
}

TokenPlan plan_token(const api::Token& token, const kube::SecretObject* secret, const Secret& key,
                     WallTime now) {
  const Secret* const text = secret == nullptr ? nullptr : secret->find(token.secret().key);
  if (text == nullptr || text->empty()) return write_now("Missing");
  const auto claims = read_token(*text, key);
  const auto outdated = [&](std::string why) {
    TokenPlan plan = write_now(std::move(why));
    plan.write = token.spec.refresh;
    return plan;
  };
  if (!claims) return outdated("KeyChanged");
  if (claims->expires <= now) return outdated("Expired");
  if (claims->user != token_user(token)) return outdated("UserChanged");
  const Duration life = claims->expires - claims->issued;
  if (!token.spec.refresh) return {.wait = claims->expires - now, .why = "Valid"};
  if (const auto wanted = token_lifetime(token); wanted && life != *wanted) {
    return write_now("LifetimeChanged");
  }
  const WallTime due = claims->expires - life / 5;
  if (due <= now) return write_now("Due");
  return {.wait = due - now, .why = "Valid"};
}

bool is_own_token_secret(const api::Token& token, const kube::SecretObject& secret) {
  const kube::OwnerReference* const owner = secret.meta.controller();
  if (owner == nullptr) return false;
  if (owner->uid == token.meta.uid) return true;
  const api::KeyRef* const key = api::jwt_key_of(token.spec);
  return key != nullptr && owner->kind == "Secret" && owner->name == key->name &&
         secret.find(token.secret().key) != nullptr;
}

Value token_secret(const api::Token& token, const Secret& text) {
  Metadata metadata;
  add(metadata.annotations, token.meta.annotations);
  add(metadata.labels, token.meta.labels);
  Value object = owned_object(
      "v1", "Secret",
      object_meta(token.secret().name, token.meta.ns, metadata, api::Token::kResource, token.meta));
  object["data"].set(token.secret().key, base64_encode(text.reveal()));
  if (!token.spec.refresh) object["immutable"] = true;
  return object;
}

}  // namespace mainspring::op::build
