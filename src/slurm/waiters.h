// slurm/waiters.h
//
// Who waits for which object to become what. A Place in line is held by the waiting task's own
// frame, so a task that is cancelled or destroyed leaves the line by itself. Owned by the change
// cache, told of every change by its stores; lives on its loop.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/one_shot.h"

namespace mainspring::slurm {

template <class T>
class Waiters {
 public:
  using Object = std::shared_ptr<const T>;
  using Test = std::function<bool(const T&)>;

  Waiters() : lines_(std::make_shared<Lines>()) {}
  // Whoever still waits is told that nothing more will come.
  ~Waiters() {
    for (auto& [key, line] : *lines_) {
      for (const Waiter& waiter : line) {
        waiter.met.set(fail(Code::kCancelled, "the cache of Slurm's state has ended"));
      }
    }
  }
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

 private:
  struct Waiter {
    Test test;
    net::OneShot<Object> met;
  };
  using Line = std::list<Waiter>;
  using Lines = std::map<std::string, Line, std::less<>>;

 public:
  class Place {
   public:
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      line_->second.erase(waiter_);
      if (line_->second.empty()) lines_->erase(line_);
    }
    // Set to the object, or to null when it is gone.
    const net::OneShot<Object>& met() const { return waiter_->met; }

   private:
    friend class Waiters;
    Place(std::shared_ptr<Lines> lines, std::string key, Test test)
        : lines_(std::move(lines)),
          line_(lines_->try_emplace(std::move(key)).first),
          waiter_(line_->second.insert(line_->second.end(), Waiter{std::move(test), {}})) {}
    std::shared_ptr<Lines> lines_;  // So that leaving is safe after the cache has ended.
    typename Lines::iterator line_;
    typename Line::iterator waiter_;
  };

  [[nodiscard]] Place add(std::string key, Test test) {
    return Place(lines_, std::move(key), std::move(test));
  }

  // `object` is null where there is none any more.
  void tell(std::string_view key, const Object& object) const {
    const auto line = lines_->find(key);
    if (line == lines_->end()) return;
    for (const Waiter& waiter : line->second) {
      if (object == nullptr || waiter.test(*object)) waiter.met.set(object);
    }
  }

  bool empty() const { return lines_->empty(); }
  std::size_t size() const { return lines_->size(); }
  bool contains(std::string_view key) const { return lines_->find(key) != lines_->end(); }
  template <class Fn>
  void for_each_key(Fn fn) const {
    for (const auto& [key, line] : *lines_) fn(std::string_view(key));
  }

 private:
  std::shared_ptr<Lines> lines_;
};

}  // namespace mainspring::slurm
