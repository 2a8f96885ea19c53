#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "base/check.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/copy_rows.h"
#include "kernels/cpu/elementwise/irregular_read.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/memory/thread_memory.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChunk = 16 << 10;  // Maximum elements per work item.

std::byte* Scratch(int64_t bytes) {
  thread_local ThreadMemory memory;
  return memory.Reserve(bytes);
}

}  // namespace

TileProgram::Runner::Runner(const TileProgram& program, void* const* arguments)
    : program_(program),
      arguments_(arguments),
      start_(program.offsets_.begin(),
             program.offsets_.begin() + static_cast<std::ptrdiff_t>(program.accesses().size())),
      base_(program.offsets_.begin(), program.offsets_.end()),
      ahead_(program.irregular_.size()),
      native_(program.ReadyNative()) {
  // RunFirst runs the steps also if there is native code.
  const bool runs_steps = native_ == nullptr || !program.yields().empty();
  if (runs_steps) pointers_.resize(program.values_.size());
  int64_t bytes = program.register_bytes_ * program.register_count_;
  if (native_ != nullptr) {
    native_pointers_.resize(native_->reads.size() + native_->writes.size());
    transposed_.resize(native_->transposed_count);
    bytes += native_->slot_bytes * native_->slot_count;
    if (native_->transposed_count > 0) bytes += TransposedBytes(*native_) * native_->transposed_count;
  }
  scratch_ = Scratch(bytes);
  for (const int32_t a : program.started_) start_[a] = base_[a] = StartOf(program.access(a), arguments);
  if (!runs_steps) return;
  for (const Chain& chain : program.chains_)
    chain_steps_.insert(chain_steps_.end(), chain.steps.begin(), chain.steps.end());
  SetRegisters();
}

// Returns true if only the last digit of the outer position changes, and by one.
bool TileProgram::Runner::IsNextOuter(int64_t outer) {
  const bool is_next = outer == outer_ + 1 && outer_ >= 0 && outer_left_ > 0;
  outer_ = outer;
  if (is_next)
    --outer_left_;
  else if (!program_.outer_dims().empty())
    outer_left_ = program_.outer_dims().back() - 1 - outer % program_.outer_dims().back();
  return is_next;
}

void TileProgram::Runner::SetOuter(int64_t outer) {
  // RunFirst skips steps that later values need.
  fresh_ |= program_.scalars_vary_ || !program_.yields().empty();
  if (program_.periodics_vary_) periodic_count_ = native_periodic_count_ = 0;
  for (Ahead& ahead : ahead_) ahead.position = -1;
  if (IsNextOuter(outer)) {
    for (const auto& [a, first] : program_.irregular_) {
      int64_t* base = base_.data() + first;
      VisitExtras(program_.access(a), [&](const Affine& extra) { *base++ += extra.outer.back(); });
    }
    for (size_t a = 0; a < start_.size(); ++a) base_[a] += program_.access(a).outer.back();
    return;
  }
  for (const auto& [a, first] : program_.irregular_) {
    int64_t* base = base_.data() + first;
    VisitExtras(program_.access(a), [&](const Affine& extra) {
      *base = extra.offset;
      EachDigit(outer, program_.outer_dims(), [&](int64_t d, int64_t i) { *base += i * extra.outer[d]; });
      ++base;
    });
  }
  if (program_.outer_dims().size() == 1) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a] + outer * program_.access(a).outer[0];
    return;
  }
  for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a];
  EachDigit(outer, program_.outer_dims(), [&](int64_t d, int64_t i) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] += i * program_.access(a).outer[d];
  });
}

