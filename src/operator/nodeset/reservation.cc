// operator/nodeset/reservation.cc
#include "operator/nodeset/reservation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "base/go_duration.h"
#include "base/hostlist.h"
#include "base/rfc3339.h"
#include "base/text.h"

namespace mainspring::op {
namespace {

using Kind = ReservationPlan::Kind;
using std::chrono::days;
using std::chrono::sys_seconds;
using Flags = std::set<std::string, std::less<>>;

constexpr std::string_view kField = "spec.updateStrategy.scheduledUpdate";

// What was asked for, read and checked.
struct Wish {
  std::string name;
  Flags flags;
  std::string nodes;  // a hostlist
  sys_seconds start;
  minutes duration{};

  bool has(std::string_view flag) const { return flags.contains(flag); }
  bool on_weekdays() const { return has("WEEKDAY"); }
  bool on_weekends() const { return has("WEEKEND"); }
  // Zero where it happens once.
  seconds period() const {
    if (has("HOURLY")) return hours(1);
    if (has("DAILY") || on_weekdays() || on_weekends()) return days(1);
    return has("WEEKLY") ? days(7) : days(0);
  }
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

bool is_flag(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

Result<Flags> flags_of(const std::vector<std::string>& users) {
  Flags flags = {"MAINT", "IGNORE_JOBS"};
  for (const std::string& each : users) {
    std::string flag = upper(each);
    if (!is_flag(flag)) {
      return fail(Code::kInvalid, fmt::format("{}.flags: {} is not the name of a Slurm reservation "
                                              "flag; write one flag in each entry, like DAILY",
                                              kField, quoted(each)));
    }
    flags.insert(std::move(flag));
  }
  // Admission refuses it, but the object may be older than that.
  if (const std::string two = api::two_recurrences(users); !two.empty()) {
    return fail(Code::kInvalid, fmt::format("{}.flags: {} exclude each other; leave one of {}",
                                            kField, two, fmt::join(api::kRecurrences, ", ")));
  }
  return flags;
}

// Slurm counts in minutes; a window must not be shorter than asked for.
Result<minutes> duration_of(const std::string& text) {
  const auto duration = parse_go_duration(text);
  if (!duration || *duration < minutes(1)) {
    return fail(Code::kInvalid,
                fmt::format("{}.duration: {} is not a duration of a minute or more; "
                            "write it like 30m or 1h30m",
                            kField, quoted(text)));
  }
  return std::chrono::ceil<minutes>(*duration);
}

Result<Wish> wish_of(const api::NodeSet& nodeset, const std::vector<std::string>& nodes) {
  const api::ScheduledUpdate& update = *nodeset.spec.scheduled_update;
  Wish wish;
  wish.name = reservation_name(nodeset.meta.name);
  MS_TRY(wish.flags, flags_of(update.flags));
  MS_TRY(wish.duration, duration_of(update.duration));
  MS_TRY(wish.nodes, compress_hostlist(nodes));
  wish.start = std::chrono::floor<seconds>(*update.start_time);
  return wish;
}

bool is_wanted(const api::NodeSet& nodeset) {
  const api::NodeSetSpec& spec = nodeset.spec;
  const bool has_workers = spec.scaling_mode == api::ScalingMode::kDaemonSet || spec.replicas > 0;
  return !nodeset.meta.deleting() && spec.update_type == api::UpdateType::kScheduledUpdate &&
         spec.scheduled_update && spec.scheduled_update->start_time && has_workers;
}

bool falls_on(const Wish& wish, sys_seconds start) {
  const unsigned day = std::chrono::weekday(std::chrono::floor<days>(start)).c_encoding();
  const bool weekend = day == 0 || day == 6;
  return !(wish.on_weekdays() && weekend) && !(wish.on_weekends() && !weekend);
}

// Slurm refuses a start in the past but for a repeating one with FORCE_START.
struct Window {
  sys_seconds start;
  minutes duration{};
};

// The turn of a repeating one that is open now, or else the next.
Window turn_at(const Wish& wish, sys_seconds now) {
  sys_seconds start = wish.start;
  if (start <= now) {
    start += wish.period() * ((now - start) / wish.period());
    const bool open = start + wish.duration > now && falls_on(wish, start);
    if (!open || !wish.has("FORCE_START")) start += wish.period();
  }
  // Of a week of days one is right; a search that went on would hold up the whole operator.
  constexpr int kDays = 7;
  for (int day = 0; day < kDays && !falls_on(wish, start); ++day) start += wish.period();
  return {start, wish.duration};
}

// What to ask Slurm for now. Nothing where the window has begun and may not be entered late, or is
// over: Slurm would forget it at once, and we would make it for ever.
std::optional<Window> possible_window(const Wish& wish, sys_seconds now) {
  if (wish.start > now) return Window{wish.start, wish.duration};
  if (wish.period() != seconds(0)) return turn_at(wish, now);
  const sys_seconds end = wish.start + wish.duration;
  if (!wish.has("FORCE_START") || end <= now) return std::nullopt;
  return Window{now, std::chrono::ceil<minutes>(end - now)};
}

std::string past_problem(const Wish& wish) {
  return fmt::format(
      "{}.startTime: {} is in the past; set a time in the future{}", kField,
      format_rfc3339(wish.start),
      wish.has("FORCE_START") ? "" : ", or add the flag FORCE_START while its window is open");
}

// Slurm moves a repeating reservation to its next turn by itself, and one that floats all the time.
bool starts_as_wished(const Wish& wish, const slurm::Reservation& live) {
  if (wish.has("TIME_FLOAT")) return true;
  const seconds apart(live.start_time.value_or(0) - wish.start.time_since_epoch().count());
  if (wish.period() == seconds(0)) return apart == seconds(0);
  return apart >= seconds(0) && apart % wish.period() == seconds(0);
}

// Flags that Slurm shows as they were given. It cannot take one recurrence for another on a
// reservation that exists; others it does not show, so they cannot be compared.
bool flags_differ(const Wish& wish, const slurm::Reservation& live) {
  constexpr auto kShown =
      std::to_array<std::string_view>({"MAINT", "IGNORE_JOBS", "FLEX", "OVERLAP", "MAGNETIC",
                                       "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND"});
  return std::any_of(kShown.begin(), kShown.end(), [&](std::string_view flag) {
    return wish.has(flag) != live.flags.contains(flag);
  });
}

bool nodes_differ(const Wish& wish, const slurm::Reservation& live) {
  const auto names = expand_hostlist(live.nodes);
  return !names || compress_hostlist(*names) != wish.nodes;
}

ReservationPlan plan_new(const Wish& wish, sys_seconds now) {
  ReservationPlan plan;
  const auto window = possible_window(wish, now);
  if (!window) {
    plan.problem = past_problem(wish);
    plan.over = true;
    return plan;
  }
  plan.kind = Kind::kCreate;
  plan.wants_finalizer = true;
  plan.spec.name = wish.name;
  plan.spec.nodes = {wish.nodes};
  plan.spec.users = {"slurm"};
  for (const std::string& flag : wish.flags) {
    // Slurm takes it for repeating ones only; of others we set the start ourselves.
    if (flag != "FORCE_START" || wish.period() != seconds(0)) plan.spec.flags.push_back(flag);
  }
  plan.spec.start_time = window->start.time_since_epoch().count();
  plan.spec.duration = window->duration.count();
  return plan;
}

// Of one whose window has not begun.
void plan_times(ReservationPlan& plan, const Wish& wish, const slurm::Reservation& live,
                sys_seconds now) {
  const seconds length(live.end_time.value_or(0) - live.start_time.value_or(0));
  if (starts_as_wished(wish, live)) {
    if (length != wish.duration) plan.spec.duration = wish.duration.count();
    return;
  }
  const auto window = possible_window(wish, now);
  if (!window) {
    plan.problem = past_problem(wish);
    plan.over = true;
    return;
  }
  // Slurm keeps the end when only the start moves.
  plan.spec.start_time = window->start.time_since_epoch().count();
  plan.spec.duration = window->duration.count();
}

ReservationPlan plan_change(const Wish& wish, const slurm::Reservation& live, sys_seconds now) {
  ReservationPlan plan;
  plan.wants_finalizer = true;
  const bool open = live.is_active_at(now.time_since_epoch().count());
  if (!open && flags_differ(wish, live)) {
    plan.kind = Kind::kDelete;
    return plan;
  }
  if (!open) plan_times(plan, wish, live, now);
  if (nodes_differ(wish, live)) plan.spec.nodes = {wish.nodes};
  if (!plan.spec.nodes.empty() || plan.spec.start_time.set() || plan.spec.duration.set()) {
    plan.kind = Kind::kUpdate;
    plan.spec.name = wish.name;
  }
  return plan;
}

}  // namespace

std::string reservation_name(std::string_view nodeset) {
  return "SlurmOperatorMaint-" + std::string(nodeset);
}

ReservationPlan plan_reservation(const api::NodeSet& nodeset, const slurm::Reservation* live,
                                 const std::vector<std::string>& nodes, WallTime now) {
  ReservationPlan plan;
  plan.wants_finalizer = live != nullptr;
  if (!is_wanted(nodeset)) {
    if (live != nullptr) plan.kind = Kind::kDelete;
    return plan;
  }
  if (nodes.empty()) return plan;
  const auto wish = wish_of(nodeset, nodes);
  if (!wish) {
    plan.problem = wish.error().to_string();
    return plan;
  }
  const sys_seconds second = std::chrono::floor<seconds>(now);
  return live == nullptr ? plan_new(*wish, second) : plan_change(*wish, *live, second);
}

}  // namespace mainspring::op
