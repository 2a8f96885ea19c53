#pragma once
// FFT kernels.

#include "kernels/cuda/fft/fft_block.h"

namespace hlo::cuda {

// Returns the maximum block size that the register file allows.
constexpr uint32_t MaxFftThreads(bool is_double, bool wide) {
  return (is_double ? 512u : 1024u) / (wide ? 2 : 1);
}

// kWide enables radices 11 and 13, which need more registers.
template <class T, bool kWide>
struct FftKernel {
  using Args = FftArgs;
  static constexpr uint32_t kThreads = MaxFftThreads(sizeof(T) == 8, kWide);
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    FftBlock<T, Env> block(env, args);
    block.LocateLines();
    const bool staged_load = (args.flags & kFftStagedLoad) != 0,
               staged_store = (args.flags & kFftStagedStore) != 0;
    if (staged_load) block.Load();
    const uint32_t rounds = (args.flags & kFftConvolve) != 0 ? 2 : 1, passes = args.pass_count;
    for (uint32_t p = 0; p < rounds * passes; ++p) {
      if (p == passes) block.Convolve();
      const FftPass& pass = args.passes[p < passes ? p : p - passes];
      const bool from_global = p == 0 && !staged_load, to_global = p + 1 == rounds * passes && !staged_store;
      const bool lines_first = p == 0 ? args.load_lines_first : args.store_lines_first;
      switch (pass.radix) {
        case 2:
          block.template Pass<2>(pass, from_global, to_global, lines_first);
          break;
        case 3:
          block.template Pass<3>(pass, from_global, to_global, lines_first);
          break;
        case 4:
          block.template Pass<4>(pass, from_global, to_global, lines_first);
          break;
        case 5:
          block.template Pass<5>(pass, from_global, to_global, lines_first);
          break;
        case 7:
          block.template Pass<7>(pass, from_global, to_global, lines_first);
          break;
        case 8:
          block.template Pass<8>(pass, from_global, to_global, lines_first);
          break;
        case 11:
          if constexpr (kWide) block.template Pass<11>(pass, from_global, to_global, lines_first);
          break;
        case 13:
          if constexpr (kWide) block.template Pass<13>(pass, from_global, to_global, lines_first);
          break;
      }
    }
    if (staged_store) block.Store();
  }
};

// Converts complex lines of n points to the bins of real lines of 2n points, or back, if lines do not fit
// into a thread block.
struct FftHalfArgs {
  const void* in = nullptr;
  void* out = nullptr;
  const void* coarse = nullptr;  // Two-level table of the 2n-th roots of unity.
  const void* fine = nullptr;
  uint32_t fine_bits = 0;
  int64_t length = 0, lines = 0;  // `length` is n.
  bool to_bins = false;
};

template <class T>
struct FftHalfKernel {
  using Args = FftHalfArgs;
  static constexpr uint32_t kThreads = 256;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const int64_t n = args.length, count = args.to_bins ? n + 1 : n;
    const int64_t k = static_cast<int64_t>(env.block().x) * env.threads() + env.thread();
    if (k >= count) return;
    const Cx<T>* coarse = static_cast<const Cx<T>*>(args.coarse);
    const Cx<T>* fine = static_cast<const Cx<T>*>(args.fine);
    const Cx<T> root = coarse[k >> args.fine_bits] * fine[k & ((int64_t{1} << args.fine_bits) - 1)];
    for (int64_t line = env.block().y; line < args.lines; line += env.grid().y) {
      if (args.to_bins) {
        const Cx<T>* in = static_cast<const Cx<T>*>(args.in) + line * n;
        const Cx<T> a = Half(in[k == n ? 0 : k]), b = Half(Conj(in[k == 0 ? 0 : n - k]));
        const Cx<T> odd = root * (a - b), even = a + b;
        static_cast<Cx<T>*>(args.out)[line * count + k] = {even.re + odd.im, even.im - odd.re};
      } else {
        const Cx<T>* in = static_cast<const Cx<T>*>(args.in) + line * (n + 1);
        Cx<T> a = Half(in[k]), b = Half(Conj(in[n - k]));
        if (k == 0) a.im = b.im = 0;
        const Cx<T> odd = Conj(root) * (a - b), even = a + b;
        static_cast<Cx<T>*>(args.out)[line * n + k] = {even.re - odd.im, even.im + odd.re};
      }
    }
  }
};

using FftF32 = FftKernel<float, false>;
using FftF32Wide = FftKernel<float, true>;
using FftF64 = FftKernel<double, false>;
using FftF64Wide = FftKernel<double, true>;
using FftHalfF32 = FftHalfKernel<float>;
using FftHalfF64 = FftHalfKernel<double>;

}  // namespace hlo::cuda
