#include "kernels/cuda/fft/fft_plan.h"

#include "kernels/cuda/fft/fft_blocks.h"
#include "kernels/cuda/fft/fft_planner.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxFftElements = int64_t{1} << 40;

// Adds a complex transform along one axis. Returns false if it is too large.
bool AddAxis(FftPlanner& planner, absl::Span<const int64_t> dims, int64_t axis, bool inverse, double scale,
             FftBuffer from, FftBuffer to) {
  const int64_t n = dims[axis];
  const auto at = static_cast<size_t>(axis);
  FftLines lines;
  lines.outer = hlo::Product(dims.first(at));
  lines.inner = hlo::Product(dims.subspan(at + 1));
  lines.in_outer = lines.out_outer = n * lines.inner;
  lines.in_inner = lines.out_inner = 1;
  lines.in_stride = lines.out_stride = lines.inner;
  const FftEnds ends{inverse ? kFftSwapLoad : 0u, inverse ? kFftSwapStore : 0u, n, n, scale};
  return planner.AddTransform(n, lines, ends, from, to);
}

// Transforms axes last, last - 1, ..., first; skips axes of one point.
bool AddAxes(FftPlanner& planner, absl::Span<const int64_t> dims, int64_t first, int64_t last, bool inverse,
             double scale, FftBuffer from, FftBuffer to) {
  std::vector<int64_t> axes;
  for (int64_t d = last; d >= first; --d) {
    if (dims[d] > 1) axes.push_back(d);
  }
  if (axes.empty() && from != to) axes.push_back(last);
  for (int64_t axis : axes) {
    if (!AddAxis(planner, dims, axis, inverse, axis == axes.back() ? scale : 1, from, to)) return false;
    from = to;
  }
  return true;
}

// True if a real line is transformed as a complex line of half its length.
bool IsHalved(int64_t n, bool is_double) { return n % 2 == 0 && HasPlan(n / 2, is_double); }

bool AddRealToBins(FftPlanner& planner, int64_t n, int64_t count) {
  const bool is_double = planner.plan().is_double;
  const int64_t bins = n / 2 + 1, half = n / 2;
  FftLines lines{count};
  lines.out_outer = bins;
  lines.in_outer = n;
  if (!IsHalved(n, is_double))
    return planner.AddTransform(n, lines, {kFftLoadReal, 0, n, bins}, FftBuffer::kInput, FftBuffer::kOutput);
  lines.in_outer = half;
  if (planner.IsOneLaunch(half)) {
    if (!planner.AddTransform(half, lines, {0, kFftStoreHalf, half, half}, FftBuffer::kInput,
                              FftBuffer::kOutput))
      return false;
    planner.last().tables.half_roots = planner.HalfRoots(half);
    return true;
  }
  lines.out_outer = half;
  planner.Grow(FftBuffer::kHalfWork, count * half);
  if (!planner.AddTransform(half, lines, {0, 0, half, half}, FftBuffer::kInput, FftBuffer::kHalfWork))
    return false;
  planner.AddHalf(half, count, /*to_bins=*/true, FftBuffer::kHalfWork, FftBuffer::kOutput);
  return true;
}

bool AddBinsToReal(FftPlanner& planner, int64_t n, int64_t count, double scale, FftBuffer from) {
  const bool is_double = planner.plan().is_double;
  const int64_t bins = n / 2 + 1, half = n / 2;
  FftLines lines{count};
  lines.in_outer = bins;
  lines.out_outer = n;
  if (!IsHalved(n, is_double)) {
    return planner.AddTransform(
        n, lines, {kFftLoadHermitian | kFftSwapLoad, kFftStoreReal | kFftSwapStore, n, n, scale}, from,
        FftBuffer::kOutput);
  }
  lines.out_outer = half;
  scale *= 2;  // The half-length transform has half as many points.
  if (planner.IsOneLaunch(half)) {
    if (!planner.AddTransform(half, lines, {kFftLoadHalf | kFftSwapLoad, kFftSwapStore, half, half, scale},
                              from, FftBuffer::kOutput))
      return false;
    planner.last().tables.half_roots = planner.HalfRoots(half);
    return true;
  }
  lines.in_outer = half;
  planner.Grow(FftBuffer::kHalfWork, count * half);
  planner.AddHalf(half, count, /*to_bins=*/false, from, FftBuffer::kHalfWork);
  return planner.AddTransform(half, lines, {kFftSwapLoad, kFftSwapStore, half, half, scale},
                              FftBuffer::kHalfWork, FftBuffer::kOutput);
}

