#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/cpu/copy_array.h"
#include "kernels/cpu/irregular_read.h"
#include "kernels/cpu/thread_memory.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/cpu/tile_program.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChunk = 16 << 10;  // Elements that a thread takes at a time.

std::byte* Scratch(int64_t bytes) {
  thread_local ThreadMemory memory;
  return memory.AtLeast(bytes);
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

// The pieces of rows that inner positions [begin, begin + n) lie in: visit(place of the first element,
// distance of the next, elements, elements before).
template <class Visit>
void EachRow(absl::Span<const int64_t> dims, const Strides& strides, int64_t base, int64_t begin, int64_t n,
             Visit&& visit) {
  if (dims.empty()) return visit(base, 0, n, 0);
  absl::InlinedVector<int64_t, 6> index(dims.size());
  int64_t at = base;
  EachDigit(begin, dims, [&](int64_t d, int64_t i) {
    index[d] = i;
    at += i * strides[d];
  });
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, dims[last] - index[last]);
    visit(at, strides[last], length, done);
    done += length;
    if (done == n) break;
    at -= index[last] * strides[last];
    index[last] = 0;
    for (int64_t d = last - 1; d >= 0; --d) {
      at += strides[d];
      if (++index[d] < dims[d]) break;
      at -= dims[d] * strides[d];
      index[d] = 0;
    }
  }
}

// The place of an access at the beginning of both loops.
int64_t Start(const Access& access, void* const* arguments) {
  int64_t start = access.offset;
  for (const RuntimeStart& s : access.starts) {
    if (s.place.has_value()) continue;
    const auto* positions = static_cast<const std::byte*>(arguments[s.argument]);
    const int64_t position = ReadInteger(s.type, positions + s.element * ByteCount(s.type));
    start += std::min(std::max<int64_t>(position, 0), s.max) * s.stride;
  }
  return start;
}

}  // namespace

int64_t ReadInteger(ElementType type, const void* data) {
  if (type == ElementType::kS32) {  // As nearly always.
    int32_t value;
    std::memcpy(&value, data, sizeof value);
    return value;
  }
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

TileProgram::Runner::Runner(const TileProgram& program, void* const* arguments)
    : program_(program),
      arguments_(arguments),
      pointers_(program.values_.size()),
      start_(program.accesses_.size()),
      base_(program.base_count_),
      scratch_(Scratch(program.register_bytes_ * program.register_count_)) {
  for (size_t a = 0; a < start_.size(); ++a) {
    const Access& access = program.accesses_[a];
    start_[a] = base_[a] = Start(access, arguments);
  }
  for (const auto& [a, first] : program.irregular_) {
    int64_t* base = base_.data() + first;
    VisitExtras(program.accesses_[a], [&](const Affine& extra) { *base++ = extra.offset; });
  }
  for (const Chain& chain : program.chains_)
    chain_steps_.insert(chain_steps_.end(), chain.steps.begin(), chain.steps.end());
}

void TileProgram::Runner::SetOuter(int64_t outer) {
  fresh_ = true;
  for (const auto& [a, first] : program_.irregular_) {
    int64_t* base = base_.data() + first;
    VisitExtras(program_.accesses_[a], [&](const Affine& extra) {
      *base = extra.offset;
      EachDigit(outer, program_.outer_dims_, [&](int64_t d, int64_t i) { *base += i * extra.outer[d]; });
      ++base;
    });
  }
  if (program_.outer_dims_.size() == 1) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a] + outer * program_.accesses_[a].outer[0];
    return;
  }
  for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a];
  EachDigit(outer, program_.outer_dims_, [&](int64_t d, int64_t i) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] += i * program_.accesses_[a].outer[d];
  });
}

