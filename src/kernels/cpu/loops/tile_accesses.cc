#include "kernels/cpu/loops/tile_accesses.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/copy_rows.h"
#include "kernels/cpu/elementwise/irregular_read.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

// Shorter rows are joined into one tile.
constexpr int64_t kShortestRow = 192;
constexpr int64_t kMaxOffsets = 1024;
// Runs that are copied or splat by vectors, and groups of runs of which the walk takes little of the time.
constexpr int64_t kShortestCopied = 4, kShortestSplat = 8, kLargeGroup = 128;

bool Varies(const loops::Strides& strides) {
  return std::any_of(strides.begin(), strides.end(), [](int64_t stride) { return stride != 0; });
}

// Returns the run with a pattern that begins at this position, as long as possible.
GatherOffsets::Run RunAt(absl::Span<const int32_t> offsets, int32_t begin) {
  using Run = GatherOffsets::Run;
  const auto left = static_cast<int32_t>(offsets.size()) - begin;
  const auto length_of = [&](auto&& distance) {
    int32_t length = 1;
    while (length < left && offsets[begin + length] == offsets[begin] + distance(length)) ++length;
    return length;
  };
  const int32_t neighbours = length_of([](int32_t k) { return k; }),
                same = length_of([](int32_t) { return 0; });
  Run best{begin, neighbours, Run::Pattern::kCopied};
  const auto try_pattern = [&](Run::Pattern pattern, int32_t count, auto&& distance) {
    const int32_t length = length_of(distance);
    if (length > best.length) best = {begin, length, pattern, count};
  };
  try_pattern(Run::Pattern::kRepeated, neighbours, [&](int32_t k) { return k % neighbours; });
  if (same > 1) try_pattern(Run::Pattern::kSpread, same, [&](int32_t k) { return k / same; });
  return best;
}

std::vector<GatherOffsets::Run> RunsOf(absl::Span<const int32_t> offsets) {
  constexpr int32_t kShortest = 16;
  std::vector<GatherOffsets::Run> runs;
  int64_t without = 0;
  for (int32_t k = 0; k < std::ssize(offsets); k += runs.back().length) {
    GatherOffsets::Run run = RunAt(offsets, k);
    if (run.length < kShortest) {
      run.pattern = GatherOffsets::Run::Pattern::kAny;
      without += run.length;
    }
    runs.push_back(run);
  }
  if (2 * without > std::ssize(offsets)) runs.clear();
  return runs;
}

}  // namespace

TileAccesses::TileAccesses(loops::LoopProgram program) : program_(std::move(program)) {
  for (const Access& access : all()) offsets_.push_back(access.offset);
  for (const Access& access : all()) {
    const auto number = static_cast<int32_t>(patterns_.size());
    patterns_.push_back(PatternOf(access));
    scalars_vary_ |= patterns_.back() == Pattern::kScalar && Varies(access.outer);
    periodics_vary_ |= IsPeriodic(number) && Varies(access.outer);
    if (!access.starts.empty()) started_.push_back(number);
    if (access.IsRegular()) continue;
    irregular_.emplace_back(number, static_cast<int32_t>(offsets_.size()));
    loops::VisitExtras(access, [&](const Affine& extra) { offsets_.push_back(extra.offset); });
  }
  SetTile(kShortestRow);
}

void TileAccesses::SetTile(int64_t length) {
  const absl::Span<const int64_t> dims = program_.inner_dims();
  by_rows_ = !dims.empty() && dims.back() >= std::min(kShortestRow, length);
}

TileAccesses::Pattern TileAccesses::PatternOf(const Access& access) const {
  if (loops::LoopProgram::IsInvariant(access))
    return program_.inner_count() == 1 ? Pattern::kDense : Pattern::kScalar;
  return program_.IsContiguous(access) ? Pattern::kDense : Pattern::kStrided;
}

bool TileAccesses::IsPeriodic(int32_t number) const {
  const Access& a = program_.access(number);
  return program_.inner_count() > 0 && patterns_[number] == Pattern::kStrided && a.IsArray() &&
         a.IsRegular() && program_.inner_dims().size() > 1 && program_.inner_dims().back() < kShortestRow &&
         a.inner.back() != 0 &&
         std::all_of(a.inner.begin(), a.inner.end() - 1, [](int64_t stride) { return stride == 0; });
}

