#include "kernels/cuda/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>

#include "kernels/cuda/fft_tables.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40, kMostLines = (int64_t{1} << 31) - 1;
constexpr int64_t kLongestBluestein = 1 << 20;  // Its tables are made on the host.
constexpr uint32_t kSharedBytes = 96 * 1024;    // Two blocks on a processor of the larger kind.
constexpr uint32_t kUsualThreads = 256;

// Points of a thread in a pass of this radix.
uint32_t PointsEach(uint32_t radix) { return radix * std::max(1u, kFftValues / radix); }

// The passes of one block; empty where it takes no transform of this length.
struct Factors {
  std::vector<uint32_t> radices;
  bool wide = false;
  uint32_t points_each = kFftValues;  // The least of a thread.
};
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
  const int64_t most = int64_t{MostFftThreads(is_double, factors.wide)} * factors.points_each;
  if (rest != 1 || n > most || factors.radices.size() > kMostFftPasses) return std::nullopt;
  return factors;
}

bool IsSmooth(int64_t n, std::initializer_list<int64_t> primes) {
  for (int64_t p : primes) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}
bool IsSmooth(int64_t n) { return IsSmooth(n, {2, 3, 5, 7, 11, 13}); }

// The two factors nearest to each other of which the second fits into a block, and the first too or its own.
struct Split {
  int64_t rows, columns;
};
std::optional<Split> SplitOf(int64_t n, bool is_double, bool once = true) {
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  for (int64_t columns = root + 1; columns > 1; --columns) {
    if (n % columns != 0 || !FactorsOf(columns, is_double).has_value()) continue;
    if (FactorsOf(n / columns, is_double).has_value()) return Split{n / columns, columns};
    if (!once) continue;
    if (SplitOf(n / columns, is_double, false).has_value()) return Split{n / columns, columns};
  }
  return std::nullopt;
}
bool HasPlan(int64_t n, bool is_double) {
  return IsSmooth(n) && (FactorsOf(n, is_double).has_value() || SplitOf(n, is_double).has_value());
}

int WorkspaceOf(FftPlace place) { return static_cast<int>(place) - static_cast<int>(FftPlace::kSplitWork); }

// How a line begins and ends, apart from the transform.
struct Ends {
  uint32_t load = 0, store = 0;
  int64_t in_limit, out_limit;
  double scale = 1;
};

// Lines (outer, inner): addresses of their first points, and from point to point.
struct Lines {
  int64_t outer = 1, inner = 1;
  int64_t in_outer = 0, in_inner = 0, out_outer = 0, out_inner = 0, in_stride = 1, out_stride = 1;
  int64_t count() const { return outer * inner; }
};

class Planner {
 public:
  explicit Planner(bool is_double) { plan_.is_double = is_double; }

  // false: too large.
  bool AddTransform(int64_t n, const Lines& lines, Ends ends, FftPlace from, FftPlace to) {
    if (ends.out_limit < n) ends.store |= kFftStagedStore;
    if (lines.count() > kMostLines) return false;
    if (HasPlan(n, plan_.is_double)) return AddSmooth(n, lines, ends, from, to, -1, -1);
    if (n > kLongestBluestein) return false;
    int64_t m = 2 * n - 1;
    while (!IsSmooth(m, {2, 3, 5, 7}) || !HasPlan(m, plan_.is_double)) ++m;
    const int64_t chirp = Table("chirp", n, 0, [&] { return Chirp(n); });
    const int64_t spectrum = Table("spectrum", n, m, [&] { return ChirpSpectrum(n, m); });
    Ends inner = ends;
    inner.scale = ends.scale / static_cast<double>(m);
    inner.load |= kFftLoadChirp;
    inner.store |= kFftStoreChirp;
    if (FactorsOf(m, plan_.is_double).has_value()) {
      inner.load |= kFftConvolve;
      return AddSmooth(m, lines, inner, from, to, chirp, spectrum);
    }
    // By way of the second workspace, line after line.
    Lines in = lines, out = lines;
    in.out_outer = out.in_outer = lines.inner * m;
    in.out_inner = out.in_inner = m;
    in.out_stride = out.in_stride = 1;
    const Ends begin{inner.load, kFftStoreSpectrum, ends.in_limit, m, 1};
    const Ends end{0, inner.store, m, ends.out_limit, inner.scale};
    Grow(FftPlace::kChirpWork, lines.count() * m);
    return AddSmooth(m, in, begin, from, FftPlace::kChirpWork, chirp, spectrum) &&
           AddSmooth(m, out, end, FftPlace::kChirpWork, to, chirp, spectrum);
  }

