#pragma once
// Discrete Fourier transforms (semantics 6.5): a thread block transforms several lines in shared memory with
// Stockham passes. With m the product of the radices of earlier passes and k = t mod m:
//   v[i] = x[t + i N / R] w_(R m)^(i k);  v = DFT_R(v);  y[(t - k) R + k + i m] = v[i].

#include "kernels/cuda/fft/fft_radix.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr int kMaxFftPasses = 12, kFftDigits = 4;
// Points per thread in registers between two exchanges.
constexpr int kFftValues = 8;

// Conversions of a line's points at load and store.
enum FftFlag : uint32_t {
  kFftLoadReal = 1,       // Real input; imaginary parts are 0.
  kFftLoadHermitian = 2,  // Input bins 0..n/2; the others follow by Hermitian symmetry.
  // Input bins 0..n of a real line of 2n points, folded into a complex line of n points.
  kFftLoadHalf = 4,
  kFftLoadChirp = 8,        // Multiplies by the chirp; points from in_limit on are 0.
  kFftStoreReal = 16,       // Stores real parts only.
  kFftStoreHalf = 32,       // Stores a complex line of n points as bins 0..n of the real line of 2n points.
  kFftStoreChirp = 64,      // Swaps real and imaginary parts and multiplies by the chirp.
  kFftStoreSpectrum = 128,  // Stores the product with the spectrum, with swapped parts.
  kFftStoreRotated = 256,   // Multiplies by the twiddle factor root^(in_point of the line * point).
  kFftSwapLoad = 512,       // Inverse transform: swaps real and imaginary parts at load and store.
  kFftSwapStore = 1024,
  // Circular convolution: transforms, multiplies by the spectrum, swaps the parts and transforms again.
  kFftConvolve = 2048,
  kFftStagedLoad = 4096,  // Loads or stores pass through shared memory.
  kFftStagedStore = 8192,
};

struct FftPass {
  uint32_t radix = 0;
  FastDiv butterflies;     // Butterflies per line.
  FastDiv done;            // The product m of the radices of earlier passes.
  uint32_t root_step = 0;  // Stride in the root table: N / (R m).
};

// A digit of the line index in mixed radix: its strides in addresses (in elements) and in point indices.
struct FftDigit {
  FastDiv size;
  int64_t in = 0, out = 0, in_point = 0, out_point = 0;
};

struct FftArgs {
  const void* in = nullptr;
  void* out = nullptr;
  const void* roots = nullptr;     // The N powers of w_N.
  const void* chirp = nullptr;     // exp(-i pi j^2 / length).
  const void* spectrum = nullptr;  // Spectrum of the conjugate chirp.
  // Two-level twiddle table: root j is coarse[j / fine_size] * fine[j % fine_size].
  const void* coarse = nullptr;
  const void* fine = nullptr;
  const void* half_roots = nullptr;  // w_(2n)^j for j = 0..n.
  uint32_t flags = 0;
  uint32_t length = 0;  // N.
  uint32_t lines = 0, block_lines = 1, line_stride = 0;
  uint32_t pass_count = 0, fine_bits = 0;
  // True if adjacent threads access adjacent lines, not adjacent points.
  bool load_lines_first = false, store_lines_first = false;
  int64_t in_stride = 1, out_stride = 1, in_point_stride = 1, out_point_stride = 1;
  int64_t in_limit = 0, out_limit = 0;  // Number of points.
  double scale = 1;
  FastDiv block_lines_divisor, length_divisor;
  FftPass passes[kMaxFftPasses];
  FftDigit digits[kFftDigits];  // The last digit varies fastest.
};

// Base addresses and base points of a line.
struct FftLine {
  int64_t in, out, in_point, out_point;
};

// Returns the bases of line `number`.
HLO_DEVICE FftLine LocateFftLine(const FftDigit (&digits)[kFftDigits], uint32_t number) {
  FftLine line = {0, 0, 0, 0};
  for (int d = kFftDigits - 1; d >= 0; --d) {
    const FftDigit& digit = digits[d];
    const uint32_t next = digit.size.Quotient(number);
    const int64_t i = number - next * digit.size.divisor;
    number = next;
    line.in += i * digit.in;
    line.out += i * digit.out;
    line.in_point += i * digit.in_point;
    line.out_point += i * digit.out_point;
  }
  return line;
}

// Pads an index so that strided accesses to points avoid bank conflicts.
template <class T>
HLO_DEVICE uint32_t FftPadded(uint32_t i) {
  return i + (i >> (sizeof(T) == 4 ? 5 : 4));
}

template <class T, class Env>
class FftBlock {
 public:
  HLO_DEVICE FftBlock(Env& env, const FftArgs& args) : env_(env), args_(args) {
    lines_ = reinterpret_cast<FftLine*>(env.shared());
    re_ = reinterpret_cast<T*>(lines_ + args.block_lines);
    im_ = re_ + args.block_lines * args.line_stride;
    first_ = env.block().x * args.block_lines;
    count_ = args.lines - first_ < args.block_lines ? args.lines - first_ : args.block_lines;
  }

