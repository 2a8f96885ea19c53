// Registers the kernels of reduce-window and select-and-scatter.

#include "kernels/cuda/window/window_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/constants.h"
#include "device/copy.h"
#include "fmt/format.h"
#include "ir/comparators.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/match_reduce_op.h"
#include "kernels/cuda/scan/one_pass_scan_body.h"
#include "kernels/cuda/window/window_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxDirectTaps = 1 << 16, kManyTaps = 32;
constexpr int64_t kMaxWindowLines = (int64_t{1} << 31) - 1;

// Windows that cover every prefix, or every suffix, of one dimension.
struct Cumulative {
  int64_t dimension;
  bool reversed;
};
std::optional<Cumulative> FindCumulative(absl::Span<const int64_t> dims, Window window) {
  std::optional<Cumulative> found;
  for (size_t d = 0; d < window.size(); ++d) {
    if (HasNoWindow(window[d])) continue;
    WindowDim before, after;
    before.size = after.size = dims[d];
    before.padding_low = after.padding_high = dims[d] - 1;
    if (found.has_value() || (window[d] != before && window[d] != after)) return std::nullopt;
    found = {static_cast<int64_t>(d), window[d] == after};
  }
  return found;
}

template <template <class> class Kernel>
absl::Status LaunchOf(ElementType type, const LaunchShape& shape,
                      const typename Kernel<HalfElement>::Args& args, Stream stream) {
  return WithElement(type, [&]<class E>() { return Launch<Kernel<E>>(shape, args, stream); });
}

absl::Status RunScan(ElementType type, bool in_rows, ScanArgs args, Stream stream) {
  const uint32_t warps = kScanThreads / kWarpSize;
  const LaunchShape rows{{args.lines * args.chunks}, kScanThreads, 16 * (warps + 1)};
  const LaunchShape columns{{CeilDiv(args.lines, kScanThreads), args.chunks}, kScanThreads};
  const auto run_chunks = [&](bool apply) {
    args.apply = apply;
    return in_rows ? LaunchOf<ScanChunk>(type, rows, args, stream)
                   : LaunchOf<ScanColumn>(type, columns, args, stream);
  };
  if (args.chunks > 1) {
    HLO_RETURN_IF_ERROR(run_chunks(false));
    const LaunchShape lines{{args.lines}, kScanThreads, 16 * (warps + 1)};
    HLO_RETURN_IF_ERROR(LaunchOf<ScanPartials>(type, lines, args, stream));
  }
  return run_chunks(true);
}

// A cumulative reduction in one pass over memory.
struct OnePass {
  absl::Status (*launch)(const LaunchShape&, const OnePassScanArgs&, device::Stream) = nullptr;
  LaunchShape shape;
  OnePassScanArgs args;
  int64_t each = 1, words = 1;  // Elements of a vector; words per published value.

  int64_t WorkspaceBytes() const {
    return device::kAlignment + 8 * words * int64_t{args.lines} * (int64_t{args.tiles} + args.groups);
  }
};

template <class E, bool kAdds>
OnePass MakeOnePassOf(const ScanArgs& scan) {
  using Kernel = OnePassScan<E, kAdds>;
  OnePass made{&Launch<Kernel>};
  made.each = Kernel::kEach;
  made.words = Kernel::kWords;
  made.args.length = scan.length;
  made.args.lines = scan.lines;
  made.args.tiles = static_cast<uint32_t>(CeilDiv(scan.length, Kernel::kTile));
  made.args.groups = CeilDiv(made.args.tiles, kScanGroup);
  made.args.tiles_divisor = FastDiv(made.args.tiles);
  made.args.reversed = scan.reversed;
  made.args.fold = scan.fold;
  made.args.kind = scan.kind;
  std::copy(std::begin(scan.identity), std::end(scan.identity), made.args.identity);
  made.shape = {{scan.lines * made.args.tiles}, Kernel::kThreads, Kernel::kSharedBytes};
  return made;
}

template <class E>
OnePass MakeOnePass(const ScanArgs& scan) {
  return scan.fold == ReduceOp::kAdd ? MakeOnePassOf<E, true>(scan) : MakeOnePassOf<E, false>(scan);
}

