// slurm/ledger.h
//
// Which of two answers about the same thing is the newer one. Lists take seconds and single reads
// milliseconds, and all run side by side, so answers come in any order. An answer shows some moment
// between its beginning and its arrival: it is surely newer than what is stored only if its read
// began after that was stored. Whatever else differs is neither taken nor dropped but read again,
// by itself, so that every object moves forward in time only.
//
// One for each kind of object, owned by the change cache; lives on its loop. Remembers only what
// was stored while a read was under way: at rest it is empty.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace mainspring::slurm {

class Ledger {
 public:
  // A read under way, from before the request is sent until its answer has been dealt with.
  class Read {
   public:
    Read(Read&& other) noexcept
        : ledger_(std::exchange(other.ledger_, nullptr)), began_(other.began_) {}
    Read& operator=(Read&&) = delete;
    ~Read() {
      if (ledger_ != nullptr) ledger_->end(began_);
    }

   private:
    friend class Ledger;
    Read(Ledger* ledger, std::uint64_t began) : ledger_(ledger), began_(began) {}
    Ledger* ledger_;
    std::uint64_t began_;
  };

  // The ledger must outlive the read.
  Read begin();
  // Whether this read is surely newer than what is stored of `key`.
  bool may_store(const Read& read, std::string_view key) const;
  // An answer about `key` has been stored, or confirmed what is stored.
  void stored(std::string_view key);
  // The same of a list, also of everything that it lacks.
  void stored_all() { all_ = ++time_; }

  std::size_t remembered() const { return stored_.size(); }

 private:
  void end(std::uint64_t began);

  std::uint64_t time_ = 0;
  std::uint64_t all_ = 0;
  std::multiset<std::uint64_t> under_way_;
  std::map<std::string, std::uint64_t, std::less<>> stored_;
  std::deque<std::pair<std::uint64_t, std::string>> order_;
};

}  // namespace mainspring::slurm
