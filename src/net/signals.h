// net/signals.h
//
// Unix signals as values on a loop. While it lives, the named signals no longer end the process but
// wait here, in order, until somebody asks. Owned by main; one per process for a given signal.
#pragma once

#include <memory>
#include <vector>

#include "net/event_loop.h"

namespace mainspring::net {

class Signals {
 public:
  Signals(EventLoop& loop, const std::vector<int>& numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // The next one that arrived: `MS_CO_TRY(int number, co_await signals.next());` One waiter.
  Task<Result<int>> next();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mainspring::net
