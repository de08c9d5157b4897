// control/health.h
//
// Health: the board on which the parts of a process say how they are, for /healthz and /readyz.
// Owned by main. Thread-safe: the control loop writes, the serving thread reads.
//
// A check is ok, warns, or fails. One failing check fails the report of its kind: a failing kLive
// report makes the kubelet restart the process, a failing kReady one takes it out of its Service.
// A warning is shown and changes nothing: it is for trouble that a restart would not cure, such as
// one object that cannot be reconciled while the others can.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/task.h"

namespace mainspring::control {

enum class HealthKind { kLive, kReady };
enum class HealthState { kOk, kWarn, kFail };

class Health {
  struct Board;
  struct Entry;

 public:
  // A handle; copies speak for the same check. A default-constructed one does nothing.
  class Check {
   public:
    Check() = default;
    void ok() const;
    // Ok, but only for so long: fails by itself if nothing is heard in time.
    void ok_for(Duration limit) const;
    void warn(std::string why) const;
    void fail(std::string why) const;

   private:
    friend class Health;
    Check(std::shared_ptr<Board> board, std::shared_ptr<Entry> entry)
        : board_(std::move(board)), entry_(std::move(entry)) {}
    void set(HealthState state, std::string why) const;

    std::shared_ptr<Board> board_;
    std::shared_ptr<Entry> entry_;
  };

  struct Line {
    std::string name;
    HealthState state = HealthState::kOk;
    std::string why;  // Empty when ok.
    bool operator==(const Line&) const = default;
  };
  struct Report {
    bool ok = true;           // No check fails.
    std::vector<Line> lines;  // In the order they were added.
    // A line per check in the way of the API server's own: "[+]name ok", "[!]name: why" for a
    // warning, "[-]name failed: why", and the verdict last.
    std::string to_text() const;
  };

  // `clock` must outlive this and all its checks.
  explicit Health(const Clock& clock);

  // Until it first speaks, a live check is ok (starting is not being dead) and a ready one fails.
  // A name that exists in this kind gives the same check again.
  Check add(std::string name, HealthKind kind);

  Report report(HealthKind kind) const;

 private:
  std::shared_ptr<Board> board_;
};

using Check = Health::Check;

// Says every `interval` that this loop still turns. When it does not for `limit`, whoever reads the
// report from another thread sees the check fail. Runs until cancelled; leaves the check ok.
net::Task<Result<void>> heartbeat(Check check, Duration interval, Duration limit);

}  // namespace mainspring::control
