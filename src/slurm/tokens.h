// slurm/tokens.h
//
// Who we are to slurmrestd: a JWT from wherever the site has it. Four sources behind one interface:
// minted here from slurmctld's HS256 key, given once, read from a file that others rotate, or asked
// of a callback. A source is renewed ahead of its expiry and once more when slurmrestd refuses it
// (HTTP 511). Lives on the loop of the client that owns it. Tokens are Secrets: never in a log or
// an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "net/task.h"

namespace mainspring::slurm {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Good for `user` right now.
  virtual net::Task<Result<Secret>> token(std::string user) = 0;
  // True for a source that has one token for all: to act for another user, X-SLURM-USER-NAME must
  // name that user, which works with a token of SlurmUser or root.
  virtual bool needs_user_header() const = 0;
  // The server refused the token given last for `user`. True if another try with token() makes
  // sense.
  virtual bool refused(const std::string& user) = 0;
  // When the token for `user` ends, where that is known: for status and alarms.
  virtual std::optional<WallTime> expires(const std::string& user) const = 0;
};

struct MintOptions {
  Duration lifetime = minutes(30);
  Duration renew_before = minutes(5);
};
// HS256 with the key of AuthAltParameters=jwt_key. Mints one token per user as asked.
std::shared_ptr<TokenSource> minted_tokens(Secret key, const Clock& clock,
                                           MintOptions options = {});
// The key in a file that may be rotated: looked at every few seconds, and at once when a token is
// refused. Every byte of it counts, as it does for Slurm. While it cannot be read, the last key is
// used.
std::shared_ptr<TokenSource> minted_tokens_from(std::string key_path, const Clock& clock,
                                                MintOptions options = {});
std::shared_ptr<TokenSource> static_token(Secret token);
// The same for a file that holds a token.
std::shared_ptr<TokenSource> token_file(std::string path, const Clock& clock);
// Asked for a new token whenever the last one is about to end or was refused.
using TokenCallback = std::function<net::Task<Result<Secret>>(std::string user)>;
std::shared_ptr<TokenSource> callback_tokens(TokenCallback callback, const Clock& clock);

// None so far: every call fails, and says `why`.
std::shared_ptr<TokenSource> no_token(std::string why);

// kInvalid, naming `where`, for what is no token: empty, or with characters that no token has.
Result<void> check_token(const Secret& token, const std::string& where);

// One token, for whoever needs just that (the operator's Token kind, tests).
Result<Secret> mint_token(const Secret& key, const std::string& user, WallTime now,
                          Duration lifetime);
// "exp" of a JWT, unverified.
std::optional<WallTime> token_expiry(const Secret& token);

}  // namespace mainspring::slurm
