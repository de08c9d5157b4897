// operator/sync/accounting_sync.h
//
// The queue "accounting": keeps slurmdbd's Service, configuration and StatefulSet, and the
// Accounting's status. One that is external needs none of them: what is left of an earlier life is
// removed. Owned by the app; lives on the control loop. It does not speak to slurmdbd or its
// database.
#pragma once

#include "operator/build/daemons.h"
#include "operator/sync/daemon_sync.h"

namespace mainspring::op {

class AccountingSync {
 public:
  explicit AccountingSync(World& world);

 private:
  using AccountingPtr = std::shared_ptr<const api::Accounting>;
  // What the spec refers to.
  struct Refs {
    std::shared_ptr<const kube::SecretObject> slurm_key;
    std::shared_ptr<const kube::SecretObject> jwt_key;
    std::shared_ptr<const kube::SecretObject> password;
    std::optional<std::string> jwks;
  };

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  // The Controllers that account here.
  std::vector<control::Key> controllers_of(const api::Accounting& accounting) const;
  Result<Refs> find_refs(const api::Accounting& accounting) const;
  Task<Result<Situation>> keep(AccountingPtr accounting);
  Task<Result<Situation>> let_go(AccountingPtr accounting);

  World& world_;
  Store<api::Accounting>::IndexId by_use_;
};

}  // namespace mainspring::op
