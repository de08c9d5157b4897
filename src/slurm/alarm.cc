#include "slurm/alarm.h"

#include <optional>

namespace mainspring::slurm {

void Alarm::set(TimePoint due) {
  if (due == due_) return;
  due_ = due;
  changed_.set(net::Unit{});
}

net::Task<Result<void>> Alarm::wait() {
  const net::Context context = co_await net::current_context();
  while (context.executor->now() < due_) {
    changed_ = net::OneShot<net::Unit>();
    std::optional<net::Timer> timer;
    if (due_ != kNever) {
      timer.emplace(*context.executor, due_ - context.executor->now(),
                    [changed = changed_] { changed.set(net::Unit{}); });
    }
    MS_CO_CHECK(co_await changed_.wait());
  }
  co_return Result<void>();
}

}  // namespace mainspring::slurm
