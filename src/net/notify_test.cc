#include "net/notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace mainspring::net {
namespace {

Task<Result<void>> count_wakes(Notify* notify, int* wakes) {
  MS_CO_CHECK(co_await notify->wait());
  ++*wakes;
  co_return Result<void>();
}

Task<Result<void>> join(TaskGroup* group) { co_return co_await group->join(); }

TEST(Notify, WakesEverybodyWhoWaitsAndNobodyLater) {
  VirtualExecutor executor;
  Notify notify;
  TaskGroup group(executor);
  int wakes = 0;
  group.spawn(count_wakes(&notify, &wakes));
  group.spawn(count_wakes(&notify, &wakes));
  executor.run_ready();
  notify.notify_all();
  group.spawn(count_wakes(&notify, &wakes));
  executor.run_ready();
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(group.running(), 1u);
}

TEST(Notify, ItsEndIsAnErrorForThoseWhoWait) {
  VirtualExecutor executor;
  auto notify = std::make_unique<Notify>();
  TaskGroup group(executor);
  int wakes = 0;
  group.spawn(count_wakes(notify.get(), &wakes));
  executor.run_ready();
  notify.reset();
  auto result = executor.run(join(&group));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
  EXPECT_EQ(wakes, 0);
}

}  // namespace
}  // namespace mainspring::net
