// slurm/suspicion.h
//
// Whether an answer that lacks things we know may be believed. A list that is empty, lacks half, or
// has lost an unusual share at once, is more often a server in trouble than a cluster that went
// away, and believing it would take other people's jobs down. Such an answer counts only when
// slurmctld was asked in between and is well, and the next one lacks the same. Pure; one for each
// kind of list, owned by the change cache, which does the asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mainspring::slurm {

struct SuspicionOptions {
  double share = 0.1;
  std::size_t small = 10;
};

class Suspicion {
 public:
  enum class Verdict : std::uint8_t {
    kBelieve,
    kConfirm,  // Ask whether slurmctld is well, say vouch(), and ask again.
  };

  explicit Suspicion(SuspicionOptions options) : options_(options) {}

  // `known`: how many things there were; `lost`: which of them the answer lacks.
  Verdict judge(std::size_t known, std::vector<std::string> lost);
  // slurmctld said that it is well, after the answer that was not believed.
  void vouch() { vouched_ = true; }
  // Another run of slurmctld: what was lost before says nothing, and until an answer has been
  // believed every loss needs confirmation.
  void restarted();

 private:
  bool unusual(std::size_t known, std::size_t lost) const;

  SuspicionOptions options_;
  bool strict_ = false;
  bool pending_ = false;
  bool vouched_ = false;
  std::vector<std::string> lost_;  // By the answer that waits for confirmation, sorted.
};

}  // namespace mainspring::slurm
