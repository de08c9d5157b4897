#include "slurm/governor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <optional>
#include <utility>

#include "base/backoff.h"
#include "net/one_shot.h"

namespace mainspring::slurm {
namespace {

constexpr std::size_t kLanes = 3;
// Places given to higher lanes in a row while a lower one waits.
constexpr std::size_t kPatience = 8;

GovernorOptions sensible(GovernorOptions options) {
  options.least_at_once = std::max<std::size_t>(options.least_at_once, 1);
  options.most_at_once = std::max(options.most_at_once, options.least_at_once);
  options.most_per_second = std::max(options.most_per_second, 0.1);
  options.failures_to_open = std::max<std::size_t>(options.failures_to_open, 1);
  return options;
}

}  // namespace

struct Governor::State : std::enable_shared_from_this<State> {
  struct Waiter {
    net::OneShot<net::Unit> turn;
    TimePoint since;
    bool called = false;  // Out of the line, its place counted in `under_way`.
  };
  using Line = std::list<Waiter>;

  State(net::Executor& on, Random& chance, GovernorOptions given)
      : executor(on),
        random(chance),
        options(sensible(std::move(given))),
        limit(static_cast<double>(options.most_at_once)),
        tokens(burst()),
        filled(on.now()),
        backoff({.first = options.open_for, .max = options.open_at_most, .jitter = 0.3}) {
    if (options.metrics == nullptr) return;
    Metrics& metrics = *options.metrics;
    Labels of;
    if (!options.cluster.empty()) of.emplace_back("cluster", options.cluster);
    inflight_gauge =
        metrics.gauge("slurm_client_inflight", "Requests to slurmrestd under way.", of);
    limit_gauge =
        metrics.gauge("slurm_client_limit", "Requests that may be under way at once.", of);
    waiting_gauge = metrics.gauge("slurm_client_waiting", "Requests that wait for their turn.", of);
    circuit_gauge = metrics.gauge("slurm_client_circuit_open",
                                  "1 while slurmrestd is left alone after failures.", of);
    throttled = metrics.counter("slurm_client_throttled_seconds_total",
                                "Time that requests spent waiting for their turn.", of);
    opened = metrics.counter("slurm_client_circuit_opened_total",
                             "How often the circuit to slurmrestd opened.", of);
    show();
  }

  // How many may begin in a second now.
  double rate() const {
    return options.most_per_second * limit / static_cast<double>(options.most_at_once);
  }
  double burst() const { return std::max(1.0, rate() / 10); }
  std::size_t whole_limit() const { return static_cast<std::size_t>(limit); }

  void refill() {
    const TimePoint now = executor.now();
    const double passed = std::chrono::duration<double>(now - filled).count();
    tokens = std::min(burst(), tokens + passed * rate());
    filled = now;
  }

  // How long until the rate allows one more.
  Duration next_token() const {
    const double missing = std::max(0.0, 1.0 - tokens) / rate();
    return Duration(static_cast<Duration::rep>(std::ceil(missing * 1e9)));
  }

  bool may_begin() {
    refill();
    return under_way < whole_limit() && next_token() <= Duration::zero();
  }

  void begin() {
    ++under_way;
    tokens -= 1;
  }

  // The lane whose turn it is. Somebody waits.
  Line& next_line() {
    Line* highest = nullptr;
    Line* longest = nullptr;  // Of the others, the one whose first has waited longest.
    for (Line& line : lines) {
      if (line.empty()) continue;
      if (highest == nullptr) {
        highest = &line;
      } else if (longest == nullptr || line.front().since < longest->front().since) {
        longest = &line;
      }
    }
    passed_over = longest == nullptr ? 0 : passed_over + 1;
    if (passed_over <= kPatience) return *highest;
    passed_over = 0;
    return *longest;
  }

  // Calls whoever may begin now, and sets a timer where only the rate is in the way.
  void call_next() {
    if (is_open) return;
    while (waiting() > 0 && may_begin()) {
      Line& line = next_line();
      begin();
      called.splice(called.end(), line, line.begin());
      called.back().called = true;
      called.back().turn.set(net::Unit{});
    }
    rate_timer.reset();
    if (waiting() > 0 && under_way < whole_limit()) {
      rate_timer.emplace(executor, next_token(), [this] { call_next(); });
    }
    show();
  }

  std::size_t waiting() const {
    std::size_t count = 0;
    for (const Line& line : lines) count += line.size();
    return count;
  }

  Error circuit_error() const {
    const Duration left = std::max<Duration>(open_until - executor.now(), milliseconds(100));
    const auto rounded = std::chrono::ceil<milliseconds>(left);
    return Error(Code::kTransient,
                 fmt::format("slurmrestd failed {} times in a row and is left alone; the next "
                             "attempt is due in {} ms",
                             failures, rounded.count()))
        .with_retry_after(rounded);
  }

  void open_circuit() {
    if (!is_open) opened.add();
    is_open = true;
    limit = static_cast<double>(options.least_at_once);
    open_until = executor.now() + backoff.next(random);
    rate_timer.reset();
    for (Line& line : lines) {
      for (Waiter& waiter : line) waiter.turn.set(fail(circuit_error()));
      // The tasks are still to wake up; they find out that their place is gone.
      called.splice(called.end(), line);
    }
  }

  void close_circuit() {
    is_open = false;
    failures = 0;
    backoff.reset();
  }

