#include "kernels/cuda/combiner/custom_combiner_kernels.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "device/copy.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/combiner/custom_combiner_program.h"
#include "kernels/cuda/gather_scatter/scatter_plan.h"
#include "kernels/cuda/window/window_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

using Value = VmBuilder::Value;
using Values = std::vector<Value>;

constexpr int64_t kMaxThreads = int64_t{kVmThreads} * INT32_MAX;

// Makes a kernel that folds the elements under each result's window over the operands.
std::optional<CudaKernel> ReduceWindows(const Instruction& instruction, const WideGeometry& geometry,
                                        const loops::ScalarFunction& combiner,
                                        const DeviceProperties& device) {
  const int64_t count = instruction.operand_count() / 2;
  std::vector<CombinedArrays> arrays;
  for (int64_t k = 0; k < count; ++k)
    arrays.push_back(
        {OperandAccess(instruction, k), OperandAccess(instruction, count + k), ResultAccess(instruction, k)});
  const absl::StatusOr<SharedCode> code = CombinerCode(arrays, combiner, device);
  if (!code.ok()) return std::nullopt;
  CudaKernel kernel;
  kernel.name = fmt::format("{} of code, {} bytes", Name(instruction.opcode()), 4 * (*code)->made.words);
  kernel.may_loop = combiner.has_loops();
  kernel.run = [code = *code, geometry](absl::Span<const void* const> operands,
                                        absl::Span<void* const> arrays, void*, Stream stream) {
    CombinerArgs args = ArgsOf(*code, CombinerTask::kWindow, Arguments(operands, arrays));
    args.geometry = geometry;
    return LaunchCombiner(*code, geometry.count, args, stream);
  };
  return kernel;
}

}  // namespace

std::optional<CudaKernel> FindCustomReduceWindowKernel(const Instruction& reduce_window,
                                                       const loops::ScalarFunction& combiner,
                                                       const DeviceProperties& device) {
  const Shape& base = reduce_window.operand(0)->shape();
  const absl::Span<const int64_t> result_dims = ResultShapes(reduce_window)[0].dims();
  const std::optional<WideGeometry> geometry =
      MakeWindowsOf<WideGeometry>(result_dims, base.dims(), reduce_window.Get<attr::window>());
  if (!geometry.has_value()) return std::nullopt;
  return ReduceWindows(reduce_window, *geometry, combiner, device);
}

// Reduces as a reduce-window whose window covers all reduced dimensions.
std::optional<CudaKernel> FindCustomReduceKernel(const Instruction& reduce,
                                                 const loops::ScalarFunction& combiner,
                                                 const DeviceProperties& device) {
  const Shape& base = reduce.operand(0)->shape();
  const IntList reduced = reduce.Get<attr::dimensions>();
  // The reference reduces in the order of the layout.
  if (base.layout() != nullptr) return std::nullopt;
  // Adjacent dimensions that are all kept or all reduced are collapsed.
  std::vector<int64_t> result_dims, base_dims;
  std::vector<WindowDim> window;
  bool is_reduced = false;
  for (int64_t d = 0; d < base.rank(); ++d) {
    const bool was_reduced =
        std::exchange(is_reduced, std::find(reduced.begin(), reduced.end(), d) != reduced.end());
    if (d == 0 || is_reduced != was_reduced) {
      result_dims.push_back(1);
      base_dims.push_back(1);
      window.emplace_back();
    }
    base_dims.back() *= base.dim(d);
    if (is_reduced)
      window.back().size = base_dims.back();
    else
      result_dims.back() = base_dims.back();
  }
  const std::optional<WideGeometry> geometry = MakeGeometryOf<WideGeometry>(result_dims, base_dims, window);
  if (!geometry.has_value()) return std::nullopt;
  return ReduceWindows(reduce, *geometry, combiner, device);
}

std::optional<CudaKernel> FindCustomScatterKernel(const Instruction& scatter,
                                                  const loops::ScalarFunction& combiner,
                                                  const DeviceProperties& device) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  std::vector<CombinedArrays> arrays;
  std::vector<int64_t> bytes;
  for (int64_t k = 0; k < count; ++k) {
    arrays.push_back(
        {OperandAccess(scatter, count + 1 + k), ResultAccess(scatter, k), ResultAccess(scatter, k)});
    bytes.push_back(*DenseByteCount(scatter.operand(k)->shape()));
  }
  const std::optional<ScatterPositions> positions = PlanPositions(scatter);
  const absl::StatusOr<SharedCode> code = CombinerCode(arrays, combiner, device);
  if (!positions.has_value() || !positions->sortable || !code.ok()) return std::nullopt;
  CudaKernel kernel;
  kernel.name = fmt::format("scatter of code, {} bytes", 4 * (*code)->made.words);
  kernel.workspace_bytes = SortedPositionsBytes(positions->args);
  kernel.updated = static_cast<int32_t>(count);
  kernel.may_loop = combiner.has_loops();
  kernel.run = [code = *code, bytes, scatter = positions->args](
                   absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
                   Stream stream) -> absl::Status {
    for (size_t k = 0; k < bytes.size(); ++k)
      HLO_RETURN_IF_ERROR(device::CopyOnDevice(results[k], operands[k], bytes[k], stream));
    if (scatter.position_count == 0 || scatter.window_count == 0 || scatter.nowhere == 0)
      return absl::OkStatus();
    CombinerArgs args = ArgsOf(*code, CombinerTask::kScatter, Arguments(operands, results));
    args.scatter = scatter;
    args.scatter.starts.indices = operands[bytes.size()];
    HLO_RETURN_IF_ERROR(SortPositions(args.scatter, workspace, stream));
    return LaunchCombiner(*code, int64_t{scatter.position_count} * scatter.window_count, args, stream);
  };
  return kernel;
}

