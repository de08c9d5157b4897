// control/stuck_keys.h
//
// StuckKeys: which keys of a controller make no progress, and since when. Told of every reconcile's
// start and end; owned by a Controller, on its loop. It keeps only keys that are running or have
// failed since their last success, and decides nothing.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "control/key.h"

namespace mainspring::control {

class StuckKeys {
 public:
  struct Stuck {
    Key key;
    WallTime since;  // The start of the first reconcile after the last success.
    int failures = 0;
    std::string last_error;  // Empty: it has not failed, it is still running.
  };

  StuckKeys(const Clock& clock, Duration after) : clock_(clock), after_(after) {}

  void started(const Key& key);
  void failed(const Key& key, const Error& error);
  void forget(const Key& key);  // It succeeded, or nobody wants to know any more.

  // Longest first.
  std::vector<Stuck> stuck() const;
  // How many single runs have lasted that long.
  std::size_t held_workers() const;
  bool watching() const { return !keys_.empty(); }

 private:
  struct State {
    TimePoint since;
    std::optional<TimePoint> running;
    int failures = 0;
    std::string last_error;
  };
  using Keys = std::unordered_map<Key, State, KeyHash, KeyEqual>;

  const Clock& clock_;
  const Duration after_;
  Keys keys_;
};

// "key slurm/gpu has made no progress since 2026-11-15T09:00:00Z, 7 failures, the last: ..." for
// the longest few, and how many more there are. Since, not for how long: it stays true while it is
// read.
std::string describe(const std::vector<StuckKeys::Stuck>& stuck);

}  // namespace mainspring::control
