#include "api/token.h"

#include "base/go_duration.h"

namespace mainspring::api {
namespace {
constexpr std::string_view kSecretKey = "SLURM_JWT";
}

void detail::read_lifetime(json::Reader& reader, TokenSpec& out) {
  std::string_view text;
  if (reader.read(text)) out.lifetime = parse_go_duration(text).value_or(Duration{});
}

KeyRef Token::secret() const {
  KeyRef secret = spec.secret_ref.value_or(KeyRef{});
  if (secret.name.empty()) secret.name = meta.name + "-jwt-" + spec.username;
  if (secret.key.empty()) secret.key = kSecretKey;
  return secret;
}

}  // namespace mainspring::api