std::optional<CudaKernel> FindCustomScanKernel(const Instruction& scan, const loops::ScalarFunction& step,
                                               const DeviceProperties& device) {
  const absl::Span<const Shape> results = ResultShapes(scan);
  const auto carries = static_cast<int>(scan.Get<attr::num_carries>()),
             inputs = static_cast<int>(scan.operand_count()) - carries,
             outputs = static_cast<int>(results.size()) - carries;
  const Shape& shape = inputs > 0 ? scan.operand(0)->shape() : results[0];
  const auto build = [&]() -> absl::StatusOr<SharedCode> {
    VmBuilder builder(carries);
    std::vector<int32_t> ends;
    for (int k = 0; k < carries; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value carry, builder.Load(OperandAccess(scan, inputs + k)));
      builder.CopyTo(builder.Pinned(k), carry);
    }
    EndSection(builder, ends);
    Values arguments;
    for (int k = 0; k < inputs; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value input, builder.Load(OperandAccess(scan, k)));
      arguments.push_back(input);
    }
    for (int k = 0; k < carries; ++k) arguments.push_back(builder.Pinned(k));
    HLO_ASSIGN_OR_RETURN(Values values, LowerCode(step, arguments, builder));
    for (int k = 0; k < outputs; ++k) HLO_RETURN_IF_ERROR(builder.Store(values[k], ResultAccess(scan, k)));
    for (int k = 0; k < carries; ++k) values[outputs + k] = builder.Copy(values[outputs + k]);
    for (int k = 0; k < carries; ++k) builder.CopyTo(builder.Pinned(k), values[outputs + k]);
    EndSection(builder, ends);
    for (int k = 0; k < carries; ++k)
      HLO_RETURN_IF_ERROR(builder.Store(builder.Pinned(k), ResultAccess(scan, outputs + k)));
    builder.EndSection();
    return Finished(builder, std::move(ends), device);
  };
  const absl::StatusOr<SharedCode> code = build();
  if (!code.ok()) return std::nullopt;
  const int64_t dimension = scan.Get<attr::dimensions>()[0];
  const int64_t inner = hlo::Product(shape.dims().subspan(dimension + 1)),
                lines = hlo::Product(shape.dims().first(dimension)) * inner;
  if (lines > kMaxThreads) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "scan of code, a line a thread";
  kernel.may_loop = step.has_loops();
  kernel.run =
      [code = *code, lines, inner, length = shape.dim(dimension), reversed = scan.Get<attr::is_reverse>()](
          absl::Span<const void* const> operands, absl::Span<void* const> arrays, void*, Stream stream) {
        CombinerArgs args = ArgsOf(*code, CombinerTask::kScan, Arguments(operands, arrays));
        args.line_count = lines;
        args.inner = inner;
        args.length = length;
        args.reversed = reversed;
        return LaunchCombiner(*code, lines, args, stream);
      };
  return kernel;
}

// Runs a map as a scan of lines of one element without carries.
std::optional<CudaKernel> FindCustomMapKernel(const Instruction& map, const loops::ScalarFunction& code,
                                              const DeviceProperties& device) {
  const auto build = [&]() -> absl::StatusOr<SharedCode> {
    VmBuilder builder;
    std::vector<int32_t> ends;
    EndSection(builder, ends);
    Values arguments;
    for (int64_t k = 0; k < map.operand_count(); ++k) {
      HLO_ASSIGN_OR_RETURN(const Value operand, builder.Load(OperandAccess(map, k)));
      arguments.push_back(operand);
    }
    HLO_ASSIGN_OR_RETURN(const Values values, LowerCode(code, arguments, builder));
    HLO_RETURN_IF_ERROR(builder.Store(values[0], ResultAccess(map, 0)));
    EndSection(builder, ends);
    return Finished(builder, std::move(ends), device);
  };
  const absl::StatusOr<SharedCode> made = build();
  const int64_t count = hlo::Product(map.shape().dims());
  if (!made.ok() || count > kMaxThreads) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "map of code";
  kernel.may_loop = code.has_loops();
  kernel.run = [code = *made, count](absl::Span<const void* const> operands, absl::Span<void* const> arrays,
                                     void*, Stream stream) {
    CombinerArgs args = ArgsOf(*code, CombinerTask::kScan, Arguments(operands, arrays));
    args.line_count = args.inner = count;
    args.length = 1;
    return LaunchCombiner(*code, count, args, stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
