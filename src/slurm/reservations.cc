#include "slurm/reservations.h"

#include <span>

namespace mainspring::slurm {
namespace {

std::string subject_of(const std::string& name) { return "reservation " + name; }

// Slurm would give it a name of its own, and a second try would make a second one.
Result<void> check_name(const ReservationSpec& spec) {
  if (!spec.name.empty()) return {};
  return fail(Code::kInvalid, "a reservation is written under its name");
}

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

Task<Result<Reservation>> Reservations::written(std::string name) const {
  auto is = co_await get(name);
  if (!is && is.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject_of(name), "there is none"));
  }
  co_return is;
}

Task<Result<Reservation>> Reservations::write(ReservationSpec spec) const {
  MS_CO_CHECK(check_name(spec));
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kWriteReservation, to_json(spec), subject_of(spec.name))));
  co_return co_await written(std::move(spec.name));
}

Task<Result<std::vector<Reservation>>> Reservations::write_many(
    std::vector<ReservationSpec> specs) const {
  std::vector<Reservation> made;
  if (specs.empty()) co_return made;
  for (const ReservationSpec& spec : specs) MS_CO_CHECK(check_name(spec));
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kWriteReservations,
                       to_json(std::span<const ReservationSpec>(specs)), "reservations")));
  for (ReservationSpec& spec : specs) {
    MS_CO_TRY(Reservation one, co_await written(std::move(spec.name)));
    made.push_back(std::move(one));
  }
  co_return made;
}

Task<Result<void>> Reservations::remove(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.send(
      calls_.make(Endpoint::kDeleteReservation, {std::move(name)}, std::move(subject)));
}

}  // namespace mainspring::slurm
