// The kernels of dot and convolution (semantics 6.1 and 6.4).

#include <algorithm>

#include "base/status.h"
#include "device/align.h"
#include "kernels/cpu/gemm/dot_general.h"
#include "kernels/cuda/convolution_plan.h"
#include "kernels/cuda/mma_plan.h"
#include "kernels/cuda/product_kernels.h"
#include "kernels/cuda/product_plan.h"
#include "kernels/cuda/registry.h"

namespace hlo::cuda {
namespace {

cpu::DenseArray Dense(const Shape& shape) {
  return {.data = nullptr, .type = shape.type(), .dims = shape.dims()};
}

bool Takes(const Instruction& instruction) {
  return instruction.operand_count() == 2 &&
         cpu::GemmSupports(instruction.operand(0)->shape().type(), instruction.operand(1)->shape().type(),
                           instruction.shape().type());
}

ElementType ComputeType(const Instruction& instruction) {
  return cpu::GemmComputeType(instruction.operand(0)->shape().type(), instruction.operand(1)->shape().type(),
                              instruction.shape().type());
}

// Adds the steps of a product; uses tensor cores if types and shape allow it. Returns false if no kernel
// fits.
bool AddContraction(const Product& product, ElementType compute, const std::optional<TensorForm>& form,
                    const DeviceProperties& device, StepList* list) {
  const ProductMethod method = MethodFor(product, compute, device);
  const bool has_tiles = method != ProductMethod::kElements && method != ProductMethod::kThin;
  if (form.has_value() && has_tiles && AddTensorProduct(product, compute, *form, list)) return true;
  return AddProduct(product, compute, method, list);
}

// Adds a tensor-core convolution that packs its operands first. Returns false if packing or tensor cores do
// not apply.
bool AddPackedConvolution(const Instruction& convolution, ElementType compute, const TensorForm& form,
                          const Epilogue& epilogue, StepList* list) {
  const ElementType a = convolution.operand(0)->shape().type(), b = convolution.operand(1)->shape().type();
  const ElementType type = StoredType(form.packed, a);
  if (type != StoredType(form.packed, b)) return false;
  std::optional<PackedConvolution> packed =
      PackedProductsOf(convolution, type, form.packed, 16 / form.element_bytes);
  if (!packed.has_value()) return false;
  const int64_t input_offset = device::Aligned(list->shared_bytes);
  const int64_t kernel_offset = input_offset + device::Aligned(packed->input_count * form.element_bytes);
  StepList inner{.shared_bytes = kernel_offset + device::Aligned(packed->kernel_count * form.element_bytes)};
  inner.workspace_bytes = inner.shared_bytes;
  for (Product& product : packed->products.products) {
    product.epilogue = epilogue;
    ChooseAccess(&product);
    if (!AddTensorProduct(product, compute, form, &inner)) return false;
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
bool TakeTensorCores(const std::vector<Product>& products, ElementType compute, const TensorForm& form,
                     const DeviceProperties& device) {
  StepList unused;
  return std::all_of(products.begin(), products.end(), [&](const Product& product) {
    const ProductMethod method = MethodFor(product, compute, device);
    return method == ProductMethod::kElements || method == ProductMethod::kThin ||
           AddTensorProduct(product, compute, form, &unused);
  });
}

CudaKernel KernelOf(StepList list) {
  CudaKernel kernel{.name = list.name, .workspace_bytes = list.workspace_bytes};
  kernel.run = [steps = std::move(list.steps)](absl::Span<const void* const> operands,
                                               absl::Span<void* const> results, void* workspace,
                                               Stream stream) {
    const StepArrays arrays{operands[0], operands[1],        results[0], static_cast<std::byte*>(workspace),
                            stream,      operands.subspan(2)};
    for (const KernelStep& step : steps) HLO_RETURN_IF_ERROR(step(arrays));
    return absl::OkStatus();
  };
  return kernel;
}

std::optional<CudaKernel> DotKernel(const Instruction& dot, const Epilogue& epilogue,
                                    const DeviceProperties& device) {
  const ElementType compute = ComputeType(dot);
  std::optional<Product> product = ProductOf(cpu::DotProblem(
      Dense(dot.operand(0)->shape()),
      {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
      Dense(dot.operand(1)->shape()),
      {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()}, nullptr, dot.shape().type()));
  if (!product.has_value()) return std::nullopt;
  product->epilogue = epilogue;
  ChooseAccess(&*product);
  StepList list{.name = "dot " + std::string(Name(compute))};
  const ElementType a = dot.operand(0)->shape().type(), b = dot.operand(1)->shape().type();
  const PrecisionAlgorithm algorithm = dot.Get<attr::dot_algorithm>();
  const std::optional<TensorForm> short_sums = ShortSumsFormOf(a, b, dot.shape().type(), algorithm, device);
  const std::optional<TensorForm> form = TensorFormOf(a, b, dot.shape().type(), algorithm, device);
  if (!(short_sums.has_value() && AddTensorProduct(*product, compute, *short_sums, &list)) &&
      !AddContraction(*product, compute, form, device, &list))
    return std::nullopt;
  return KernelOf(std::move(list));
}

std::optional<CudaKernel> ConvolutionKernel(const Instruction& convolution, const Epilogue& epilogue,
                                            const DeviceProperties& device) {
  const ElementType compute = ComputeType(convolution);
  std::optional<ConvolutionProducts> products = ProductsOf(convolution);
  if (!products.has_value()) return std::nullopt;
  StepList list{.name = "convolution " + std::string(Name(compute)) +
                        (products->features_last ? ", features last" : ", taps last")};
  bool searches = false;
  for (Product& product : products->products) {
    product.epilogue = epilogue;
    ChooseAccess(&product);
    searches |= MayMeetNonFinite(product, compute, MethodFor(product, compute, device));
  }
  const Shape& filter = convolution.operand(1)->shape();
  if (searches) AddNonFiniteSearch(hlo::Product(filter.dims()), filter.type(), &list);
  const std::optional<TensorForm> form =
      TensorFormOf(convolution.operand(0)->shape().type(), filter.type(), convolution.shape().type(),
                   PrecisionAlgorithm::kUnset, device);
  if (form.has_value() && !TakeTensorCores(products->products, compute, *form, device) &&
      AddPackedConvolution(convolution, compute, *form, epilogue, &list))
    return KernelOf(std::move(list));
  for (const Product& product : products->products) {
    if (!AddContraction(product, compute, form, device, &list)) return std::nullopt;
  }
  return KernelOf(std::move(list));
}

}  // namespace

std::optional<CudaKernel> FindDotKernel(const Instruction& dot, const DeviceProperties& device) {
  return Takes(dot) ? DotKernel(dot, {}, device) : std::nullopt;
}

std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution,
                                                const DeviceProperties& device) {
  if (!Takes(convolution)) return std::nullopt;
  if (std::optional<CudaKernel> depthwise = FindDepthwiseKernel(convolution); depthwise.has_value())
    return depthwise;
  return ConvolutionKernel(convolution, {}, device);
}

std::optional<CudaKernel> FindProductKernel(const Instruction& product, const Epilogue& epilogue,
                                            const DeviceProperties& device) {
  if (!Takes(product) || ComputeType(product) != ElementType::kF32) return std::nullopt;
  if (product.opcode() == Opcode::kDot) return DotKernel(product, epilogue, device);
  if (product.opcode() != Opcode::kConvolution || FindDepthwiseKernel(product).has_value())
    return std::nullopt;
  return ConvolutionKernel(product, epilogue, device);
}

}  // namespace hlo::cuda
