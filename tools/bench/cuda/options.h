#pragma once
// The benchmarks of GPU kernels share this command line and these random operands.

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <type_traits>
#include <vector>

#include "base/arithmetic.h"
#include "base/parallel.h"

namespace hlo::bench {

class Options {
 public:
  // Reads --json, --list and --filter REGEX. Exits after --help, and after an error with status 2.
  Options(int argc, char** argv, const std::string& about);

  bool json() const { return json_; }
  bool list() const { return list_; }
  // True if the case should be measured. With --list, prints its name and returns false.
  bool IsSelected(const std::string& name) const;

 private:
  bool json_ = false, list_ = false;
  std::optional<std::regex> filter_;
};

// Random bits of element i of a sequence, by SplitMix64.
inline uint64_t BitsAt(uint64_t seed, int64_t i) {
  uint64_t z = (seed << 48) + (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Element i of a sequence with mean 0, variance 1 and magnitudes below 3.5: the sum of four uniform numbers,
// which is close to normally distributed and takes no logarithm.
inline float NormalAt(uint64_t seed, int64_t i) {
  const uint64_t bits = BitsAt(seed, i);
  const auto sum =
      static_cast<float>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  return (sum * 0x1p-16f - 2) * 1.7320508f;
}

// Sets elements [0, count) by function(i), on all cores.
template <class T, class Function>
void Fill(T* out, int64_t count, Function function) {
  constexpr int64_t kChunk = 1 << 16;
  ParallelFor(CeilDiv(count, kChunk), 3.0 * kChunk, [&](int64_t chunk) {
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t i = chunk * kChunk; i < end; ++i) out[i] = function(i);
  });
}

template <class T>
std::vector<T> Normals(int64_t count, uint64_t seed) {
  std::vector<T> values(static_cast<size_t>(count));
  Fill(values.data(), count, [&](int64_t i) {
    if constexpr (requires { T::FromFloat(0.0f); })
      return T::FromFloat(NormalAt(seed, i));
    else
      return static_cast<T>(NormalAt(seed, i));
  });
  return values;
}

}  // namespace hlo::bench
