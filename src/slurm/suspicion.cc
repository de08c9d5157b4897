#include "slurm/suspicion.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mainspring::slurm {

bool Suspicion::unusual(std::size_t known, std::size_t lost) const {
  if (lost == 0) return false;
  if (strict_ || lost * 2 > known) return true;
  return lost > options_.small &&
         static_cast<double>(lost) > options_.share * static_cast<double>(known);
}

Suspicion::Verdict Suspicion::judge(std::size_t known, std::vector<std::string> lost) {
  std::sort(lost.begin(), lost.end());
  bool believed = !unusual(known, lost.size());
  if (!believed && pending_ && vouched_) {
    // Things go while we ask again. What is lost beyond the first answer must be usual by itself.
    std::vector<std::string> more;
    std::set_difference(lost.begin(), lost.end(), lost_.begin(), lost_.end(),
                        std::back_inserter(more));
    believed = more.size() < lost.size() && !unusual(known, more.size());
  }
  pending_ = !believed;
  vouched_ = false;
  lost_ = believed ? std::vector<std::string>() : std::move(lost);
  if (believed) strict_ = false;
  return believed ? Verdict::kBelieve : Verdict::kConfirm;
}

void Suspicion::restarted() {
  strict_ = true;
  pending_ = false;
  vouched_ = false;
  lost_.clear();
}

}  // namespace mainspring::slurm
