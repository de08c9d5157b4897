#include "base/random.h"

#include <random>

namespace mainspring {
namespace {

// splitmix64: turns any seed, also 0, into a well mixed state.
std::uint64_t mix(std::uint64_t& seed) {
  std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = mix(seed);
}

Random Random::from_system() {
  std::random_device device;
  return Random((static_cast<std::uint64_t>(device()) << 32) | device());
}

// xoshiro256**: defined bit by bit, so a seed means the same run with every standard library.
std::uint64_t Random::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) return 0;
  // Values under the threshold would make the low results more likely.
  const std::uint64_t threshold = -bound % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value >= threshold) return value % bound;
  }
}

double Random::fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

}  // namespace mainspring
