#pragma once
// The products of step programs (step_program.h). The grouping of a sum depends on the shape alone: lane l of
// `lanes` takes the terms l, l + lanes, ... in order, and a butterfly adds the lanes.

#include <cmath>

#include "kernels/cuda/steps/step_program.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

struct StepProduct {
  // The threads of a block compute `count` results.
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const StepDot& dot, uint32_t count) {
    switch (dot.memory) {
      case VmMemory::kBF16:
        return Run<float, VmMemory::kBF16>(env, dot, count);
      case VmMemory::kF16:
        return Run<float, VmMemory::kF16>(env, dot, count);
      case VmMemory::k8:
        return Run<double, VmMemory::k8>(env, dot, count);
      default:
        return Run<float, VmMemory::k4>(env, dot, count);
    }
  }

 private:
  template <class T, VmMemory kMemory, class Env>
  static HLO_DEVICE void Run(Env& env, const StepDot& dot, uint32_t count) {
    const uint32_t lane = env.thread() % dot.lanes, total = count * dot.lanes;
    HLO_ROLLED
    for (uint32_t first = 0; first < total; first += env.threads()) {
      const uint32_t result = (first + env.thread()) / dot.lanes;
      // A single product keeps -0.
      T sum = dot.terms == 1 ? T{-0.0} : T{0};
      if (result < count) sum = Sum<T, kMemory>(dot, result, lane, sum);
      HLO_ROLLED
      for (uint32_t d = dot.lanes / 2; d > 0; d /= 2) sum += env.shfl_xor(sum, static_cast<int>(d));
      if (lane == 0 && result < count)
        VmWrite(dot.output_memory, ElementType::kF32, dot.output, result, VmValue<kWords<T>>::Of(sum));
    }
  }

  template <class T, VmMemory kMemory>
  static HLO_DEVICE T Sum(const StepDot& dot, uint32_t result, uint32_t lane, T sum) {
    int32_t a = static_cast<int32_t>(lane) * dot.a_term, b = static_cast<int32_t>(lane) * dot.b_term;
    HLO_ROLLED
    for (int d = dot.rank - 1; d >= 0; --d) {
      const StepDot::Dim& dim = dot.dims[d];
      const uint32_t rest = dim.size.Quotient(result);
      const auto i = static_cast<int32_t>(result - rest * dim.size.divisor);
      a += i * dim.a;
      b += i * dim.b;
      result = rest;
    }
    const auto lanes = static_cast<int32_t>(dot.lanes);
    for (uint32_t k = lane; k < dot.terms; k += dot.lanes) {
      sum = std::fma(Element<T, kMemory>(dot.a, a), Element<T, kMemory>(dot.b, b), sum);
      a += lanes * dot.a_term;
      b += lanes * dot.b_term;
    }
    return sum;
  }

  template <class T>
  static constexpr int kWords = sizeof(T) / 4;
  template <class T, VmMemory kMemory>
  static HLO_DEVICE T Element(const void* data, int32_t at) {
    return VmRead<VmValue<kWords<T>>>(kMemory, ElementType::kF32, data, at).template As<T>();
  }
};

}  // namespace hlo::cuda
