// The kernel of convolution (semantics 6.4).

#include "kernels/cuda/convolution/convolution_kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/align.h"
#include "kernels/cuda/convolution/convolution_plan.h"
#include "kernels/cuda/convolution/window_plan.h"
#include "kernels/cuda/gemm/contraction.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// True if the product is one of two matrices, which needs no patches.
bool IsMatrixProduct(const Gemm& gemm) {
  const Operand& patches = gemm.exchanged ? gemm.b : gemm.a;
  return patches.axis_count == 0 && patches.mn.rank <= 1 && patches.k.rank <= 1;
}

// Appends one product of a convolution on tensor cores. Returns false if they do not support it.
bool AddTensorCores(const Gemm& gemm, const std::optional<Im2colProblem>& im2col, ElementType compute,
                    const TensorForm& form, StepList* list) {
  return (im2col.has_value() && !IsMatrixProduct(gemm) &&
          AddIm2colGemm(gemm, *im2col, {&gemm, 1}, compute, form, list)) ||
         AddTensorCoreGemm(gemm, compute, form, list);
}

// Appends one product of a convolution of f32 whose patches are copied in im2col mode. Returns false if there
// is no such kernel.
bool AddF32Patches(const Gemm& gemm, const std::optional<Im2colProblem>& im2col, ElementType compute,
                   const DeviceProperties& device, StepList* list) {
  const GemmMethod method = MethodFor(gemm, compute, device);
  return (method == GemmMethod::kF32Large || method == GemmMethod::kF32Small) && im2col.has_value() &&
         !IsMatrixProduct(gemm) && AddIm2colF32Gemm(gemm, *im2col, {&gemm, 1}, device, list);
}

bool UsesTiles(const Gemm& gemm, ElementType compute, const DeviceProperties& device) {
  const GemmMethod method = MethodFor(gemm, compute, device);
  return method != GemmMethod::kElements && method != GemmMethod::kThin;
}

// Adds a tensor-core convolution that packs its operands first. Returns false if the operands cannot be
// packed or the product cannot use tensor cores.
bool AddPackedConvolution(const Instruction& convolution, ElementType compute, const TensorForm& form,
                          const Epilogue& epilogue, StepList* list) {
  const ElementType a = convolution.operand(0)->shape().type(), b = convolution.operand(1)->shape().type();
  const ElementType type = StoredType(form.packed, a);
  if (type != StoredType(form.packed, b)) return false;
  std::optional<PackedConvolution> packed =
      PackedGemmsOf(convolution, type, form.packed, 16 / form.element_bytes);
  if (!packed.has_value()) return false;
  const int64_t input_offset = device::Aligned(list->shared_bytes);
  const int64_t kernel_offset = input_offset + device::Aligned(packed->input_count * form.element_bytes);
  StepList inner{.shared_bytes = kernel_offset + device::Aligned(packed->kernel_count * form.element_bytes)};
  inner.workspace_bytes = inner.shared_bytes;
  for (size_t i = 0; i < packed->gemms.gemms.size(); ++i) {
    Gemm& gemm = packed->gemms.gemms[i];
    gemm.epilogue = epilogue;
    ChooseAccess(&gemm);
    if (!AddTensorCores(gemm, packed->gemms.im2col[i], compute, form, &inner)) return false;
  }
  const auto pack = [&](PackArgs args, bool is_input, int64_t offset) {
    list->steps.push_back([=](const StepArrays& arrays) {
      PackArgs now = args;
      now.data = is_input ? arrays.a : arrays.b;
      now.packed = arrays.workspace + offset;
      return LaunchPack(ShapeOf(now), now, arrays.stream);
    });
  };
  pack(packed->input, true, input_offset);
  pack(packed->kernel, false, kernel_offset);
  for (const KernelStep& step : inner.steps) {
    list->steps.push_back([=](const StepArrays& arrays) {
      StepArrays packed_arrays = arrays;
      packed_arrays.a = arrays.workspace + input_offset;
      packed_arrays.b = arrays.workspace + kernel_offset;
      return step(packed_arrays);
    });
  }
  list->workspace_bytes = std::max(list->workspace_bytes, inner.workspace_bytes);
  list->name += ", packed" + inner.name;
  return true;
}

// True if all products can use tensor cores without packing the operands.
bool AllSuitTensorCores(const ConvolutionGemms& gemms, ElementType compute, const TensorForm& form,
                        const DeviceProperties& device) {
  StepList unused;
  for (size_t i = 0; i < gemms.gemms.size(); ++i) {
    if (UsesTiles(gemms.gemms[i], compute, device) &&
        !AddTensorCores(gemms.gemms[i], gemms.im2col[i], compute, form, &unused))
      return false;
  }
  return true;
}

}  // namespace

std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution, const Epilogue& epilogue,
                                                const DeviceProperties& device) {
  if (!SupportsContraction(convolution)) return std::nullopt;
  const ElementType compute = AccumulatorTypeOf(convolution);
  std::optional<ConvolutionGemms> gemms = GemmsOf(convolution);
  if (!gemms.has_value()) return std::nullopt;
  StepList list{.name = "convolution " + std::string(Name(compute)) +
                        (gemms->features_last ? ", features last" : ", taps last")};
  bool searches = false;
  for (Gemm& gemm : gemms->gemms) {
    gemm.epilogue = epilogue;
    ChooseAccess(&gemm);
    searches |= MayMeetNonFinite(gemm, compute, MethodFor(gemm, compute, device));
  }
  const Shape& filter = convolution.operand(1)->shape();
  const std::optional<TensorForm> form =
      TensorFormOf(convolution.operand(0)->shape().type(), filter.type(), convolution.shape().type(),
                   PrecisionAlgorithm::kUnset, device);
  const ConvolutionTask task{convolution, gemms->gemms, compute, form, device, epilogue};
  if (AddPhaseColumns(task, &list)) return KernelOf(std::move(list));
  if (searches) AddNonFiniteSearch(hlo::Product(filter.dims()), filter.type(), &list);
  if (gemms->gemms.size() == 1 && UsesTiles(gemms->gemms.front(), compute, device) &&
      (AddRowWindows(task, &list) || AddRowWindowGradient(task, &list)))
    return KernelOf(std::move(list));
  if (form.has_value() && !AllSuitTensorCores(*gemms, compute, *form, device) &&
      AddPackedConvolution(convolution, compute, *form, epilogue, &list))
    return KernelOf(std::move(list));
  for (size_t i = 0; i < gemms->gemms.size(); ++i) {
    const Gemm& gemm = gemms->gemms[i];
    if (form.has_value() && UsesTiles(gemm, compute, device) &&
        AddTensorCores(gemm, gemms->im2col[i], compute, *form, &list))
      continue;
    if (AddF32Patches(gemm, gemms->im2col[i], compute, device, &list)) continue;
    if (!AddContraction(gemm, compute, form, device, &list)) return std::nullopt;
  }
  return KernelOf(std::move(list));
}

}  // namespace hlo::cuda
