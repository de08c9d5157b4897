#include "operator/operator.h"

#include <utility>

#include "operator/sync/accounting_sync.h"
#include "operator/sync/cluster_sync.h"
#include "operator/sync/controller_sync.h"
#include "operator/sync/loginset_sync.h"
#include "operator/sync/nodeset_slurm.h"
#include "operator/sync/nodeset_sync.h"
#include "operator/sync/restapi_sync.h"
#include "operator/sync/slurm_client_sync.h"
#include "operator/sync/token_sync.h"
#include "operator/sync/worker_sync.h"

namespace mainspring::op {

struct Operator::Parts {
  Parts(control::Manager& manager, http::Transport& slurm_transport, OperatorOptions options)
      : world(manager, slurm_transport, std::move(options)) {}

  World world;
  NodeSetWorld nodesets{world};
  SlurmClientSync slurm_client_sync{world};
  ControllerSync controller_sync{world};
  AccountingSync accounting_sync{world};
  RestApiSync restapi_sync{world};
  LoginSetSync loginset_sync{world};
  TokenSync token_sync{world};
  ClusterSync cluster_sync{world};
  NodeSetSync nodeset_sync{nodesets};
  NodeSetSlurmSync nodeset_slurm_sync{nodesets};
  WorkerSync worker_sync{nodesets};
};

Operator::Operator(control::Manager& manager, http::Transport& slurm_transport,
                   OperatorOptions options)
    : parts_(std::make_unique<Parts>(manager, slurm_transport, std::move(options))) {}

Operator::~Operator() = default;

void Operator::pushed(KeyView controller, const slurm::PushedEvent& event) {
  if (const auto cluster = parts_->world.slurm.find(controller)) cluster->cache().pushed(event);
}

}  // namespace mainspring::op