  // Bins of real lines from and to complex lines of n.
  void AddHalf(int64_t n, int64_t lines, bool to_bins, FftPlace from, FftPlace to) {
    FftStep step{from, to};
    step.is_half = true;
    step.half.length = n;
    step.half.lines = lines;
    step.half.to_bins = to_bins;
    step.half.fine_bits = Rotations(2 * n, &step.tables);
    step.shape = {{static_cast<uint32_t>((n + kUsualThreads) / kUsualThreads),
                   static_cast<uint32_t>(std::min<int64_t>(lines, 32768))},
                  kUsualThreads};
    plan_.steps.push_back(step);
  }
  void Grow(FftPlace place, int64_t elements) {
    int64_t& bytes = plan_.work_bytes[WorkspaceOf(place)];
    bytes = std::max(bytes, (elements * ElementBytes() + 255) / 256 * 256);
  }
  int64_t HalfRoots(int64_t n) {
    return Table("half", n, 0, [&] {
      std::vector<LongComplex> roots;
      for (int64_t j = 0; j <= n; ++j)
        roots.push_back(RootOfUnity(static_cast<uint64_t>(j), static_cast<uint64_t>(2 * n)));
      return roots;
    });
  }
  FftPlan& plan() { return plan_; }
  FftStep& last() { return plan_.steps.back(); }

 private:
  int64_t ElementBytes() const { return plan_.is_double ? 16 : 8; }

