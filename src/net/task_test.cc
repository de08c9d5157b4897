#include "net/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "net/memory_stream.h"
#include "net/one_shot.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using ::testing::ElementsAre;

Task<int> answer() { co_return 42; }
Task<Result<int>> twice() { co_return 2 * co_await answer(); }

TEST(Task, GivesItsValueToWhoeverAwaitsIt) {
  VirtualExecutor executor;
  EXPECT_EQ(executor.run(twice()), Result<int>(84));
}

TEST(TaskAtScale, AMillionAwaitsInARowDoNotGrowTheStack) {
  VirtualExecutor executor;
  auto loop = []() -> Task<Result<int>> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await answer() - 41;
    co_return sum;
  };
  EXPECT_EQ(executor.run(loop()), Result<int>(1'000'000));
}

Task<Result<int>> sleep_then(Duration delay, int value) {
  MS_CO_CHECK(co_await sleep(delay));
  co_return value;
}

TEST(Sleep, TakesVirtualTimeOnly) {
  VirtualExecutor executor;
  const TimePoint start = executor.now();
  EXPECT_EQ(executor.run(sleep_then(hours(24), 7)), Result<int>(7));
  EXPECT_EQ(executor.now() - start, hours(24));
}

TEST(WithTimeout, CancelsWhatTakesTooLong) {
  VirtualExecutor executor;
  const TimePoint start = executor.now();
  auto result = executor.run(with_timeout(seconds(1), "the nap", sleep_then(hours(1), 7)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTimeout);
  EXPECT_EQ(result.error().message(), "the nap took longer than 1000 ms");
  EXPECT_EQ(executor.now() - start, seconds(1));
}

TEST(WithTimeout, LeavesWhatIsQuickAlone) {
  VirtualExecutor executor;
  EXPECT_EQ(executor.run(with_timeout(seconds(2), "the nap", sleep_then(seconds(1), 7))),
            Result<int>(7));
}

TEST(WithTimeout, AnInnerTimeoutDoesNotCancelTheOuterWork) {
  VirtualExecutor executor;
  auto outer = []() -> Task<Result<int>> {
    auto inner = co_await with_timeout(seconds(1), "inner", sleep_then(hours(1), 1));
    if (inner) co_return fail(Code::kInternal, "the inner task was not cancelled");
    co_return co_await sleep_then(seconds(1), 2);
  };
  EXPECT_EQ(executor.run(with_timeout(minutes(1), "outer", outer())), Result<int>(2));
}

TEST(CancelScope, ReachesScopesInsideItAndNotTheOneAround) {
  CancelScope outer;
  CancelScope middle(&outer);
  CancelScope inner(&middle);
  middle.cancel(Error(Code::kGone, "enough"));
  EXPECT_FALSE(outer.cancelled());
  EXPECT_EQ(inner.reason()->message(), "enough");
}

TEST(CancelScope, AScopeInsideACancelledOneIsBornCancelled) {
  CancelScope outer;
  outer.cancel();
  CancelScope inner(&outer);
  EXPECT_TRUE(inner.cancelled());
}

TEST(CancelScope, AListenerMayDestroyTheOthers) {
  CancelScope scope;
  std::optional<CancelScope::Listener> first;
  std::optional<CancelScope::Listener> second;
  int calls = 0;
  auto on_cancel = [&] {
    ++calls;
    first.reset();
    second.reset();
  };
  first.emplace(&scope, on_cancel);
  second.emplace(&scope, on_cancel);
  scope.cancel();
  EXPECT_EQ(calls, 1);
}

Task<Result<void>> note_after(Duration delay, std::vector<int>* notes, int value) {
  MS_CO_CHECK(co_await sleep(delay));
  notes->push_back(value);
  co_return Result<void>();
}

Task<Result<void>> join(TaskGroup* group) { co_return co_await group->join(); }

TEST(TaskGroup, RunsSideBySideAndJoinsAll) {
  VirtualExecutor executor;
  std::vector<int> notes;
  TaskGroup group(executor);
  group.spawn(note_after(seconds(3), &notes, 3));
  group.spawn(note_after(seconds(1), &notes, 1));
  group.spawn(note_after(seconds(2), &notes, 2));
  EXPECT_TRUE(executor.run(join(&group)).has_value());
  EXPECT_THAT(notes, ElementsAre(1, 2, 3));
  EXPECT_EQ(group.running(), 0u);
}

TEST(TaskGroup, CancelEndsEveryTaskWithTheReason) {
  VirtualExecutor executor;
  std::vector<int> notes;
  TaskGroup group(executor);
  group.spawn(note_after(seconds(3), &notes, 3));
  executor.run_ready();
  group.cancel(Error(Code::kCancelled, "shutting down"));
  auto result = executor.run(join(&group));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "shutting down");
  EXPECT_TRUE(notes.empty());
}

TEST(TaskGroup, DestroyingItDestroysWhatStillRuns) {
  VirtualExecutor executor;
  std::vector<int> notes;
  {
    TaskGroup group(executor);
    group.spawn(note_after(seconds(3), &notes, 3));
    executor.run_ready();
  }
  executor.advance(seconds(10));
  EXPECT_TRUE(notes.empty());
}

TEST(OneShot, AValueThatComesAfterTheWaiterIsGoneIsHarmless) {
  VirtualExecutor executor;
  const OneShot<int> slot;
  auto wait = [](OneShot<int> on) -> Task<Result<int>> { co_return co_await on.wait(); };
  EXPECT_FALSE(executor.run(wait(slot)).has_value());
  slot.set(1);
  executor.run_ready();
}

Task<Result<std::string>> read_all(Stream* stream) {
  std::string all;
  char buffer[3];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(buffer));
    if (count == 0) co_return all;
    all.append(buffer, count);
  }
}

Task<Result<void>> write_and_finish(Stream* stream, std::string text) {
  MS_CO_CHECK(co_await stream->write(text));
  MS_CO_CHECK(co_await sleep(seconds(1)));
  MS_CO_CHECK(co_await stream->write("!"));
  co_return co_await stream->finish();
}

TEST(MemoryStream, CarriesBytesUntilTheWriterFinishes) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  TaskGroup group(executor);
  group.spawn(write_and_finish(near.get(), "hello world"));
  EXPECT_EQ(executor.run(read_all(far.get())), Result<std::string>("hello world!"));
}

TEST(MemoryStream, CloseFailsThePendingReadOfTheSameEnd) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  auto close_soon = [](Stream* stream) -> Task<Result<void>> {
    MS_CO_CHECK(co_await sleep(seconds(1)));
    stream->close();
    co_return Result<void>();
  };
  TaskGroup group(executor);
  group.spawn(close_soon(far.get()));
  auto result = executor.run(read_all(far.get()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace mainspring::net
