#pragma once
// Transforms of one length, as many at a time as a vector has lanes: element k of all of them is one vector
// of real and one of imaginary parts.

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Roots exp(-2 pi i k / n) for k = 0, ..., count - 1, each rounded once.
template <class R>
std::vector<std::complex<R>> UnitRoots(int64_t n, int64_t count);

template <class R>
class LanePlan {
 public:
  using V = Vector<R>;

  explicit LanePlan(int64_t n);

  int64_t size() const { return n_; }
  // Vectors of work space that Run needs.
  int64_t work_size() const;
  // Forward transform of x = re + i im, in place, in natural order; the inverse but for its scale when re and
  // im change places.
  void Run(V* re, V* im, V* work) const;

 private:
  struct Stage {
    int64_t radix, m, stride;
    std::vector<std::complex<R>> twiddles;  // [m, radix - 1]
    std::vector<std::complex<R>> roots;     // Of a radix without a kernel of its own.
  };
  // X[k] = chirp[k] * sum over j of (x[j] chirp[j]) conj(chirp[k - j]), the sum by transforms of a power
  // of 2.
  struct Bluestein {
    std::unique_ptr<LanePlan> plan;
    std::vector<std::complex<R>> chirp, filter;
  };

  void RunBluestein(V* re, V* im, V* work) const;

  int64_t n_;
  std::vector<Stage> stages_;
  std::unique_ptr<Bluestein> bluestein_;
};

// Whether n has prime factors of at most 31 alone, so that stages do it.
bool IsSmooth(int64_t n);

}  // namespace hlo::cpu
