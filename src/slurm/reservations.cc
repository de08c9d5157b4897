#include "slurm/reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

std::string subject_of(const std::string& name) { return "reservation " + name; }

// Slurm would give it a name of its own, and a second try would make a second one.
Result<void> check_name(const ReservationSpec& spec) {
  if (!spec.name.empty()) return {};
  return fail(Code::kInvalid, "a reservation is written under its name");
}

// Flags that Slurm shows as they were given. Others are orders that act once (SKIP), take another
// away (NO_FLEX) or are said in another way (ALL_NODES), so they cannot be checked.
bool is_shown(std::string_view flag) {
  constexpr auto kShown = std::to_array<std::string_view>(
      {"MAINT", "IGNORE_JOBS", "FLEX", "OVERLAP", "MAGNETIC", "HOURLY", "DAILY", "WEEKLY",
       "WEEKDAY", "WEEKEND", "STATIC", "TIME_FLOAT", "PURGE_COMP", "USER_DELETE", "ANY_NODES",
       "NO_HOLD_JOBS_AFTER_END"});
  return std::find(kShown.begin(), kShown.end(), flag) != kShown.end();
}

bool asks_for(const ReservationSpec& asked, std::string_view flag) {
  return std::find(asked.flags.begin(), asked.flags.end(), flag) != asked.flags.end();
}

std::string time_difference(const ReservationSpec& asked, const Reservation& is) {
  // These are moved by Slurm: one that floats or began in the past, a turn that is skipped, and a
  // duration that is added to the one before.
  for (const char* flag :
       {"TIME_FLOAT", "FORCE_START", "SKIP", "DURATION_PLUS", "DURATION_MINUS"}) {
    if (is.flags.contains(flag) || asks_for(asked, flag)) return {};
  }
  if (asked.start_time.set() && !(asked.start_time == is.start_time)) {
    return fmt::format("it starts at {}, not at {}", is.start_time.value_or(0),
                       asked.start_time.value_or(0));
  }
  constexpr std::int64_t kMinute = 60;
  const std::int64_t end = asked.end_time.set()
                               ? asked.end_time.value_or(0)
                               : is.start_time.value_or(0) + asked.duration.value_or(0) * kMinute;
  const bool asked_for = asked.end_time.set() || asked.duration.set();
  if (!asked_for || is.end_time.value_or(0) == end) return {};
  return fmt::format("it ends at {}, not at {}", is.end_time.value_or(0), end);
}

// What was asked for and is not so. "" if nothing.
std::string difference(const ReservationSpec& asked, const Reservation& is) {
  const auto names = [](const char* what, const std::vector<std::string>& wanted,
                        std::string_view value) {
    if (wanted.empty() || !plain_names(wanted) || same_names(wanted, value)) return std::string();
    return fmt::format("{} is '{}', not '{}'", what, value, join(wanted, ","));
  };
  for (std::string found :
       {names("users", asked.users, is.users), names("accounts", asked.accounts, is.accounts),
        names("groups", asked.groups, is.groups),
        text_difference("partition", asked.partition, is.partition),
        text_difference("features", asked.features, is.features),
        text_difference("burst_buffer", asked.burst_buffer, is.burst_buffer),
        time_difference(asked, is)}) {
    if (!found.empty()) return found;
  }
  const bool by_name = !asked.nodes.empty() && plain_names(asked.nodes) && asked.nodes[0] != "ALL";
  if (by_name && !same_hosts(join(asked.nodes, ","), is.nodes)) {
    return fmt::format("its nodes are '{}', not '{}'", is.nodes.view(), join(asked.nodes, ","));
  }
  if (asked.node_count.value_or(0) > is.node_count) {
    return fmt::format("it has {} nodes, not {}", is.node_count, asked.node_count.value_or(0));
  }
  for (const std::string& flag : asked.flags) {
    if (is_shown(flag) && !is.flags.contains(flag)) return fmt::format("it is not {}", flag);
  }
  return {};
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

Task<Result<Reservation>> Reservations::check(ReservationSpec spec) const {
  const std::string subject = subject_of(spec.name);
  auto is = co_await get(spec.name);
  if (!is && is.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject, "there is none"));
  }
  MS_CO_CHECK(is);
  if (const std::string other = difference(spec, *is); !other.empty()) {
    co_return fail(not_done(subject, other));
  }
  co_return is;
}

Task<Result<Reservation>> Reservations::write(ReservationSpec spec) const {
  MS_CO_CHECK(check_name(spec));
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kWriteReservation, to_json(spec), subject_of(spec.name))));
  co_return co_await check(std::move(spec));
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
    MS_CO_TRY(Reservation one, co_await check(std::move(spec)));
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
