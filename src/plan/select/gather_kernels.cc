// Selects kernels for gather and scatter.

#include <cstring>

#include "ir/window_indexing.h"
#include "kernels/cpu/gather_scatter/few_windows.h"
#include "kernels/cpu/gather_scatter/gather.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "plan/codegen/operations.h"
#include "plan/codegen/scalar_code.h"
#include "plan/select/conditions.h"
#include "plan/select/library_kernels.h"

namespace hlo::plan {
namespace {

cpu::GatherDims DimsOfGather(const Instruction& gather) {
  return {{gather.Get<attr::index_vector_dim>(), gather.Get<attr::start_index_map>(),
           gather.Get<attr::operand_batching_dims>(), gather.Get<attr::start_indices_batching_dims>()},
          gather.Get<attr::offset_dims>(),
          gather.Get<attr::collapsed_slice_dims>(),
          gather.Get<attr::slice_sizes>()};
}

absl::Status RunGather(const Instruction& gather, absl::Span<const void* const> operands,
                       absl::Span<void* const> results) {
  cpu::Gather(Dense(gather.operand(0)->shape(), operands[0]), Dense(gather.operand(1)->shape(), operands[1]),
              DimsOfGather(gather), results[0], gather.shape().dims());
  return absl::OkStatus();
}

// True if the indices are valid; the reference reports errors for others.
bool HasValidIndices(const Instruction& instruction, const Shape& operand, const Shape& indices,
                     IntList window_dims, IntList left_out, IntList operand_batching) {
  return IsIntegral(indices.type()) && HasUnambiguousIndices(instruction) &&
         OtherDims(operand.rank(), left_out, operand_batching).size() == window_dims.size();
}

cpu::ScatterDims DimsOfScatter(const Instruction& scatter) {
  return {{scatter.Get<attr::index_vector_dim>(), scatter.Get<attr::scatter_dims_to_operand_dims>(),
           scatter.Get<attr::input_batching_dims>(), scatter.Get<attr::scatter_indices_batching_dims>()},
          scatter.Get<attr::update_window_dims>(),
          scatter.Get<attr::inserted_window_dims>()};
}

void RunScatter(const Instruction& scatter, const cpu::TileCode* combiner,
                const cpu::ScatterLoops& elementwise, absl::Span<const void* const> operands,
                absl::Span<void* const> results) {
  const size_t count = results.size();
  cpu::CachedVector<cpu::ScatterArray> arrays;
  for (size_t k = 0; k < count; ++k) {
    const Shape& shape = scatter.operand(static_cast<int64_t>(k))->shape();
    if (results[k] != operands[k]) std::memcpy(results[k], operands[k], *DenseByteCount(shape));
    arrays.push_back({shape.type(), results[k], operands[count + 1 + k]});
  }
  const auto indices = static_cast<int64_t>(count);
  cpu::Scatter(arrays, scatter.operand(0)->shape().dims(),
               Dense(scatter.operand(indices)->shape(), operands[count]),
               scatter.operand(indices + 1)->shape().dims(), DimsOfScatter(scatter), combiner, elementwise);
}

// True if all arrays of a scatter have the same dimensions, the updates the types of the operands, and the
// indices are valid.
bool IsPlainScatter(const Instruction& scatter) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  const Shape& operand = scatter.operand(0)->shape();
  const Shape& updates = scatter.operand(count + 1)->shape();
  if (!HasValidIndices(scatter, operand, scatter.operand(count)->shape(),
                       scatter.Get<attr::update_window_dims>(), scatter.Get<attr::inserted_window_dims>(),
                       scatter.Get<attr::input_batching_dims>()))
    return false;
  for (int64_t k = 0; k < count; ++k) {
    const Shape &array = scatter.operand(k)->shape(), &update = scatter.operand(count + 1 + k)->shape();
    if (!SameDimensions(array, operand) || !SameDimensions(update, updates) || array.type() != update.type())
      return false;
  }
  return true;
}

bool IsPlainGather(const Instruction& gather) {
  return HasValidIndices(gather, gather.operand(0)->shape(), gather.operand(1)->shape(),
                         gather.Get<attr::offset_dims>(), gather.Get<attr::collapsed_slice_dims>(),
                         gather.Get<attr::operand_batching_dims>()) &&
         KeepsType(gather);
}

// Returns a kernel for a scatter of a few windows of one array.
LibraryKernel FindFewWindowsKernel(const Instruction& scatter, const cpu::ScatterLoops& loops) {
  const Shape& operand = scatter.operand(0)->shape();
  std::optional<cpu::FewWindows> few = FindScatterWindows(scatter);
  if (!few.has_value() || loops.by_offset == nullptr || loops.by_row == nullptr) return {};
  return {"scatter",
          [few = *std::move(few), loops, byte_count = *DenseByteCount(operand)](
              const Instruction& /*scatter*/, auto operands, auto results) {
            if (results[0] != operands[0]) std::memcpy(results[0], operands[0], byte_count);
            few.Scatter(loops, results[0], operands[1], operands[2]);
            return absl::OkStatus();
          },
          1};
}

}  // namespace