// Returns nullopt for types without a kernel, short rows, and rows that do not begin at whole vectors.
std::optional<OnePass> FindOnePass(ElementType type, bool in_rows, const ScanArgs& scan) {
  constexpr int64_t kShortRow = 4096;
  if (!in_rows || scan.length < kShortRow || IsComplex(type)) return std::nullopt;
  std::optional<OnePass> made;
  if (type == ElementType::kF32)
    made = MakeOnePass<FloatElement<float>>(scan);
  else if (type == ElementType::kF64)
    made = MakeOnePass<FloatElement<double>>(scan);
  else if (type == ElementType::kBF16 || type == ElementType::kF16)
    made = MakeOnePass<HalfElement>(scan);
  else if (IsIntegral(type) && BitWidth(type) == 32)
    made = MakeOnePass<IntegerElement<uint32_t>>(scan);
  else if (IsIntegral(type) && BitWidth(type) == 64)
    made = MakeOnePass<IntegerElement<uint64_t>>(scan);
  const bool may_end_early = scan.lines == 1 && !scan.reversed;
  if (!made.has_value() || (scan.length % made->each != 0 && !may_end_early)) return std::nullopt;
  return made;
}

absl::Status RunOnePass(const OnePass& made, const ScanArgs& scan, Stream stream) {
  auto* workspace = static_cast<std::byte*>(scan.partials);
  HLO_RETURN_IF_ERROR(device::FillOnDevice(workspace, 0, made.WorkspaceBytes(), stream));
  OnePassScanArgs args = made.args;
  args.in = scan.in;
  args.init = scan.init;
  args.out = scan.out;
  args.next_tile = reinterpret_cast<uint32_t*>(workspace);
  args.sums = reinterpret_cast<uint64_t*>(workspace + device::kAlignment);
  args.starts = args.sums + made.words * int64_t{args.lines} * args.tiles;
  return made.launch(made.shape, args, stream);
}

std::optional<CudaKernel> CumulativeKernel(const Shape& base, const Cumulative& along, ReduceOp fold) {
  const ElementType type = base.type();
  const auto at = static_cast<size_t>(along.dimension);
  ScanArgs args;
  args.length = base.dim(along.dimension);
  args.inner = hlo::Product(base.dims().subspan(at + 1));
  const int64_t lines = hlo::Product(base.dims().first(at)) * args.inner;
  const bool in_rows = args.inner == 1 && args.length > 64;
  args.chunk = in_rows ? kScanChunk : kColumnChunk;
  const int64_t chunks = CeilDiv(args.length, args.chunk);
  if (lines * chunks > kMaxWindowLines || lines > kMaxWindowLines || (!in_rows && chunks > 65535))
    return std::nullopt;
  args.lines = static_cast<uint32_t>(lines);
  args.chunks = static_cast<uint32_t>(chunks);
  args.inner_divisor = FastDiv(static_cast<uint32_t>(std::max<int64_t>(1, args.inner)));
  args.chunks_divisor = FastDiv(std::max(1u, args.chunks));
  args.reversed = along.reversed;
  args.fold = fold;
  args.kind = KindOf(type);
  const std::vector<std::byte> identity = IdentityOf(fold, type);
  std::memcpy(args.identity, identity.data(), identity.size());
  const std::optional<OnePass> one_pass = FindOnePass(type, in_rows, args);
  const int64_t workspace_bytes = std::max<int64_t>(chunks > 1 ? 16 * lines * chunks : 0,
                                                    one_pass.has_value() ? one_pass->WorkspaceBytes() : 0);
  return CudaKernel{one_pass.has_value() ? std::string("cumulative in one pass")
                                         : fmt::format("cumulative in chunks of {}", args.chunk),
                    workspace_bytes,
                    [=](absl::Span<const void* const> operands, absl::Span<void* const> results,
                        void* workspace, Stream stream) mutable -> absl::Status {
                      if (lines == 0 || args.length == 0) return absl::OkStatus();
                      args.in = operands[0];
                      args.init = operands[1];
                      args.out = results[0];
                      args.partials = workspace;
                      const auto is_aligned = [](const void* data) {
                        return reinterpret_cast<uintptr_t>(data) % 16 == 0;
                      };
                      if (one_pass.has_value() && is_aligned(args.in) && is_aligned(args.out))
                        return RunOnePass(*one_pass, args, stream);
                      return RunScan(type, in_rows, args, stream);
                    }};
}

