// control/in_parallel.h
//
// The same work for many things, a few at a time. Runs on the loop of the awaiting task.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "net/task_group.h"

namespace mainspring::control {

using net::Task;

namespace detail {

template <class Item>
struct Line {
  std::vector<Item> items;
  std::function<Task<Result<void>>(Item item)> work;
  std::size_t next = 0;
  std::optional<Error> failure;
};

template <class Item>
Task<Result<void>> work_along(Line<Item>* line, bool stop_at_failure) {
  while (line->next < line->items.size() && !(stop_at_failure && line->failure)) {
    auto done = co_await line->work(line->items[line->next++]);
    if (!done && !line->failure) line->failure = std::move(done).error();
  }
  co_return Result<void>();
}

}  // namespace detail

enum class AtFailure { kGoOn, kStop };

// Gives the first failure. With kStop nothing new is begun after it.
template <class Item>
Task<Result<void>> in_parallel(std::vector<Item> items,
                               std::function<Task<Result<void>>(Item item)> work, std::size_t limit,
                               AtFailure at_failure = AtFailure::kGoOn) {
  detail::Line<Item> line{std::move(items), std::move(work), 0, std::nullopt};
  const net::Context context = co_await net::current_context();
  net::TaskGroup group(*context.executor, context.scope);
  const std::size_t workers = std::min(limit, line.items.size());
  for (std::size_t i = 0; i < workers; ++i) {
    group.spawn(detail::work_along(&line, at_failure == AtFailure::kStop));
  }
  MS_CO_CHECK(co_await group.join());
  if (line.failure) co_return fail(*std::move(line.failure));
  co_return Result<void>();
}

}  // namespace mainspring::control
