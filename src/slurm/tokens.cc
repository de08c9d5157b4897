#include "slurm/tokens.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "net/small_file.h"

namespace mainspring::slurm {
namespace {

using net::Task;

// How often a file is looked at while nothing is wrong.
constexpr Duration kLookEvery = seconds(5);
// No key or token comes near it; a path that points at something else entirely might.
constexpr std::size_t kMaxFile = std::size_t{64} * 1024;

// A secret in a file, looked at again now and then.
class WatchedFile {
 public:
  WatchedFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Whether the contents are others than before. An unreadable file keeps what was read.
  bool look_if_due() { return clock_.now() >= next_look_ && look(); }
  bool look() {
    next_look_ = clock_.now() + kLookEvery;
    auto text = net::read_small_file(path_, kMaxFile);
    failure_.reset();
    if (!text) {
      failure_ = std::move(text).error();
      return false;
    }
    Secret found(*std::move(text));
    if (found == contents_) return false;
    contents_ = std::move(found);
    changed_ = clock_.now();
    return true;
  }

  const Secret& contents() const { return contents_; }
  // So lately that a request under way may have used what was there before.
  bool changed_lately() const { return changed_ && clock_.now() < *changed_ + kLookEvery; }
  Error failure() const { return failure_.value_or(Error(Code::kInvalid, path_ + " is empty")); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const Clock& clock_;
  Secret contents_;
  TimePoint next_look_;
  std::optional<TimePoint> changed_;
  std::optional<Error> failure_;
};

class Minted final : public TokenSource {
 public:
  Minted(Secret key, std::optional<WatchedFile> file, const Clock& clock, MintOptions options)
      : key_(std::move(key)), file_(std::move(file)), clock_(clock), options_(options) {
    options_.lifetime = std::max<Duration>(options_.lifetime, seconds(10));
    options_.renew_before = std::min(options_.renew_before, options_.lifetime / 2);
  }

  Task<Result<Secret>> token(std::string user) override { co_return current(user); }
  bool needs_user_header() const override { return false; }

  bool refused(const std::string& user) override {
    const bool new_key = file_ && file_->look();
    if (new_key) tokens_.clear();
    const auto found = tokens_.find(user);
    if (found == tokens_.end()) return true;
    // One that was made just now will not be better made again; an older one may have expired by
    // the server's clock.
    const bool old = clock_.now() >= found->second.made + seconds(1);
    tokens_.erase(found);
    return old || (file_ && file_->changed_lately());
  }

  std::optional<WallTime> expires(const std::string& user) const override {
    const auto found = tokens_.find(user);
    if (found == tokens_.end()) return std::nullopt;
    return found->second.ends;
  }

 private:
  struct Made {
    Secret token;
    TimePoint made;
    WallTime ends;
  };

  Result<Secret> current(const std::string& user) {
    if (file_ && file_->look_if_due()) tokens_.clear();
    const Secret& key = file_ ? file_->contents() : key_;
    if (file_ && key.empty()) return fail(file_->failure().with_context("the JWT key of Slurm"));
    const WallTime now = clock_.wall_now();
    if (const auto found = tokens_.find(user);
        found != tokens_.end() && now < found->second.ends - options_.renew_before) {
      return found->second.token;
    }
    std::erase_if(tokens_, [&](const auto& each) { return each.second.ends <= now; });
    MS_TRY(Secret token, mint_token(key, user, now, options_.lifetime));
    const WallTime ends = token_expiry(token).value_or(now);
    return tokens_.insert_or_assign(user, Made{std::move(token), clock_.now(), ends})
        .first->second.token;
  }

  Secret key_;
  std::optional<WatchedFile> file_;
  const Clock& clock_;
  MintOptions options_;
  std::map<std::string, Made> tokens_;
};

class Given final : public TokenSource {
 public:
  explicit Given(Secret token) : token_(std::move(token)) {}
  Task<Result<Secret>> token(std::string) override {
    MS_CO_CHECK(check_token(token_, "the Slurm token"));
    co_return token_;
  }
  bool needs_user_header() const override { return true; }
  bool refused(const std::string&) override { return false; }
  std::optional<WallTime> expires(const std::string&) const override {
    return token_expiry(token_);
  }

