#include "kernels/cpu/fft/fft_lanes.h"

#include <algorithm>

#include "base/root_of_unity.h"
#include "kernels/cpu/fft/pair.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLargestRadix = 31;

std::vector<int64_t> Radices(int64_t n) {
  std::vector<int64_t> radices;
  for (int64_t p : {4, 2, 3, 5}) {
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  for (int64_t p = 7; p <= kLargestRadix; p += 2) {
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  return radices;
}

// Computes b[k] = sum over j of a[j] exp(-2 pi i j k / kRadix).
template <class R, int kRadix, class V>
[[gnu::always_inline]] inline void Butterfly(const Pair<V>* a, Pair<V>* b) {
  if constexpr (kRadix == 2) {
    b[0] = Add(a[0], a[1]);
    b[1] = Subtract(a[0], a[1]);
  } else if constexpr (kRadix == 3) {
    constexpr R kSin = static_cast<R>(0.866025403784438646763723170752936183L);
    const Pair<V> sum = Add(a[1], a[2]), turned = TimesMinusI(Subtract(a[1], a[2]));
    const Pair<V> middle = {a[0].re - sum.re * R(0.5), a[0].im - sum.im * R(0.5)};
    const Pair<V> side = {turned.re * kSin, turned.im * kSin};
    b[0] = Add(a[0], sum);
    b[1] = Add(middle, side);
    b[2] = Subtract(middle, side);
  } else if constexpr (kRadix == 4) {
    const Pair<V> even = Add(a[0], a[2]), odd = Subtract(a[0], a[2]);
    const Pair<V> sum = Add(a[1], a[3]), turned = TimesMinusI(Subtract(a[1], a[3]));
    b[0] = Add(even, sum);
    b[1] = Add(odd, turned);
    b[2] = Subtract(even, sum);
    b[3] = Subtract(odd, turned);
  } else {
    static_assert(kRadix == 5);
    constexpr R kCos1 = static_cast<R>(0.309016994374947424102293417182819059L),
                kCos2 = static_cast<R>(-0.809016994374947424102293417182819059L),
                kSin1 = static_cast<R>(0.951056516295153572116439333379382143L),
                kSin2 = static_cast<R>(0.587785252292473129168705954639072769L);
    const Pair<V> s1 = Add(a[1], a[4]), s2 = Add(a[2], a[3]);
    const Pair<V> d1 = TimesMinusI(Subtract(a[1], a[4])), d2 = TimesMinusI(Subtract(a[2], a[3]));
    const Pair<V> m1 = {a[0].re + s1.re * kCos1 + s2.re * kCos2, a[0].im + s1.im * kCos1 + s2.im * kCos2};
    const Pair<V> m2 = {a[0].re + s1.re * kCos2 + s2.re * kCos1, a[0].im + s1.im * kCos2 + s2.im * kCos1};
    const Pair<V> t1 = {d1.re * kSin1 + d2.re * kSin2, d1.im * kSin1 + d2.im * kSin2};
    const Pair<V> t2 = {d1.re * kSin2 - d2.re * kSin1, d1.im * kSin2 - d2.im * kSin1};
    b[0] = Add(a[0], Add(s1, s2));
    b[1] = Add(m1, t1);
    b[2] = Add(m2, t2);
    b[3] = Subtract(m2, t2);
    b[4] = Subtract(m1, t1);
  }
}

// Performs one stage of the Stockham autosort algorithm:
//   y[q + s (r p + k)] = exp(-2 pi i p k / (r m)) sum over j of x[q + s (p + m j)] exp(-2 pi i j k / r).
template <class R, int kRadix>
void RunStage(int64_t m, int64_t s, const std::complex<R>* twiddles, const Vector<R>* x_re,
              const Vector<R>* x_im, Vector<R>* y_re, Vector<R>* y_im) {
  using V = Vector<R>;
  for (int64_t p = 0; p < m; ++p) {
    const std::complex<R>* w = twiddles + p * (kRadix - 1);
    for (int64_t q = 0; q < s; ++q) {
      Pair<V> a[kRadix], b[kRadix];
#pragma GCC unroll 5
      for (int j = 0; j < kRadix; ++j) a[j] = {x_re[q + s * (p + m * j)], x_im[q + s * (p + m * j)]};
      Butterfly<R, kRadix>(a, b);
      const int64_t to = q + s * kRadix * p;
      y_re[to] = b[0].re;
      y_im[to] = b[0].im;
#pragma GCC unroll 4
      for (int k = 1; k < kRadix; ++k) {
        const Pair<V> turned = Times(b[k], w[k - 1]);
        y_re[to + s * k] = turned.re;
        y_im[to + s * k] = turned.im;
      }
    }
  }
}

// Performs a stage of any radix.
template <class R>
void RunAnyStage(int64_t radix, int64_t m, int64_t s, const std::complex<R>* twiddles,
                 const std::complex<R>* roots, const Vector<R>* x_re, const Vector<R>* x_im, Vector<R>* y_re,
                 Vector<R>* y_im) {
  using V = Vector<R>;
  for (int64_t p = 0; p < m; ++p) {
    for (int64_t q = 0; q < s; ++q) {
      for (int64_t k = 0; k < radix; ++k) {
        Pair<V> sum = {x_re[q + s * p], x_im[q + s * p]};
        for (int64_t j = 1; j < radix; ++j) {
          const int64_t from = q + s * (p + m * j);
          sum = Add(sum, Times(Pair<V>{x_re[from], x_im[from]}, roots[j * k % radix]));
        }
        if (k > 0) sum = Times(sum, twiddles[p * (radix - 1) + k - 1]);
        const int64_t to = q + s * (radix * p + k);
        y_re[to] = sum.re;
        y_im[to] = sum.im;
      }
    }
  }
}

}  // namespace

bool IsSmooth(int64_t n) {
  for (int64_t p = 2; p <= kLargestRadix; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

template <class R>
std::vector<std::complex<R>> UnitRoots(int64_t n, int64_t count) {
  std::vector<std::complex<R>> roots(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k)
    roots[k] = std::complex<R>(RootOfUnity(static_cast<uint64_t>(k), static_cast<uint64_t>(n)));
  return roots;
}

template <class R>
LanePlan<R>::LanePlan(int64_t n) : n_(n) {
  if (IsSmooth(n)) {
    int64_t rest = n, stride = 1;
    for (int64_t radix : Radices(n)) {
      Stage stage{.radix = radix, .m = rest / radix, .stride = stride};
      const std::vector<std::complex<R>> roots = UnitRoots<R>(rest, rest);
      for (int64_t p = 0; p < stage.m; ++p) {
        for (int64_t k = 1; k < radix; ++k) stage.twiddles.push_back(roots[p * k]);
      }
      if (radix > 5) stage.roots = UnitRoots<R>(radix, radix);
      stages_.push_back(std::move(stage));
      rest /= radix;
      stride *= radix;
    }
    return;
  }
  bluestein_ = std::make_unique<Bluestein>();
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  bluestein_->plan = std::make_unique<LanePlan>(size);
  // The chirp is exp(-pi i k^2 / n), with k^2 modulo 2n.
  const std::vector<std::complex<R>> roots = UnitRoots<R>(2 * n, 2 * n);
  for (int64_t k = 0, square = 0; k < n; ++k) {
    bluestein_->chirp.push_back(roots[square]);
    square = (square + 2 * k + 1) % (2 * n);
  }
  // The filter is the transform of the conjugate chirp, symmetric around 0, divided by the size.
  std::vector<V> re(static_cast<size_t>(size)), im(re),
      work(static_cast<size_t>(bluestein_->plan->work_size()));
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t at : {k, (size - k) % size}) {
      re[at] = Broadcast(bluestein_->chirp[k].real());
      im[at] = Broadcast(-bluestein_->chirp[k].imag());
    }
  }
  bluestein_->plan->Run(re.data(), im.data(), work.data());
  for (int64_t k = 0; k < size; ++k)
    bluestein_->filter.push_back(std::complex<R>(re[k][0], im[k][0]) / static_cast<R>(size));
}

template <class R>
int64_t LanePlan<R>::work_size() const {
  return bluestein_ ? 2 * bluestein_->plan->size() + bluestein_->plan->work_size() : 2 * n_ + kLanePadding;
}

template <class R>
void LanePlan<R>::Run(V* re, V* im, V* work) const {
  if (bluestein_) return RunBluestein(re, im, work);
  V *x_re = re, *x_im = im, *y_re = work, *y_im = work + n_ + kLanePadding;
  for (const Stage& s : stages_) {
    switch (s.radix) {
      case 2:
        RunStage<R, 2>(s.m, s.stride, s.twiddles.data(), x_re, x_im, y_re, y_im);
        break;
      case 3:
        RunStage<R, 3>(s.m, s.stride, s.twiddles.data(), x_re, x_im, y_re, y_im);
        break;
      case 4:
        RunStage<R, 4>(s.m, s.stride, s.twiddles.data(), x_re, x_im, y_re, y_im);
        break;
      case 5:
        RunStage<R, 5>(s.m, s.stride, s.twiddles.data(), x_re, x_im, y_re, y_im);
        break;
      default:
        RunAnyStage<R>(s.radix, s.m, s.stride, s.twiddles.data(), s.roots.data(), x_re, x_im, y_re, y_im);
    }
    std::swap(x_re, y_re);
    std::swap(x_im, y_im);
  }
  if (x_re != re) {
    std::copy_n(x_re, n_, re);
    std::copy_n(x_im, n_, im);
  }
}

template <class R>
void LanePlan<R>::RunBluestein(V* re, V* im, V* work) const {
  const int64_t size = bluestein_->plan->size();
  V *wide_re = work, *wide_im = work + size, *rest = work + 2 * size;
  for (int64_t k = 0; k < size; ++k) {
    const Pair<V> x = k < n_ ? Times(Pair<V>{re[k], im[k]}, bluestein_->chirp[k]) : Pair<V>{};
    wide_re[k] = x.re;
    wide_im[k] = x.im;
  }
  bluestein_->plan->Run(wide_re, wide_im, rest);
  for (int64_t k = 0; k < size; ++k) {
    const Pair<V> x = Times(Pair<V>{wide_re[k], wide_im[k]}, bluestein_->filter[k]);
    wide_re[k] = x.re;
    wide_im[k] = x.im;
  }
  bluestein_->plan->Run(wide_im, wide_re, rest);
  for (int64_t k = 0; k < n_; ++k) {
    const Pair<V> x = Times(Pair<V>{wide_re[k], wide_im[k]}, bluestein_->chirp[k]);
    // A product with 0 may be -0; adding 0 makes it 0.
    re[k] = x.re + R(0);
    im[k] = x.im + R(0);
  }
}

template std::vector<std::complex<float>> UnitRoots<float>(int64_t, int64_t);
template std::vector<std::complex<double>> UnitRoots<double>(int64_t, int64_t);
template class LanePlan<float>;
template class LanePlan<double>;

}  // namespace hlo::cpu
