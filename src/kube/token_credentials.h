// kube/token_credentials.h
//
// Credentials that need no help from other programs: a bearer token that never changes, one in a
// file that does, user name and password. Made by kube/connect.h. Live on one loop.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/secret.h"
#include "kube/credentials.h"

namespace mainspring::kube {

// kInvalid for what cannot stand in a header: `where` names it, the token is not repeated.
Result<void> check_token(const Secret& token, const std::string& where);

// The same Authorization for every request.
class StaticCredentials final : public Credentials {
 public:
  static Result<std::shared_ptr<StaticCredentials>> bearer(const Secret& token,
                                                           const std::string& where);
  static std::shared_ptr<StaticCredentials> basic(const std::string& username,
                                                  const Secret& password);

  net::Task<Result<void>> add_to(http::Headers* headers) override;
  bool refresh() override { return false; }

 private:
  explicit StaticCredentials(Secret authorization) : authorization_(std::move(authorization)) {}
  Secret authorization_;
};

// A token that the kubelet replaces before it expires. Looks at the file at most every
// `check_every`, and at once when the server refuses the token. A file that cannot be read leaves
// the last good token in use.
class TokenFile final : public Credentials {
 public:
  struct Options {
    std::string path;
    // Used until the file could be read once. May be empty.
    Secret fallback;
    const Clock* clock = nullptr;  // Must outlive this.
    Duration check_every = seconds(10);
  };
  // Fails if there is no token to begin with.
  static Result<std::shared_ptr<TokenFile>> open(Options options);

  net::Task<Result<void>> add_to(http::Headers* headers) override;
  // True where the token is a new one, or became one lately: the refused request may have carried
  // the one before.
  bool refresh() override;

 private:
  explicit TokenFile(Options options) : options_(std::move(options)) {}
  // Takes over what the file has now.
  Result<void> look();

  Options options_;
  Secret token_;
  TimePoint next_look_;
  TimePoint new_until_;
};

}  // namespace mainspring::kube
