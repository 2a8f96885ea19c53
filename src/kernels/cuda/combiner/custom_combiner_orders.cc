// Kernels of custom_combiner_kernels.h with user-defined comparators: sort, top-k and select-and-scatter.

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "kernels/cuda/combiner/custom_combiner_kernels.h"
#include "kernels/cuda/combiner/custom_combiner_program.h"
#include "kernels/cuda/sort/permute.h"
#include "kernels/cuda/window/window_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxOrderElements = INT32_MAX;

// Sorts lines by a comparator over all operands.
class LineOrder {
 public:
  // Returns nullopt if there are too many elements or the comparator's code is too long.
  static std::optional<LineOrder> Make(const Instruction& instruction, int64_t dimension,
                                       const loops::ScalarFunction& comparator,
                                       const DeviceProperties& device) {
    LineOrder order;
    const Shape& shape = instruction.operand(0)->shape();
    order.count_ = hlo::Product(shape.dims());
    std::vector<loops::Access> arrays;
    for (int64_t k = 0; k < instruction.operand_count(); ++k) arrays.push_back(OperandAccess(instruction, k));
    absl::StatusOr<SharedCode> code = ComparisonCode(arrays, comparator, device);
    if (!code.ok() || order.count_ > kMaxOrderElements) return std::nullopt;
    order.code_ = *std::move(code);
    if (order.count_ > 0) order.lines_ = LinesAlong(shape.dims(), dimension);
    return order;
  }
  int64_t count() const { return count_; }
  const SortLines& lines() const { return lines_; }
  int64_t workspace_bytes() const {
    return 2 * device::Aligned(4 * count_) + device::Aligned(4 * int64_t{lines_.count});
  }

  // Enqueues the sort. Returns the device array that will hold the permutation: the sorted element numbers of
  // each line.
  absl::StatusOr<const uint32_t*> Enqueue(absl::Span<const void* const> operands, void* workspace,
                                          Stream stream) const {
    CombinerArgs args = ArgsOf(*code_, CombinerTask::kSortRuns, Arguments(operands, {}));
    args.lines = lines_;
    args.chunks = CeilDiv(lines_.length, kCombinerRun);
    auto* words = static_cast<uint32_t*>(workspace);
    const int64_t order_words = device::Aligned(4 * count_) / 4;
    args.order = words;
    args.merged = words + order_words;
    args.failed = words + 2 * order_words;
    const int64_t threads = int64_t{lines_.count} * args.chunks;
    HLO_RETURN_IF_ERROR(LaunchCombiner(*code_, threads, args, stream));
    for (uint64_t run = kCombinerRun; run < lines_.length; run *= 2) {
      args.run = static_cast<uint32_t>(run);
      args.task = CombinerTask::kMergeRuns;
      HLO_RETURN_IF_ERROR(LaunchCombiner(*code_, threads, args, stream));
      args.task = CombinerTask::kRepairRuns;
      HLO_RETURN_IF_ERROR(LaunchCombiner(*code_, int64_t{lines_.count} * kVmThreads, args, stream));
      std::swap(args.order, args.merged);
    }
    return args.order;
  }

 private:
  SharedCode code_;
  SortLines lines_;
  int64_t count_ = 0;
};

}  // namespace

std::optional<CudaKernel> FindCustomSortKernel(const Instruction& sort,
                                               const loops::ScalarFunction& comparator,
                                               const DeviceProperties& device) {
  const std::optional<LineOrder> lines =
      LineOrder::Make(sort, sort.Get<attr::dimensions>()[0], comparator, device);
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
    for (size_t k = 0; k < widths.size(); ++k)
      HLO_RETURN_IF_ERROR(Permute(lines.lines(), order, widths[k], operands[k], results[k], stream));
    return absl::OkStatus();
  };
  return kernel;
}

std::optional<CudaKernel> FindCustomTopkKernel(const Instruction& topk, const DeviceProperties& device) {
  const Shape& shape = topk.operand(0)->shape();
  const ElementType type = shape.type();
  if (shape.rank() == 0 || IsComplex(type) || !topk.shape().IsTuple() ||
      !topk.shape().element(1).IsArray(ElementType::kS32))
    return std::nullopt;
  const auto direction = topk.Get<attr::largest>(true) ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  const loops::ComputeType compute_type = loops::ComputeTypeOf(type);
  loops::ScalarFunction comparator({compute_type, compute_type});
  comparator.Yield(comparator.Apply(*loops::FindCompare(direction, /*total_order=*/true, type),
                                    loops::ComputeType::kPred, {0, 1}));
  const std::optional<LineOrder> lines = LineOrder::Make(topk, shape.rank() - 1, comparator, device);
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

std::optional<CudaKernel> FindCustomSelectAndScatterKernel(const Instruction& instruction,
                                                           const loops::ScalarFunction& select,
                                                           const loops::ScalarFunction& scatter,
                                                           const DeviceProperties& device) {
  const Shape &operand = instruction.operand(0)->shape(), &source = instruction.operand(1)->shape();
  const Window window = instruction.Get<attr::window>();
  const std::optional<WideGeometry> windows =
                                        MakeWindowsOf<WideGeometry>(source.dims(), operand.dims(), window),
                                    covering =
                                        MakeGeometryOf<WideGeometry>(operand.dims(), source.dims(), window);
  if (!windows.has_value() || !covering.has_value() ||
      std::any_of(window.begin(), window.end(), [](const WindowDim& d) { return d.base_dilation != 1; }))
    return std::nullopt;
  const absl::StatusOr<SharedCode> choice = ComparisonCode({OperandAccess(instruction, 0)}, select, device);
  const absl::StatusOr<SharedCode> fold = CombinerCode(
      {{OperandAccess(instruction, 1), OperandAccess(instruction, 2), ResultAccess(instruction, 0)}}, scatter,
      device);
  if (!choice.ok() || !fold.ok()) return std::nullopt;
  CudaKernel kernel;
  kernel.name = "select-and-scatter of code";
  kernel.workspace_bytes = 4 * int64_t{windows->count};
  kernel.may_loop = select.has_loops() || scatter.has_loops();
  kernel.run = [choice = *choice, fold = *fold, windows = *windows, covering = *covering](
                   absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
                   Stream stream) -> absl::Status {
    CombinerArgs args = ArgsOf(*choice, CombinerTask::kSelect, Arguments(operands, results));
    args.geometry = windows;
    args.winners = static_cast<uint32_t*>(workspace);
    HLO_RETURN_IF_ERROR(LaunchCombiner(*choice, windows.count, args, stream));
    CombinerArgs last = ArgsOf(*fold, CombinerTask::kWinners, Arguments(operands, results));
    last.geometry = covering;
    last.winners = args.winners;
    return LaunchCombiner(*fold, covering.count, last, stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
