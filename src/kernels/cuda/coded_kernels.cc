#include "kernels/cuda/coded_kernels.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/lower_tile.h"
#include "kernels/cuda/scatter_plan.h"
#include "kernels/cuda/sort_plan.h"
#include "kernels/cuda/vm_kernels.h"
#include "kernels/cuda/window_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

using Value = VmBuilder::Value;
using Values = std::vector<Value>;

// Arguments of programs here: the operands, and then the results. An array is read and written by the number
// of an element.
cpu::Access Operand(const Instruction& instruction, int64_t k) {
  return {.argument = static_cast<int32_t>(k), .type = instruction.operand(k)->shape().type()};
}
cpu::Access Result(const Instruction& instruction, int64_t k) {
  return {.argument = static_cast<int32_t>(instruction.operand_count() + k),
          .type = ResultShapes(instruction)[k].type()};
}
std::vector<void*> Arguments(absl::Span<const void* const> operands, absl::Span<void* const> results) {
  std::vector<void*> arguments;
  for (const void* operand : operands) arguments.push_back(const_cast<void*>(operand));
  arguments.insert(arguments.end(), results.begin(), results.end());
  return arguments;
}

// A program of pieces, and what its launches need.
struct Code {
  VmTemplate made;
  std::vector<int32_t> ends;  // Of the pieces.
  size_t shared_bytes = 0;
};

absl::StatusOr<std::shared_ptr<const Code>> Finished(VmBuilder& builder, std::vector<int32_t> ends,
                                                     const DeviceProperties& device) {
  auto code = std::make_shared<Code>();
  HLO_ASSIGN_OR_RETURN(code->made, builder.Finish({}));
  code->made.words = std::max(2, code->made.words);
  HLO_ASSIGN_OR_RETURN(code->shared_bytes, SharedBytesOf(code->made, 1, device));
  code->ends = std::move(ends);
  return code;
}
void EndPiece(VmBuilder& builder, std::vector<int32_t>& ends) {
  builder.EndPiece();
  ends.push_back(builder.code_count());
}

// The pieces of a fold, over `count` arrays of which each has these places.
struct FoldPlaces {
  cpu::Access value, init, result;
};
absl::StatusOr<std::shared_ptr<const Code>> FoldCode(const std::vector<FoldPlaces>& places,
                                                     const cpu::TileCode& combiner,
                                                     const DeviceProperties& device) {
  const auto count = static_cast<int>(places.size());
  VmBuilder builder(2 * count);
  std::vector<int32_t> ends;
  for (int k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(const Value value, builder.Load(places[k].value));
    builder.CopyTo(builder.Pinned(count + k), value);
  }
  EndPiece(builder, ends);
  Values inputs;
  for (int k = 0; k < 2 * count; ++k) inputs.push_back(builder.Pinned(k));
  HLO_ASSIGN_OR_RETURN(Values results, LowerCode(combiner, inputs, builder));
  for (Value& result : results) result = builder.Copy(result);
  for (int k = 0; k < count; ++k) builder.CopyTo(builder.Pinned(k), results[k]);
  EndPiece(builder, ends);
  for (int k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(const Value init, builder.Load(places[k].init));
    builder.CopyTo(builder.Pinned(k), init);
  }
  EndPiece(builder, ends);
  for (int k = 0; k < count; ++k) HLO_RETURN_IF_ERROR(builder.Store(builder.Pinned(k), places[k].result));
  builder.EndPiece();
  return Finished(builder, std::move(ends), device);
}
// The arguments of one of its launches.
CodedArgs ArgsOf(const Code& code, CodedTask task, absl::Span<void* const> arguments) {
  CodedArgs args = {};
  args.program = code.made.program;
  SetPointers(code.made, arguments.data(), args.program);
  std::copy(code.ends.begin(), code.ends.end(), args.end);
  args.task = task;
  return args;
}

// A thread each.
absl::Status LaunchCoded(const Code& code, int64_t count, const CodedArgs& args, Stream stream) {
  if (count == 0) return absl::OkStatus();
  const LaunchShape shape{
      {static_cast<uint32_t>((count + kVmThreads - 1) / kVmThreads)}, kVmThreads, code.shared_bytes};
  return code.made.words <= 2 ? Launch<Coded<2>>(shape, args, stream) : Launch<Coded<4>>(shape, args, stream);
}

