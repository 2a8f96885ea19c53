#include "kernels/cuda/fft/fft_planner.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/arithmetic.h"
#include "base/root_of_unity.h"
#include "device/align.h"
#include "kernels/cuda/fft/fft_blocks.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxFftLines = (int64_t{1} << 31) - 1;
// The tables of Bluestein's algorithm are computed on the host.
constexpr int64_t kLongestBluestein = 1 << 20;
constexpr uint32_t kHalfThreads = FftHalfF32::kThreads;
// The conversions that the kernels for powers of two perform.
constexpr uint32_t kPlainPointFlags = kFftSwapLoad | kFftSwapStore | kFftLoadHalf | kFftStoreHalf,
                   kPlainLineFlags = kFftSwapLoad | kFftSwapStore | kFftStoreRotated;

FftStep StepOf(const FftEnds& ends, FftBuffer from, FftBuffer to) {
  FftStep step{from, to};
  step.args.flags = ends.load | ends.store;
  step.args.in_limit = ends.in_limit;
  step.args.out_limit = ends.out_limit;
  step.args.scale = ends.scale;
  return step;
}

void SetDigit(FftStep& step, int d, int64_t size, int64_t in, int64_t out, int64_t in_point = 0,
              int64_t out_point = 0) {
  step.args.digits[d] = {FastDiv(static_cast<uint32_t>(size)), in, out, in_point, out_point};
}

}  // namespace

void FftPlanner::Grow(FftBuffer buffer, int64_t elements) {
  int64_t& bytes = plan_.work_bytes[WorkspaceOf(buffer)];
  bytes = std::max(bytes, device::Aligned(elements * ElementBytes()));
}