bool TileAccesses::IsScalarInRow(int32_t number) const {
  return patterns_[number] == Pattern::kStrided && by_rows_ && program_.yields().empty() &&
         program_.access(number).inner.back() == 0 && program_.access(number).IsRegular();
}

bool TileAccesses::IsScalarOfRow(int32_t number) const {
  return patterns_[number] == Pattern::kScalar && Varies(program_.access(number).outer);
}

bool TileAccesses::IsIotaInRow(int32_t number) const {
  const Access& a = program_.access(number);
  const bool one_row = program_.inner_dims().size() == 1 || (by_rows_ && program_.yields().empty());
  return a.argument == Access::kIota && one_row && a.inner.back() == 1 &&
         (a.type == ElementType::kS32 || a.type == ElementType::kU32);
}

bool TileAccesses::IsDenseInTile(int32_t number) const {
  if (!program_.access(number).IsArray()) return false;
  if (patterns_[number] == Pattern::kDense) return true;
  return patterns_[number] == Pattern::kStrided && by_rows_ && program_.yields().empty() &&
         program_.access(number).inner.back() == 1 && HasStartsPerRow(program_.access(number));
}

// Returns true if run-time starts are constant within a row.
bool TileAccesses::HasStartsPerRow(const Access& access) {
  return access.edges.empty() &&
         std::all_of(access.starts.begin(), access.starts.end(), [](const RuntimeStart& start) {
           return !start.index.has_value() || start.index->inner.back() == 0;
         });
}

bool TileAccesses::IsTransposed(int32_t number) const {
  const Access& access = program_.access(number);
  const size_t rank = program_.inner_dims().size();
  if (rank == 0 || !access.IsRegular() || !access.IsArray() || std::abs(access.inner.back()) <= 1)
    return false;
  if (rank > 1) return by_rows_ && access.inner[rank - 2] == 1;
  return !program_.outer_dims().empty() && access.outer.back() == 1;
}

std::optional<GatherOffsets> TileAccesses::OffsetsOf(int32_t number) const {
  const Access& access = program_.access(number);
  const size_t rank = program_.inner_dims().size();
  if (!access.IsRegular() || !access.IsArray() || patterns_[number] != Pattern::kStrided || rank < 2 ||
      program_.inner_count() == 0)
    return std::nullopt;
  const int64_t run = program_.inner_dims().back(), stride = access.inner.back();
  const int64_t group = run * program_.inner_dims()[rank - 2];
  const bool by_vectors = (stride == 1 && run >= kShortestCopied) ||
                          (stride == 0 && (access.inner[rank - 2] == 1 || run >= kShortestSplat));
  if (group >= kLargeGroup && by_vectors) return std::nullopt;
  GatherOffsets offsets{.dim = rank - 1, .period = 1, .each = {}};
  while (offsets.dim > 0 && offsets.period * program_.inner_dims()[offsets.dim] <= kMaxOffsets)
    offsets.period *= program_.inner_dims()[offsets.dim--];
  const int64_t rows =
      std::min(program_.inner_dims()[offsets.dim], std::max<int64_t>(kMaxOffsets / offsets.period, 1));
  bool fits = true;
  for (int64_t k = 0; k < rows * offsets.period; ++k) {
    int64_t offset = k / offsets.period * access.inner[offsets.dim];
    EachDigit(k % offsets.period, program_.inner_dims().subspan(offsets.dim + 1),
              [&](int64_t d, int64_t i) { offset += i * access.inner[offsets.dim + 1 + d]; });
    fits = fits && std::abs(offset) <= kLargestIndex32;
    offsets.each.push_back(static_cast<int32_t>(offset));
  }
  if (!fits) return std::nullopt;
  offsets.runs = RunsOf(offsets.each);
  return offsets;
}

