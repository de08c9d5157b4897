#include "operator/build/jwks.h"

#include <fmt/format.h>

#include "base/text.h"
#include "json/value.h"

namespace mainspring::op::build {
namespace {

using json::Value;

std::optional<std::string_view> text_of(const Value& key, std::string_view member) {
  const Value* const found = key.find(member);
  return found == nullptr ? std::nullopt : found->as_string();
}

// What the key lacks; empty where nothing. One for another algorithm is passed over, if it has a
// name.
std::string_view lacks(const Value& key) {
  if (!text_of(key, "kid")) return "kid";
  const auto algorithm = text_of(key, "alg");
  if (algorithm && !equals_ignore_case(*algorithm, "RS256")) return {};
  if (!text_of(key, "e")) return "e";
  return text_of(key, "n") ? std::string_view() : "n";
}

slurm::Finding finding(std::string message) {
  return {.file = std::string(kJwksFile),
          .message = std::move(message),
          .advice = "use a JSON Web Key Set as the issuer of the tokens publishes it"};
}

}  // namespace

std::optional<slurm::Finding> check_jwks(std::string_view text) {
  const auto parsed = json::parse(text);
  if (!parsed) return finding(parsed.error().message());
  const Value* const keys = parsed->find("keys");
  if (keys == nullptr || !keys->is_array()) return finding("there is no list \"keys\" in it");
  std::size_t index = 0;
  for (const Value& key : *keys) {
    if (const auto missing = lacks(key); !missing.empty()) {
      return finding(fmt::format("keys[{}] has no text \"{}\"", index, missing));
    }
    ++index;
  }
  return std::nullopt;
}

}  // namespace mainspring::op::build