// Reduces one dimension at a time if multi-dimensional windows have many elements.
std::optional<CudaKernel> SeparateKernel(const Shape& base, absl::Span<const int64_t> result_dims,
                                         Window window, ReduceOp fold) {
  const ElementType type = base.type();
  std::vector<ReduceWindowArgs> passes;
  Index dims(base.dims());
  int64_t largest = 0;
  for (size_t d = window.size(); d-- > 0;) {
    if (HasNoWindow(window[d])) continue;
    std::vector<WindowDim> one(window.size());
    one[d] = window[d];
    Index next = dims;
    next[static_cast<int64_t>(d)] = result_dims[d];
    const std::optional<WindowGeometry> geometry = MakeGeometry(next, dims, one);
    if (!geometry.has_value() || MaxTaps(dims, one) > kMaxDirectTaps) return std::nullopt;
    passes.push_back({*geometry, nullptr, nullptr, nullptr, fold, KindOf(type)});
    dims = next;
    largest = std::max(largest, hlo::Product(dims));
  }
  const int64_t bytes = device::Aligned(largest * ByteCount(type));
  const device::Constants identity(IdentityOf(fold, type));
  return CudaKernel{
      "reduce-window by dimensions", 2 * bytes,
      [passes, bytes, type, identity](absl::Span<const void* const> operands, absl::Span<void* const> results,
                                      void* workspace, Stream stream) -> absl::Status {
        HLO_ASSIGN_OR_RETURN(const void* no_init, identity.On(stream));
        const void* from = operands[0];
        for (size_t p = 0; p < passes.size(); ++p) {
          ReduceWindowArgs args = passes[p];
          const bool last = p + 1 == passes.size();
          args.base = from;
          args.init = last ? operands[1] : no_init;
          args.result =
              last ? results[0] : static_cast<std::byte*>(workspace) + static_cast<int64_t>(p % 2) * bytes;
          from = args.result;
          if (args.geometry.count == 0) continue;
          HLO_RETURN_IF_ERROR(LaunchOf<ReduceWindowKernel>(type, EachElement(args.geometry), args, stream));
        }
        return absl::OkStatus();
      }};
}

std::optional<Order> FindOrder(const Computation& select, ElementType type) {
  const Instruction& root = *select.root();
  if (root.opcode() != Opcode::kCompare || root.operand(0) != select.parameter(0) ||
      root.operand(1) != select.parameter(1) || IsTotalOrder(root))
    return std::nullopt;
  for (const Instruction* parameter : select.parameters()) {
    if (!parameter->shape().IsArray(type) || !parameter->shape().IsScalar()) return std::nullopt;
  }
  switch (root.Get<attr::direction>()) {
    case ComparisonDirection::kGe:
      return Order::kGe;
    case ComparisonDirection::kGt:
      return Order::kGt;
    case ComparisonDirection::kLe:
      return Order::kLe;
    case ComparisonDirection::kLt:
      return Order::kLt;
    default:
      return std::nullopt;
  }
}

// Complex numbers are unordered.
template <template <class> class Kernel>
absl::Status LaunchOrdered(ElementType type, const LaunchShape& shape, const SelectArgs& args,
                           Stream stream) {
  return WithElement(type, [&]<class E>() -> absl::Status {
    if constexpr (requires {
                    E::Holds(args.select, typename E::ComputeType{}, typename E::ComputeType{}, args.kind);
                  })
      return Launch<Kernel<E>>(shape, args, stream);
    else
      return absl::InternalError("select-and-scatter of elements without an order");
  });
}

}  // namespace

