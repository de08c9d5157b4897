#include "slurm/reservations.h"

namespace mainspring::slurm {
namespace {

std::string subject_of(const std::string& name) { return "reservation " + name; }

}  // namespace

Task<Result<Reservation>> Reservations::get(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.one<Reservation>(
      calls_.make(Endpoint::kGetReservation, {std::move(name)}, std::move(subject)),
      "reservations");
}

Task<Result<Listed>> Reservations::list(Source::OnRecord<Reservation> on_record,
                                        std::int64_t since) const {
  co_return co_await calls_.stream<Reservation>(calls_.make(Endpoint::kListReservations),
                                                "reservations", since, std::move(on_record));
}

Task<Result<Reservation>> Reservations::write(ReservationSpec spec) const {
  // Slurm would give it a name of its own, and a second try would make a second one.
  if (spec.name.empty()) co_return fail(Code::kInvalid, "a reservation is written under its name");
  const std::string subject = subject_of(spec.name);
  MS_CO_CHECK(
      co_await calls_.send(calls_.with_body(Endpoint::kWriteReservation, to_json(spec), subject)));
  auto is = co_await get(spec.name);
  if (!is && is.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject, "there is none"));
  }
  co_return is;
}

Task<Result<void>> Reservations::remove(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.send(
      calls_.make(Endpoint::kDeleteReservation, {std::move(name)}, std::move(subject)));
}

}  // namespace mainspring::slurm
