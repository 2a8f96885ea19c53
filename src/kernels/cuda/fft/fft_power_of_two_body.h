#pragma once
// Fourier transforms of lines of 2^k complex points, whose length and radices are compile-time constants. A
// thread holds 16 or 8 points in registers. Passes are those of fft_block.h; between them, points pass
// through shared memory.

#include "kernels/cuda/fft/fft_block.h"

namespace hlo::cuda {

struct FftLinesArgs {
  const void* in = nullptr;
  void* out = nullptr;
  const void* roots = nullptr;       // The N powers of w_N.
  const void* half_roots = nullptr;  // w_(2N)^j for j = 0..N.
  const void* coarse = nullptr;      // The two-level twiddle table of FftArgs.
  const void* fine = nullptr;
  int64_t in_stride = 1, out_stride = 1;  // Between points, if adjacent threads access adjacent lines.
  FftDigit digits[kFftDigits];
  uint32_t lines = 0, fine_bits = 0;
  // kFftSwapLoad, kFftSwapStore; for contiguous lines kFftLoadHalf, kFftStoreHalf; for others
  // kFftStoreRotated, kFftStagedLoad.
  uint32_t flags = 0;
  double scale = 1;
};

// The pattern in which adjacent threads access memory.
enum class FftAccess : uint8_t {
  kPoints,  // Adjacent points of contiguous lines.
  kLines,   // Adjacent lines; with kFftStagedLoad, adjacent points are loaded.
};

// kEach: points of a thread. kLines: lines of a thread block.
template <class T, FftAccess kPattern, uint32_t kLength, int kEach, uint32_t kLines, int... kRadices>
struct FftPowerOfTwo {
  using Args = FftLinesArgs;
  using C = Cx<T>;
  static constexpr bool kIsDouble = sizeof(T) == 8, kLinesFirst = kPattern == FftAccess::kLines;
  static constexpr FftAccess kAccess = kPattern;
  static constexpr uint32_t kPoints = kLength, kBlockLines = kLines, kLineThreads = kLength / kEach;
  static constexpr uint32_t kThreads = kLineThreads * kLines, kMinBlocks = kIsDouble         ? 0
                                                                           : kThreads == 512 ? 2
                                                                           : kLength == 512  ? 4
                                                                                             : 0;
  // The threads of a line are in one warp.
  static constexpr bool kInWarp = !kLinesFirst && kLineThreads <= kWarpSize;
  // An element of padding in kPadded avoids bank conflicts between points, and the end of a line between
  // lines.
  static constexpr uint32_t kPadded = kIsDouble && kEach == 8 ? 8 : 16, kBankElements = 128 / sizeof(C);
  static constexpr uint32_t kStride = kLength + kLength / kPadded +
                                      (!kLinesFirst             ? 0
                                       : kLines < kBankElements ? kBankElements / kLines
                                                                : 1);
  static constexpr size_t kSharedBytes = sizeof(C) * kStride * kLines;
  static_assert((kRadices * ...) == kLength && kThreads <= 1024);

  // A thread's line of the block, and its number in the line.
  struct ThreadIndex {
    uint32_t line, t;
    static HLO_DEVICE ThreadIndex ByPoints(uint32_t thread) {
      return {thread / kLineThreads, thread % kLineThreads};
    }
    static HLO_DEVICE ThreadIndex ByLines(uint32_t thread) { return {thread % kLines, thread / kLines}; }
  };

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const ThreadIndex index =
        kLinesFirst ? ThreadIndex::ByLines(env.thread()) : ThreadIndex::ByPoints(env.thread());
    const uint32_t first = env.block().x * kLines, number = first + index.line, t = index.t;
    C* const all = reinterpret_cast<C*>(env.shared());
    C* const shared = all + index.line * kStride;
    const FftLine line = LocateFftLine(args.digits, number < args.lines ? number : first);
    C v[kEach] = {};
    if (kLinesFirst && (args.flags & kFftStagedLoad) != 0)
      LoadStaged(env, args, first, all, shared, t, v);
    else if (number < args.lines)
      Load(args, line.in, t, v);
    if ((args.flags & kFftSwapLoad) != 0) {
      HLO_UNROLL
      for (C& x : v) x = Swapped(x);
    }
    Passes<1, kRadices...>(env, static_cast<const C*>(args.roots), shared, t, v);
    if (kLinesFirst && (args.flags & kFftStoreRotated) != 0) Rotate(args, line.in_point, t, v);
    if ((args.flags & kFftSwapStore) != 0) {
      HLO_UNROLL
      for (C& x : v) x = Swapped(x);
    }
    if (!kLinesFirst && (args.flags & kFftStoreHalf) != 0)
      StoreBins(env, args, shared, number < args.lines, line.out, t, v);
    else if (number < args.lines)
      Store(args, line.out, t, v);
  }