  HLO_DEVICE void LocateLines() {
    for (uint32_t l = env_.thread(); l < count_; l += env_.threads())
      lines_[l] = LocateFftLine(args_.digits, first_ + l);
    env_.sync();
  }

  HLO_DEVICE void Load() {
    EachPoint(args_.load_lines_first, [&](uint32_t l, uint32_t n) { Set(l, n, Loaded(lines_[l], n)); });
    env_.sync();
  }
  HLO_DEVICE void Store() {
    if ((args_.flags & kFftStoreHalf) != 0) {
      for (uint32_t l = 0; l < count_; ++l) {
        for (uint32_t k = env_.thread(); k <= args_.length; k += env_.threads()) StoreHalf(l, k);
      }
      return;
    }
    EachPoint(args_.store_lines_first, [&](uint32_t l, uint32_t n) { Stored(lines_[l], n, Get(l, n)); });
  }
  HLO_DEVICE void Convolve() {
    const Cx<T>* spectrum = static_cast<const Cx<T>*>(args_.spectrum);
    EachPoint(false, [&](uint32_t l, uint32_t n) { Set(l, n, Swapped(Get(l, n) * spectrum[n])); });
    env_.sync();
  }

  // Performs one pass of radix-R butterflies, kCount per thread. Reads global or shared memory and writes
  // either.
  template <int R>
  HLO_DEVICE void Pass(const FftPass& pass, bool from_global, bool to_global, bool lines_first) {
    constexpr int kCount = kFftValues / R > 0 ? kFftValues / R : 1;
    const uint32_t each = pass.butterflies.divisor, total = each * count_;
    Cx<T> v[kCount][R] = {};
    HLO_UNROLL
    for (int b = 0; b < kCount; ++b) {
      const uint32_t j = env_.thread() + b * env_.threads();
      if (j >= total) continue;
      const Butterfly at = Find(pass, lines_first, j);
      HLO_UNROLL
      for (int i = 0; i < R; ++i)
        v[b][i] = from_global ? LoadedPlain(lines_[at.line], at.t + i * each) : Get(at.line, at.t + i * each);
    }
    if (!from_global) env_.sync();
    HLO_UNROLL
    for (int b = 0; b < kCount; ++b) {
      const uint32_t j = env_.thread() + b * env_.threads();
      if (j >= total) continue;
      const Butterfly at = Find(pass, lines_first, j);
      const uint32_t m = pass.done.divisor, k = at.t - pass.done.Quotient(at.t) * m;
      if (m > 1) {
        const Cx<T>* roots = static_cast<const Cx<T>*>(args_.roots);
        HLO_UNROLL
        for (int i = 1; i < R; ++i) v[b][i] = v[b][i] * roots[i * k * pass.root_step];
      }
      Dft<R>(v[b]);
      const uint32_t first = (at.t - k) * R + k;
      HLO_UNROLL
      for (int i = 0; i < R; ++i) {
        if (to_global)
          StoredPlain(lines_[at.line], first + i * m, v[b][i]);
        else
          Set(at.line, first + i * m, v[b][i]);
      }
    }
    if (!to_global) env_.sync();
  }

 private:
  struct Butterfly {
    uint32_t line, t;
  };
  HLO_DEVICE Butterfly Find(const FftPass& pass, bool lines_first, uint32_t j) const {
    if (lines_first) {
      // The last thread block may have fewer lines.
      const uint32_t t = count_ == args_.block_lines ? args_.block_lines_divisor.Quotient(j) : j / count_;
      return {j - t * count_, t};
    }
    const uint32_t line = pass.butterflies.Quotient(j);
    return {line, j - line * pass.butterflies.divisor};
  }
  template <class Visit>
  HLO_DEVICE void EachPoint(bool lines_first, Visit&& visit) const {
    for (uint32_t j = env_.thread(); j < count_ * args_.length; j += env_.threads()) {
      if (lines_first) {
        const uint32_t n = count_ == args_.block_lines ? args_.block_lines_divisor.Quotient(j) : j / count_;
        visit(j - n * count_, n);
      } else {
        const uint32_t l = args_.length_divisor.Quotient(j);
        visit(l, j - l * args_.length);
      }
    }
  }

  HLO_DEVICE Cx<T> Get(uint32_t line, uint32_t n) const {
    const uint32_t at = line * args_.line_stride + FftPadded<T>(n);
    return {re_[at], im_[at]};
  }
  HLO_DEVICE void Set(uint32_t line, uint32_t n, Cx<T> value) const {
    const uint32_t at = line * args_.line_stride + FftPadded<T>(n);
    re_[at] = value.re;
    im_[at] = value.im;
  }