 private:
  Secret token_;
};

class Absent final : public TokenSource {
 public:
  explicit Absent(std::string why) : why_(std::move(why)) {}
  Task<Result<Secret>> token(std::string) override { co_return fail(Code::kUnauthorized, why_); }
  bool needs_user_header() const override { return true; }
  bool refused(const std::string&) override { return false; }
  std::optional<WallTime> expires(const std::string&) const override { return std::nullopt; }

 private:
  std::string why_;
};

class TokenFile final : public TokenSource {
 public:
  TokenFile(std::string path, const Clock& clock) : file_(std::move(path), clock) {}

  Task<Result<Secret>> token(std::string) override {
    file_.look_if_due();
    if (file_.contents().empty()) {
      co_return fail(file_.failure().with_context("the Slurm token file"));
    }
    Secret token = trimmed();
    MS_CO_CHECK(check_token(token, "the Slurm token file " + file_.path()));
    co_return token;
  }
  bool needs_user_header() const override { return true; }
  bool refused(const std::string&) override { return file_.look() || file_.changed_lately(); }
  std::optional<WallTime> expires(const std::string&) const override {
    return token_expiry(trimmed());
  }

 private:
  Secret trimmed() const { return Secret(std::string(trim(file_.contents().reveal()))); }

  WatchedFile file_;
};

class Asked final : public TokenSource {
 public:
  Asked(TokenCallback callback, const Clock& clock)
      : callback_(std::move(callback)), clock_(clock) {}

  Task<Result<Secret>> token(std::string user) override {
    if (const auto known = tokens_.find(user);
        known != tokens_.end() && clock_.wall_now() < known->second.renew_at) {
      co_return known->second.token;
    }
    Result<Secret> answer = co_await callback_(user);
    if (answer) answer = checked(*std::move(answer));
    if (!answer) {
      // The old one may well last until the callback is better.
      const auto known = tokens_.find(user);
      const bool lasts = known != tokens_.end() && clock_.wall_now() < known->second.ends;
      if (lasts) co_return known->second.token;
      co_return fail(std::move(answer).error().with_context("asking for a Slurm token"));
    }
    co_return remember(user, *std::move(answer));
  }
  bool needs_user_header() const override { return false; }
  bool refused(const std::string& user) override {
    tokens_.erase(user);
    return true;
  }
  std::optional<WallTime> expires(const std::string& user) const override {
    const auto found = tokens_.find(user);
    if (found == tokens_.end() || found->second.ends == WallTime::max()) return std::nullopt;
    return found->second.ends;
  }

 private:
  struct Known {
    Secret token;
    WallTime renew_at;
    WallTime ends;
  };

  static Result<Secret> checked(Secret token) {
    MS_CHECK(check_token(token, "the Slurm token"));
    return token;
  }

  Secret remember(const std::string& user, Secret token) {
    const WallTime now = clock_.wall_now();
    std::erase_if(tokens_, [&](const auto& each) { return each.second.ends <= now; });
    const WallTime ends = token_expiry(token).value_or(WallTime::max());
    WallTime renew_at = ends;
    if (ends != WallTime::max()) {
      renew_at -= std::clamp<Duration>((ends - now) / 5, Duration::zero(), minutes(5));
    }
    return tokens_.insert_or_assign(user, Known{std::move(token), renew_at, ends})
        .first->second.token;
  }

  TokenCallback callback_;
  const Clock& clock_;
  std::map<std::string, Known> tokens_;
};

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

std::shared_ptr<TokenSource> minted_tokens(Secret key, const Clock& clock, MintOptions options) {
  return std::make_shared<Minted>(std::move(key), std::nullopt, clock, options);
}

std::shared_ptr<TokenSource> minted_tokens_from(std::string key_path, const Clock& clock,
                                                MintOptions options) {
  return std::make_shared<Minted>(Secret(), WatchedFile(std::move(key_path), clock), clock,
                                  options);
}

std::shared_ptr<TokenSource> static_token(Secret token) {
  return std::make_shared<Given>(std::move(token));
}

std::shared_ptr<TokenSource> no_token(std::string why) {
  return std::make_shared<Absent>(std::move(why));
}

std::shared_ptr<TokenSource> token_file(std::string path, const Clock& clock) {
  return std::make_shared<TokenFile>(std::move(path), clock);
}

std::shared_ptr<TokenSource> callback_tokens(TokenCallback callback, const Clock& clock) {
  return std::make_shared<Asked>(std::move(callback), clock);
}

}  // namespace mainspring::slurm