// Returns the elements at inner positions [begin, begin + n) in their storage type: in place, or gathered.
const std::byte* TileProgram::Read(int32_t number, void* const* arguments, const int64_t* bases,
                                   int64_t begin, int64_t n, std::byte* scratch) const {
  const Access& access = accesses()[number];
  const int64_t base = bases[number];
  for (const auto& [a, first] : irregular_) {
    if (a != number) continue;
    const auto read_next = [&](int64_t from, int64_t count, std::byte* to) {
      return Read(access.next, arguments, bases, from, count, to);
    };
    return ReadIrregular({access, inner_dims(), arguments, base, bases + first, read_next}, begin, n,
                         scratch);
  }
  const int64_t width = ByteCount(access.type);
  const auto* data = access.IsArray() ? static_cast<const std::byte*>(arguments[access.argument]) : nullptr;
  if (patterns_[number] == Pattern::kDense && data != nullptr) return data + (base + begin) * width;
  if (data == nullptr) {
    const ComputeType compute_type = ComputeTypeOf(access.type);
    EachRow(inner_dims(), access.inner, base, begin, n,
            [&](int64_t at, int64_t stride, int64_t length, int64_t done) {
              FillIota(compute_type, length, scratch + done * ComputeTypeBytes(compute_type), at, stride);
            });
    return scratch;
  }
  const std::byte* result = scratch;
  EachRowGroup(
      inner_dims(), access.inner, base, begin, n,
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

void TileProgram::Write(const Access& access, bool contiguous, void* const* arguments, int64_t base,
                        int64_t begin, int64_t n, const std::byte* from) const {
  const int64_t width = ByteCount(access.type);
  auto* data = static_cast<std::byte*>(arguments[access.argument]);
  if (contiguous) {
    std::memmove(data + (base + begin) * width, from, n * width);
    return;
  }
  EachRowGroup(inner_dims(), access.inner, base, begin, n,
               [&](int64_t at, int64_t rows, int64_t distance, int64_t stride, int64_t length, int64_t done) {
                 if (rows == 1)
                   CopyStrided(length, width, data + at * width, stride, from + done * width, 1);
                 else
                   WriteRows({rows, length, distance, stride}, width, data + at * width, from + done * width);
               });
}

// Broadcasts one element to the n positions of a tile.
void TileProgram::Splat(const Step& step, void* const* arguments, int64_t base, int64_t n,
                        std::byte* to) const {
  const Access& access = accesses()[step.access];
  alignas(16) std::byte element[16] = {};
  const ComputeType compute_type = values_[step.out].compute_type;
  if (access.argument == Access::kIota) {
    FillIota(compute_type, 1, element, base, 0);
  } else {
    const auto* from =
        static_cast<const std::byte*>(arguments[access.argument]) + base * ByteCount(access.type);
    if (step.call.function != nullptr) {
      const void* in[] = {from};
      step.call.function(1, element, in, step.call.parameter);
    } else {
      std::memcpy(element, from, ComputeTypeBytes(compute_type));
    }
  }
  CopyStrided(n, ComputeTypeBytes(compute_type), to, 1, element, 0);
}

// Runs the steps of a tile. `registers` are `stride` bytes apart; splat ones are computed only if
// `splat_count` is positive, periodic ones unless `keeps_periodic`. `bases` are the offsets of the accesses
// at inner position 0.
void TileProgram::RunSteps(size_t count, void* const* arguments, const int64_t* bases, int64_t begin,
                           int64_t n, std::byte* registers, int64_t stride, int64_t splat_count,
                           bool keeps_periodic, ChainStep* chain_steps, const void** values) const {
  for (size_t s = 0; s < count; ++s) {
    const Step& step = steps_[s];
    if (step.chain >= 0) {
      const Chain& chain = chains_[step.chain];
      RunChainOf(chain, arguments, bases, begin, n, registers, stride, chain_steps + chain.begin, values);
      s = chain.last;
      continue;
    }
    const Value& value = values_[step.out];
    std::byte* to = registers + value.register_number * stride;
    if (step.access >= 0) {
      const Pattern pattern = patterns_[step.access];
      if (keeps_periodic && IsPeriodic(step.access)) continue;
      if (value.for_chains && (pattern != Pattern::kScalar || splat_count != 0)) {
        ReadForChains(step, arguments, bases, begin, n, to, &values[step.out]);
        continue;
      }
      if (pattern == Pattern::kScalar) {
        if (splat_count == 0) continue;
        Splat(step, arguments, bases[step.access], splat_count, to);
        values[step.out] = to;
        continue;
      }
      const bool widens = step.call.function != nullptr;
      std::byte* raw = widens ? registers + (register_count_ - 1) * stride : to;
      values[step.out] = Read(step.access, arguments, bases, begin, n, raw);
      if (widens) {
        const void* in[] = {values[step.out]};
        step.call.function(n, to, in, step.call.parameter);
        values[step.out] = to;
      }
      continue;
    }
    if (value.stored_as >= 0 && patterns_[value.stored_as] == Pattern::kDense) {
      const Access& access = accesses()[value.stored_as];
      to = static_cast<std::byte*>(arguments[access.argument]) +
           (bases[value.stored_as] + begin) * ByteCount(access.type);
    }
    const void* in[3] = {values[step.in[0]], nullptr, nullptr};
    if (step.operand_count > 1) in[1] = values[step.in[1]];
    if (step.operand_count > 2) in[2] = values[step.in[2]];
    step.call.function(n, to, in, step.call.parameter);
    values[step.out] = to;
  }
}

void TileProgram::RunStores(void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                            std::byte* registers, int64_t stride, const void* const* values) const {
  for (const Stored& stored : stored_) {
    if (stored.by_chain) continue;
    const Access& access = accesses()[stored.access];
    const bool dense = patterns_[stored.access] == Pattern::kDense;
    if (dense && values_[stored.value].stored_as == stored.access) continue;
    const auto* from = static_cast<const std::byte*>(values[stored.value]);
    if (stored.narrow.function != nullptr) {
      std::byte* raw = registers + (register_count_ - 1) * stride;
      const void* in[] = {from};
      if (dense) {
        raw = static_cast<std::byte*>(arguments[access.argument]) +
              (bases[stored.access] + begin) * ByteCount(access.type);
      }
      stored.narrow.function(n, raw, in, stored.narrow.parameter);
      if (dense) continue;
      from = raw;
    }
    Write(access, dense, arguments, bases[stored.access], begin, n, from);
  }
}

const void* TileProgram::Runner::stored(int64_t begin) const {
  const Access& access = program_.access(0);
  return static_cast<const std::byte*>(arguments_[access.argument]) +
         program_.OffsetAt(0, base_.data(), begin) * ByteCount(access.type);
}

void TileProgram::Runner::RunTile(int64_t begin, int64_t n) {
  if (native_ != nullptr) return RunNative(begin, n);
  if (program_.is_direct_) return RunDirect(begin, n);
  RunSteps(program_.steps_.size(), begin, n);
  program_.RunStores(arguments_, base_.data(), begin, n, scratch_, program_.register_bytes_,
                     pointers_.data());
}

void TileProgram::Runner::RunTiles(int64_t begin, int64_t end) {
  const int64_t length = program_.row(), longest = tile();
  for (int64_t t = begin; t < end;) {
    const int64_t n = std::min({longest, end - t, length - t % length});
    RunTile(t, n);
    t += n;
  }
}

void TileProgram::Runner::Prefetch(int64_t begin, int64_t n, int64_t ahead, int32_t at_hand,
                                   bool stores) const {
  constexpr int64_t kLine = 64;
  if (program_.outer_dims().size() != 1) return;
  const auto call = [&](int32_t number) {
    const Access& access = program_.access(number);
    if (program_.patterns_[number] != Pattern::kDense || !access.IsArray() || access.argument == at_hand ||
        access.outer[0] == 0)
      return;
    const int64_t width = ByteCount(access.type), at = base_[number] + begin + ahead * access.outer[0];
    const auto* data = static_cast<const std::byte*>(arguments_[access.argument]) + at * width;
    for (int64_t line = 0; line < n * width; line += kLine) __builtin_prefetch(data + line);
  };
  for (const Step& step : program_.steps_) {
    if (step.access >= 0) call(step.access);
  }
  for (const Stored& stored : program_.stored_) {
    if (stores) call(stored.access);
  }
}

void TileProgram::Runner::RunFirst(int64_t begin, int64_t n) {
  RunSteps(program_.first_steps_, begin, n);
  periodic_count_ = 0;  // Later steps were skipped.
}

void TileProgram::Runner::RunSteps(size_t count, int64_t begin, int64_t n) {
  const int64_t splat_count = fresh_ ? std::min(program_.tile_, program_.inner_count()) : 0;
  const int64_t phase = begin % program_.period_;
  const bool keeps_periodic = n <= periodic_count_ && phase == phase_;
  program_.RunSteps(count, arguments_, base_.data(), begin, n, scratch_, program_.register_bytes_,
                    splat_count, keeps_periodic, chain_steps_.data(), pointers_.data());
  fresh_ = false;
  if (keeps_periodic) return;
  phase_ = phase;
  periodic_count_ = n;
}

void TileProgram::PrepareCopy() {
  const Access &from = accesses()[steps_[0].access], &to = accesses()[stored_[0].access];
  absl::InlinedVector<CopyDim, 6> dims;
  for (size_t d = 0; d < outer_dims().size(); ++d)
    dims.push_back({outer_dims()[d], from.outer[d], to.outer[d]});
  for (size_t d = 0; d < inner_dims().size(); ++d)
    dims.push_back({inner_dims()[d], from.inner[d], to.inner[d]});
  copy_.emplace(dims, ByteCount(from.type));
}

void TileProgram::RunCopy(void* const* arguments) const {
  const Access &from = accesses()[steps_[0].access], &to = accesses()[stored_[0].access];
  const int64_t width = ByteCount(from.type);
  copy_->Run(static_cast<const std::byte*>(arguments[from.argument]) + StartOf(from, arguments) * width,
             static_cast<std::byte*>(arguments[to.argument]) + StartOf(to, arguments) * width);
}

void TileProgram::RunPositions(void* const* arguments, int64_t begin, int64_t end) const {
  if (begin == end) return;
  PrepareNativeCode(nanoseconds_ * static_cast<double>(end - begin));
  Runner(*this, arguments).RunTiles(begin, end);
}

void TileProgram::RunRows(void* const* arguments, int64_t begin, int64_t end) const {
  PrepareNativeCode(nanoseconds_ * static_cast<double>(inner_count()) * static_cast<double>(end - begin));
  Runner runner(*this, arguments);
  runner.BeginRows();
  runner.RunRows(begin, end);
}

// Returns true if a store must be skipped.
bool TileProgram::SkipsStore(void* const* arguments) const {
  return std::any_of(stored_.begin(), stored_.end(), [&](const Stored& stored) {
    const Access& access = accesses()[stored.access];
    return access.drops &&
           std::any_of(access.starts.begin(), access.starts.end(), [&](const RuntimeStart& start) {
             const int64_t position = PositionOf(start, arguments);
             return position < 0 || position > start.max;
           });
  });
}

void TileProgram::Run(void* const* arguments) const {
  if (drops_ && SkipsStore(arguments)) return;
  if (small_.has_value() && native_ == nullptr) return small_->Run(arguments);
  if (inner_count() == 0 || outer_count() == 0) return;
  if (copy_.has_value()) return RunCopy(arguments);
  PrepareNativeCode();
  if (RunDirectRows(arguments)) return;
  if (outer_count() == 1 && inner_count() <= tile_ && (!by_rows_ || inner_dims().size() <= 1)) {
    Runner runner(*this, arguments);
    runner.RunTile(0, inner_count());
    return;
  }
  // If rows are long, tiles end with rows, so that rows are read in place.
  const int64_t row = by_rows_ ? inner_dims().back() : inner_count();
  const int64_t rows = outer_count() * (inner_count() / row);
  const int64_t rows_per_outer = inner_count() / row;
  const int64_t chunk_size = std::max(tile_, kChunk - kChunk % tile_);
  const int64_t pieces = CeilDiv(row, chunk_size);  // Pieces of a long row.
  const int64_t rows_per_chunk = std::max<int64_t>(1, chunk_size / row);
  const int64_t row_chunks = CeilDiv(rows, rows_per_chunk);
  ParallelFor(row_chunks * pieces, nanoseconds(), [&](int64_t chunk) {
    const int64_t first = chunk / pieces * rows_per_chunk, piece = chunk % pieces;
    Runner runner(*this, arguments);
    runner.ReadAhead();
    int64_t outer = 0;
    for (int64_t r = first; r < std::min(rows, first + rows_per_chunk); ++r) {
      if (r / rows_per_outer != outer) runner.SetOuter(outer = r / rows_per_outer);
      const int64_t origin = r % rows_per_outer * row;
      const int64_t end = std::min(row, (piece + 1) * chunk_size), tile = runner.tile();
      for (int64_t t = piece * chunk_size; t < end; t += tile)
        runner.RunTile(origin + t, std::min(tile, end - t));
    }
  });
}

}  // namespace hlo::cpu
