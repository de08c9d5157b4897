// operator/operator.h
//
// The whole operator: everything that reconciles our kinds, on a Manager that runs it. Made by the
// app, and by simulations on virtual time. Must outlive the manager's run().
#pragma once

#include <memory>

#include "operator/sync/world.h"

namespace mainspring::op {

class Operator {
 public:
  // `slurm_transport` reaches slurmrestd. Both must outlive it.
  Operator(control::Manager& manager, http::Transport& slurm_transport, OperatorOptions options);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  // What slurmctld of a Controller said. On the control loop; nobody minds where there is no such
  // Controller, or none that we speak to.
  void pushed(KeyView controller, const slurm::PushedEvent& event);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mainspring::op
