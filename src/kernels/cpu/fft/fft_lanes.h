#pragma once
// This file transforms kLanes lines of one length at a time: element k of all lines is one vector of real and
// one of imaginary parts.

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Returns the roots exp(-2 pi i k / n) for k = 0, ..., count - 1, each rounded once.
template <class R>
std::vector<std::complex<R>> UnitRoots(int64_t n, int64_t count);

// Arrays of real and imaginary parts begin this many vectors after the end of the other one. Arrays whose
// distance is a multiple of 4 KiB would compete for the same lines of the L1 cache.
inline constexpr int64_t kLanePadding = 16;

template <class R>
class LanePlan {
 public:
  using V = Vector<R>;

  explicit LanePlan(int64_t n);

  int64_t size() const { return n_; }
  // Returns the number of work vectors that Run needs.
  int64_t work_size() const;
  // Computes the forward transform of x = re + i im in place, in natural order. With re and im swapped, it
  // computes the unscaled inverse.
  void Run(V* re, V* im, V* work) const;

 private:
  struct Stage {
    int64_t radix, m, stride;
    std::vector<std::complex<R>> twiddles;  // [m, radix - 1]
    std::vector<std::complex<R>> roots;     // The roots of a radix without a special kernel.
  };
  // Bluestein's algorithm: X[k] = chirp[k] * sum over j of (x[j] chirp[j]) conj(chirp[k - j]). The
  // convolution uses transforms of a power of 2.
  struct Bluestein {
    std::unique_ptr<LanePlan> plan;
    std::vector<std::complex<R>> chirp, filter;
  };

  void RunBluestein(V* re, V* im, V* work) const;

  int64_t n_;
  std::vector<Stage> stages_;
  std::unique_ptr<Bluestein> bluestein_;
};

// Returns true if all prime factors of n are at most 31.
bool IsSmooth(int64_t n);

}  // namespace hlo::cpu
