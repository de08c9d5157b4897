#include "net/wait.h"

#include "net/one_shot.h"

namespace mainspring::net {

Task<Result<void>> sleep(Duration delay) {
  const Context context = co_await current_context();
  const OneShot<Unit> elapsed;
  const Timer timer(*context.executor, delay, [elapsed] { elapsed.set(Unit{}); });
  MS_CO_CHECK(co_await elapsed.wait());
  co_return Result<void>();
}

}  // namespace mainspring::net
