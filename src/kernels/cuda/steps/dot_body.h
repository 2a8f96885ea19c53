#pragma once
// The products of step programs (step_program.h). The grouping of a sum depends on the shape alone: lane l of
// `lanes` takes the terms l, l + lanes, ... in order, and a butterfly adds the lanes.

#include <cmath>
#include <type_traits>

#include "kernels/cuda/steps/step_program.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

struct StepProduct {
  // The threads of a block compute `count` results.
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const StepDot& dot, uint32_t count) {
    switch (dot.sum) {
      case StepDot::Sum::kF64:
        return Run<double, VmMemory::k8>(env, dot, count);
      case StepDot::Sum::kU64:
        return Run<uint64_t, VmMemory::k8>(env, dot, count);
      case StepDot::Sum::kU32:
        return Run<uint32_t, kAny>(env, dot, count);
      case StepDot::Sum::kF32:
        break;
    }
    if (dot.a_memory != dot.b_memory) return Run<float, kAny>(env, dot, count);
    switch (dot.a_memory) {
      case VmMemory::kBF16:
        return Run<float, VmMemory::kBF16>(env, dot, count);
      case VmMemory::kF16:
        return Run<float, VmMemory::kF16>(env, dot, count);
      default:
        return Run<float, VmMemory::k4>(env, dot, count);
    }
  }

 private:
  // Stands for memories that are known at run time only.
  static constexpr VmMemory kAny = VmMemory::kSmallFloat;

  template <class T, VmMemory kMemory, class Env>
  static HLO_DEVICE void Run(Env& env, const StepDot& dot, uint32_t count) {
    const uint32_t lane = env.thread() % dot.lanes, total = count * dot.lanes;
    HLO_ROLLED
    for (uint32_t first = 0; first < total; first += env.threads()) {
      const uint32_t result = (first + env.thread()) / dot.lanes;
      // A single product keeps -0.
      T sum = dot.terms == 1 ? static_cast<T>(-0.0) : T{0};
      if (result < count) sum = Sum<T, kMemory>(dot, result, lane, sum);
      HLO_ROLLED
      for (uint32_t d = dot.lanes / 2; d > 0; d /= 2) sum += env.shfl_xor(sum, static_cast<int>(d));
      if (lane == 0 && result < count)
        VmWrite(dot.output_memory, ElementType::kF32, dot.output, result, VmValue<kWords<T>>::Of(sum));
    }
  }

  template <class T, VmMemory kMemory>
  static HLO_DEVICE T Sum(const StepDot& dot, uint32_t result, uint32_t lane, T sum) {
    int32_t a = 0, b = 0;
    HLO_ROLLED
    for (int d = static_cast<int>(dot.rank) - 1; d >= 0; --d) {
      const StepDot::Dim& dim = dot.dims[d];
      const uint32_t rest = dim.size.Quotient(result);
      const auto i = static_cast<int32_t>(result - rest * dim.size.divisor);
      a += i * dim.a;
      b += i * dim.b;
      result = rest;
    }
    for (uint32_t k = lane; k < dot.terms; k += dot.lanes) {
      const uint32_t row = dot.has_rows ? dot.row_length.Quotient(k) : 0;
      const auto term = static_cast<int32_t>(k - row * dot.row_length.divisor),
                 rows = static_cast<int32_t>(row);
      const T x = Element<T, kMemory>(dot.a_memory, dot.a, a + rows * dot.a_row + term * dot.a_term);
      const T y = Element<T, kMemory>(dot.b_memory, dot.b, b + rows * dot.b_row + term * dot.b_term);
      sum = Added(sum, x, y);
    }
    return sum;
  }
  template <class T>
  static HLO_DEVICE T Added(T sum, T x, T y) {
    if constexpr (std::is_integral_v<T>)
      return sum + x * y;
    else
      return std::fma(x, y, sum);
  }

  template <class T>
  static constexpr int kWords = sizeof(T) / 4;
  template <class T, VmMemory kMemory>
  static HLO_DEVICE T Element(VmMemory memory, const void* data, int32_t at) {
    return VmRead<VmValue<kWords<T>>>(kMemory == kAny ? memory : kMemory, ElementType::kF32, data, at)
        .template As<T>();
  }
};

}  // namespace hlo::cuda
