#include "kernels/cuda/fft/fft_tables.h"

#include "base/root_of_unity.h"

namespace hlo::cuda {
namespace {

// Computes out[k] = sum over j of x[j * stride] exp(-2 pi i j k / n) by mixed-radix decimation in time.
void Transform(const LongComplex* x, int64_t stride, int64_t n, const std::vector<LongComplex>& roots,
               LongComplex* out) {
  if (n == 1) {
    out[0] = x[0];
    return;
  }
  int64_t p = 2;
  while (n % p != 0) ++p;
  const int64_t m = n / p, step = static_cast<int64_t>(roots.size()) / n;
  std::vector<LongComplex> parts(n);
  for (int64_t r = 0; r < p; ++r) Transform(x + r * stride, stride * p, m, roots, parts.data() + r * m);
  for (int64_t k = 0; k < n; ++k) {
    LongComplex sum = 0;
    for (int64_t r = 0; r < p; ++r) {
      const LongComplex &a = roots[r * k % n * step], &b = parts[r * m + k % m];
      sum +=
          LongComplex(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    }
    out[k] = sum;
  }
}

}  // namespace

std::vector<LongComplex> Chirp(int64_t n) {
  std::vector<LongComplex> chirp(n);
  const auto period = static_cast<uint64_t>(2 * n);
  for (uint64_t j = 0; j < chirp.size(); ++j) chirp[j] = RootOfUnity(j * j % period, period);
  return chirp;
}

std::vector<LongComplex> ChirpSpectrum(int64_t n, int64_t m) {
  const std::vector<LongComplex> chirp = Chirp(n);
  std::vector<LongComplex> around(m), roots(m), spectrum(m);
  for (int64_t j = 0; j < n; ++j) {
    around[j] = std::conj(chirp[j]);
    if (j > 0) around[m - j] = around[j];
  }
  for (int64_t j = 0; j < m; ++j) roots[j] = RootOfUnity(static_cast<uint64_t>(j), static_cast<uint64_t>(m));
  Transform(around.data(), 1, m, roots, spectrum.data());
  return spectrum;
}

}  // namespace hlo::cuda
