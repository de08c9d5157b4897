// operator/sync/loginset_sync.h
//
// The queue "loginset" keeps host keys, sshd's configuration, Service, Deployment and status of a
// LoginSet. Host keys are made once, off the control loop, and never touched again.
//
// The queue "loginset-names" keeps the names of login pods resolvable (build/login_names.h). It is
// one of its own, because without leave to see EndpointSlices its stores never fill, and logging in
// must not depend on that. Owned by the app; lives on the control loop.
#pragma once

#include "control/object_meta.h"
#include "operator/build/ssh_keys.h"
#include "operator/sync/daemon_sync.h"

namespace mainspring::op {

class LoginSetSync {
 public:
  explicit LoginSetSync(World& world, build::SshKeyOptions key_options = {});

 private:
  using LoginSetPtr = std::shared_ptr<const api::LoginSet>;
  using SecretPtr = std::shared_ptr<const kube::SecretObject>;
  struct Refs {
    std::shared_ptr<const api::Controller> controller;
    SecretPtr slurm_key;
    SecretPtr sssd_conf;
  };

  void watch(control::Controller& queue);
  void watch_names(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  Result<Refs> find_refs(const api::LoginSet& loginset) const;
  Task<Result<Situation>> keep(LoginSetPtr loginset);
  Task<Result<void>> write_status_of(LoginSetPtr loginset, Situation situation);
  // As they are, or made now.
  Task<Result<SecretPtr>> host_keys(LoginSetPtr loginset,
                                    std::shared_ptr<const api::Controller> controller);
  Task<Result<control::Requeue>> reconcile_names(control::Key key);

  World& world_;
  const build::SshKeyOptions key_options_;
  Store<kube::Pod>& login_pods_;
  Store<control::ObjectMeta>& slices_;
  Store<api::LoginSet>::IndexId by_sssd_;
  Store<kube::Pod>::IndexId pods_by_set_;
};

}  // namespace mainspring::op
