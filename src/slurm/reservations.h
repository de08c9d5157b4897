// slurm/reservations.h
//
// Reservations: what can be done with reservations. A light handle; the client must outlive it and
// its calls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "slurm/admin_request.h"
#include "slurm/calls.h"
#include "slurm/reservation.h"

namespace mainspring::slurm {

class Reservations {
 public:
  explicit Reservations(Client& client, CallOptions options = {})
      : calls_(client, std::move(options)) {}

  Task<Result<Reservation>> get(std::string name) const;
  Task<Result<Listed>> list(Source::OnRecord<Reservation> on_record, std::int64_t since = 0) const;
  // Makes it, or changes it where it exists (v0.0.43), and gives it as it is then. A start in the
  // past is refused.
  Task<Result<Reservation>> write(ReservationSpec spec) const;
  // The same for many in one call, in their order.
  Task<Result<std::vector<Reservation>>> write_many(std::vector<ReservationSpec> specs) const;
  Task<Result<void>> remove(std::string name) const;  // v0.0.43

 private:
  // What is there under a name that was just written, as it was.
  Task<Result<Reservation>> check(ReservationSpec spec) const;

  Calls calls_;
};

}  // namespace mainspring::slurm
