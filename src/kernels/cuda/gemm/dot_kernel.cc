// The kernel of dot (semantics 6.1).

#include "kernels/cuda/gemm/dot_kernel.h"

#include <utility>

#include "kernels/cuda/gemm/contraction.h"

namespace hlo::cuda {

std::optional<CudaKernel> FindDotKernel(const Instruction& dot, const Epilogue& epilogue,
                                        const DeviceProperties& device) {
  if (!SupportsContraction(dot)) return std::nullopt;
  const ElementType compute = AccumulatorTypeOf(dot);
  std::optional<Gemm> gemm = GemmOf(loops::DotProblem(dot));
  if (!gemm.has_value()) return std::nullopt;
  gemm->epilogue = epilogue;
  ChooseAccess(&*gemm);
  StepList list{.name = "dot " + std::string(Name(compute))};
  const ElementType a = dot.operand(0)->shape().type(), b = dot.operand(1)->shape().type();
  const PrecisionAlgorithm algorithm = dot.Get<attr::dot_algorithm>();
  const std::optional<TensorForm> short_sums = ShortSumsFormOf(a, b, dot.shape().type(), algorithm, device);
  const std::optional<TensorForm> form = TensorFormOf(a, b, dot.shape().type(), algorithm, device);
  if (!(short_sums.has_value() && AddTensorCoreGemm(*gemm, compute, *short_sums, &list)) &&
      !AddContraction(*gemm, compute, form, device, &list))
    return std::nullopt;
  return KernelOf(std::move(list));
}

}  // namespace hlo::cuda
