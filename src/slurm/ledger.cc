#include "slurm/ledger.h"

namespace mainspring::slurm {

Ledger::Read Ledger::begin() {
  under_way_.insert(++time_);
  return {this, time_};
}

bool Ledger::may_store(const Read& read, std::string_view key) const {
  if (all_ > read.began_) return false;
  const auto it = stored_.find(key);
  return it == stored_.end() || it->second < read.began_;
}

void Ledger::stored(std::string_view key) {
  if (under_way_.empty()) return;
  ++time_;
  stored_.insert_or_assign(std::string(key), time_);
  order_.emplace_back(time_, key);
}

void Ledger::end(std::uint64_t began) {
  under_way_.erase(under_way_.find(began));
  // Reads that begin from now on are newer than all of it.
  while (!order_.empty() && (under_way_.empty() || order_.front().first < *under_way_.begin())) {
    const auto it = stored_.find(order_.front().second);
    if (it != stored_.end() && it->second == order_.front().first) stored_.erase(it);
    order_.pop_front();
  }
}

}  // namespace mainspring::slurm