 private:
  template <class Env>
  static HLO_DEVICE void Sync(Env& env) {
    if constexpr (kInWarp)
      env.sync_warp();
    else
      env.sync();
  }
  static HLO_DEVICE uint32_t Padded(uint32_t i) { return i + i / kPadded; }

  // Register j of a thread is point t + j * kLineThreads, before the first and after the last pass.
  static HLO_DEVICE void Load(const Args& args, int64_t first, uint32_t t, C (&v)[kEach]) {
    const C* in = static_cast<const C*>(args.in) + first;
    if constexpr (kLinesFirst) {
      const int64_t step = kLineThreads * args.in_stride;
      in += t * args.in_stride;
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j, in += step) v[j] = *in;
    } else {
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j) v[j] = in[t + j * kLineThreads];
      if ((args.flags & kFftLoadHalf) != 0) {
        HLO_UNROLL
        for (int j = 0; j < kEach; ++j) v[j] = FromBins(args, in, t + j * kLineThreads, v[j]);
      }
    }
  }
  // Loads contiguous lines through shared memory.
  template <class Env>
  static HLO_DEVICE void LoadStaged(Env& env, const Args& args, uint32_t first, C* all, const C* shared,
                                    uint32_t t, C (&v)[kEach]) {
    const ThreadIndex from = ThreadIndex::ByPoints(env.thread());
    if (first + from.line < args.lines) {
      const C* in =
          static_cast<const C*>(args.in) + LocateFftLine(args.digits, first + from.line).in + from.t;
      C* to = all + from.line * kStride;
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j) to[Padded(from.t + j * kLineThreads)] = in[j * kLineThreads];
    }
    env.sync();
    HLO_UNROLL
    for (int j = 0; j < kEach; ++j) v[j] = shared[Padded(t + j * kLineThreads)];
    env.sync();
  }
  static HLO_DEVICE void Store(const Args& args, int64_t first, uint32_t t, const C (&v)[kEach]) {
    C* out = static_cast<C*>(args.out) + first;
    const T scale = static_cast<T>(args.scale);
    if constexpr (kLinesFirst) {
      const int64_t step = kLineThreads * args.out_stride;
      out += t * args.out_stride;
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j, out += step) *out = {scale * v[j].re, scale * v[j].im};
    } else {
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j) out[t + j * kLineThreads] = {scale * v[j].re, scale * v[j].im};
    }
  }

  // Multiplies point k of line p by root^(p k), in terms of p t and the powers of p kLineThreads.
  static HLO_DEVICE void Rotate(const Args& args, int64_t p, uint32_t t, C (&v)[kEach]) {
    const C start = Rotation(args, static_cast<uint64_t>(p) * t);
    HLO_UNROLL
    for (C& x : v) x = x * start;
    MultiplyByPowers<kEach>(Rotation(args, static_cast<uint64_t>(p) * kLineThreads), v);
  }
  static HLO_DEVICE C Rotation(const Args& args, uint64_t j) {
    return static_cast<const C*>(args.coarse)[j >> args.fine_bits] *
           static_cast<const C*>(args.fine)[j & ((uint64_t{1} << args.fine_bits) - 1)];
  }

  // Returns point k of the complex line that holds a real line of 2N points, from its bins k and N - k:
  // (X[k] + X'[N-k]) / 2 + i w^-k (X[k] - X'[N-k]) / 2. The bins at both ends are taken as real.
  static HLO_DEVICE C FromBins(const Args& args, const C* in, uint32_t k, C a) {
    a = Half(a);
    C b = Half(Conj(in[kLength - k]));
    if (k == 0) a.im = b.im = 0;
    const C odd = Conj(static_cast<const C*>(args.half_roots)[k]) * (a - b), even = a + b;
    return {even.re - odd.im, even.im + odd.re};
  }
  // Stores bins 0..N of the real line: X[k] = (Z[k] + Z'[N-k]) / 2 - i w^k (Z[k] - Z'[N-k]) / 2. X[N-k] has
  // the same terms.
  template <class Env>
  static HLO_DEVICE void StoreBins(Env& env, const Args& args, C* shared, bool is_line, int64_t first,
                                   uint32_t t, const C (&v)[kEach]) {
    Sync(env);
    HLO_UNROLL
    for (int j = 0; j < kEach; ++j) shared[Padded(t + j * kLineThreads)] = v[j];
    Sync(env);
    if (!is_line) return;
    C* out = static_cast<C*>(args.out) + first;
    for (uint32_t k = t; k <= kLength / 2; k += kLineThreads) {
      const C a = Half(shared[Padded(k)]), b = Half(Conj(shared[Padded(k == 0 ? 0 : kLength - k)]));
      const C odd = static_cast<const C*>(args.half_roots)[k] * (a - b), even = a + b;
      out[k] = {even.re + odd.im, even.im - odd.re};
      out[kLength - k] = {even.re - odd.im, -(even.im + odd.re)};
    }
  }

  // Performs the passes of radices R, kRest..., after passes with the product m.
  template <uint32_t m, int R, int... kRest, class Env>
  static HLO_DEVICE void Passes(Env& env, const C* roots, C* shared, uint32_t t, C (&v)[kEach]) {
    constexpr int kCount = kEach / R;  // Butterflies of a thread.
    constexpr bool kIsLast = sizeof...(kRest) == 0;
    // Butterfly b starts at t + b * kLineThreads, whose remainder k modulo m is its exponent: equal for all,
    // or, in the last pass, the start itself.
    static_assert(kEach % R == 0 && (kLineThreads % m == 0 || kIsLast));
    C root = {1, 0};
    if constexpr (m > 1) root = roots[(kLineThreads % m == 0 ? t % m : t) * (kLength / (R * m))];
    HLO_UNROLL
    for (int b = 0; b < kCount; ++b) {
      C u[R];
      HLO_UNROLL
      for (int i = 0; i < R; ++i) u[i] = v[b + i * kCount];
      if constexpr (m > 1) {
        C turned = root;
        if constexpr (kLineThreads % m != 0) turned = root * EachRoot(b);
        MultiplyByPowers<R>(turned, u);
      }
      Dft<R>(u);
      HLO_UNROLL
      for (int i = 0; i < R; ++i) v[b + i * kCount] = u[i];
    }
    if constexpr (!kIsLast) {
      if constexpr (m > 1) Sync(env);
      HLO_UNROLL
      for (int b = 0; b < kCount; ++b) {
        const uint32_t start = t + b * kLineThreads, first = start % m + start / m * (R * m);
        HLO_UNROLL
        for (int i = 0; i < R; ++i) shared[Padded(first + i * m)] = v[b + i * kCount];
      }
      Sync(env);
      HLO_UNROLL
      for (int j = 0; j < kEach; ++j) v[j] = shared[Padded(t + j * kLineThreads)];
      Passes<m * R, kRest...>(env, roots, shared, t, v);
    }
  }

  // Returns exp(-2 pi i b / kEach).
  static HLO_DEVICE C EachRoot(int b) {
    constexpr T kCos[5] = {static_cast<T>(1), static_cast<T>(0.92387953251128675613),
                           static_cast<T>(0.70710678118654752440), static_cast<T>(0.38268343236508977173),
                           static_cast<T>(0)};
    const int i = b * (16 / kEach), quarter = i / 4, rest = i % 4;
    const C first = {kCos[rest], -kCos[4 - rest]};
    return quarter == 0   ? first
           : quarter == 1 ? MinusI(first)
           : quarter == 2 ? C{-first.re, -first.im}
                          : C{-first.im, first.re};
  }
  // Multiplies u[i] by root^i; powers are products of powers of half the exponent.
  template <int R>
  static HLO_DEVICE void MultiplyByPowers(C root, C (&u)[R]) {
    C power[R];
    power[1] = root;
    HLO_UNROLL
    for (int i = 1; i < R; ++i) {
      if (i > 1) power[i] = i % 2 == 0 ? power[i / 2] * power[i / 2] : power[i - 1] * root;
      u[i] = u[i] * power[i];
    }
  }
};

// Calls visit.operator()<Kernel>() with the kernel for the length. Returns false if there is none.
template <class Visit>
bool WithFftPowerOfTwo(bool is_double, FftAccess access, int64_t length, Visit&& visit) {
  const auto visit_if = [&]<class Kernel>() {
    if (is_double != Kernel::kIsDouble || access != Kernel::kAccess || length != int64_t{Kernel::kPoints})
      return false;
    visit.template operator()<Kernel>();
    return true;
  };
#define HLO_FFT_KERNEL(T, access, ...) \
  if (visit_if.template operator()<FftPowerOfTwo<T, FftAccess::access, __VA_ARGS__>>()) return true;
#include "kernels/cuda/fft/fft_power_of_two.def"
  return false;
}

}  // namespace hlo::cuda
