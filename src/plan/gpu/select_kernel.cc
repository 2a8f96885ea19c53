#include "plan/gpu/select_kernel.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ir/element_types.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/combiner/custom_combiner_kernels.h"
#include "kernels/cuda/lapack/factorisation_kernels.h"
#include "kernels/cuda/lapack/spectral_kernels.h"
#include "kernels/cuda/lapack/triangular_kernels.h"
#include "kernels/cuda/lapack/unblocked_kernels.h"
#include "kernels/cuda/registry.h"
#include "plan/codegen/scalar_code.h"
#include "plan/codegen/scan_code.h"
#include "reference/custom/matrix_calls.h"

namespace hlo::plan {
namespace {

using cuda::CudaKernel;
using device::DeviceProperties;

std::vector<ElementType> OperandTypes(const Instruction& instruction, int64_t count) {
  std::vector<ElementType> types;
  for (int64_t k = 0; k < count; ++k) types.push_back(instruction.operand(k)->shape().type());
  return types;
}

// The combiners require operands and results of exactly these types, because they do not convert.
bool HasResultTypes(const Instruction& instruction, absl::Span<const ElementType> types) {
  return std::equal(types.begin(), types.end(), ResultShapes(instruction).begin(),
                    [](ElementType type, const Shape& result) { return result.type() == type; });
}
bool HasOperandTypes(const Instruction& instruction, int64_t first, absl::Span<const ElementType> types) {
  for (size_t k = 0; k < types.size(); ++k) {
    if (instruction.operand(first + static_cast<int64_t>(k))->shape().type() != types[k]) return false;
  }
  return true;
}

// Finds the kernel of a reduce or reduce-window.
std::optional<CudaKernel> FindCustomReduction(const Instruction& instruction,
                                              const DeviceProperties& device) {
  const int64_t count = instruction.operand_count() / 2;
  const std::vector<ElementType> types = OperandTypes(instruction, count);
  if (!HasResultTypes(instruction, types) || !HasOperandTypes(instruction, count, types)) return std::nullopt;
  const auto code = FindCombinerCode(*instruction.Get<attr::to_apply>(), types, CodeTarget::kThreads);
  if (!code.has_value()) return std::nullopt;
  return instruction.opcode() == Opcode::kReduce
             ? cuda::FindCustomReduceKernel(instruction, *code, device)
             : cuda::FindCustomReduceWindowKernel(instruction, *code, device);
}

std::optional<CudaKernel> FindCustomMap(const Instruction& instruction, const DeviceProperties& device) {
  const Computation& to_apply = *instruction.Get<attr::to_apply>();
  if (!to_apply.root()->shape().IsArray(instruction.shape().type())) return std::nullopt;
  for (int64_t k = 0; k < instruction.operand_count(); ++k) {
    const Shape& operand = instruction.operand(k)->shape();
    if (!SameDimensions(operand, instruction.shape()) ||
        !to_apply.parameter(k)->shape().IsArray(operand.type()))
      return std::nullopt;
  }
  const auto code = FindLaneCode(to_apply, {}, CodeTarget::kThreads);
  return code.has_value() ? cuda::FindCustomMapKernel(instruction, *code, device) : std::nullopt;
}

std::optional<CudaKernel> FindCustomScatter(const Instruction& instruction, const DeviceProperties& device) {
  const int64_t count = (instruction.operand_count() - 1) / 2;
  const std::vector<ElementType> types = OperandTypes(instruction, count);
  const Shape &operand = instruction.operand(0)->shape(), &updates = instruction.operand(count + 1)->shape();
  for (int64_t k = 0; k < count; ++k) {
    if (!SameDimensions(instruction.operand(k)->shape(), operand) ||
        !SameDimensions(instruction.operand(count + 1 + k)->shape(), updates))
      return std::nullopt;
  }
  if (!HasResultTypes(instruction, types) || !HasOperandTypes(instruction, count + 1, types))
    return std::nullopt;
  const auto code = FindCombinerCode(*instruction.Get<attr::to_apply>(), types, CodeTarget::kThreads);
  return code.has_value() ? cuda::FindCustomScatterKernel(instruction, *code, device) : std::nullopt;
}

std::optional<CudaKernel> FindCustomSelectAndScatter(const Instruction& instruction,
                                                     const DeviceProperties& device) {
  const ElementType type = instruction.shape().type();
  if (!HasOperandTypes(instruction, 0, {type, type, type})) return std::nullopt;
  const auto select = FindComparatorCode(*instruction.Get<attr::select>(), {&type, 1}, CodeTarget::kThreads);
  const auto scatter = FindCombinerCode(*instruction.Get<attr::scatter>(), {&type, 1}, CodeTarget::kThreads);
  if (!select.has_value() || !scatter.has_value()) return std::nullopt;
  return cuda::FindCustomSelectAndScatterKernel(instruction, *select, *scatter, device);
}

std::optional<CudaKernel> FindCustomSort(const Instruction& instruction, const DeviceProperties& device) {
  const std::vector<ElementType> types = OperandTypes(instruction, instruction.operand_count());
  const auto code = FindComparatorCode(*instruction.Get<attr::to_apply>(), types, CodeTarget::kThreads);
  return code.has_value() ? cuda::FindCustomSortKernel(instruction, *code, device) : std::nullopt;
}

std::optional<CudaKernel> FindCustomScan(const Instruction& instruction, const DeviceProperties& device) {
  const auto code = FindScanCode(instruction, CodeTarget::kThreads);
  return code.has_value() ? cuda::FindCustomScanKernel(instruction, *code, device) : std::nullopt;
}

std::optional<CudaKernel> FindCustomTopk(const Instruction& topk, const DeviceProperties& device) {
  return cuda::FindCustomTopkKernel(topk, device);
}

// Finds the kernel of a custom call in LAPACK's terms.
std::optional<CudaKernel> FindCustomCall(const Instruction& call, const DeviceProperties& device) {
  using Function = cuda::FactorisationCall::Function;
  using Read = reference::custom::MatrixCall;
  const std::optional<Read> read = reference::custom::MatrixCallOf(call);
  if (!read.has_value()) return std::nullopt;
  const auto factor = [&](Function function) {
    return cuda::FindFactorisationKernel(call,
                                         {.function = function,
                                          .array = read->array,
                                          .lower = read->lower,
                                          .info = read->info,
                                          .left = read->left,
                                          .adjoint = read->adjoint},
                                         device);
  };
  switch (read->function) {
    case Read::Function::kPotrf:
      return factor(Function::kPotrf);
    case Read::Function::kGetrf:
      return factor(Function::kGetrf);
    case Read::Function::kLuDecomposition:
      return factor(Function::kLuDecomposition);
    case Read::Function::kPivotsToPermutation:
      return cuda::FindPermutationKernel(call);
    case Read::Function::kGeqrf:
      return factor(Function::kGeqrf);
    case Read::Function::kOrgqr:
      return factor(Function::kOrgqr);
    case Read::Function::kOrmqr:
      return factor(Function::kOrmqr);
    case Read::Function::kTrsm:
      if (read->scale.has_value() || ResultShapes(call).size() != 1) return std::nullopt;
      return cuda::MakeSolveKernel(call.operand(read->array)->shape(), call.operand(read->array + 1)->shape(),
                                   call.shape(), read->triangle, read->array, device);
    case Read::Function::kSyevd:
      return cuda::FindEigenKernel(call, read->array, read->lower, device);
    case Read::Function::kGesdd:
      return cuda::FindSingularValueKernel(call, {read->array, read->vectors, read->adjoint}, device);
    case Read::Function::kGeqp3:
      return cuda::FindPivotedQrKernel(call, device);
    case Read::Function::kGtsv:
      return cuda::FindGtsvKernel(call, device);
    case Read::Function::kTridiagonalSolve:
      return cuda::FindTridiagonalSolveKernel(call, device);
    case Read::Function::kGehrd:
      return cuda::FindHessenbergKernel(call, read->array, read->low, read->high, device);
    case Read::Function::kSytrd:
      return cuda::FindTridiagonalKernel(call, read->array, read->lower, device);
  }
  return std::nullopt;
}

std::optional<CudaKernel> FindCustomNone(const Instruction& /*instruction*/,
                                         const DeviceProperties& /*device*/) {
  return std::nullopt;
}

using KernelFinder = std::optional<CudaKernel> (*)(const Instruction& instruction,
                                                   const DeviceProperties& device);

// Indexed by opcode.
constexpr std::array<KernelFinder, kOpcodeCount> kCustomCombiners = [] {
  std::array<KernelFinder, kOpcodeCount> kernels = {};
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  kernels[static_cast<size_t>(Opcode::k##opcode)] = &FindCustom##combiner;
#include "kernels/kernels.def"
  return kernels;
}();

}  // namespace

std::optional<CudaKernel> FindGpuKernel(const Instruction& instruction, const DeviceProperties& device) {
  if (MixesTypes(instruction)) return std::nullopt;
  if (std::optional<CudaKernel> kernel = cuda::FindCudaKernel(instruction, device); kernel.has_value())
    return kernel;
  const KernelFinder find = kCustomCombiners[static_cast<size_t>(instruction.opcode())];
  return find == nullptr ? std::nullopt : find(instruction, device);
}

}  // namespace hlo::plan
