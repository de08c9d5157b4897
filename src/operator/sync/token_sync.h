// operator/sync/token_sync.h
//
// The queue "token": keeps a JWT in the Secret of each Token and renews it in time. A Secret of
// that name that belongs to somebody else is never written; one that the operator before us made is
// adopted. Owned by the app; lives on the control loop.
#pragma once

#include <unordered_map>

#include "operator/build/token_build.h"
#include "operator/sync/daemon_sync.h"

namespace mainspring::op {

class TokenSync {
 public:
  explicit TokenSync(World& world);

 private:
  using TokenPtr = std::shared_ptr<const api::Token>;
  using SecretPtr = std::shared_ptr<const kube::SecretObject>;
  struct Outcome {
    Situation situation;
    std::optional<WallTime> issued;
    std::optional<Duration> again;
  };
  // What was written while the cache showed `before`, so that a cache that lags does not make
  // another token.
  struct Written {
    std::string token_uid;
    std::string before;  // A resource version; empty: no Secret.
    Secret text;
    TimePoint at;
  };

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  Task<Result<Outcome>> keep(TokenPtr token);
  // Writes the Secret that is missing or outdated; what is in it then.
  Task<Result<Outcome>> write(TokenPtr token, SecretPtr current, SecretPtr key);
  Task<Result<Outcome>> adopt(TokenPtr token, SecretPtr current);
  // The Controllers whose Slurm takes it.
  std::vector<control::Key> controllers_of(const api::Token& token) const;
  SecretPtr as_written(const api::Token& token, SecretPtr current);

  World& world_;
  Store<api::Token>::IndexId by_use_;
  std::unordered_map<control::Key, Written, KeyHash, KeyEqual> written_;
};

}  // namespace mainspring::op
