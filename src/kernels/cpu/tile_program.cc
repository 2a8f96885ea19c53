#include "kernels/cpu/tile_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/cpu/copy_array.h"
#include "kernels/cpu/tile_loops.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kTile = 1024;
// Shorter rows are joined into one tile.
constexpr int64_t kShortestRow = 128;
constexpr int64_t kScratchBytes = 32 << 10;  // What shall stay in the L1 cache.
constexpr int64_t kChunk = 16 << 10;         // Elements that a thread takes at a time.

// Grows to what the largest program of the thread needs.
std::byte* Scratch(int64_t bytes) {
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<std::byte, Free> memory;
  thread_local int64_t size = 0;
  if (size < bytes) {
    size = (bytes + 4095) / 4096 * 4096;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, size)));
    HLO_CHECK(memory != nullptr);
  }
  return memory.get();
}

bool IsRowMajor(const Strides& strides, absl::Span<const int64_t> dims) {
  int64_t expected = 1;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    if (dims[d] != 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

// A run-time position splits into an index by dividing by the sizes, the last dimension fastest.
template <class Visit>
void EachDigit(int64_t number, absl::Span<const int64_t> dims, Visit&& visit) {
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d > 0; --d) {
    visit(d, number % dims[d]);
    number /= dims[d];
  }
  if (!dims.empty()) visit(0, number);
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

ElementType UnsignedOfWidth(int64_t byte_count) {
  switch (byte_count) {
    case 1:
      return ElementType::kU8;
    case 2:
      return ElementType::kU16;
    case 4:
      return ElementType::kU32;
    case 8:
      return ElementType::kU64;
    default:
      return ElementType::kC128;
  }
}

}  // namespace

int64_t ReadInteger(ElementType type, const void* data) {
  return DispatchLane(LaneOf(type), [&]<class T>() -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, data, sizeof value);
      if constexpr (std::is_same_v<T, uint64_t>)
        return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
      else
        return static_cast<int64_t>(value);
    } else {
      HLO_CHECK(false);
      return 0;
    }
  });
}

TileValue TileProgram::Load(Access access) {
  const bool small = access.argument != Access::kIota && !IsStoredAsLane(access.type);
  values_.push_back({LaneOf(access.type), -1, static_cast<int32_t>(accesses_.size())});
  const auto value = static_cast<TileValue>(values_.size() - 1);
  steps_.push_back(
      {small ? LoadTile(access.type) : TileCall{}, value, static_cast<int32_t>(accesses_.size())});
  accesses_.push_back(std::move(access));
  return value;
}

TileValue TileProgram::Apply(TileCall call, Lane result, absl::Span<const TileValue> operands) {
  HLO_CHECK(call.function != nullptr && operands.size() <= 3);
  values_.push_back({result});
  Step step{call, static_cast<TileValue>(values_.size() - 1), -1, static_cast<int8_t>(operands.size())};
  std::copy(operands.begin(), operands.end(), step.in.begin());
  steps_.push_back(step);
  return step.out;
}

void TileProgram::Store(TileValue value, Access access) {
  stored_.push_back({value, static_cast<int32_t>(accesses_.size())});
  accesses_.push_back(std::move(access));
}

// Neighbouring inner dimensions that every access walks through as one become one; so do dimensions of
// size 1.
void TileProgram::Collapse() {
  std::vector<int64_t> dims;
  std::vector<Strides> strides(accesses_.size());
  for (size_t d = 0; d < inner_dims_.size(); ++d) {
    if (inner_dims_[d] == 1) continue;
    const bool joins = !dims.empty() && std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
      const Strides& walked = strides[&a - accesses_.data()];
      return walked.back() == a.inner[d] * inner_dims_[d];
    });
    if (joins)
      dims.back() *= inner_dims_[d];
    else
      dims.push_back(inner_dims_[d]);
    for (size_t a = 0; a < accesses_.size(); ++a) {
      if (joins)
        strides[a].back() = accesses_[a].inner[d];
      else
        strides[a].push_back(accesses_[a].inner[d]);
    }
  }
  inner_dims_ = std::move(dims);
  for (size_t a = 0; a < accesses_.size(); ++a) accesses_[a].inner = std::move(strides[a]);
}

TileProgram::Pattern TileProgram::PatternOf(const Access& access) const {
  if (std::all_of(access.inner.begin(), access.inner.end(), [](int64_t s) { return s == 0; }))
    return inner_count_ == 1 ? Pattern::kDense : Pattern::kScalar;
  return IsRowMajor(access.inner, inner_dims_) ? Pattern::kDense : Pattern::kStrided;
}

