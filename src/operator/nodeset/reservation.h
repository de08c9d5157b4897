// operator/nodeset/reservation.h
//
// ScheduledUpdate: the Slurm reservation in whose window pods are replaced. Pure, and without
// memory: the plan follows from the NodeSet, the reservation as it is and the time, so that a plan
// carried out gives "nothing" the next time, whatever the start time is.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/nodeset.h"
#include "slurm/reservation.h"
#include "slurm/reservations.h"

namespace mainspring::op {

std::string reservation_name(std::string_view nodeset);  // "SlurmOperatorMaint-X"

struct ReservationPlan {
  enum class Kind : std::uint8_t {
    kNothing,
    kCreate,
    kUpdate,  // Only what differs is in `spec`.
    kDelete,  // Not wanted any more; or Slurm cannot change it, and the next plan makes it anew.
  };
  Kind kind = Kind::kNothing;
  slurm::ReservationSpec spec;  // For kCreate and kUpdate.
  // Whether the NodeSet should have kReservationFinalizer: while there is a reservation or is going
  // to be one. To be added before kCreate is carried out.
  bool wants_finalizer = false;
  std::string problem;  // Why it is not as asked for, with what to do; "" where it is.
  // The problem is that its time has passed: none at all where everybody is up to date, as after
  // every window that did what it was for.
  bool over = false;
};

// `live` is null where a fresh list does not have it. `nodes`: names of the registered workers;
// none leaves everything as it is. Before its window all of it can change, inside the window only
// the nodes. A repeating one (HOURLY, DAILY, WEEKLY, WEEKDAY, WEEKEND) keeps the start that Slurm
// has advanced, and is made for its next turn where startTime has passed. With FORCE_START a window
// that has begun and is still open is entered late.
ReservationPlan plan_reservation(const api::NodeSet& nodeset, const slurm::Reservation* live,
                                 const std::vector<std::string>& nodes, WallTime now);

}  // namespace mainspring::op