// The elements at inner positions [begin, begin + n), in their storage type: where they lie, or gathered.
const std::byte* TileProgram::Read(int32_t number, void* const* arguments, const int64_t* bases,
                                   int64_t begin, int64_t n, std::byte* scratch) const {
  const Access& access = accesses_[number];
  const int64_t base = bases[number];
  for (const auto& [a, first] : irregular_) {
    if (a != number) continue;
    const auto read_next = [&](int64_t from, int64_t count, std::byte* to) {
      return Read(access.next, arguments, bases, from, count, to);
    };
    return ReadIrregular({access, inner_dims_, arguments, base, bases + first, read_next}, begin, n, scratch);
  }
  const int64_t width = ByteCount(access.type);
  const auto* data = access.IsArray() ? static_cast<const std::byte*>(arguments[access.argument]) : nullptr;
  if (patterns_[number] == Pattern::kDense && data != nullptr) return data + (base + begin) * width;
  const std::byte* result = scratch;
  EachRow(inner_dims_, access.inner, base, begin, n,
          [&](int64_t at, int64_t stride, int64_t length, int64_t done) {
            if (data == nullptr)
              FillIota(LaneOf(access.type), length, scratch + done * LaneBytes(LaneOf(access.type)), at,
                       stride);
            else if (stride == 1 && length == n)
              result = data + at * width;
            else
              CopyStrided(length, width, scratch + done * width, 1, data + at * width, stride);
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
  EachRow(inner_dims_, access.inner, base, begin, n,
          [&](int64_t at, int64_t stride, int64_t length, int64_t done) {
            CopyStrided(length, width, data + at * width, stride, from + done * width, 1);
          });
}

// One element for the n positions of a tile.
void TileProgram::Splat(const Step& step, void* const* arguments, int64_t base, int64_t n,
                        std::byte* to) const {
  const Access& access = accesses_[step.access];
  alignas(16) std::byte element[16] = {};
  const Lane lane = values_[step.out].lane;
  if (access.argument == Access::kIota) {
    FillIota(lane, 1, element, base, 0);
  } else {
    const auto* from =
        static_cast<const std::byte*>(arguments[access.argument]) + base * ByteCount(access.type);
    if (step.call.function != nullptr) {
      const void* in[] = {from};
      step.call.function(1, element, in, step.call.parameter);
    } else {
      std::memcpy(element, from, LaneBytes(lane));
    }
  }
  CopyStrided(n, LaneBytes(lane), to, 1, element, 0);
}

// The steps of a tile; `registers` are `stride` bytes apart, splat ones are there already unless `fresh`.
// `bases` are the places of the accesses at inner position 0.
void TileProgram::RunSteps(size_t count, void* const* arguments, const int64_t* bases, int64_t begin,
                           int64_t n, std::byte* registers, int64_t stride, int64_t splat_count,
                           ChainStep* chain_steps, const void** values) const {
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
      const Access& access = accesses_[value.stored_as];
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
    const Access& access = accesses_[stored.access];
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

// What only chains read: as it lies in memory, or one element.
void TileProgram::ReadForChains(const Step& step, void* const* arguments, const int64_t* bases, int64_t begin,
                                int64_t n, std::byte* to, const void** value) const {
  const Access& access = accesses_[step.access];
  const Pattern pattern = patterns_[step.access];
  const ChainForm form = values_[step.out].form;
  if (form != ChainForm::kScalar && form != ChainForm::kCount) {
    *value = Read(step.access, arguments, bases, begin, n, to);
    return;
  }
  int64_t at = bases[step.access];
  if (pattern != Pattern::kScalar)
    EachDigit(begin, inner_dims_, [&](int64_t d, int64_t i) { at += i * access.inner[d]; });
  *value = to;
  if (access.argument == Access::kIota) {
    FillIota(values_[step.out].lane, 1, to, at, 0);
    return;
  }
  const auto* from = static_cast<const std::byte*>(arguments[access.argument]) + at * ByteCount(access.type);
  if (step.call.function == nullptr) {
    *value = from;
    return;
  }
  if (access.type == ElementType::kBF16) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    const uint32_t wide = uint32_t{bits} << 16;
    std::memcpy(to, &wide, sizeof wide);
    return;
  }
  const void* in[] = {from};
  step.call.function(1, to, in, step.call.parameter);
}

void TileProgram::RunChainOf(const Chain& chain, void* const* arguments, const int64_t* bases, int64_t begin,
                             int64_t n, std::byte* registers, int64_t stride, ChainStep* steps,
                             const void** values) const {
  const auto memory = [&](int32_t number) {
    const Access& access = accesses_[number];
    return static_cast<std::byte*>(arguments[access.argument]) +
           (bases[number] + begin) * ByteCount(access.type);
  };
  for (size_t k = 0; k < chain.steps.size(); ++k) {
    const Chain::Operands& operands = chain.operands[k];
    if (operands.access >= 0) {
      steps[k].operand = memory(operands.access);
    } else if (operands.value >= 0 && chain.pointers[k].is_store) {
      const Value& value = values_[operands.value];
      const bool direct = value.stored_as >= 0 && patterns_[value.stored_as] == Pattern::kDense;
      steps[k].operand = direct ? memory(value.stored_as) : registers + value.register_number * stride;
      values[operands.value] = steps[k].operand;
    } else if (operands.value >= 0) {
      steps[k].operand = const_cast<void*>(values[operands.value]);
      if (operands.second >= 0) steps[k].second = values[operands.second];
    }
  }
  RunChain(n, steps, chain.pointers.data(), static_cast<int64_t>(chain.steps.size()));
}

const void* TileProgram::Runner::stored(int64_t begin) const {
  const Access& access = program_.accesses_[0];
  return static_cast<const std::byte*>(arguments_[access.argument]) +
         (base_[0] + begin) * ByteCount(access.type);
}

void TileProgram::Runner::RunTile(int64_t begin, int64_t n) {
  const int64_t splat_count = fresh_ ? std::min(program_.tile_, program_.inner_count_) : 0;
  program_.RunSteps(program_.steps_.size(), arguments_, base_.data(), begin, n, scratch_,
                    program_.register_bytes_, splat_count, chain_steps_.data(), pointers_.data());
  program_.RunStores(arguments_, base_.data(), begin, n, scratch_, program_.register_bytes_,
                     pointers_.data());
  fresh_ = false;
}

void TileProgram::Runner::RunFirst(int64_t begin, int64_t n) {
  const int64_t splat_count = fresh_ ? std::min(program_.tile_, program_.inner_count_) : 0;
  program_.RunSteps(program_.first_steps_, arguments_, base_.data(), begin, n, scratch_,
                    program_.register_bytes_, splat_count, chain_steps_.data(), pointers_.data());
  fresh_ = false;
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

void TileProgram::RunPositions(void* const* arguments, int64_t begin, int64_t end) const {
  if (begin >= end) return;
  Runner runner(*this, arguments);
  const int64_t length = row();
  for (int64_t t = begin; t < end;) {
    const int64_t n = std::min({tile_, end - t, length - t % length});
    runner.RunTile(t, n);
    t += n;
  }
}

void TileProgram::Run(void* const* arguments) const {
  if (small_.has_value()) return small_->Run(arguments);
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