// A register is free again after the last use of its value.
void TileProgram::AssignRegisters() {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int k = 0; k < steps_[s].operand_count; ++k) last_use[steps_[s].in[k]] = s;
  }
  for (const Stored& stored : stored_) last_use[stored.value] = steps_.size();
  for (TileValue value : yielded_) last_use[value] = steps_.size();
  std::vector<int32_t> free_registers;
  int64_t widest = 1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    widest = std::max(widest, LaneBytes(values_[step.out].lane));
    // What is splat once must stay.
    const bool stays = step.access >= 0 && patterns_[step.access] == Pattern::kScalar;
    if (free_registers.empty() || stays) {
      values_[step.out].register_number = static_cast<int32_t>(register_count_++);
    } else {
      values_[step.out].register_number = free_registers.back();
      free_registers.pop_back();
    }
    if (stays) last_use[step.out] = steps_.size();
    auto release = [&](TileValue value) {
      if (last_use[value] != s) return;
      last_use[value] = steps_.size();  // Once.
      free_registers.push_back(values_[value].register_number);
    };
    for (int k = 0; k < step.operand_count; ++k) release(step.in[k]);
    if (last_use[step.out] == 0 && s != 0) release(step.out);
  }
  // Small floats are read into the register after the last before they are widened.
  ++register_count_;
  tile_ = kTile;
  while (tile_ > 128 && tile_ * widest * register_count_ > kScratchBytes) tile_ /= 2;
  register_bytes_ = (tile_ * widest + 63) / 64 * 64;
}

// What is only moved stays as it is in memory.
void TileProgram::MoveBits() {
  const bool only_moves =
      yielded_.empty() &&
      std::all_of(steps_.begin(), steps_.end(),
                  [&](const Step& step) {
                    return step.access >= 0 && accesses_[step.access].argument != Access::kIota;
                  }) &&
      std::all_of(stored_.begin(), stored_.end(), [&](const Stored& stored) {
        return accesses_[stored.access].type == accesses_[values_[stored.value].access].type;
      });
  if (!only_moves) return;
  for (Access& access : accesses_) access.type = UnsignedOfWidth(ByteCount(access.type));
  for (Step& step : steps_) {
    step.call = {};
    values_[step.out].lane = LaneOf(accesses_[step.access].type);
  }
  is_copy_ = steps_.size() == 1 && stored_.size() == 1;
}

void TileProgram::RunCopy(void* const* arguments) const {
  const Runner runner(*this, arguments);
  const int32_t load = steps_[0].access, store = stored_[0].access;
  const Access &from = accesses_[load], &to = accesses_[store];
  absl::InlinedVector<CopyDim, 6> dims;
  for (size_t d = 0; d < outer_dims_.size(); ++d)
    dims.push_back({outer_dims_[d], from.outer[d], to.outer[d]});
  for (size_t d = 0; d < inner_dims_.size(); ++d)
    dims.push_back({inner_dims_[d], from.inner[d], to.inner[d]});
  const int64_t width = ByteCount(from.type);
  CopyArray(dims, width,
            static_cast<const std::byte*>(arguments[from.argument]) + runner.start_[load] * width,
            static_cast<std::byte*>(arguments[to.argument]) + runner.start_[store] * width);
}

void TileProgram::Finish() {
  outer_count_ = Product(outer_dims_);
  inner_count_ = Product(inner_dims_);
  MoveBits();
  Collapse();
  for (const Access& access : accesses_) patterns_.push_back(PatternOf(access));
  AssignRegisters();
  by_rows_ = !inner_dims_.empty() && inner_dims_.back() >= kShortestRow;
  // A value that is stored once, and lies in memory as in its lane, is computed in place.
  for (const Stored& stored : stored_) {
    Value& value = values_[stored.value];
    const bool direct =
        value.access < 0 && value.stored_as < 0 && IsStoredAsLane(accesses_[stored.access].type);
    if (direct) value.stored_as = stored.access;
  }
  for (const Step& step : steps_)
    nanoseconds_ += step.access >= 0 ? 0.2 : 0.15 * LaneBytes(lane(step.out)) / 4;
}

void TileProgram::VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit) {
  for (const Step& step : steps_) {
    if (step.access >= 0) visit(accesses_[step.access], false);
  }
  for (const Stored& stored : stored_) visit(accesses_[stored.access], true);
}

void TileProgram::VisitAccesses(absl::FunctionRef<void(const Access&, bool)> visit) const {
  for (const Step& step : steps_) {
    if (step.access >= 0) visit(accesses_[step.access], false);
  }
  for (const Stored& stored : stored_) visit(accesses_[stored.access], true);
}

