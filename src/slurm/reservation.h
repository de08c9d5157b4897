// slurm/reservation.h
//
// A reservation as slurmctld knows it: nodes kept for some users from one time to another. A
// repeating one has the times of its next or present turn.
#pragma once

#include <cstdint>

#include "base/object_key.h"
#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/number.h"
#include "slurm/short_string.h"

namespace mainspring::slurm {

struct Reservation {
  ShortString name;
  ShortString nodes, partition, users, accounts, groups, features, licenses, tres, burst_buffer;
  json::StringList flags;
  std::int32_t node_count = 0, core_count = 0, max_start_delay = 0;
  Number start_time, end_time;  // Seconds since 1970.
  Number purge_after;           // Seconds it may stand unused; unset: it stays.

  bool is_maintenance() const { return flags.contains("MAINT"); }
  bool is_active_at(std::int64_t now) const {
    return start_time.set() && start_time.value_or(0) <= now &&
           (!end_time.set() || now < end_time.value_or(0));
  }

  KeyView key() const { return {{}, name}; }
  bool operator==(const Reservation&) const = default;
};

constexpr auto json_fields(json::Tag<Reservation>) {
  using json::field;
  using R = Reservation;
  return json::fields(
      field("accounts", &R::accounts), field("burst_buffer", &R::burst_buffer),
      field("core_count", &R::core_count), field("end_time", &R::end_time),
      field("features", &R::features), field("flags", &R::flags), field("groups", &R::groups),
      field("licenses", &R::licenses), field("max_start_delay", &R::max_start_delay),
      field("name", &R::name), field("node_count", &R::node_count), field("node_list", &R::nodes),
      field("partition", &R::partition),
      json::group("purge_completed", field("time", &R::purge_after)),
      field("start_time", &R::start_time), field("tres", &R::tres), field("users", &R::users));
}

}  // namespace mainspring::slurm