int64_t TileAccesses::OffsetAt(int32_t number, const int64_t* bases, int64_t position) const {
  const loops::Strides& inner = program_.access(number).inner;
  int64_t at = bases[number];
  if (patterns_[number] == Pattern::kDense) return at + position;
  if (patterns_[number] == Pattern::kScalar || position == 0) return at;
  EachDigit(position, program_.inner_dims(), [&](int64_t d, int64_t i) { at += i * inner[d]; });
  return at;
}

int64_t TileAccesses::RowOffsetAt(int32_t number, void* const* arguments, const int64_t* bases,
                                  const int64_t* extras, int64_t position) const {
  int64_t offset = OffsetAt(number, bases, position);
  for (const RuntimeStart& start : program_.access(number).starts) {
    if (!start.index.has_value()) continue;
    int64_t at = *extras++;
    EachDigit(position, program_.inner_dims(),
              [&](int64_t d, int64_t i) { at += i * start.index->inner[d]; });
    const auto* positions = static_cast<const std::byte*>(arguments[start.argument]);
    const int64_t found = ReadInteger(start.type, positions + at * ByteCount(start.type));
    offset += std::clamp<int64_t>(found, 0, start.max) * start.stride;
  }
  return offset;
}

std::byte* ReadScalar(ElementType type, const TileCall& widen, std::byte* from, std::byte* to) {
  if (widen.function == nullptr) return from;
  if (type == ElementType::kBF16) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    const uint32_t wide = uint32_t{bits} << 16;
    std::memcpy(to, &wide, sizeof wide);
  } else {
    const void* in[] = {from};
    widen.function(1, to, in, widen.parameter);
  }
  return to;
}

const std::byte* TileAccesses::Read(int32_t number, void* const* arguments, const int64_t* bases,
                                    int64_t begin, int64_t n, std::byte* scratch) const {
  const Access& access = program_.access(number);
  const int64_t base = bases[number];
  for (const auto& [a, first] : irregular_) {
    if (a != number) continue;
    const auto read_next = [&](int64_t from, int64_t count, std::byte* to) {
      return Read(access.next, arguments, bases, from, count, to);
    };
    return ReadIrregular({access, program_.inner_dims(), arguments, base, bases + first, read_next}, begin, n,
                         scratch);
  }
  const int64_t width = ByteCount(access.type);
  const auto* data = access.IsArray() ? static_cast<const std::byte*>(arguments[access.argument]) : nullptr;
  if (patterns_[number] == Pattern::kDense && data != nullptr) return data + (base + begin) * width;
  if (data == nullptr) {
    const ComputeType compute_type = ComputeTypeOf(access.type);
    EachRow(program_.inner_dims(), access.inner, base, begin, n,
            [&](int64_t at, int64_t stride, int64_t length, int64_t done) {
              FillIota(compute_type, length, scratch + done * ComputeTypeBytes(compute_type), at, stride);
            });
    return scratch;
  }
  const std::byte* result = scratch;
  EachRowGroup(
      program_.inner_dims(), access.inner, base, begin, n,
      [&](int64_t at, int64_t rows, int64_t distance, int64_t stride, int64_t length, int64_t done) {
        if (stride == 1 && length == n)
          result = data + at * width;
        else if (rows == 1)
          CopyStrided(length, width, scratch + done * width, 1, data + at * width, stride);
        else
          ReadRows({rows, length, distance, stride}, width, data + at * width, scratch + done * width);
      });
  return result;
}

void TileAccesses::Write(int32_t number, bool contiguous, void* const* arguments, int64_t base, int64_t begin,
                         int64_t n, const std::byte* from) const {
  const Access& access = program_.access(number);
  const int64_t width = ByteCount(access.type);
  auto* data = static_cast<std::byte*>(arguments[access.argument]);
  if (contiguous) {
    std::memmove(data + (base + begin) * width, from, n * width);
    return;
  }
  EachRowGroup(program_.inner_dims(), access.inner, base, begin, n,
               [&](int64_t at, int64_t rows, int64_t distance, int64_t stride, int64_t length, int64_t done) {
                 if (rows == 1)
                   CopyStrided(length, width, data + at * width, stride, from + done * width, 1);
                 else
                   WriteRows({rows, length, distance, stride}, width, data + at * width, from + done * width);
               });
}

}  // namespace hlo::cpu
