// base/random.h
//
// The only source of chance. Handed down like Clock: main passes one seeded by the machine, a
// simulation passes one seeded by the test, and the same seed gives the same run. Not for secrets.
#pragma once

#include <cstdint>

namespace mainspring {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  // Seeded by the operating system.
  static Random from_system();

  std::uint64_t next();
  // Evenly from [0, bound); 0 if bound is 0.
  std::uint64_t below(std::uint64_t bound);
  // Evenly from [0, 1).
  double fraction();

 private:
  std::uint64_t state_[4];
};

}  // namespace mainspring
