// control/sync.h
//
// Waiting until stores are complete: before that, what is absent from one may well exist, so no
// controller acts. Called on the control loop by whoever starts controllers.
#pragma once

#include <cstddef>
#include <memory>

#include "base/store.h"
#include "net/one_shot.h"

namespace mainspring::control {

// Fails only by cancellation. Each store must outlive the task.
template <class... T>
net::Task<Result<void>> wait_synced(Store<T>*... stores) {
  static_assert(sizeof...(T) > 0, "name the stores to wait for");
  const net::OneShot<net::Unit> all;
  const auto count = std::make_shared<std::size_t>(sizeof...(T));
  (stores->on_synced([count, all] {
    if (--*count == 0) all.set(net::Unit{});
  }),
   ...);
  MS_CO_CHECK(co_await all.wait());
  co_return Result<void>();
}

}  // namespace mainspring::control
