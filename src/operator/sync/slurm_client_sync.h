// operator/sync/slurm_client_sync.h
//
// The queue "slurmclient": which Slurm clusters the operator speaks to. For each Controller the
// address of its oldest RestApi's Service and tokens made with its JWT key. Talks to nobody itself.
// Owned by the app; lives on the control loop.
#pragma once

#include <map>
#include <string>

#include "base/digest.h"
#include "control/controller.h"
#include "operator/sync/world.h"

namespace mainspring::op {

class SlurmClientSync {
 public:
  explicit SlurmClientSync(World& world);

 private:
  void watch(control::Controller& queue);
  net::Task<Result<control::Requeue>> reconcile(control::Key key);
  // Empty where there is none yet.
  std::string address_of(const api::Controller& controller) const;

  World& world_;
  std::map<std::string, Sha256Digest> keys_;  // The JWT key in use, by Controller.
};

}  // namespace mainspring::op
