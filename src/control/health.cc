#include "control/health.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/go_duration.h"
#include "net/wait.h"

namespace mainspring::control {

struct Health::Entry {
  std::string name;
  HealthKind kind;
  HealthState state;
  std::string why;
  std::optional<TimePoint> expires;  // With the time of the last sign of life, for the message.
  TimePoint heard;
};

// Shared with the checks, so that a check may outlive the Health it came from.
struct Health::Board {
  explicit Board(const Clock& time) : clock(time) {}
  const Clock& clock;
  std::mutex mutex;
  std::vector<std::shared_ptr<Entry>> entries;
};

void Health::Check::set(HealthState state, std::string why) const {
  if (!entry_) return;
  const std::lock_guard lock(board_->mutex);
  entry_->state = state;
  entry_->why = std::move(why);
  entry_->expires.reset();
}

void Health::Check::ok() const { set(HealthState::kOk, {}); }
void Health::Check::warn(std::string why) const { set(HealthState::kWarn, std::move(why)); }
void Health::Check::fail(std::string why) const { set(HealthState::kFail, std::move(why)); }

void Health::Check::ok_for(Duration limit) const {
  if (!entry_) return;
  const std::lock_guard lock(board_->mutex);
  entry_->state = HealthState::kOk;
  entry_->why.clear();
  entry_->heard = board_->clock.now();
  entry_->expires = entry_->heard + limit;
}

Health::Health(const Clock& clock) : board_(std::make_shared<Board>(clock)) {}

Check Health::add(std::string name, HealthKind kind) {
  const std::lock_guard lock(board_->mutex);
  auto& entries = board_->entries;
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry->kind == kind && entry->name == name;
  });
  if (known != entries.end()) return {board_, *known};
  const bool live = kind == HealthKind::kLive;
  auto entry = std::make_shared<Entry>(
      Entry{std::move(name), kind, live ? HealthState::kOk : HealthState::kFail,
            live ? "" : "not ready yet", std::nullopt, TimePoint()});
  entries.push_back(entry);
  return {board_, std::move(entry)};
}

Health::Report Health::report(HealthKind kind) const {
  Report report;
  const std::lock_guard lock(board_->mutex);
  const TimePoint now = board_->clock.now();
  for (const auto& entry : board_->entries) {
    if (entry->kind != kind) continue;
    Line line{entry->name, entry->state, entry->why};
    if (entry->expires && now > *entry->expires) {
      const auto silent = std::chrono::duration_cast<seconds>(now - entry->heard);
      line.state = HealthState::kFail;
      line.why = "no sign of life for " + format_go_duration(silent);
    }
    report.ok = report.ok && line.state != HealthState::kFail;
    report.lines.push_back(std::move(line));
  }
  return report;
}

std::string Health::Report::to_text() const {
  std::string text;
  for (const Line& line : lines) {
    switch (line.state) {
      case HealthState::kOk:
        text += "[+]" + line.name + " ok\n";
        break;
      case HealthState::kWarn:
        text += "[!]" + line.name + ": " + line.why + "\n";
        break;
      case HealthState::kFail:
        text += "[-]" + line.name + " failed: " + line.why + "\n";
        break;
    }
  }
  return text + (ok ? "check passed\n" : "check failed\n");
}

net::Task<Result<void>> heartbeat(Check check, Duration interval, Duration limit) {
  for (;;) {
    check.ok_for(limit);
    if (auto slept = co_await net::sleep(interval); !slept) {
      check.ok();  // Told to stop, which is not being stuck.
      co_return slept;
    }
  }
}

}  // namespace mainspring::control