TileProgram::Runner::Runner(const TileProgram& program, void* const* arguments)
    : program_(program),
      arguments_(arguments),
      pointers_(program.values_.size()),
      start_(program.accesses_.size()),
      base_(program.accesses_.size()),
      scratch_(Scratch(program.register_bytes_ * program.register_count_)) {
  for (size_t a = 0; a < start_.size(); ++a) {
    const Access& access = program.accesses_[a];
    int64_t start = access.offset;
    for (const RuntimeStart& s : access.starts) {
      const int64_t position = ReadInteger(s.type, arguments[s.argument]);
      start += std::min(std::max<int64_t>(position, 0), s.max) * s.stride;
    }
    start_[a] = base_[a] = start;
  }
}

void TileProgram::Runner::SetOuter(int64_t outer) {
  for (size_t a = 0; a < base_.size(); ++a) base_[a] = start_[a];
  EachDigit(outer, program_.outer_dims_, [&](int64_t d, int64_t i) {
    for (size_t a = 0; a < base_.size(); ++a) base_[a] += i * program_.accesses_[a].outer[d];
  });
  fresh_ = true;
}

// The elements at inner positions [begin, begin + n), in their storage type: where they lie, or gathered.
const std::byte* TileProgram::Runner::ReadAccess(const Access& access, bool contiguous, int64_t base,
                                                 int64_t begin, int64_t n, std::byte* scratch) {
  const int64_t width = ByteCount(access.type);
  const auto* data =
      access.argument == Access::kIota ? nullptr : static_cast<const std::byte*>(arguments_[access.argument]);
  if (contiguous && data != nullptr) return data + (base + begin) * width;
  const absl::Span<const int64_t> dims = program_.inner_dims_;
  absl::InlinedVector<int64_t, 6> index(dims.size());
  int64_t at = base;
  EachDigit(begin, dims, [&](int64_t d, int64_t i) {
    index[d] = i;
    at += i * access.inner[d];
  });
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const int64_t row = last < 0 ? 1 : dims[last], stride = last < 0 ? 0 : access.inner[last];
  if (data != nullptr && stride == 1 && index[last] + n <= row) return data + at * width;
  for (int64_t done = 0; done < n;) {
    const int64_t length = last < 0 ? n : std::min(n - done, row - index[last]);
    if (data != nullptr)
      CopyStrided(length, width, scratch + done * width, 1, data + at * width, stride);
    else
      FillIota(LaneOf(access.type), length, scratch + done * LaneBytes(LaneOf(access.type)), at, stride);
    done += length;
    if (done == n) break;
    // On to the next row.
    at -= index[last] * stride;
    index[last] = 0;
    for (int64_t d = last - 1; d >= 0; --d) {
      at += access.inner[d];
      if (++index[d] < dims[d]) break;
      at -= dims[d] * access.inner[d];
      index[d] = 0;
    }
  }
  return scratch;
}

void TileProgram::Runner::WriteAccess(const Access& access, bool contiguous, int64_t base, int64_t begin,
                                      int64_t n, const std::byte* from) {
  const int64_t width = ByteCount(access.type);
  auto* data = static_cast<std::byte*>(arguments_[access.argument]);
  if (contiguous) {
    std::memmove(data + (base + begin) * width, from, n * width);
    return;
  }
  const absl::Span<const int64_t> dims = program_.inner_dims_;
  absl::InlinedVector<int64_t, 6> index(dims.size());
  int64_t at = base;
  EachDigit(begin, dims, [&](int64_t d, int64_t i) {
    index[d] = i;
    at += i * access.inner[d];
  });
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const int64_t row = dims[last], stride = access.inner[last];
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, row - index[last]);
    CopyStrided(length, width, data + at * width, stride, from + done * width, 1);
    done += length;
    if (done == n) break;
    at -= index[last] * stride;
    index[last] = 0;
    for (int64_t d = last - 1; d >= 0; --d) {
      at += access.inner[d];
      if (++index[d] < dims[d]) break;
      at -= dims[d] * access.inner[d];
      index[d] = 0;
    }
  }
}

// One element for all positions of a tile.
void TileProgram::Runner::Splat(int32_t step_number) {
  const Step& step = program_.steps_[step_number];
  const Access& access = program_.accesses_[step.access];
  std::byte* to = scratch_ + program_.values_[step.out].register_number * program_.register_bytes_;
  alignas(16) std::byte element[16] = {};
  const Lane lane = program_.values_[step.out].lane;
  if (access.argument == Access::kIota) {
    FillIota(lane, 1, element, base_[step.access], 0);
  } else {
    const auto* from = static_cast<const std::byte*>(arguments_[access.argument]) +
                       base_[step.access] * ByteCount(access.type);
    if (step.call.function != nullptr) {
      const void* in[] = {from};
      step.call.function(1, element, in, step.call.parameter);
    } else {
      std::memcpy(element, from, LaneBytes(lane));
    }
  }
  CopyStrided(std::min(program_.tile_, program_.inner_count_), LaneBytes(lane), to, 1, element, 0);
  pointers_[step.out] = to;
}

