#include <algorithm>
#include <cctype>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "json/reader.h"
#include "json/value.h"
#include "slurm/tokens.h"

namespace mainspring::slurm {
namespace {

// Nanoseconds since 1970 in 64 bits end in 2262.
constexpr std::int64_t kLastSecond = 9'223'372'035;

std::int64_t whole_seconds(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

}  // namespace

Result<Secret> mint_token(const Secret& key, const std::string& user, WallTime now,
                          Duration lifetime) {
  if (key.empty()) return fail(Code::kInvalid, "the key for signing Slurm tokens is empty");
  if (user.empty()) return fail(Code::kInvalid, "a Slurm token must name a user");
  if (!is_valid_utf8(user)) {
    return fail(Code::kInvalid, "the user name " + quoted(user) + " is not UTF-8");
  }
  const json::Value header = json::Value::object({{"alg", "HS256"}, {"typ", "JWT"}});
  const json::Value claims = json::Value::object(
      {{"exp", whole_seconds(now + lifetime)}, {"iat", whole_seconds(now)}, {"sun", user}});
  std::string text =
      base64url_encode(json::to_text(header)) + "." + base64url_encode(json::to_text(claims));
  const Sha256Digest signature = hmac_sha256(key.reveal(), text);
  text += "." + base64url_encode(as_text(signature));
  return Secret(std::move(text));
}

std::optional<WallTime> token_expiry(const Secret& token) {
  const auto parts = split(token.reveal(), '.');
  if (parts.size() != 3) return std::nullopt;
  const auto claims = base64url_decode(parts[1]);
  if (!claims) return std::nullopt;
  std::optional<std::int64_t> expiry;
  json::Reader reader;
  reader.open(*claims);
  if (reader.kind() != json::Reader::Kind::kObject) return std::nullopt;
  reader.object([&](std::string_view key) {
    if (key != "exp" || reader.kind() != json::Reader::Kind::kNumber) return;
    double number = 0;  // RFC 7519 allows fractions.
    if (reader.read(number) && number >= 0 && number <= static_cast<double>(kLastSecond)) {
      expiry = static_cast<std::int64_t>(number);
    }
  });
  if (!reader.finish() || !expiry) return std::nullopt;
  return WallTime(seconds(*expiry));
}

}  // namespace mainspring::slurm