  template <class Make>
  int64_t Table(const char* kind, int64_t n, int64_t m, Make&& make) {
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
  int64_t Roots(int64_t n, int64_t count, int64_t step, const char* kind) {
    return Table(kind, n, 0, [&] {
      std::vector<LongComplex> roots;
      for (int64_t j = 0; j < count; ++j)
        roots.push_back(RootOfUnity(static_cast<uint64_t>(j * step), static_cast<uint64_t>(n)));
      return roots;
    });
  }
  // The number of bits of the fine table.
  uint32_t Rotations(int64_t n, FftStep::Tables* tables) {
    uint32_t bits = 1;
    while ((int64_t{1} << 2 * bits) < n) ++bits;
    tables->coarse = Roots(n, (n >> bits) + 1, int64_t{1} << bits, "coarse");
    tables->fine = Roots(n, int64_t{1} << bits, 1, "fine");
    return bits;
  }

  bool AddSmooth(int64_t n, const Lines& lines, const Ends& ends, FftPlace from, FftPlace to, int64_t chirp,
                 int64_t spectrum) {
    const size_t first = plan_.steps.size();
    const bool added = FactorsOf(n, plan_.is_double).has_value() ? AddBlocks(n, lines, ends, from, to)
                                                                 : AddSplit(n, lines, ends, from, to);
    for (size_t i = first; i < plan_.steps.size(); ++i) {
      plan_.steps[i].tables.chirp = chirp;
      plan_.steps[i].tables.spectrum = spectrum;
    }
    return added;
  }

  bool AddBlocks(int64_t n, const Lines& lines, const Ends& ends, FftPlace from, FftPlace to) {
    FftStep step = StepOf(ends, from, to);
    step.args.in_stride = lines.in_stride;
    step.args.out_stride = lines.out_stride;
    SetDigit(step, 2, lines.outer, lines.in_outer, lines.out_outer);
    SetDigit(step, 3, lines.inner, lines.in_inner, lines.out_inner);
    return Finish(step, n, lines.count());
  }

  // x[n1 + N1 n2]: transforms over n2, times w_N^(n1 k2), transforms over n1 to X[k2 + N2 k1].
  bool AddSplit(int64_t n, const Lines& lines, const Ends& ends, FftPlace from, FftPlace to) {
    const std::optional<Split> split = SplitOf(n, plan_.is_double);
    const int64_t n1 = split->rows, n2 = split->columns;
    if (lines.count() * n1 > kMostLines || lines.count() * n2 > kMostLines) return false;
    Grow(FftPlace::kSplitWork, lines.count() * n);
    FftStep columns = StepOf({ends.load, 0, ends.in_limit, n, 1}, from, FftPlace::kSplitWork);
    columns.args.flags |= kFftStoreRotated;
    columns.args.fine_bits = Rotations(n, &columns.tables);
    columns.args.in_stride = n1 * lines.in_stride;
    columns.args.out_stride = columns.args.in_point_stride = columns.args.out_point_stride = n1;
    SetDigit(columns, 1, lines.outer, lines.in_outer, lines.inner * n);
    SetDigit(columns, 2, lines.inner, lines.in_inner, n);
    SetDigit(columns, 3, n1, lines.in_stride, 1, 1, 1);
    if (!Finish(columns, n2, lines.count() * n1)) return false;

    FftStep rows = StepOf({0, ends.store, n, ends.out_limit, ends.scale}, FftPlace::kSplitWork, to);
    if (FactorsOf(n1, plan_.is_double).has_value()) {
      rows.args.out_stride = n2 * lines.out_stride;
      rows.args.out_point_stride = n2;
      SetDigit(rows, 1, lines.outer, lines.inner * n, lines.out_outer);
      SetDigit(rows, 2, lines.inner, n, lines.out_inner);
      SetDigit(rows, 3, n2, n1, lines.out_stride, 0, 1);
      return Finish(rows, n1, lines.count() * n2);
    }
    // Rows of N1 = Na Nb in the same way, in place first.
    const std::optional<Split> inner = SplitOf(n1, plan_.is_double);
    const int64_t na = inner->rows, nb = inner->columns;
    if (lines.count() * n2 * std::max(na, nb) > kMostLines) return false;
    FftStep again = StepOf({0, 0, n, n, 1}, FftPlace::kSplitWork, FftPlace::kSplitWork);
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

  static FftStep StepOf(const Ends& ends, FftPlace from, FftPlace to) {
    FftStep step{from, to};
    step.args.flags = ends.load | ends.store;
    step.args.in_limit = ends.in_limit;
    step.args.out_limit = ends.out_limit;
    step.args.scale = ends.scale;
    return step;
  }
  static void SetDigit(FftStep& step, int d, int64_t size, int64_t in, int64_t out, int64_t in_point = 0,
                       int64_t out_point = 0) {
    step.args.digits[d] = {FastDiv(static_cast<uint32_t>(size)), in, out, in_point, out_point};
  }

  // Passes, threads and the walk over the lines.
  bool Finish(FftStep& step, int64_t n, int64_t lines) {
    FftArgs& args = step.args;
    const Factors factors = *FactorsOf(n, plan_.is_double);
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
    step.tables.roots = Roots(n, n, 1, "roots");
    const FftDigit& nearest = args.digits[kFftDigits - 1];
    args.load_lines_first = nearest.size.divisor > 1 && std::abs(nearest.in) < std::abs(args.in_stride);
    args.store_lines_first = nearest.size.divisor > 1 && std::abs(nearest.out) < std::abs(args.out_stride);
    SetLinesAndThreads(step, factors);
    Stage(step, factors);
    plan_.steps.push_back(step);
    return true;
  }

  void SetLinesAndThreads(FftStep& step, const Factors& factors) {
    FftArgs& args = step.args;
    const auto part_bytes = static_cast<uint32_t>(ElementBytes() / 2);
    const auto padded = [&](uint32_t i) {
      return plan_.is_double ? FftPadded<double>(i) : FftPadded<float>(i);
    };
    args.line_stride = padded(args.length - 1) + 1;
    const bool lines_first = args.load_lines_first || args.store_lines_first;
    // Lines side by side fall on banks that are a few points apart.
    if (lines_first) args.line_stride = (args.line_stride + 31) / 32 * 32 + (args.length < 32 ? 1 : 4);
    const uint32_t line_threads = (args.length + factors.points_each - 1) / factors.points_each;
    const uint32_t line_bytes = 2 * part_bytes * args.line_stride + sizeof(FftLine);
    uint32_t wanted = std::max(1u, kUsualThreads / line_threads);
    if (lines_first) wanted = std::max(wanted, plan_.is_double ? 8u : 16u);
    wanted = std::min({wanted, MostFftThreads(plan_.is_double, step.wide) / line_threads,
                       kSharedBytes / line_bytes, args.lines});
    args.block_lines = std::max(1u, wanted);
    args.block_lines_divisor = FastDiv(args.block_lines);
    // Of all radices the least points a thread; butterflies of the largest fill the block.
    const uint32_t threads = (args.block_lines * args.length + factors.points_each - 1) / factors.points_each;
    uint32_t needed = threads;
    for (uint32_t radix : factors.radices) {
      const uint32_t count = std::max(1u, kFftValues / radix);
      needed = std::max(needed, (args.block_lines * (args.length / radix) + count - 1) / count);
    }
    step.shape = {{(args.lines + args.block_lines - 1) / args.block_lines},
                  std::max(32u, (needed + 31) / 32 * 32),
                  args.block_lines * line_bytes};
  }

  // By way of shared memory: what is more than a copy, and runs of few points.
  static void Stage(FftStep& step, const Factors& factors) {
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

  FftPlan plan_;
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> tables_;
};

// A complex transform of one axis.
bool AddAxis(Planner& planner, absl::Span<const int64_t> dims, int64_t axis, bool inverse, double scale,
             FftPlace from, FftPlace to) {
  const int64_t n = dims[axis];
  const auto at = static_cast<size_t>(axis);
  Lines lines;
  lines.outer = Product(dims.first(at));
  lines.inner = Product(dims.subspan(at + 1));
  lines.in_outer = lines.out_outer = n * lines.inner;
  lines.in_inner = lines.out_inner = 1;
  lines.in_stride = lines.out_stride = lines.inner;
  const Ends ends{inverse ? kFftConjLoad : 0u, inverse ? kFftConjStore : 0u, n, n, scale};
  return planner.AddTransform(n, lines, ends, from, to);
}

// Axes last, last - 1, ..., first; those of one point do nothing.
bool AddAxes(Planner& planner, absl::Span<const int64_t> dims, int64_t first, int64_t last, bool inverse,
             double scale, FftPlace from, FftPlace to) {
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

// Whether a real line is transformed as a complex one of half its length.
bool IsHalved(int64_t n, bool is_double) { return n % 2 == 0 && HasPlan(n / 2, is_double); }

bool AddRealToBins(Planner& planner, int64_t n, int64_t count) {
  const bool is_double = planner.plan().is_double;
  const int64_t bins = n / 2 + 1, half = n / 2;
  Lines lines{count};
  lines.out_outer = bins;
  lines.in_outer = n;
  if (!IsHalved(n, is_double))
    return planner.AddTransform(n, lines, {kFftLoadReal, 0, n, bins}, FftPlace::kInput, FftPlace::kOutput);
  lines.in_outer = half;
  if (FactorsOf(half, is_double).has_value()) {
    if (!planner.AddTransform(half, lines, {0, kFftStoreHalf, half, half}, FftPlace::kInput,
                              FftPlace::kOutput))
      return false;
    planner.last().tables.half_roots = planner.HalfRoots(half);
    return true;
  }
  lines.out_outer = half;
  planner.Grow(FftPlace::kHalfWork, count * half);
  if (!planner.AddTransform(half, lines, {0, 0, half, half}, FftPlace::kInput, FftPlace::kHalfWork))
    return false;
  planner.AddHalf(half, count, true, FftPlace::kHalfWork, FftPlace::kOutput);
  return true;
}

bool AddBinsToReal(Planner& planner, int64_t n, int64_t count, double scale, FftPlace from) {
  const bool is_double = planner.plan().is_double;
  const int64_t bins = n / 2 + 1, half = n / 2;
  Lines lines{count};
  lines.in_outer = bins;
  lines.out_outer = n;
  if (!IsHalved(n, is_double)) {
    return planner.AddTransform(
        n, lines, {kFftLoadHermitian | kFftConjLoad, kFftStoreReal | kFftConjStore, n, n, scale}, from,
        FftPlace::kOutput);
  }
  lines.out_outer = half;
  scale *= 2;  // That of the lines of half the length.
  if (FactorsOf(half, is_double).has_value()) {
    if (!planner.AddTransform(half, lines, {kFftLoadHalf | kFftConjLoad, kFftConjStore, half, half, scale},
                              from, FftPlace::kOutput))
      return false;
    planner.last().tables.half_roots = planner.HalfRoots(half);
    return true;
  }
  lines.in_outer = half;
  planner.Grow(FftPlace::kHalfWork, count * half);
  planner.AddHalf(half, count, false, from, FftPlace::kHalfWork);
  return planner.AddTransform(half, lines, {kFftConjLoad, kFftConjStore, half, half, scale},
                              FftPlace::kHalfWork, FftPlace::kOutput);
}

bool AddAll(Planner& planner, FftType type, absl::Span<const int64_t> in_dims,
            absl::Span<const int64_t> length) {
  const auto last = static_cast<int64_t>(in_dims.size()) - 1,
             first = last - static_cast<int64_t>(length.size()) + 1;
  const double scale = 1 / static_cast<double>(Product(length));
  if (type == FftType::kFft || type == FftType::kIfft) {
    const bool inverse = type == FftType::kIfft;
    return AddAxes(planner, in_dims, first, last, inverse, inverse ? scale : 1, FftPlace::kInput,
                   FftPlace::kOutput);
  }
  const int64_t n = length.back(), count = Product(in_dims.first(static_cast<size_t>(last)));
  if (type == FftType::kRfft) {
    Index bins(in_dims);
    bins[last] = n / 2 + 1;
    return AddRealToBins(planner, n, count) &&
           AddAxes(planner, bins, first, last - 1, false, 1, FftPlace::kOutput, FftPlace::kOutput);
  }
  if (length.size() == 1) return AddBinsToReal(planner, n, count, scale, FftPlace::kInput);
  planner.Grow(FftPlace::kAxisWork, Product(in_dims));
  return AddAxes(planner, in_dims, first, last - 1, true, 1, FftPlace::kInput, FftPlace::kAxisWork) &&
         AddBinsToReal(planner, n, count, scale, FftPlace::kAxisWork);
}

}  // namespace

std::optional<FftPlan> PlanFft(FftType type, bool is_double, absl::Span<const int64_t> in_dims,
                               absl::Span<const int64_t> length) {
  Planner planner(is_double);
  if (Product(in_dims) == 0 || Product(length) == 0) return planner.plan();
  if (length.empty() || Product(in_dims) > kMostElements || !AddAll(planner, type, in_dims, length))
    return std::nullopt;
  return planner.plan();
}

int64_t FftPlan::workspace_bytes() const {
  int64_t bytes = 0;
  for (int64_t each : work_bytes) bytes += each;
  return bytes;
}

FftStep Bound(const FftPlan& plan, FftStep step, const FftPointers& pointers) {
  const auto place = [&](FftPlace at) -> std::byte* {
    auto* work = static_cast<std::byte*>(pointers.workspace);
    for (int i = 0; i < WorkspaceOf(at); ++i) work += plan.work_bytes[i];
    return at == FftPlace::kOutput ? static_cast<std::byte*>(pointers.output) : work;
  };
  const auto table = [&](int64_t offset) -> const void* {
    return offset < 0 ? nullptr : static_cast<const std::byte*>(pointers.constants) + offset;
  };
  step.args.in = step.half.in = step.from == FftPlace::kInput ? pointers.input : place(step.from);
  step.args.out = step.half.out = place(step.to);
  step.args.roots = table(step.tables.roots);
  step.args.chirp = table(step.tables.chirp);
  step.args.spectrum = table(step.tables.spectrum);
  step.args.coarse = step.half.coarse = table(step.tables.coarse);
  step.args.fine = step.half.fine = table(step.tables.fine);
  step.args.half_roots = table(step.tables.half_roots);
  return step;
}

}  // namespace hlo::cuda