  HLO_DEVICE Cx<T> LoadedPlain(const FftLine& line, uint32_t n) const {
    const Cx<T> x = static_cast<const Cx<T>*>(args_.in)[line.in + n * args_.in_stride];
    return (args_.flags & kFftSwapLoad) != 0 ? Swapped(x) : x;
  }
  HLO_DEVICE void StoredPlain(const FftLine& line, uint32_t k, Cx<T> x) const {
    if ((args_.flags & kFftStoreRotated) != 0) x = x * Rotation(static_cast<uint64_t>(line.in_point) * k);
    if ((args_.flags & kFftSwapStore) != 0) x = Swapped(x);
    const T scale = static_cast<T>(args_.scale);
    static_cast<Cx<T>*>(args_.out)[line.out + k * args_.out_stride] = {scale * x.re, scale * x.im};
  }
  HLO_DEVICE Cx<T> Rotation(uint64_t j) const {
    const Cx<T> coarse = static_cast<const Cx<T>*>(args_.coarse)[j >> args_.fine_bits];
    return coarse * static_cast<const Cx<T>*>(args_.fine)[j & ((uint64_t{1} << args_.fine_bits) - 1)];
  }

  HLO_DEVICE Cx<T> Loaded(const FftLine& line, uint32_t n) const {
    const uint32_t flags = args_.flags;
    const int64_t point = line.in_point + n * args_.in_point_stride;
    const Cx<T>* in = static_cast<const Cx<T>*>(args_.in) + line.in;
    Cx<T> x = {0, 0};
    if (point >= args_.in_limit) return x;
    if ((flags & kFftLoadReal) != 0)
      x.re = static_cast<const T*>(args_.in)[line.in + n * args_.in_stride];
    else if ((flags & kFftLoadHermitian) != 0)
      x = LoadHermitian(in, line, point);
    else if ((flags & kFftLoadHalf) != 0)
      x = LoadHalf(in, n);
    else
      x = in[n * args_.in_stride];
    if ((flags & kFftSwapLoad) != 0) x = Swapped(x);
    if ((flags & kFftLoadChirp) != 0) x = x * static_cast<const Cx<T>*>(args_.chirp)[point];
    return x;
  }
  // Returns point p of in_limit, of which bins 0..in_limit / 2 are stored; addresses are proportional to
  // points.
  HLO_DEVICE Cx<T> LoadHermitian(const Cx<T>* in, const FftLine& line, int64_t p) const {
    const bool mirrored = p > args_.in_limit / 2;
    const int64_t bin = mirrored ? args_.in_limit - p : p;
    const Cx<T> x = in[bin - line.in_point];
    if (bin == 0 || 2 * bin == args_.in_limit) return {x.re, 0};
    return mirrored ? Conj(x) : x;
  }
  // Returns (X[k] + X'[n-k]) / 2 + i w^-k (X[k] - X'[n-k]) / 2; the bins at both ends are taken as real.
  HLO_DEVICE Cx<T> LoadHalf(const Cx<T>* in, uint32_t k) const {
    Cx<T> a = Half(in[k]), b = Half(Conj(in[args_.length - k]));
    if (k == 0) a.im = b.im = 0;
    const Cx<T> root = Conj(static_cast<const Cx<T>*>(args_.half_roots)[k]), odd = root * (a - b),
                even = a + b;
    return {even.re - odd.im, even.im + odd.re};
  }

  HLO_DEVICE void Stored(const FftLine& line, uint32_t k, Cx<T> x) const {
    const uint32_t flags = args_.flags;
    const int64_t point = line.out_point + k * args_.out_point_stride;
    if (point >= args_.out_limit) return;
    if ((flags & kFftStoreSpectrum) != 0) x = Swapped(x * static_cast<const Cx<T>*>(args_.spectrum)[point]);
    if ((flags & kFftStoreChirp) != 0) {
      // A product with 0 may be -0; adding 0 makes it 0.
      x = Swapped(x) * static_cast<const Cx<T>*>(args_.chirp)[point] + Cx<T>{0, 0};
    }
    if ((flags & kFftStoreReal) == 0) {
      StoredPlain(line, k, x);
    } else {
      const T re = (flags & kFftSwapStore) != 0 ? x.im : x.re;
      static_cast<T*>(args_.out)[line.out + k * args_.out_stride] = static_cast<T>(args_.scale) * re;
    }
  }
  // Stores (Z[k] + Z'[n-k]) / 2 - i w^k (Z[k] - Z'[n-k]) / 2.
  HLO_DEVICE void StoreHalf(uint32_t l, uint32_t k) const {
    const uint32_t n = args_.length;
    const Cx<T> a = Half(Get(l, k == n ? 0 : k)), b = Half(Conj(Get(l, k == 0 ? 0 : n - k)));
    const Cx<T> root = static_cast<const Cx<T>*>(args_.half_roots)[k], odd = root * (a - b), even = a + b;
    static_cast<Cx<T>*>(args_.out)[lines_[l].out + k] = {even.re + odd.im, even.im - odd.re};
  }

  Env& env_;
  const FftArgs& args_;
  FftLine* lines_;
  T *re_, *im_;
  uint32_t first_, count_;
};

}  // namespace hlo::cuda