void TileProgram::Runner::RunTile(int64_t begin, int64_t n) {
  const TileProgram& p = program_;
  const auto step_count = static_cast<int32_t>(p.steps_.size());
  for (int32_t s = 0; s < step_count; ++s) {
    const Step& step = p.steps_[s];
    const Value& value = p.values_[step.out];
    std::byte* to = scratch_ + value.register_number * p.register_bytes_;
    if (step.access >= 0) {
      const Access& access = p.accesses_[step.access];
      const Pattern pattern = p.patterns_[step.access];
      if (pattern == Pattern::kScalar) {
        if (fresh_) Splat(s);
        continue;
      }
      const bool widens = step.call.function != nullptr;
      std::byte* raw = widens ? scratch_ + (p.register_count_ - 1) * p.register_bytes_ : to;
      const std::byte* from =
          ReadAccess(access, pattern == Pattern::kDense, base_[step.access], begin, n, raw);
      if (widens) {
        const void* in[] = {from};
        step.call.function(n, to, in, step.call.parameter);
        pointers_[step.out] = to;
      } else {
        pointers_[step.out] = const_cast<std::byte*>(from);
      }
      continue;
    }
    if (value.stored_as >= 0 && p.patterns_[value.stored_as] == Pattern::kDense) {
      const Access& access = p.accesses_[value.stored_as];
      to = static_cast<std::byte*>(arguments_[access.argument]) +
           (base_[value.stored_as] + begin) * ByteCount(access.type);
    }
    const void* in[3] = {pointers_[step.in[0]], nullptr, nullptr};
    if (step.operand_count > 1) in[1] = pointers_[step.in[1]];
    if (step.operand_count > 2) in[2] = pointers_[step.in[2]];
    step.call.function(n, to, in, step.call.parameter);
    pointers_[step.out] = to;
  }
  fresh_ = false;
  for (const Stored& stored : p.stored_) {
    const Access& access = p.accesses_[stored.access];
    const bool dense = p.patterns_[stored.access] == Pattern::kDense;
    if (dense && p.values_[stored.value].stored_as == stored.access) continue;
    const auto* from = static_cast<const std::byte*>(pointers_[stored.value]);
    if (const TileCall narrow = StoreRoundedTile(access.type); narrow.function != nullptr) {
      std::byte* raw = scratch_ + (p.register_count_ - 1) * p.register_bytes_;
      const void* in[] = {from};
      if (dense) {
        raw = static_cast<std::byte*>(arguments_[access.argument]) +
              (base_[stored.access] + begin) * ByteCount(access.type);
      }
      narrow.function(n, raw, in, narrow.parameter);
      if (dense) continue;
      from = raw;
    }
    WriteAccess(access, dense, base_[stored.access], begin, n, from);
  }
}

void TileProgram::Run(void* const* arguments) const {
  if (inner_count_ == 0 || outer_count_ == 0) return;
  if (is_copy_) return RunCopy(arguments);
  if (outer_count_ == 1 && inner_count_ <= tile_ && (!by_rows_ || inner_dims_.size() <= 1)) {
    Runner runner(*this, arguments);
    runner.RunTile(0, inner_count_);
    return;
  }
  // Tiles end with rows where rows are long: then rows are read where they lie.
  const int64_t row = by_rows_ ? inner_dims_.back() : inner_count_;
  const int64_t rows = outer_count_ * (inner_count_ / row);
  const int64_t rows_per_outer = inner_count_ / row;
  const int64_t pieces = (row + kChunk - 1) / kChunk;  // Of a long row.
  const int64_t rows_per_chunk = std::max<int64_t>(1, kChunk / row);
  const int64_t row_chunks = (rows + rows_per_chunk - 1) / rows_per_chunk;
  const double nanoseconds =
      nanoseconds_ * static_cast<double>(inner_count_) * static_cast<double>(outer_count_);
  ParallelFor(row_chunks * pieces, nanoseconds, [&](int64_t chunk) {
    const int64_t first = chunk / pieces * rows_per_chunk, piece = chunk % pieces;
    Runner runner(*this, arguments);
    int64_t outer = 0;
    for (int64_t r = first; r < std::min(rows, first + rows_per_chunk); ++r) {
      if (r / rows_per_outer != outer) runner.SetOuter(outer = r / rows_per_outer);
      const int64_t origin = r % rows_per_outer * row;
      const int64_t end = std::min(row, (piece + 1) * kChunk);
      for (int64_t t = piece * kChunk; t < end; t += tile_)
        runner.RunTile(origin + t, std::min(tile_, end - t));
    }
  });
}

}  // namespace hlo::cpu
