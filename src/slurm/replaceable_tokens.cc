#include "slurm/replaceable_tokens.h"

namespace mainspring::slurm {
namespace {

// How long a request may be under way with the token of before.
constexpr Duration kUnderWay = seconds(5);

}  // namespace

void ReplaceableTokens::replace(std::shared_ptr<TokenSource> source) {
  source_ = std::move(source);
  replaced_ = clock_.now();
}

net::Task<Result<Secret>> ReplaceableTokens::token(std::string user) {
  // It may be replaced while it is asked.
  const std::shared_ptr<TokenSource> source = source_;
  co_return co_await source->token(std::move(user));
}

bool ReplaceableTokens::refused(const std::string& user) {
  const bool again = source_->refused(user);
  if (on_refused_) on_refused_();
  return again || (replaced_ && clock_.now() < *replaced_ + kUnderWay);
}

}  // namespace mainspring::slurm