constexpr int64_t kMostThreads = int64_t{kVmThreads} * INT32_MAX;
constexpr int64_t kMostElements = INT32_MAX;
}  // namespace

namespace {

// Every result folds what lies under its window over the operands.
std::optional<CudaKernel> FoldWindows(const Instruction& instruction, const WideGeometry& geometry,
                                      const cpu::TileCode& combiner, const DeviceProperties& device) {
  const int64_t count = instruction.operand_count() / 2;
  std::vector<FoldPlaces> places;
  for (int64_t k = 0; k < count; ++k)
    places.push_back({Operand(instruction, k), Operand(instruction, count + k), Result(instruction, k)});
  const absl::StatusOr<std::shared_ptr<const Code>> code = FoldCode(places, combiner, device);
  if (!code.ok()) return std::nullopt;
  CudaKernel kernel;
  kernel.name = fmt::format("{} of code, {} bytes", Name(instruction.opcode()), 4 * (*code)->made.words);
  kernel.may_loop = combiner.has_loops();
  kernel.run = [code = *code, geometry](absl::Span<const void* const> operands,
                                        absl::Span<void* const> arrays, void*, Stream stream) {
    CodedArgs args = ArgsOf(*code, CodedTask::kWindow, Arguments(operands, arrays));
    args.geometry = geometry;
    return LaunchCoded(*code, geometry.count, args, stream);
  };
  return kernel;
}

}  // namespace

std::optional<CudaKernel> CodedReduceWindow(const Instruction& reduce_window, const cpu::TileCode& combiner,
                                            const DeviceProperties& device) {
  const Shape& base = reduce_window.operand(0)->shape();
  const absl::Span<const int64_t> result_dims = ResultShapes(reduce_window)[0].dims();
  const std::vector<WindowDim> window = Clipped(reduce_window.Get<attr::window>(), base.dims(), result_dims);
  const std::optional<WideGeometry> geometry = MakeGeometryOf<WideGeometry>(result_dims, base.dims(), window);
  if (!geometry.has_value()) return std::nullopt;
  return FoldWindows(reduce_window, *geometry, combiner, device);
}

// A window over all that is reduced.
std::optional<CudaKernel> CodedReduce(const Instruction& reduce, const cpu::TileCode& combiner,
                                      const DeviceProperties& device) {
  const Shape& base = reduce.operand(0)->shape();
  const IntList reduced = reduce.Get<attr::dimensions>();
  // The reference follows the layout.
  if (base.layout() != nullptr) return std::nullopt;
  std::vector<int64_t> result_dims, base_dims;  // Neighbours that are both kept or both reduced as one.
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
  return FoldWindows(reduce, *geometry, combiner, device);
}

std::optional<CudaKernel> CodedScatterKernel(const Instruction& scatter, const cpu::TileCode& combiner,
                                             const DeviceProperties& device) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  std::vector<FoldPlaces> places;
  std::vector<int64_t> bytes;
  for (int64_t k = 0; k < count; ++k) {
    places.push_back({Operand(scatter, count + 1 + k), Result(scatter, k), Result(scatter, k)});
    bytes.push_back(*DenseByteCount(scatter.operand(k)->shape()));
  }
  const std::optional<ScatterPositions> positions = PlanPositions(scatter);
  const absl::StatusOr<std::shared_ptr<const Code>> code = FoldCode(places, combiner, device);
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
    CodedArgs args = ArgsOf(*code, CodedTask::kScatter, Arguments(operands, results));
    args.scatter = scatter;
    args.scatter.starts.indices = operands[bytes.size()];
    HLO_RETURN_IF_ERROR(SortPositions(args.scatter, workspace, stream));
    return LaunchCoded(*code, int64_t{scatter.position_count} * scatter.window_count, args, stream);
  };
  return kernel;
}

