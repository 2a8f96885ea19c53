#pragma once
// Random choices that are reproducible on every machine.

#include <cstdint>
#include <vector>

namespace hlo::fuzz {

// SplitMix64. Unlike the standard distributions, it does not depend on the library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  bool Chance(double p) { return Unit() < p; }

  template <class T>
  T Pick(const std::vector<T>& items) {
    return items[Below(static_cast<int64_t>(items.size()))];
  }
  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(static_cast<int64_t>(i))]);
  }

 private:
  uint64_t state_;
};

}  // namespace hlo::fuzz
