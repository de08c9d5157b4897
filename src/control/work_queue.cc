#include "control/work_queue.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace mainspring::control {
namespace {

constexpr std::size_t kFirstTableSize = 64;
// Longer than any process lives, and far from where the arithmetic of time ends.
constexpr Duration kLongestDelay = hours(24 * 365);

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

struct WorkQueue::Entry {
  Key key;
  std::size_t hash = 0;
  Entry* chain = nullptr;  // In its slot of the table, or among the free.
  Entry* previous = nullptr;
  Entry* next = nullptr;
  bool wanted = false;   // In the line, delayed, or to come back when the present work is done.
  bool working = false;  // A lease is out.
  Priority priority = Priority::kNormal;
  Priority leased_priority = Priority::kNormal;
  TimePoint due;               // While wanted.
  TimePoint started;           // While working.
  std::uint64_t sequence = 0;  // While delayed; 0 when not.
  std::optional<Backoff> backoff;
};

// What the metrics page shows. The loop writes; the thread that makes the page calls refresh().
struct WorkQueue::Instruments {
  Instruments(Metrics& metrics, const Clock& time, const std::string& name);
  void refresh();
  void work_started(TimePoint at, TimePoint oldest);
  void work_ended(TimePoint at, TimePoint now, TimePoint oldest);