std::optional<CudaKernel> CodedScanKernel(const Instruction& scan, const cpu::TileCode& step,
                                          const DeviceProperties& device) {
  const absl::Span<const Shape> results = ResultShapes(scan);
  const auto carries = static_cast<int>(scan.Get<attr::num_carries>()),
             inputs = static_cast<int>(scan.operand_count()) - carries,
             outputs = static_cast<int>(results.size()) - carries;
  const Shape& shape = inputs > 0 ? scan.operand(0)->shape() : results[0];
  const auto build = [&]() -> absl::StatusOr<std::shared_ptr<const Code>> {
    VmBuilder builder(carries);
    std::vector<int32_t> ends;
    for (int k = 0; k < carries; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value carry, builder.Load(Operand(scan, inputs + k)));
      builder.CopyTo(builder.Pinned(k), carry);
    }
    EndPiece(builder, ends);
    Values arguments;
    for (int k = 0; k < inputs; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value input, builder.Load(Operand(scan, k)));
      arguments.push_back(input);
    }
    for (int k = 0; k < carries; ++k) arguments.push_back(builder.Pinned(k));
    HLO_ASSIGN_OR_RETURN(Values values, LowerCode(step, arguments, builder));
    for (int k = 0; k < outputs; ++k) HLO_RETURN_IF_ERROR(builder.Store(values[k], Result(scan, k)));
    for (int k = 0; k < carries; ++k) values[outputs + k] = builder.Copy(values[outputs + k]);
    for (int k = 0; k < carries; ++k) builder.CopyTo(builder.Pinned(k), values[outputs + k]);
    EndPiece(builder, ends);
    for (int k = 0; k < carries; ++k)
      HLO_RETURN_IF_ERROR(builder.Store(builder.Pinned(k), Result(scan, outputs + k)));
    builder.EndPiece();
    return Finished(builder, std::move(ends), device);
  };
  const absl::StatusOr<std::shared_ptr<const Code>> code = build();
  if (!code.ok()) return std::nullopt;
  const int64_t dimension = scan.Get<attr::dimensions>()[0];
  const int64_t inner = Product(shape.dims().subspan(dimension + 1)),
                lines = Product(shape.dims().first(dimension)) * inner;
  if (lines > kMostThreads) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "scan of code, a line a thread";
  kernel.may_loop = step.has_loops();
  kernel.run =
      [code = *code, lines, inner, length = shape.dim(dimension), reversed = scan.Get<attr::is_reverse>()](
          absl::Span<const void* const> operands, absl::Span<void* const> arrays, void*, Stream stream) {
        CodedArgs args = ArgsOf(*code, CodedTask::kScan, Arguments(operands, arrays));
        args.line_count = lines;
        args.inner = inner;
        args.length = length;
        args.reversed = reversed;
        return LaunchCoded(*code, lines, args, stream);
      };
  return kernel;
}

// A scan of lines of one element that carry nothing.
std::optional<CudaKernel> CodedMap(const Instruction& map, const cpu::TileCode& code,
                                   const DeviceProperties& device) {
  const auto build = [&]() -> absl::StatusOr<std::shared_ptr<const Code>> {
    VmBuilder builder;
    std::vector<int32_t> ends;
    EndPiece(builder, ends);
    Values arguments;
    for (int64_t k = 0; k < map.operand_count(); ++k) {
      HLO_ASSIGN_OR_RETURN(const Value operand, builder.Load(Operand(map, k)));
      arguments.push_back(operand);
    }
    HLO_ASSIGN_OR_RETURN(const Values values, LowerCode(code, arguments, builder));
    HLO_RETURN_IF_ERROR(builder.Store(values[0], Result(map, 0)));
    EndPiece(builder, ends);
    return Finished(builder, std::move(ends), device);
  };
  const absl::StatusOr<std::shared_ptr<const Code>> made = build();
  const int64_t count = Product(map.shape().dims());
  if (!made.ok() || count > kMostThreads) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "map of code";
  kernel.may_loop = code.has_loops();
  kernel.run = [code = *made, count](absl::Span<const void* const> operands, absl::Span<void* const> arrays,
                                     void*, Stream stream) {
    CodedArgs args = ArgsOf(*code, CodedTask::kScan, Arguments(operands, arrays));
    args.line_count = args.inner = count;
    args.length = 1;
    return LaunchCoded(*code, count, args, stream);
  };
  return kernel;
}

