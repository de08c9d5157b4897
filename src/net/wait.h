// net/wait.h
//
// Waiting for time to pass, and not waiting for ever.
#pragma once

#include <string>
#include <utility>

#include "net/task.h"

namespace mainspring::net {

// Fails only by cancellation.
Task<Result<void>> sleep(Duration delay);

// Runs `task` and cancels it when `limit` has passed; it then fails with kTimeout, naming `what`.
template <class T>
Task<Result<T>> with_timeout(Duration limit, std::string what, Task<Result<T>> task) {
  const Context context = co_await current_context();
  CancelScope scope(context.scope);
  const Timer timer(*context.executor, limit, [&scope, &what, limit] {
    const auto count = std::chrono::duration_cast<milliseconds>(limit).count();
    scope.cancel(
        Error(Code::kTimeout, what + " took longer than " + std::to_string(count) + " ms"));
  });
  co_return co_await std::move(task).in(scope);
}

}  // namespace mainspring::net
