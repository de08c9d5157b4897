#include "kube/token_credentials.h"

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "net/small_file.h"

namespace mainspring::kube {
namespace {

// No token comes near it; a path that points at something else entirely might.
constexpr std::size_t kMaxToken = std::size_t{1} << 20;

}  // namespace

Result<void> check_token(const Secret& token, const std::string& where) {
  const auto fits = [](char c) { return c > ' ' && c < '\x7f'; };
  if (token.empty()) return fail(Code::kInvalid, where + " is empty");
  if (!std::all_of(token.reveal().begin(), token.reveal().end(), fits)) {
    return fail(Code::kInvalid,
                where + " is no token: it contains spaces, line breaks or non-ASCII characters");
  }
  return {};
}

Result<std::shared_ptr<StaticCredentials>> StaticCredentials::bearer(const Secret& token,
                                                                     const std::string& where) {
  MS_CHECK(check_token(token, where));
  return std::shared_ptr<StaticCredentials>(
      new StaticCredentials(Secret("Bearer " + token.reveal())));
}

std::shared_ptr<StaticCredentials> StaticCredentials::basic(const std::string& username,
                                                            const Secret& password) {
  return std::shared_ptr<StaticCredentials>(
      new StaticCredentials(Secret("Basic " + base64_encode(username + ":" + password.reveal()))));
}

net::Task<Result<void>> StaticCredentials::add_to(http::Headers* headers) {
  headers->set("Authorization", authorization_.reveal());
  co_return Result<void>();
}

Result<std::shared_ptr<TokenFile>> TokenFile::open(Options options) {
  std::shared_ptr<TokenFile> made(new TokenFile(std::move(options)));
  made->token_ = made->options_.fallback;
  auto looked = made->look();
  if (!looked && made->token_.empty()) return fail(std::move(looked).error());
  MS_CHECK(check_token(made->token_, "the token"));
  made->new_until_ = made->options_.clock->now();
  return made;
}

Result<void> TokenFile::look() {
  const TimePoint now = options_.clock->now();
  next_look_ = now + options_.check_every;
  MS_TRY(const std::string text, net::read_small_file(options_.path, kMaxToken));
  Secret found{std::string(trim(text))};
  MS_CHECK(check_token(found, "the token file " + options_.path));
  if (found == token_) return {};
  token_ = std::move(found);
  new_until_ = now + options_.check_every;
  return {};
}

net::Task<Result<void>> TokenFile::add_to(http::Headers* headers) {
  // Its failure is no reason to fail: the last good token may well be valid still.
  if (options_.clock->now() >= next_look_) static_cast<void>(look());
  headers->set("Authorization", "Bearer " + token_.reveal());
  co_return Result<void>();
}

bool TokenFile::refresh() {
  static_cast<void>(look());
  return options_.clock->now() < new_until_;
}

}  // namespace mainspring::kube