  void shrink(TimePoint began) {
    // What was under way together tells one story, not sixteen.
    if (began < shrunk) return;
    shrunk = executor.now();
    limit = std::max(static_cast<double>(options.least_at_once), std::floor(limit / 2));
  }

  void judge(Outcome outcome, TimePoint began, bool probe) {
    // What began before the circuit opened says nothing about now.
    if (is_open && !probe) return;
    refill();  // At the rate until now.
    if (outcome == Outcome::kFailed) {
      ++failures;
      shrink(began);
      if (probe || failures >= options.failures_to_open) open_circuit();
      return;
    }
    if (probe) close_circuit();
    failures = 0;
    if (outcome == Outcome::kSlow) return shrink(began);
    limit = std::min(static_cast<double>(options.most_at_once), limit + 1 / limit);
  }

  void give_back(std::optional<Outcome> outcome, TimePoint began, bool probe) {
    --under_way;
    if (probe) probing = false;
    if (outcome) judge(*outcome, began, probe);
    call_next();
    show();
  }

  void show() const {
    inflight_gauge.set(static_cast<double>(under_way));
    limit_gauge.set(static_cast<double>(whole_limit()));
    waiting_gauge.set(static_cast<double>(waiting()));
    circuit_gauge.set(is_open ? 1 : 0);
  }

  net::Executor& executor;
  Random& random;
  const GovernorOptions options;

  double limit;
  std::size_t under_way = 0;
  TimePoint shrunk;
  double tokens;
  TimePoint filled;
  std::array<Line, kLanes> lines;
  Line called;  // Told, and not yet awake.
  std::size_t passed_over = 0;
  std::optional<net::Timer> rate_timer;

  std::size_t failures = 0;
  bool is_open = false;
  bool probing = false;
  TimePoint open_until;
  Backoff backoff;

  Gauge inflight_gauge, limit_gauge, waiting_gauge, circuit_gauge;
  Counter throttled, opened;
};

// A place in line, held by the task that waits there: whichever way the task ends, the place and
// what was counted for it are given back.
class Governor::Place {
 public:
  Place(std::shared_ptr<State> state, Lane lane) : state_(std::move(state)) {
    State::Line& line = state_->lines[static_cast<std::size_t>(lane)];
    line.push_back({.turn = {}, .since = state_->executor.now()});
    waiter_ = std::prev(line.end());
    line_ = &line;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    state_->throttled.add(
        std::chrono::duration<double>(state_->executor.now() - waiter_->since).count());
    const bool counted = waiter_->called && !taken_;
    leave();
    if (counted) state_->give_back(std::nullopt, {}, false);
    state_->show();
  }

  auto wait() const { return waiter_->turn.wait(); }
  void take() { taken_ = true; }

 private:
  void leave() {
    for (State::Line* line : {line_, &state_->called}) {
      for (auto it = line->begin(); it != line->end(); ++it) {
        if (it != waiter_) continue;
        line->erase(it);
        return;
      }
    }
  }

  std::shared_ptr<State> state_;
  State::Line* line_;
  State::Line::iterator waiter_;
  bool taken_ = false;
};

Governor::Governor(net::Executor& executor, Random& random, GovernorOptions options)
    : state_(std::make_shared<State>(executor, random, std::move(options))) {}

Governor::~Governor() {
  state_->rate_timer.reset();
  for (auto& line : state_->lines) {
    for (auto& waiter : line) waiter.turn.set(fail(Code::kCancelled, "the client is gone"));
  }
}

net::Task<Result<Governor::Permit>> Governor::enter(Lane lane) {
  const std::shared_ptr<State> state = state_;
  if (state->is_open) {
    if (state->probing || state->executor.now() < state->open_until) {
      co_return fail(state->circuit_error());
    }
    state->probing = true;
    state->begin();
    state->show();
    co_return Permit(state, true);
  }
  if (state->waiting() == 0 && state->may_begin()) {
    state->begin();
    state->show();
    co_return Permit(state, false);
  }
  Place place(state, lane);
  state->call_next();
  MS_CO_CHECK(co_await place.wait());
  place.take();
  co_return Permit(state, false);
}

void Governor::moved() {
  state_->open_until = state_->executor.now();
  state_->backoff.reset();
}

bool Governor::open() const { return state_->is_open; }
std::size_t Governor::limit() const { return state_->whole_limit(); }
std::size_t Governor::under_way() const { return state_->under_way; }
std::size_t Governor::waiting() const { return state_->waiting(); }
const GovernorOptions& Governor::options() const { return state_->options; }

Governor::Permit::Permit(std::shared_ptr<State> state, bool probe)
    : state_(std::move(state)), began_(state_->executor.now()), probe_(probe) {}

Governor::Permit::Permit(Permit&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), began_(other.began_), probe_(other.probe_) {}

Governor::Permit& Governor::Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  drop();
  state_ = std::exchange(other.state_, nullptr);
  began_ = other.began_;
  probe_ = other.probe_;
  return *this;
}

Governor::Permit::~Permit() { drop(); }

void Governor::Permit::done(Outcome outcome) {
  if (const auto state = std::exchange(state_, nullptr)) state->give_back(outcome, began_, probe_);
}

void Governor::Permit::drop() {
  if (const auto state = std::exchange(state_, nullptr)) {
    state->give_back(std::nullopt, began_, probe_);
  }
}

}  // namespace mainspring::slurm
