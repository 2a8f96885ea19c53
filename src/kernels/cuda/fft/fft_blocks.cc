#include "kernels/cuda/fft/fft_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/arithmetic.h"

namespace hlo::cuda {
namespace {

constexpr uint32_t kSharedBytes = 96 * 1024;  // Allows two thread blocks per multiprocessor on large devices.
constexpr uint32_t kUsualThreads = 256;

// Points per thread in a pass of this radix.
uint32_t PointsEach(uint32_t radix) { return radix * std::max(1u, kFftValues / radix); }

void SetLinesAndThreads(FftStep& step, const Factors& factors, bool is_double) {
  FftArgs& args = step.args;
  const uint32_t part_bytes = is_double ? 8u : 4u;
  const auto padded = [&](uint32_t i) { return is_double ? FftPadded<double>(i) : FftPadded<float>(i); };
  args.line_stride = padded(args.length - 1) + 1;
  const bool lines_first = args.load_lines_first || args.store_lines_first;
  // The padding offsets adjacent lines by a few banks to avoid bank conflicts.
  if (lines_first) args.line_stride = RoundUp(args.line_stride, 32) + (args.length < 32 ? 1 : 4);
  const uint32_t line_threads = CeilDiv(args.length, factors.points_each);
  const uint32_t line_bytes = 2 * part_bytes * args.line_stride + sizeof(FftLine);
  uint32_t wanted = std::max(1u, kUsualThreads / line_threads);
  if (lines_first) wanted = std::max(wanted, is_double ? 8u : 16u);
  wanted = std::min(
      {wanted, MaxFftThreads(is_double, step.wide) / line_threads, kSharedBytes / line_bytes, args.lines});
  args.block_lines = std::max(1u, wanted);
  args.block_lines_divisor = FastDiv(args.block_lines);
  // The minimum of points per thread over all radices; the block needs enough threads for the butterflies of
  // every radix.
  const uint32_t threads = CeilDiv(args.block_lines * args.length, factors.points_each);
  uint32_t needed = threads;
  for (uint32_t radix : factors.radices) {
    const uint32_t count = std::max(1u, kFftValues / radix);
    needed = std::max(needed, CeilDiv(args.block_lines * (args.length / radix), count));
  }
  step.shape = {{CeilDiv(args.lines, args.block_lines)},
                std::max(32u, RoundUp(needed, 32)),
                args.block_lines * line_bytes};
}

// Selects staging through shared memory for accesses that are more than a copy, or that have short contiguous
// runs.
void Stage(FftStep& step, const Factors& factors) {
  FftArgs& args = step.args;
  constexpr uint32_t kLoads = kFftLoadReal | kFftLoadHermitian | kFftLoadHalf | kFftLoadChirp,
                     kStores = kFftStoreReal | kFftStoreHalf | kFftStoreChirp | kFftStoreSpectrum,
                     kShortRun = 8;
  const auto run_of = [&](uint32_t radix) { return args.length / radix; };
  const bool one_pass = args.pass_count <= 1;
  if ((args.flags & kLoads) != 0 || args.pass_count == 0 ||
      (!args.load_lines_first && args.block_lines > 1 && run_of(factors.radices.front()) < kShortRun))
    args.flags |= kFftStagedLoad;
  if ((args.flags & kStores) != 0 || args.pass_count == 0 ||
      (one_pass && args.load_lines_first != args.store_lines_first) ||
      (!args.store_lines_first && args.block_lines > 1 && run_of(factors.radices.back()) < kShortRun))
    args.flags |= kFftStagedStore;
}

}  // namespace

std::optional<Factors> FactorsOf(int64_t n, bool is_double) {
  Factors factors;
  int64_t rest = n;
  for (uint32_t radix : {13u, 11u, 7u, 5u, 3u, 8u, 4u, 2u}) {
    for (; rest % radix == 0; rest /= radix) {
      factors.radices.push_back(radix);
      factors.wide |= radix > 8;
      factors.points_each = std::min(factors.points_each, PointsEach(radix));
    }
  }
  const int64_t most = int64_t{MaxFftThreads(is_double, factors.wide)} * factors.points_each;
  if (rest != 1 || n > most || factors.radices.size() > kMaxFftPasses) return std::nullopt;
  return factors;
}

bool IsSmooth(int64_t n, std::initializer_list<int64_t> primes) {
  for (int64_t p : primes) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

std::optional<Split> SplitOf(int64_t n, bool is_double, bool may_split_rows) {
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  for (int64_t columns = root + 1; columns > 1; --columns) {
    if (n % columns != 0 || !FactorsOf(columns, is_double).has_value()) continue;
    if (FactorsOf(n / columns, is_double).has_value()) return Split{n / columns, columns};
    if (!may_split_rows) continue;
    if (SplitOf(n / columns, is_double, /*may_split_rows=*/false).has_value())
      return Split{n / columns, columns};
  }
  return std::nullopt;
}
bool HasPlan(int64_t n, bool is_double) {
  return IsSmooth(n, {2, 3, 5, 7, 11, 13}) &&
         (FactorsOf(n, is_double).has_value() || SplitOf(n, is_double).has_value());
}

void SetBlocks(FftStep& step, int64_t n, int64_t lines, bool is_double) {
  FftArgs& args = step.args;
  const Factors factors = *FactorsOf(n, is_double);
  step.wide = factors.wide;
  args.length = static_cast<uint32_t>(n);
  args.lines = static_cast<uint32_t>(lines);
  args.length_divisor = FastDiv(args.length);
  uint32_t done = 1;
  for (uint32_t radix : factors.radices) {
    args.passes[args.pass_count++] = {radix, FastDiv(args.length / radix), FastDiv(done),
                                      args.length / (done * radix)};
    done *= radix;
  }
  const FftDigit& nearest = args.digits[kFftDigits - 1];
  args.load_lines_first = nearest.size.divisor > 1 && std::abs(nearest.in) < std::abs(args.in_stride);
  args.store_lines_first = nearest.size.divisor > 1 && std::abs(nearest.out) < std::abs(args.out_stride);
  SetLinesAndThreads(step, factors, is_double);
  Stage(step, factors);
}

}  // namespace hlo::cuda