namespace {

// The pieces of a comparison, of pairs of elements of each of the arrays.
absl::StatusOr<std::shared_ptr<const Code>> ComparisonCode(const std::vector<cpu::Access>& arrays,
                                                           const cpu::TileCode& comparison,
                                                           const DeviceProperties& device) {
  const auto count = static_cast<int>(arrays.size());
  VmBuilder builder(1 + 2 * count);
  std::vector<int32_t> ends;
  for (int side = 0; side < 2; ++side) {
    for (int k = 0; k < count; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value element, builder.Load(arrays[k]));
      builder.CopyTo(builder.Pinned(1 + 2 * k + side), element);
    }
    EndPiece(builder, ends);
  }
  Values inputs;
  for (int k = 0; k < 2 * count; ++k) inputs.push_back(builder.Pinned(1 + k));
  HLO_ASSIGN_OR_RETURN(const Values holds, LowerCode(comparison, inputs, builder));
  builder.CopyTo(builder.Pinned(0), holds[0]);
  builder.EndPiece();
  return Finished(builder, std::move(ends), device);
}
// A sort of lines whose order is a comparison of all operands.
class CodedOrderOfLines {
 public:
  // nullopt: too many elements, or too much code.
  static std::optional<CodedOrderOfLines> Make(const Instruction& instruction, int64_t dimension,
                                               const cpu::TileCode& comparator,
                                               const DeviceProperties& device) {
    CodedOrderOfLines order;
    const Shape& shape = instruction.operand(0)->shape();
    order.count_ = Product(shape.dims());
    std::vector<cpu::Access> arrays;
    for (int64_t k = 0; k < instruction.operand_count(); ++k) arrays.push_back(Operand(instruction, k));
    absl::StatusOr<std::shared_ptr<const Code>> code = ComparisonCode(arrays, comparator, device);
    if (!code.ok() || order.count_ > kMostElements) return std::nullopt;
    order.code_ = *std::move(code);
    if (order.count_ > 0) order.lines_ = LinesAlong(shape.dims(), dimension);
    return order;
  }
  int64_t count() const { return count_; }
  const SortLines& lines() const { return lines_; }
  int64_t workspace_bytes() const {
    return 2 * device::Aligned(4 * count_) + device::Aligned(4 * int64_t{lines_.count});
  }

  // Where the order will stand: of the elements by lines, those of each line in their order.
  absl::StatusOr<const uint32_t*> Enqueue(absl::Span<const void* const> operands, void* workspace,
                                          Stream stream) const {
    CodedArgs args = ArgsOf(*code_, CodedTask::kSortRuns, Arguments(operands, {}));
    args.lines = lines_;
    args.pieces = (lines_.length + kCodedRun - 1) / kCodedRun;
    auto* words = static_cast<uint32_t*>(workspace);
    const int64_t order_words = device::Aligned(4 * count_) / 4;
    args.order = words;
    args.merged = words + order_words;
    args.failed = words + 2 * order_words;
    const int64_t threads = int64_t{lines_.count} * args.pieces;
    HLO_RETURN_IF_ERROR(LaunchCoded(*code_, threads, args, stream));
    for (uint64_t run = kCodedRun; run < lines_.length; run *= 2) {
      args.run = static_cast<uint32_t>(run);
      args.task = CodedTask::kMergeRuns;
      HLO_RETURN_IF_ERROR(LaunchCoded(*code_, threads, args, stream));
      args.task = CodedTask::kRepairRuns;
      HLO_RETURN_IF_ERROR(LaunchCoded(*code_, int64_t{lines_.count} * kVmThreads, args, stream));
      std::swap(args.order, args.merged);
    }
    return args.order;
  }

 private:
  std::shared_ptr<const Code> code_;
  SortLines lines_;
  int64_t count_ = 0;
};

}  // namespace