bool AddAll(FftPlanner& planner, FftType type, absl::Span<const int64_t> in_dims,
            absl::Span<const int64_t> length) {
  const auto last = static_cast<int64_t>(in_dims.size()) - 1,
             first = last - static_cast<int64_t>(length.size()) + 1;
  const double scale = 1 / static_cast<double>(hlo::Product(length));
  if (type == FftType::kFft || type == FftType::kIfft) {
    const bool inverse = type == FftType::kIfft;
    return AddAxes(planner, in_dims, first, last, inverse, inverse ? scale : 1, FftBuffer::kInput,
                   FftBuffer::kOutput);
  }
  const int64_t n = length.back(), count = hlo::Product(in_dims.first(static_cast<size_t>(last)));
  if (type == FftType::kRfft) {
    Index bins(in_dims);
    bins[last] = n / 2 + 1;
    return AddRealToBins(planner, n, count) && AddAxes(planner, bins, first, last - 1, /*inverse=*/false, 1,
                                                       FftBuffer::kOutput, FftBuffer::kOutput);
  }
  if (length.size() == 1) return AddBinsToReal(planner, n, count, scale, FftBuffer::kInput);
  planner.Grow(FftBuffer::kAxisWork, hlo::Product(in_dims));
  return AddAxes(planner, in_dims, first, last - 1, /*inverse=*/true, 1, FftBuffer::kInput,
                 FftBuffer::kAxisWork) &&
         AddBinsToReal(planner, n, count, scale, FftBuffer::kAxisWork);
}

}  // namespace

std::optional<FftPlan> PlanFft(FftType type, bool is_double, absl::Span<const int64_t> in_dims,
                               absl::Span<const int64_t> length, int64_t shared_bytes) {
  FftPlanner planner(is_double, shared_bytes);
  if (hlo::Product(in_dims) == 0 || hlo::Product(length) == 0) return planner.plan();
  if (length.empty() || hlo::Product(in_dims) > kMaxFftElements || !AddAll(planner, type, in_dims, length))
    return std::nullopt;
  return planner.plan();
}

int64_t FftPlan::workspace_bytes() const {
  int64_t bytes = 0;
  for (int64_t each : work_bytes) bytes += each;
  return bytes;
}

FftStep Bound(const FftPlan& plan, FftStep step, const FftPointers& pointers) {
  const auto address_of = [&](FftBuffer at) -> std::byte* {
    auto* work = static_cast<std::byte*>(pointers.workspace);
    for (int i = 0; i < WorkspaceOf(at); ++i) work += plan.work_bytes[i];
    return at == FftBuffer::kOutput ? static_cast<std::byte*>(pointers.output) : work;
  };
  const auto table = [&](int64_t offset) -> const void* {
    return offset < 0 ? nullptr : static_cast<const std::byte*>(pointers.constants) + offset;
  };
  step.args.in = step.half.in = step.from == FftBuffer::kInput ? pointers.input : address_of(step.from);
  step.args.out = step.half.out = address_of(step.to);
  step.power_args.in = step.args.in;
  step.power_args.out = step.args.out;
  step.args.roots = step.power_args.roots = table(step.tables.roots);
  step.args.chirp = table(step.tables.chirp);
  step.args.spectrum = table(step.tables.spectrum);
  step.args.coarse = step.power_args.coarse = step.half.coarse = table(step.tables.coarse);
  step.args.fine = step.power_args.fine = step.half.fine = table(step.tables.fine);
  step.args.half_roots = step.power_args.half_roots = table(step.tables.half_roots);
  return step;
}

}  // namespace hlo::cuda
