#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace mainspring {

struct Metrics::State {
  prometheus::Registry registry;
  std::mutex refresh_mutex;
  std::map<std::size_t, std::function<void()>> refreshes;
  std::size_t next_id = 0;
};

namespace {

// Null where the library refuses the name or the labels, which it says by throwing.
template <class T, class Builder, class... Args>
T* make(Builder builder, prometheus::Registry& registry, const std::string& name,
        const std::string& help, const Labels& labels, Args&&... args) {
  try {
    auto& family = builder.Name(name).Help(help).Register(registry);
    return &family.Add(prometheus::Labels(labels.begin(), labels.end()),
                       std::forward<Args>(args)...);
  } catch (const std::invalid_argument&) {
    return nullptr;
  }
}

// The library keeps families by type and metrics by hash; people compare pages.
void sort(std::vector<prometheus::MetricFamily>& families) {
  for (auto& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

void Counter::add(double amount) const {
  if (counter_ != nullptr && amount > 0) counter_->Increment(amount);
}

void Gauge::set(double value) const {
  if (gauge_ != nullptr) gauge_->Set(value);
}

void Gauge::add(double amount) const {
  if (gauge_ != nullptr) gauge_->Increment(amount);
}

void Histogram::observe(double value) const {
  if (histogram_ != nullptr) histogram_->Observe(value);
}

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(
      make<prometheus::Counter>(prometheus::BuildCounter(), state_->registry, name, help, labels));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(
      make<prometheus::Gauge>(prometheus::BuildGauge(), state_->registry, name, help, labels));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& buckets, const Labels& labels) {
  return Histogram(make<prometheus::Histogram>(prometheus::BuildHistogram(), state_->registry, name,
                                               help, labels, buckets));
}

Metrics::Refresh Metrics::before_text(std::function<void()> refresh) {
  const std::lock_guard lock(state_->refresh_mutex);
  const std::size_t id = state_->next_id++;
  state_->refreshes.emplace(id, std::move(refresh));
  return {this, id};
}

Metrics::Refresh::~Refresh() {
  if (metrics_ == nullptr) return;
  const std::lock_guard lock(metrics_->state_->refresh_mutex);
  metrics_->state_->refreshes.erase(id_);
}

std::string Metrics::to_text() const {
  {
    const std::lock_guard lock(state_->refresh_mutex);
    for (const auto& [id, refresh] : state_->refreshes) refresh();
  }
  auto families = state_->registry.Collect();
  sort(families);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace mainspring