int64_t FftPlanner::Table(const char* kind, int64_t n, int64_t m,
                          absl::FunctionRef<std::vector<LongComplex>()> make) {
  auto [at, is_new] = tables_.try_emplace({kind, n, m}, plan_.constants.size());
  if (!is_new) return at->second;
  for (const LongComplex& value : make()) {
    const double both[2] = {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    const float narrow[2] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
    const auto* bytes = plan_.is_double ? reinterpret_cast<const std::byte*>(both)
                                        : reinterpret_cast<const std::byte*>(narrow);
    plan_.constants.insert(plan_.constants.end(), bytes, bytes + ElementBytes());
  }
  return at->second;
}

int64_t FftPlanner::Roots(int64_t n, int64_t count, int64_t step, const char* kind) {
  return Table(kind, n, 0, [&] {
    std::vector<LongComplex> roots;
    for (int64_t j = 0; j < count; ++j)
      roots.push_back(RootOfUnity(static_cast<uint64_t>(j * step), static_cast<uint64_t>(n)));
    return roots;
  });
}

int64_t FftPlanner::HalfRoots(int64_t n) {
  return Table("half", n, 0, [&] {
    std::vector<LongComplex> roots;
    for (int64_t j = 0; j <= n; ++j)
      roots.push_back(RootOfUnity(static_cast<uint64_t>(j), static_cast<uint64_t>(2 * n)));
    return roots;
  });
}

uint32_t FftPlanner::Rotations(int64_t n, FftStep::Tables* tables) {
  uint32_t bits = 1;
  while ((int64_t{1} << 2 * bits) < n) ++bits;
  tables->coarse = Roots(n, (n >> bits) + 1, int64_t{1} << bits, "coarse");
  tables->fine = Roots(n, int64_t{1} << bits, 1, "fine");
  return bits;
}

bool FftPlanner::AddTransform(int64_t n, const FftLines& lines, FftEnds ends, FftBuffer from, FftBuffer to) {
  if (ends.out_limit < n) ends.store |= kFftStagedStore;
  if (lines.count() > kMaxFftLines) return false;
  if (HasPlan(n, plan_.is_double)) return AddSmooth(n, lines, ends, from, to, -1, -1);
  if (n > kLongestBluestein) return false;
  int64_t m = 2 * n - 1;
  while (!IsSmooth(m, {2, 3, 5, 7}) || !HasPlan(m, plan_.is_double)) ++m;
  const int64_t chirp = Table("chirp", n, 0, [&] { return Chirp(n); });
  const int64_t spectrum = Table("spectrum", n, m, [&] { return ChirpSpectrum(n, m); });
  FftEnds inner = ends;
  inner.scale = ends.scale / static_cast<double>(m);
  inner.load |= kFftLoadChirp;
  inner.store |= kFftStoreChirp;
  if (FactorsOf(m, plan_.is_double).has_value()) {
    inner.load |= kFftConvolve;
    return AddSmooth(m, lines, inner, from, to, chirp, spectrum);
  }
  // The convolution passes through the chirp workspace, line by line.
  FftLines in = lines, out = lines;
  in.out_outer = out.in_outer = lines.inner * m;
  in.out_inner = out.in_inner = m;
  in.out_stride = out.in_stride = 1;
  const FftEnds begin{inner.load, kFftStoreSpectrum, ends.in_limit, m, 1};
  const FftEnds end{0, inner.store, m, ends.out_limit, inner.scale};
  Grow(FftBuffer::kChirpWork, lines.count() * m);
  return AddSmooth(m, in, begin, from, FftBuffer::kChirpWork, chirp, spectrum) &&
         AddSmooth(m, out, end, FftBuffer::kChirpWork, to, chirp, spectrum);
}

void FftPlanner::AddHalf(int64_t n, int64_t lines, bool to_bins, FftBuffer from, FftBuffer to) {
  FftStep step{from, to};
  step.is_half = true;
  step.half.length = n;
  step.half.lines = lines;
  step.half.to_bins = to_bins;
  step.half.fine_bits = Rotations(2 * n, &step.tables);
  step.shape = {{static_cast<uint32_t>((n + kHalfThreads) / kHalfThreads),
                 static_cast<uint32_t>(std::min<int64_t>(lines, 32768))},
                kHalfThreads};
  plan_.steps.push_back(step);
}

bool FftPlanner::AddSmooth(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from,
                           FftBuffer to, int64_t chirp, int64_t spectrum) {
  const size_t first = plan_.steps.size();
  const bool has_own_kernel = HasOwnKernel(n) && lines.in_stride == 1 && lines.out_stride == 1 &&
                              ((ends.load | ends.store) & ~kPlainPointFlags) == 0;
  const bool added = FactorsOf(n, plan_.is_double).has_value() || has_own_kernel
                         ? AddBlocks(n, lines, ends, from, to)
                         : AddSplit(n, lines, ends, from, to);
  for (size_t i = first; i < plan_.steps.size(); ++i) {
    plan_.steps[i].tables.chirp = chirp;
    plan_.steps[i].tables.spectrum = spectrum;
  }
  return added;
}

std::optional<FftPlanner::OwnKernel> FftPlanner::FindOwnKernel(FftAccess access, int64_t n) const {
  std::optional<OwnKernel> found;
  WithFftPowerOfTwo(plan_.is_double, access, n, [&]<class Kernel>() {
    found = {Kernel::kBlockLines, Kernel::kThreads, static_cast<int64_t>(Kernel::kSharedBytes)};
  });
  return found.has_value() && found->shared_bytes <= shared_bytes_ ? found : std::nullopt;
}
bool FftPlanner::IsOneLaunch(int64_t n) const {
  return HasOwnKernel(n) || FactorsOf(n, plan_.is_double).has_value();
}

bool FftPlanner::ChooseOwnKernel(FftStep& step, int64_t n, int64_t lines) const {
  const FftArgs& args = step.args;
  const FftDigit& nearest = args.digits[kFftDigits - 1];
  const bool has_neighbours = nearest.size.divisor > 1, stores_points = args.out_stride == 1,
             loads_points = args.in_stride == 1;
  step.access = loads_points && stores_points ? FftAccess::kPoints : FftAccess::kLines;
  const bool by_lines = step.access == FftAccess::kLines;
  const bool loads_lines = has_neighbours && std::abs(nearest.in) < std::abs(args.in_stride),
             stores_lines = has_neighbours && std::abs(nearest.out) < std::abs(args.out_stride);
  if (by_lines && !(stores_lines && (loads_lines || loads_points))) return false;
  const std::optional<OwnKernel> kernel = FindOwnKernel(step.access, n);
  if (!kernel.has_value() || (args.flags & ~(by_lines ? kPlainLineFlags : kPlainPointFlags)) != 0)
    return false;
  step.power_of_two = static_cast<uint32_t>(n);
  FftLinesArgs& own = step.power_args;
  own.in_stride = args.in_stride;
  own.out_stride = args.out_stride;
  std::copy(std::begin(args.digits), std::end(args.digits), own.digits);
  own.lines = static_cast<uint32_t>(lines);
  own.fine_bits = args.fine_bits;
  own.flags = args.flags | (by_lines && loads_points && !loads_lines ? kFftStagedLoad : 0u);
  own.scale = args.scale;
  step.shape = {{static_cast<uint32_t>(CeilDiv(lines, kernel->block_lines))},
                kernel->threads,
                static_cast<size_t>(kernel->shared_bytes)};
  return true;
}

bool FftPlanner::AddBlocks(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from,
                           FftBuffer to) {
  FftStep step = StepOf(ends, from, to);
  step.args.in_stride = lines.in_stride;
  step.args.out_stride = lines.out_stride;
  SetDigit(step, 2, lines.outer, lines.in_outer, lines.out_outer);
  SetDigit(step, 3, lines.inner, lines.in_inner, lines.out_inner);
  return Finish(step, n, lines.count());
}

bool FftPlanner::AddSplit(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from,
                          FftBuffer to) {
  const std::optional<Split> split = SplitOf(n, plan_.is_double);
  const int64_t n1 = split->rows, n2 = split->columns;
  if (lines.count() * n1 > kMaxFftLines || lines.count() * n2 > kMaxFftLines) return false;
  Grow(FftBuffer::kSplitWork, lines.count() * n);
  FftStep columns = StepOf({ends.load, 0, ends.in_limit, n, 1}, from, FftBuffer::kSplitWork);
  columns.args.flags |= kFftStoreRotated;
  columns.args.fine_bits = Rotations(n, &columns.tables);
  columns.args.in_stride = n1 * lines.in_stride;
  columns.args.out_stride = columns.args.in_point_stride = columns.args.out_point_stride = n1;
  SetDigit(columns, 1, lines.outer, lines.in_outer, lines.inner * n);
  SetDigit(columns, 2, lines.inner, lines.in_inner, n);
  SetDigit(columns, 3, n1, lines.in_stride, 1, 1, 1);
  if (!Finish(columns, n2, lines.count() * n1)) return false;

  FftStep rows = StepOf({0, ends.store, n, ends.out_limit, ends.scale}, FftBuffer::kSplitWork, to);
  if (FactorsOf(n1, plan_.is_double).has_value()) {
    rows.args.out_stride = n2 * lines.out_stride;
    rows.args.out_point_stride = n2;
    SetDigit(rows, 1, lines.outer, lines.inner * n, lines.out_outer);
    SetDigit(rows, 2, lines.inner, n, lines.out_inner);
    SetDigit(rows, 3, n2, n1, lines.out_stride, 0, 1);
    return Finish(rows, n1, lines.count() * n2);
  }
  // Rows of N1 = Na Nb are split in the same way; the first part runs in place.
  const std::optional<Split> inner = SplitOf(n1, plan_.is_double);
  const int64_t na = inner->rows, nb = inner->columns;
  if (lines.count() * n2 * std::max(na, nb) > kMaxFftLines) return false;
  FftStep again = StepOf({0, 0, n, n, 1}, FftBuffer::kSplitWork, FftBuffer::kSplitWork);
  again.args.flags |= kFftStoreRotated;
  again.args.fine_bits = Rotations(n1, &again.tables);
  again.args.in_stride = again.args.out_stride = na;
  again.args.in_point_stride = again.args.out_point_stride = 0;
  SetDigit(again, 2, lines.count() * n2, n1, n1);
  SetDigit(again, 3, na, 1, 1, 1);
  if (!Finish(again, nb, lines.count() * n2 * na)) return false;
  rows.args.out_stride = n2 * nb * lines.out_stride;
  rows.args.out_point_stride = n2 * nb;
  SetDigit(rows, 0, lines.outer, lines.inner * n, lines.out_outer);
  SetDigit(rows, 1, lines.inner, n, lines.out_inner);
  SetDigit(rows, 2, nb, na, n2 * lines.out_stride, 0, n2);
  SetDigit(rows, 3, n2, n1, lines.out_stride, 0, 1);
  return Finish(rows, na, lines.count() * n2 * nb);
}

bool FftPlanner::Finish(FftStep& step, int64_t n, int64_t lines) {
  if (!ChooseOwnKernel(step, n, lines)) {
    if (!FactorsOf(n, plan_.is_double).has_value()) return false;
    SetBlocks(step, n, lines, plan_.is_double);
  }
  step.tables.roots = Roots(n, n, 1, "roots");
  plan_.steps.push_back(step);
  return true;
}

}  // namespace hlo::cuda
