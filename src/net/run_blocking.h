// net/run_blocking.h
//
// Waiting on the loop for work that blocks a thread: name resolution, a slow disk. Under
// VirtualExecutor the work simply runs in its turn.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "net/one_shot.h"

namespace mainspring::net {

// Runs `fn`, which returns a Result<T>, off the loop. It must own everything it uses: when the
// awaiting task is cancelled or destroyed, `fn` runs on and its answer is dropped.
template <class Fn>
Task<std::invoke_result_t<Fn&>> run_blocking(Fn fn) {
  using Answer = std::invoke_result_t<Fn&>;
  struct Job {
    explicit Job(Fn work) : fn(std::move(work)) {}
    Fn fn;
    std::optional<Answer> answer;
    OneShot<typename Answer::value_type> done;
  };
  const Context context = co_await current_context();
  if (context.scope != nullptr && context.scope->cancelled()) {
    co_return fail(*context.scope->reason());
  }
  auto job = std::make_shared<Job>(std::move(fn));
  context.executor->run_off_loop([job, executor = context.executor] {
    job->answer.emplace(job->fn());
    executor->post([job] { job->done.set(*std::move(job->answer)); });
  });
  co_return co_await job->done.wait();
}

}  // namespace mainspring::net
