#include "slurm/pace.h"

#include <algorithm>

namespace mainspring::slurm {
namespace {

// Fewer are read one by one whatever was learned: a list also costs memory over there.
constexpr std::size_t kAlwaysSingle = 32;

Duration spread(Duration cost, double share) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(cost) / share);
}

}  // namespace

Pace::Pace(PaceOptions options) : options_(options), backoff_(options.backoff) {}

TimePoint Pace::due() const {
  if (at_once_) return TimePoint();
  if (retry_) return *retry_;
  if (!ended_) return TimePoint();
  const TimePoint calm = *ended_ + interval();
  if (!hurried_) return calm;
  return std::min(calm, std::max(*hurried_, *ended_ + spread(cost_, options_.hurry_share)));
}

void Pace::hurry(TimePoint now) {
  if (!hurried_) hurried_ = now;
}

void Pace::at_once() { at_once_ = true; }

void Pace::forgive() {
  retry_.reset();
  backoff_.reset();
}

void Pace::began(TimePoint now) {
  began_ = now;
  at_once_ = false;
  hurried_.reset();
  spending_ = {};
}

void Pace::spent(Duration cost) { spending_ += cost; }

void Pace::succeeded(TimePoint now) {
  ended_ = now;
  cost_ = spending_;
  // What somebody in a hurry took beyond the share is not added up: calm ones would wait for ever.
  const TimePoint from = std::clamp(paid_, now - options_.savings, now);
  paid_ = std::max(paid_, from + std::min(spread(cost_, options_.share), options_.longest));
  confirmed_ = began_;
  retry_.reset();
  backoff_.reset();
  why_.clear();
}

void Pace::failed(TimePoint now, const Error& error, Random& random) {
  const Duration wait = backoff_.next(random);
  retry_ = now + std::max(wait, error.retry_after().value_or(Duration()));
  // To be told to wait is no news of what is wrong.
  if (!why_.empty() && error.retry_after()) return;
  why_ = error.to_string();
  if (why_.empty()) why_ = to_string(error.code());
}

Duration Pace::interval() const {
  return ended_ ? std::max(options_.pace, paid_ - *ended_) : options_.pace;
}

bool list_is_cheaper(std::size_t count, Duration single_cost, Duration list_cost) {
  return count > kAlwaysSingle && single_cost * static_cast<Duration::rep>(count) > list_cost;
}

}  // namespace mainspring::slurm