std::optional<CudaKernel> FindReduceWindowKernel(const Instruction& reduce_window,
                                                 const DeviceProperties& /*device*/) {
  if (reduce_window.operand_count() != 2 || !reduce_window.shape().IsArray()) return std::nullopt;
  const Shape &base = reduce_window.operand(0)->shape(), &result = reduce_window.shape();
  const ElementType type = base.type();
  if (result.type() != type || reduce_window.operand(1)->shape().type() != type ||
      static_cast<int64_t>(reduce_window.Get<attr::window>().size()) != base.rank())
    return std::nullopt;
  const std::vector<WindowDim> window =
      Clipped(reduce_window.Get<attr::window>(), base.dims(), result.dims());
  const std::optional<ReduceOp> fold = MatchReduceOp(*reduce_window.Get<attr::to_apply>(), type);
  if (!fold.has_value() || *fold == ReduceOp::kSecond) return std::nullopt;
  if (const std::optional<Cumulative> along = FindCumulative(base.dims(), window); along.has_value())
    return CumulativeKernel(base, *along, *fold);
  const auto windows =
      std::count_if(window.begin(), window.end(), [](const WindowDim& d) { return d.size > 1; });
  const int64_t taps = MaxTaps(base.dims(), window);
  const bool stored_as_computed = type != ElementType::kF16 && type != ElementType::kBF16;
  if (windows > 1 && taps > kManyTaps && stored_as_computed)
    return SeparateKernel(base, result.dims(), window, *fold);
  const std::optional<WindowGeometry> geometry =
      MakeWindowsOf<WindowGeometry>(result.dims(), base.dims(), reduce_window.Get<attr::window>());
  if (!geometry.has_value() || taps > kMaxDirectTaps) return std::nullopt;
  ReduceWindowArgs args{*geometry, nullptr, nullptr, nullptr, *fold, KindOf(type)};
  return CudaKernel{"reduce-window", 0,
                    [args, type](absl::Span<const void* const> operands, absl::Span<void* const> results,
                                 void*, Stream stream) mutable -> absl::Status {
                      if (args.geometry.count == 0) return absl::OkStatus();
                      args.base = operands[0];
                      args.init = operands[1];
                      args.result = results[0];
                      return LaunchOf<ReduceWindowKernel>(type, EachElement(args.geometry), args, stream);
                    }};
}

std::optional<CudaKernel> FindSelectAndScatterKernel(const Instruction& instruction,
                                                     const DeviceProperties& /*device*/) {
  const Shape &operand = instruction.operand(0)->shape(), &source = instruction.operand(1)->shape();
  const ElementType type = instruction.shape().type();
  const Window window = instruction.Get<attr::window>();
  if (operand.type() != type || source.type() != type || instruction.operand(2)->shape().type() != type ||
      !HasElement(type) || IsComplex(type) || MaxTaps(operand.dims(), window) > kMaxDirectTaps ||
      std::any_of(window.begin(), window.end(), [](const WindowDim& d) { return d.base_dilation != 1; }))
    return std::nullopt;
  const std::optional<Order> select = FindOrder(*instruction.Get<attr::select>(), type);
  const std::optional<ReduceOp> scatter = MatchReduceOp(*instruction.Get<attr::scatter>(), type);
  const std::optional<WindowGeometry> windows = MakeWindowsOf<WindowGeometry>(source.dims(), operand.dims(),
                                                                              window),
                                      covering = MakeGeometry(operand.dims(), source.dims(), window);
  if (!select.has_value() || !scatter.has_value() || !windows.has_value() || !covering.has_value())
    return std::nullopt;
  SelectArgs args{*windows, *covering};
  args.select = *select;
  args.scatter = *scatter;
  args.kind = KindOf(type);
  return CudaKernel{
      "select-and-scatter in two passes", 4 * int64_t{args.windows.count},
      [args, type](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
                   Stream stream) mutable -> absl::Status {
        if (args.covering.count == 0) return absl::OkStatus();
        args.operand = operands[0];
        args.source = operands[1];
        args.init = operands[2];
        args.result = results[0];
        args.winners = static_cast<uint32_t*>(workspace);
        if (args.windows.count > 0)
          HLO_RETURN_IF_ERROR(LaunchOrdered<SelectWinners>(type, EachElement(args.windows), args, stream));
        return LaunchOrdered<ScatterWinners>(type, EachElement(args.covering), args, stream);
      }};
}

}  // namespace hlo::cuda
