#include "net/task_group.h"

#include <list>
#include <optional>

#include "net/one_shot.h"

namespace mainspring::net {

struct TaskGroup::State {
  State(Executor& on, CancelScope* parent) : executor(on), scope(parent) {}

  Executor& executor;
  CancelScope scope;
  std::optional<Error> first_failure;
  std::optional<OneShot<Unit>> joiner;
  bool abandoned = false;  // The group is gone; a joining task may still hold this.
  // Last member: the frames are destroyed first and may still look at the scope.
  std::list<RootTask> tasks;
};

namespace {

using Tasks = std::list<RootTask>;

// `finish` is called inside the root's own frame, which therefore must not be destroyed there.
RootTask run(Task<Result<void>> task, std::function<void(Result<void>)> finish) {
  finish(co_await std::move(task));
}

}  // namespace

TaskGroup::TaskGroup(Executor& executor, CancelScope* parent)
    : state_(std::make_shared<State>(executor, parent)) {}

TaskGroup::~TaskGroup() {
  state_->abandoned = true;
  // Tasks may reach this group while they are destroyed; they find it empty.
  const Tasks abandoned = std::move(state_->tasks);
  state_->tasks.clear();
}

void TaskGroup::spawn(Task<Result<void>> task) {
  const std::weak_ptr<State> weak = state_;
  auto place = state_->tasks.end();
  auto where = std::make_shared<Tasks::iterator>(place);
  auto finish = [weak, where](Result<void> result) {
    const auto state = weak.lock();
    if (!state) return;
    if (!result && !state->first_failure) state->first_failure = std::move(result).error();
    state->executor.post([weak, where] {
      const auto owner = weak.lock();
      if (!owner || owner->abandoned) return;
      owner->tasks.erase(*where);
      if (owner->tasks.empty() && owner->joiner) owner->joiner->set(Unit{});
    });
  };
  *where = state_->tasks.insert(place, run(std::move(task), std::move(finish)));
  state_->executor.post([weak, where] {
    if (const auto state = weak.lock(); state && !state->abandoned) {
      (*where)->start(Context{&state->executor, &state->scope});
    }
  });
}

void TaskGroup::cancel(Error why) { state_->scope.cancel(std::move(why)); }

std::size_t TaskGroup::running() const { return state_->tasks.size(); }

Task<Result<void>> TaskGroup::join() {
  const auto state = state_;
  CancelScope not_cancelled;
  while (!state->tasks.empty()) {
    state->joiner.emplace();
    auto wait = [](OneShot<Unit> joiner) -> Task<Result<Unit>> {
      co_return co_await joiner.wait();
    };
    (void)co_await wait(*state->joiner).in(not_cancelled);
    state->joiner.reset();
  }
  if (state->first_failure) co_return fail(*std::exchange(state->first_failure, std::nullopt));
  co_return Result<void>();
}

}  // namespace mainspring::net
