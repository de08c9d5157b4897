// base/metrics.h
//
// Numbers about a running process, in the text format that Prometheus reads. Owned by main, handed
// down as Metrics* (null: nobody wants numbers) and asked for handles once, when things are wired
// up. Thread-safe: the control loop counts while the serving thread writes the page.
//
// A handle is a pointer: copy it freely, count on hot paths. A default-constructed one does
// nothing, so code that counts needs no conditions. Handles must not outlive their Metrics. Asking
// again for a name and labels that exist gives the same number. A name that Prometheus would not
// accept, or that exists as another type, gives a handle that does nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace mainspring {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  Counter() = default;
  // Never goes down: a negative amount is ignored.
  void add(double amount = 1) const;

 private:
  friend class Metrics;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  prometheus::Counter* counter_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  void set(double value) const;
  void add(double amount) const;

 private:
  friend class Metrics;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  prometheus::Gauge* gauge_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  void observe(double value) const;

 private:
  friend class Metrics;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  prometheus::Histogram* histogram_ = nullptr;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `buckets` are upper bounds, rising.
  Histogram histogram(const std::string& name, const std::string& help,
                      const std::vector<double>& buckets, const Labels& labels = {});

  // For a number that is only worth computing when somebody looks, such as an age: `refresh` runs
  // at the start of each to_text(), on its thread, so it must be safe there. When the returned
  // Refresh is gone it runs no more, and is not running. It must not make or drop a Refresh itself.
  class Refresh {
   public:
    Refresh() = default;
    Refresh(Refresh&& other) noexcept
        : metrics_(std::exchange(other.metrics_, nullptr)), id_(other.id_) {}
    Refresh& operator=(Refresh&& other) noexcept {
      std::swap(metrics_, other.metrics_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Refresh();

   private:
    friend class Metrics;
    Refresh(Metrics* metrics, std::size_t id) : metrics_(metrics), id_(id) {}
    Metrics* metrics_ = nullptr;
    std::size_t id_ = 0;
  };
  [[nodiscard]] Refresh before_text(std::function<void()> refresh);

  // Everything, by name and labels.
  std::string to_text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mainspring