std::optional<CudaKernel> CodedSort(const Instruction& sort, const cpu::TileCode& comparator,
                                    const DeviceProperties& device) {
  const std::optional<CodedOrderOfLines> lines =
      CodedOrderOfLines::Make(sort, sort.Get<attr::dimensions>()[0], comparator, device);
  if (!lines.has_value()) return std::nullopt;
  std::vector<int64_t> widths;
  for (const Instruction* operand : sort.operands()) widths.push_back(ByteCount(operand->shape().type()));
  CudaKernel kernel;
  kernel.name = "sort of code, merges of 16";
  kernel.workspace_bytes = lines->workspace_bytes();
  kernel.may_loop = comparator.has_loops();
  kernel.run = [lines = *lines, widths](absl::Span<const void* const> operands,
                                        absl::Span<void* const> results, void* workspace,
                                        Stream stream) -> absl::Status {
    if (lines.count() == 0) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(const uint32_t* order, lines.Enqueue(operands, workspace, stream));
    return Permute(lines.lines(), order, widths, operands, results, stream);
  };
  return kernel;
}

std::optional<CudaKernel> CodedTopk(const Instruction& topk, const DeviceProperties& device) {
  const Shape& shape = topk.operand(0)->shape();
  const ElementType type = shape.type();
  if (shape.rank() == 0 || IsComplex(type) || !topk.shape().IsTuple() ||
      !topk.shape().element(1).IsArray(ElementType::kS32))
    return std::nullopt;
  const auto direction = topk.Get<attr::largest>(true) ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  const cpu::Lane lane = cpu::LaneOf(type);
  cpu::TileCode comparator({lane, lane});
  comparator.Yield(comparator.Apply(cpu::FindTileCompare(direction, true, type), cpu::Lane::kPred, {0, 1}));
  const std::optional<CodedOrderOfLines> lines =
      CodedOrderOfLines::Make(topk, shape.rank() - 1, comparator, device);
  const int64_t kept = topk.shape().element(0).dim(shape.rank() - 1);
  if (!lines.has_value() || kept > shape.dim(shape.rank() - 1)) return std::nullopt;
  return CudaKernel{"topk of code, merges of 16", lines->workspace_bytes(),
                    [lines = *lines, kept, width = ByteCount(type)](
                        absl::Span<const void* const> operands, absl::Span<void* const> results,
                        void* workspace, Stream stream) -> absl::Status {
                      if (lines.count() == 0 || kept == 0) return absl::OkStatus();
                      HLO_ASSIGN_OR_RETURN(const uint32_t* order, lines.Enqueue(operands, workspace, stream));
                      return TakeFirst(lines.lines(), order, kept, width, operands[0], results, stream);
                    }};
}

std::optional<CudaKernel> CodedSelectAndScatter(const Instruction& instruction, const cpu::TileCode& select,
                                                const cpu::TileCode& scatter,
                                                const DeviceProperties& device) {
  const Shape &operand = instruction.operand(0)->shape(), &source = instruction.operand(1)->shape();
  const Window window = instruction.Get<attr::window>();
  const std::optional<WideGeometry> windows =
                                        MakeGeometryOf<WideGeometry>(source.dims(), operand.dims(), window),
                                    covering =
                                        MakeGeometryOf<WideGeometry>(operand.dims(), source.dims(), window);
  if (!windows.has_value() || !covering.has_value() ||
      std::any_of(window.begin(), window.end(), [](const WindowDim& d) { return d.base_dilation != 1; }))
    return std::nullopt;
  const absl::StatusOr<std::shared_ptr<const Code>> choice =
      ComparisonCode({Operand(instruction, 0)}, select, device);
  const absl::StatusOr<std::shared_ptr<const Code>> fold =
      FoldCode({{Operand(instruction, 1), Operand(instruction, 2), Result(instruction, 0)}}, scatter, device);
  if (!choice.ok() || !fold.ok()) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "select-and-scatter of code";
  kernel.workspace_bytes = 4 * int64_t{windows->count};
  kernel.may_loop = select.has_loops() || scatter.has_loops();
  kernel.run = [choice = *choice, fold = *fold, windows = *windows, covering = *covering](
                   absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
                   Stream stream) -> absl::Status {
    CodedArgs args = ArgsOf(*choice, CodedTask::kSelect, Arguments(operands, results));
    args.geometry = windows;
    args.winners = static_cast<uint32_t*>(workspace);
    HLO_RETURN_IF_ERROR(LaunchCoded(*choice, windows.count, args, stream));
    CodedArgs last = ArgsOf(*fold, CodedTask::kWinners, Arguments(operands, results));
    last.geometry = covering;
    last.winners = args.winners;
    return LaunchCoded(*fold, covering.count, last, stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
