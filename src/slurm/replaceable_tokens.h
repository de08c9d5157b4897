// slurm/replaceable_tokens.h
//
// Tokens of which others decide, at any time, where they come from, without the client noticing: of
// a Cluster object whose Secret changes, of a Controller whose key does. Made by who decides and
// shared with the client; lives on its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "slurm/tokens.h"

namespace mainspring::slurm {

class ReplaceableTokens final : public TokenSource {
 public:
  // `clock` must outlive it.
  ReplaceableTokens(std::shared_ptr<TokenSource> source, const Clock& clock)
      : source_(std::move(source)), clock_(clock) {}

  void replace(std::shared_ptr<TokenSource> source);
  // Called for each refusal, for who can look whether there is a newer token.
  void on_refused(std::function<void()> handler) { on_refused_ = std::move(handler); }

  net::Task<Result<Secret>> token(std::string user) override;
  bool needs_user_header() const override { return source_->needs_user_header(); }
  // True also where the request may have carried a token of the source before.
  bool refused(const std::string& user) override;
  std::optional<WallTime> expires(const std::string& user) const override {
    return source_->expires(user);
  }

 private:
  std::shared_ptr<TokenSource> source_;
  const Clock& clock_;
  std::optional<TimePoint> replaced_;
  std::function<void()> on_refused_;
};

}  // namespace mainspring::slurm