std::optional<cpu::FewWindows> FindGatherWindows(const Instruction& gather) {
  if (!IsPlainGather(gather)) return std::nullopt;
  const cpu::GatherDims dims = DimsOfGather(gather);
  return cpu::FewWindows::Make(gather.operand(0)->shape().dims(), Dense(gather.operand(1)->shape(), nullptr),
                               dims.starts, dims.collapsed_slice_dims, dims.offset_dims,
                               gather.shape().dims());
}

std::optional<LineGather> FindLineGather(const Instruction& gather) {
  constexpr int64_t kMaxCount = 2048;
  const Shape& operand = gather.operand(0)->shape();
  const int64_t count = Product(gather.shape().dims());
  if (!IsPlainGather(gather) || operand.rank() != 1 || operand.dim(0) == 0 ||
      gather.Get<attr::slice_sizes>()[0] != 1 || gather.Get<attr::start_index_map>().size() != 1 ||
      !gather.Get<attr::operand_batching_dims>().empty() || count > kMaxCount)
    return std::nullopt;
  return LineGather{ByteCount(operand.type()), gather.operand(1)->shape().type(), count, operand.dim(0) - 1};
}

std::optional<cpu::FewWindows> FindScatterWindows(const Instruction& scatter) {
  if (scatter.operand_count() != 3 || !IsPlainScatter(scatter)) return std::nullopt;
  const cpu::ScatterDims dims = DimsOfScatter(scatter);
  return cpu::FewWindows::Make(
      scatter.operand(0)->shape().dims(), Dense(scatter.operand(1)->shape(), nullptr), dims.starts,
      dims.inserted_window_dims, dims.update_window_dims, scatter.operand(2)->shape().dims());
}

LibraryKernel FindGatherKernel(const Instruction& gather) {
  if (!IsPlainGather(gather)) return {};
  if (const std::optional<LineGather> line = FindLineGather(gather)) {
    return {"gather", [line = *line](const Instruction& /*gather*/, auto operands, auto results) {
              cpu::GatherElementsOfLine(line.width, operands[0], line.index_type, operands[1], line.count,
                                        line.most, results[0]);
              return absl::OkStatus();
            }};
  }
  std::optional<cpu::FewWindows> few = FindGatherWindows(gather);
  if (!few.has_value()) return {"gather", &RunGather};
  return {"gather", [few = *std::move(few), width = ByteCount(gather.operand(0)->shape().type())](
                        const Instruction& /*gather*/, auto operands, auto results) {
            few.Gather(width, operands[0], operands[1], results[0]);
            return absl::OkStatus();
          }};
}

LibraryKernel FindScatterKernel(const Instruction& scatter) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  if (!IsPlainScatter(scatter)) return {};
  std::vector<ElementType> types;
  for (int64_t k = 0; k < count; ++k) types.push_back(scatter.operand(k)->shape().type());
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const auto updated = static_cast<int32_t>(count);
  if (count == 1 && to_apply.root() == to_apply.parameter(1)) {
    const cpu::ScatterLoops replacing = cpu::FindScatterLoops(std::nullopt, types[0]);
    if (LibraryKernel few = FindFewWindowsKernel(scatter, replacing); few.run != nullptr) return few;
    return {"scatter",
            [loops = replacing](const Instruction& instruction, auto operands, auto results) {
              RunScatter(instruction, nullptr, loops, operands, results);
              return absl::OkStatus();
            },
            updated};
  }
  const std::optional<loops::ScalarFunction> code = FindCombinerCode(to_apply, types);
  if (!code.has_value()) return {};
  const std::optional<Opcode> opcode = count == 1 ? ElementwiseCombiner(to_apply) : std::nullopt;
  const cpu::ScatterLoops elementwise =
      opcode.has_value() ? cpu::FindScatterLoops(*opcode, types[0]) : cpu::ScatterLoops{};
  if (elementwise.by_offset != nullptr) {
    if (LibraryKernel few = FindFewWindowsKernel(scatter, elementwise); few.run != nullptr) return few;
  }
  return {"scatter",
          [code = cpu::TileCode(*code), elementwise](const Instruction& instruction, auto operands,
                                                     auto results) {
            RunScatter(instruction, &code, elementwise, operands, results);
            return absl::OkStatus();
          },
          updated};
}

}  // namespace hlo::plan
