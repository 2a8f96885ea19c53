// scaled-dot (semantics 6.3): both operands times their scales, in f32, and then their product.

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "device/align.h"
#include "kernels/cpu/dot_general.h"
#include "kernels/cuda/lower_tile.h"
#include "kernels/cuda/product_plan.h"
#include "kernels/cuda/registry.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

using cpu::TileValue;

// Arguments of the loop: an operand, its scale, and their product.
enum Argument : int32_t { kOperand, kScale, kScaled };

// As f32, by way of the declared type.
TileValue LoadAs(cpu::TileProgram& program, cpu::Access access, ElementType declared) {
  const ElementType type = access.type;
  TileValue value = program.Load(std::move(access));
  if (type == declared) return value;
  if (cpu::LaneOf(type) != cpu::Lane::kF32)
    value = program.Apply(cpu::FindTileConvert(type, ElementType::kF32), cpu::Lane::kF32, {value});
  const cpu::TileCall round = cpu::RoundTile(declared);
  return round.function == nullptr ? value : program.Apply(round, cpu::Lane::kF32, {value});
}

// The loop runs over the blocks of each dimension and what lies in them.
absl::StatusOr<LoweredProgram> ScaleLoop(const Shape& operand, const Shape& scale, ElementType declared,
                                         const DeviceProperties& device) {
  const bool has_scale = scale.rank() == operand.rank();
  const Index strides = RowMajorStrides(operand.dims()), scale_strides = RowMajorStrides(scale.dims());
  cpu::Access from{.argument = kOperand, .type = operand.type()},
      by{.argument = kScale, .type = scale.type()}, to{.argument = kScaled, .type = ElementType::kF32};
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t blocks = has_scale ? std::max<int64_t>(1, scale.dim(d)) : 1, size = operand.dim(d) / blocks;
    if (size * blocks != operand.dim(d))
      return absl::UnimplementedError("blocks that do not fill the operand");
    dims.insert(dims.end(), {blocks, size});
    for (cpu::Access* access : {&from, &to}) {
      access->inner.push_back(size * strides[d]);
      access->inner.push_back(strides[d]);
    }
    by.inner.push_back(has_scale ? scale_strides[d] : 0);
    by.inner.push_back(0);
  }
  cpu::TileProgram program({}, dims);
  TileValue value = LoadAs(program, std::move(from), declared);
  if (has_scale) {
    const TileValue factor = LoadAs(program, std::move(by), declared);
    value = program.Apply(cpu::FindTileOp(Opcode::kMultiply, ElementType::kF32), cpu::Lane::kF32,
                          {value, factor});
  }
  program.Store(value, std::move(to));
  program.Finish();
  return LowerTile(program, device);
}

}  // namespace

std::optional<CudaKernel> FindScaledDotKernel(const Instruction& dot, const DeviceProperties& device) {
  const ElementType declared = dot.shape().type();
  if (!IsFloat(declared) || cpu::LaneOf(declared) != cpu::Lane::kF32) return std::nullopt;
  for (const Instruction* operand : dot.operands()) {
    if (!IsFloat(operand->shape().type())) return std::nullopt;
  }
  const Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  const auto scaled = [](const Shape& shape) {
    return cpu::DenseArray{.data = nullptr, .type = ElementType::kF32, .dims = shape.dims()};
  };
  std::optional<Product> product = ProductOf(cpu::DotProblem(
      scaled(lhs), {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()}, scaled(rhs),
      {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()}, nullptr, declared));
  absl::StatusOr<LoweredProgram> first = ScaleLoop(lhs, dot.operand(2)->shape(), declared, device),
                                 second = ScaleLoop(rhs, dot.operand(3)->shape(), declared, device);
  if (!product.has_value() || !first.ok() || !second.ok()) return std::nullopt;
  ChooseAccess(&*product);
  StepList list{.name = "scaled-dot f32"};
  if (!AddProduct(*product, ElementType::kF32, MethodFor(*product, ElementType::kF32, device), &list))
    return std::nullopt;
  const int64_t lhs_bytes = device::Aligned(4 * hlo::Product(lhs.dims())),
                rhs_bytes = device::Aligned(4 * hlo::Product(rhs.dims()));
  return CudaKernel{
      list.name, lhs_bytes + rhs_bytes + list.workspace_bytes,
      [steps = std::move(list.steps), first = *std::move(first), second = *std::move(second), lhs_bytes,
       rhs_bytes](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
                  Stream stream) -> absl::Status {
        auto* memory = static_cast<std::byte*>(workspace);
        const auto scale = [&](const LoweredProgram& program, int k, void* to) {
          void* pointers[] = {const_cast<void*>(operands[k]), const_cast<void*>(operands[k + 2]), to};
          return program.run(pointers, nullptr, stream);
        };
        HLO_RETURN_IF_ERROR(scale(first, 0, memory));
        HLO_RETURN_IF_ERROR(scale(second, 1, memory + lhs_bytes));
        const StepArrays arrays{memory, memory + lhs_bytes, results[0], memory + lhs_bytes + rhs_bytes,
                                stream};
        for (const KernelStep& step : steps) HLO_RETURN_IF_ERROR(step(arrays));
        return absl::OkStatus();
      }};
}

}  // namespace hlo::cuda