  const Clock& clock;
  const TimePoint origin = clock.now();
  Counter adds;
  Counter retries;
  Histogram queue_duration;
  Histogram work_duration;
  Gauge depth_gauge;
  Gauge unfinished_gauge;
  Gauge longest_gauge;
  std::atomic<std::size_t> depth = 0;
  std::mutex mutex;
  std::size_t working = 0;
  double started_sum = 0;  // Seconds since `origin`, of all that are worked on.
  TimePoint oldest_start;
  Metrics::Refresh registration;  // Last: nothing above is read once it is gone.
};

WorkQueue::Instruments::Instruments(Metrics& metrics, const Clock& time, const std::string& name)
    : clock(time) {
  const Labels labels = {{"name", name}};
  std::vector<double> buckets;
  for (double bound = 1e-8; bound < 2000; bound *= 10) buckets.push_back(bound);
  adds = metrics.counter("workqueue_adds_total", "Keys that joined the line.", labels);
  retries = metrics.counter("workqueue_retries_total", "Keys backed off after a failure.", labels);
  queue_duration = metrics.histogram("workqueue_queue_duration_seconds",
                                     "Time a key waited in line once due.", buckets, labels);
  work_duration = metrics.histogram("workqueue_work_duration_seconds", "Time a key was worked on.",
                                    buckets, labels);
  depth_gauge = metrics.gauge("workqueue_depth", "Keys in line.", labels);
  unfinished_gauge =
      metrics.gauge("workqueue_unfinished_work_seconds",
                    "Time spent so far on all keys that are being worked on.", labels);
  longest_gauge = metrics.gauge("workqueue_longest_running_processor_seconds",
                                "Time spent so far on the key worked on longest.", labels);
  registration = metrics.before_text([this] { refresh(); });
}

void WorkQueue::Instruments::refresh() {
  depth_gauge.set(static_cast<double>(depth.load(std::memory_order_relaxed)));
  const std::lock_guard lock(mutex);
  const TimePoint now = clock.now();
  const double count = static_cast<double>(working);
  unfinished_gauge.set(std::max(0.0, count * in_seconds(now - origin) - started_sum));
  longest_gauge.set(working == 0 ? 0 : std::max(0.0, in_seconds(now - oldest_start)));
}

void WorkQueue::Instruments::work_started(TimePoint at, TimePoint oldest) {
  const std::lock_guard lock(mutex);
  ++working;
  started_sum += in_seconds(at - origin);
  oldest_start = oldest;
}

void WorkQueue::Instruments::work_ended(TimePoint at, TimePoint now, TimePoint oldest) {
  work_duration.observe(in_seconds(now - at));
  const std::lock_guard lock(mutex);
  --working;
  // Starting afresh when idle keeps rounding errors from adding up for ever.
  started_sum = working == 0 ? 0 : started_sum - in_seconds(at - origin);
  oldest_start = oldest;
}

// In the frame of a task that waits in next().
struct WorkQueue::Waiter {
  explicit Waiter(WorkQueue& waits_on) : queue(waits_on) { queue.waiters_.push_back(this); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    if (queued) {
      std::erase(queue.waiters_, this);
    } else if (!awake && queue.depth_ > 0) {
      queue.wake_one();  // Destroyed with a call on its way: the call goes to the next one.
    }
  }
  WorkQueue& queue;
  net::OneShot<net::Unit> call;
  bool queued = true;
  bool awake = false;
};

WorkQueue::WorkQueue(net::Executor& executor, Random& random, Options options)
    : executor_(executor),
      random_(random),
      options_(std::move(options)),
      table_(kFirstTableSize),
      retry_tokens_(options_.retry_burst),
      tokens_at_(executor.now()) {
  if (options_.metrics != nullptr) {
    instruments_ =
        std::make_unique<Instruments>(*options_.metrics, executor.clock(), options_.name);
  }
}

WorkQueue::~WorkQueue() {
  if (timer_) executor_.drop_timer(*timer_);
}

const Key& WorkQueue::Lease::key() const { return entry_->key; }
Priority WorkQueue::Lease::priority() const { return entry_->leased_priority; }

void WorkQueue::List::push_back(Entry& entry) {
  entry.previous = last;
  entry.next = nullptr;
  (last != nullptr ? last->next : first) = &entry;
  last = &entry;
}

void WorkQueue::List::remove(Entry& entry) {
  (entry.previous != nullptr ? entry.previous->next : first) = entry.next;
  (entry.next != nullptr ? entry.next->previous : last) = entry.previous;
}

// --- Entries by key ---------------------------------------------------------------------------

WorkQueue::Entry* WorkQueue::find(KeyView key, std::size_t hash) const {
  Entry* entry = table_[hash & (table_.size() - 1)];
  while (entry != nullptr && (entry->hash != hash || entry->key.view() != key)) {
    entry = entry->chain;
  }
  return entry;
}

WorkQueue::Entry& WorkQueue::find_or_make(KeyView key) {
  const std::size_t hash = KeyHash()(key);
  if (Entry* known = find(key, hash)) return *known;
  if (known_ >= table_.size()) grow_table();
  Entry* entry = free_;
  if (entry != nullptr) {
    free_ = entry->chain;
  } else {
    entry = &entries_.emplace_back();
  }
  entry->key.ns.assign(key.ns);
  entry->key.name.assign(key.name);
  entry->hash = hash;
  Entry*& slot = table_[hash & (table_.size() - 1)];
  entry->chain = std::exchange(slot, entry);
  ++known_;
  return *entry;
}

void WorkQueue::grow_table() {
  std::vector<Entry*> old = std::exchange(table_, std::vector<Entry*>(table_.size() * 2));
  for (Entry* entry : old) {
    while (entry != nullptr) {
      Entry*& slot = table_[entry->hash & (table_.size() - 1)];
      Entry* following = std::exchange(entry->chain, slot);
      slot = entry;
      entry = following;
    }
  }
}

void WorkQueue::release_if_unused(Entry& entry) {
  if (entry.wanted || entry.working || entry.backoff) return;
  Entry** link = &table_[entry.hash & (table_.size() - 1)];
  while (*link != &entry) link = &(*link)->chain;
  *link = entry.chain;
  entry.chain = std::exchange(free_, &entry);
  --known_;
  if (known_ > 0 || entries_.size() <= kKept) return;
  entries_.clear();
  free_ = nullptr;
}

// --- Asking -----------------------------------------------------------------------------------

void WorkQueue::add(KeyView key, Priority priority) { add_after(key, Duration::zero(), priority); }

void WorkQueue::add_after(KeyView key, Duration delay, Priority priority) {
  if (intake_ != Intake::kOpen) return;
  const TimePoint now = executor_.now();
  delay = std::clamp(delay, Duration::zero(), kLongestDelay);
  want(find_or_make(key), now + delay, priority, now);
}

void WorkQueue::add_backed_off(KeyView key, Priority priority, Duration at_least) {
  if (intake_ != Intake::kOpen) return;
  const TimePoint now = executor_.now();
  Entry& entry = find_or_make(key);
  if (!entry.backoff) entry.backoff.emplace(options_.backoff);
  const Duration delay = std::max(entry.backoff->next(random_), at_least);
  const TimePoint own = now + std::min(delay, kLongestDelay);
  if (instruments_) instruments_->retries.add();
  want(entry, std::max(own, earliest_retry(now)), priority, now);
}

void WorkQueue::forget(KeyView key) {
  Entry* entry = find(key, KeyHash()(key));
  if (entry == nullptr) return;
  entry->backoff.reset();
  release_if_unused(*entry);
}

int WorkQueue::retries(KeyView key) const {
  const Entry* entry = find(key, KeyHash()(key));
  return entry != nullptr && entry->backoff ? entry->backoff->attempts() : 0;
}

// A token bucket that may go into debt: each retry takes one, and waits until its own has come.
TimePoint WorkQueue::earliest_retry(TimePoint now) {
  if (options_.retries_per_second <= 0) return now;
  const double refill = in_seconds(now - tokens_at_) * options_.retries_per_second;
  retry_tokens_ = std::min(options_.retry_burst, retry_tokens_ + refill) - 1;
  tokens_at_ = now;
  if (retry_tokens_ >= 0) return now;
  const std::chrono::duration<double> wait(-retry_tokens_ / options_.retries_per_second);
  return now + std::chrono::duration_cast<Duration>(wait);
}

void WorkQueue::want(Entry& entry, TimePoint due, Priority priority, TimePoint now) {
  if (entry.wanted) {
    due = std::min(due, entry.due);
    priority = std::max(priority, entry.priority);
    if (due == entry.due && priority == entry.priority) return;
    if (entry.sequence != 0) {
      remove_delayed(entry);
    } else if (!entry.working) {  // In line already: it can only move to a better one.
      ready_[static_cast<std::size_t>(entry.priority)].remove(entry);
      ready_[static_cast<std::size_t>(priority)].push_back(entry);
      entry.priority = priority;
      return;
    }
  }
  entry.wanted = true;
  entry.due = due;
  entry.priority = priority;
  if (!entry.working) put_in_place(entry, now);
}

void WorkQueue::put_in_place(Entry& entry, TimePoint now) {
  if (entry.due <= now) {
    make_ready(entry);
    return;
  }
  entry.sequence = ++next_sequence_;
  delayed_.insert({entry.due, entry.sequence, &entry});
  arm_timer();
}

void WorkQueue::make_ready(Entry& entry) {
  ready_[static_cast<std::size_t>(entry.priority)].push_back(entry);
  set_depth(depth_ + 1);
  if (instruments_) instruments_->adds.add();
  wake_one();
}

void WorkQueue::set_depth(std::size_t depth) {
  depth_ = depth;
  if (instruments_) instruments_->depth.store(depth, std::memory_order_relaxed);
}

// --- Delays -----------------------------------------------------------------------------------

void WorkQueue::remove_delayed(Entry& entry) {
  delayed_.erase({entry.due, entry.sequence, &entry});
  entry.sequence = 0;
  if (delayed_.empty()) arm_timer();
}

// One timer, for the earliest. One that comes too early because its key has left is harmless.
void WorkQueue::arm_timer() {
  if (timer_ && !delayed_.empty() && timer_due_ <= delayed_.begin()->due) return;
  if (timer_) executor_.drop_timer(*std::exchange(timer_, std::nullopt));
  if (delayed_.empty()) return;
  timer_due_ = delayed_.begin()->due;
  timer_ = executor_.run_at(timer_due_, [this] { on_timer(); });
}

void WorkQueue::on_timer() {
  timer_.reset();
  const TimePoint now = executor_.now();
  while (!delayed_.empty() && delayed_.begin()->due <= now) {
    Entry& entry = *delayed_.begin()->entry;
    delayed_.erase(delayed_.begin());
    entry.sequence = 0;
    make_ready(entry);
  }
  arm_timer();
}

// --- Taking -----------------------------------------------------------------------------------

WorkQueue::List& WorkQueue::pick_list() {
  const auto waits_too_long = [](const List& list) {
    return list.first != nullptr && list.passed_over >= kShare;
  };
  auto picked = std::find_if(ready_.begin(), ready_.end(), waits_too_long);
  if (picked == ready_.end()) {
    picked = ready_.end() - 1;
    while (picked->first == nullptr) --picked;
  }
  for (auto lower = ready_.begin(); lower != picked; ++lower) {
    if (lower->first != nullptr) ++lower->passed_over;
  }
  picked->passed_over = 0;
  return *picked;
}

std::optional<WorkQueue::Lease> WorkQueue::try_next() {
  if (depth_ == 0) return std::nullopt;
  List& list = pick_list();
  Entry& entry = *list.first;
  list.remove(entry);
  set_depth(depth_ - 1);
  entry.wanted = false;
  entry.working = true;
  entry.leased_priority = entry.priority;
  working_.push_back(entry);
  ++working_count_;
  if (instruments_) {
    entry.started = executor_.now();
    instruments_->queue_duration.observe(in_seconds(entry.started - entry.due));
    instruments_->work_started(entry.started, working_.first->started);
  }
  return Lease(this, &entry);
}

net::Task<Result<WorkQueue::Lease>> WorkQueue::next() {
  const net::Context context = co_await net::current_context();
  for (;;) {
    if (context.scope != nullptr && context.scope->cancelled()) {
      if (depth_ > 0) wake_one();  // The call that woke this one is for another.
      co_return fail(*context.scope->reason());
    }
    if (auto lease = try_next()) co_return *std::move(lease);
    if (intake_ == Intake::kShut) {
      co_return fail(Code::kCancelled, "the queue " + options_.name + " is shut down");
    }
    Waiter waiter(*this);
    auto called = co_await waiter.call.wait();
    waiter.awake = called.has_value();
  }
}

void WorkQueue::wake_one() {
  while (!waiters_.empty()) {
    Waiter& waiter = *waiters_.front();
    waiters_.pop_front();
    waiter.queued = false;
    if (waiter.call.is_set()) continue;  // Cancelled, and on its way out.
    waiter.call.set(net::Unit{});
    return;
  }
}

void WorkQueue::done(Entry& entry) {
  working_.remove(entry);
  --working_count_;
  entry.working = false;
  if (instruments_) {
    const Entry* oldest = working_.first;
    instruments_->work_ended(entry.started, executor_.now(),
                             oldest != nullptr ? oldest->started : TimePoint());
  }
  if (entry.wanted) {
    put_in_place(entry, executor_.now());
  } else {
    release_if_unused(entry);
  }
  if (intake_ != Intake::kOpen && depth_ == 0 && working_count_ == 0) drained_.notify_all();
}

// --- Ending -----------------------------------------------------------------------------------

void WorkQueue::drop_delayed() {
  for (const Delayed& delayed : std::exchange(delayed_, {})) {
    delayed.entry->sequence = 0;
    delayed.entry->wanted = false;
    release_if_unused(*delayed.entry);
  }
  arm_timer();
}

void WorkQueue::shut_down() {
  intake_ = Intake::kShut;
  drop_delayed();
  for (List& list : ready_) {
    while (Entry* entry = list.first) {
      list.remove(*entry);
      entry->wanted = false;
      release_if_unused(*entry);
    }
  }
  set_depth(0);
  for (Entry* entry = working_.first; entry != nullptr; entry = entry->next) entry->wanted = false;
  while (!waiters_.empty()) wake_one();
  if (working_count_ == 0) drained_.notify_all();
}

net::Task<Result<void>> WorkQueue::drain() {
  if (intake_ == Intake::kOpen) {
    intake_ = Intake::kDraining;
    drop_delayed();
    const TimePoint now = executor_.now();
    for (Entry* entry = working_.first; entry != nullptr; entry = entry->next) {
      if (entry->due > now) entry->wanted = false;
    }
  }
  while (depth_ > 0 || working_count_ > 0) MS_CO_CHECK(co_await drained_.wait());
  shut_down();
  co_return Result<void>();
}

}  // namespace mainspring::control
