// This file handles programs that consist only of chains with operands and results in memory: running a tile
// then only sets pointers and runs the chains.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/chains/chain_fold.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"

namespace hlo::cpu {

// Returns true if the elements of a tile are contiguous.
bool TileProgram::IsDenseInTile(int32_t access) const {
  if (!accesses()[access].IsArray()) return false;
  if (patterns_[access] == Pattern::kDense) return true;
  return patterns_[access] == Pattern::kStrided && by_rows_ && yields().empty() &&
         accesses()[access].inner.back() == 1 && HasStartsPerRow(accesses()[access]);
}

// Returns true if run-time starts are constant within a row.
bool TileProgram::HasStartsPerRow(const Access& access) {
  return access.edges.empty() &&
         std::all_of(access.starts.begin(), access.starts.end(), [](const RuntimeStart& start) {
           return !start.index.has_value() || start.index->inner.back() == 0;
         });
}

void TileProgram::FindDirectPointers() {
  const auto is_direct_step = [&](const Step& step) {
    if (step.access < 0) return step.chain >= 0;
    const Value& value = values_[step.out];
    if (value.for_chains && value.form != ChainForm::kBF16) return true;
    return (value.for_chains || step.call.function == nullptr) && IsDenseInTile(step.access);
  };
  const auto is_direct_store = [&](const Stored& stored) {
    return stored.by_chain ||
           (values_[stored.value].stored_as == stored.access && patterns_[stored.access] == Pattern::kDense);
  };
  is_direct_ = !chains_.empty() && std::all_of(steps_.begin(), steps_.end(), is_direct_step) &&
               std::all_of(stored_.begin(), stored_.end(), is_direct_store) &&
               std::all_of(yields().begin(), yields().end(),
                           [&](TileValue value) { return values_[value].access < 0; });
  if (!is_direct_) return;
  for (Chain& chain : chains_) {
    const auto add = [&](size_t k, bool is_second, DirectPointer pointer) {
      const bool is_register = pointer.kind == DirectPointer::Kind::kRegister;
      pointer.step = static_cast<int32_t>(is_register ? chain.begin + k : k);
      pointer.is_second = is_second;
      (is_register ? registers_ : chain.direct).push_back(pointer);
    };
    for (size_t k = 0; k < chain.steps.size(); ++k) {
      const Chain::Operands& operands = chain.operands[k];
      if (operands.access >= 0)
        add(k, false, InMemory(operands.access));
      else if (operands.value >= 0)
        add(k, false, chain.pointers[k].is_store ? DirectStore(operands.value) : DirectRead(operands.value));
      if (operands.second >= 0) add(k, true, DirectRead(operands.second));
    }
  }
  FindFold();
  const auto moves = [](const DirectPointer& pointer) {
    return pointer.pattern != Pattern::kStrided && pointer.kind != DirectPointer::Kind::kIota;
  };
  moves_by_rows_ =
      outer_dims().size() == 1 && std::all_of(chains_.begin(), chains_.end(), [&](const Chain& c) {
        return std::all_of(c.direct.begin(), c.direct.end(), moves);
      });
}

TileProgram::DirectPointer TileProgram::InMemory(int32_t access) const {
  return {DirectPointer::Kind::kMemory, false, patterns_[access], 0, -1, access, Width(access)};
}

// Returns the location to which a chain stores a value.
TileProgram::DirectPointer TileProgram::DirectStore(TileValue number) const {
  const Value& value = values_[number];
  const bool in_place = value.stored_as >= 0 && patterns_[value.stored_as] == Pattern::kDense;
  DirectPointer pointer{DirectPointer::Kind::kRegister, false, Pattern::kDense, 0, number, -1};
  if (in_place) pointer = InMemory(value.stored_as);
  pointer.value = number;
  return pointer;
}

TileProgram::DirectPointer TileProgram::DirectRead(TileValue number) const {
  using Kind = DirectPointer::Kind;
  const Value& value = values_[number];
  if (value.access < 0) return DirectStore(number);
  const bool is_iota = accesses()[value.access].argument == Access::kIota;
  DirectPointer pointer = InMemory(value.access);
  const auto irregular = std::find_if(irregular_.begin(), irregular_.end(),
                                      [&](const auto& entry) { return entry.first == value.access; });
  if (irregular != irregular_.end()) {
    pointer.kind = Kind::kRow;
    pointer.row = static_cast<int32_t>(irregular - irregular_.begin());
  } else {
    pointer.kind = is_iota ? Kind::kIota : value.form == ChainForm::kScalar ? Kind::kScalar : Kind::kMemory;
  }
  pointer.value = number;
  pointer.widen =
      std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.out == number; })->call;
  return pointer;
}

// Finds the steps that the yielded value passes through, if it is the last value of a chain.
void TileProgram::FindFold() {
  if (yields().size() != 1) return;
  const TileValue value = yields()[0];
  for (const Chain& chain : chains_) {
    if (steps_[chain.last].out != value || compute_type(value) != ComputeType::kF32) continue;
    fold_step_ = static_cast<int64_t>(chain.begin + chain.steps.size()) - 2;
    const bool is_read =
        values_[value].stored_as >= 0 || std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
          return std::count(step.in.begin(), step.in.begin() + step.operand_count, value) != 0;
        });
    if (!is_read) yield_step_ = fold_step_ - 1;
  }
}

// Returns the offset of the element at an inner position.
int64_t TileProgram::OffsetAt(int32_t number, const int64_t* bases, int64_t position) const {
  const Strides& inner = accesses()[number].inner;
  int64_t at = bases[number];
  if (patterns_[number] == Pattern::kDense) return at + position;
  if (patterns_[number] == Pattern::kScalar || position == 0) return at;
  EachDigit(position, inner_dims(), [&](int64_t d, int64_t i) { at += i * inner[d]; });
  return at;
}

// Performs OffsetAt for an access that HasStartsPerRow; `extras` are those of the access.
int64_t TileProgram::RowOffsetAt(int32_t number, void* const* arguments, const int64_t* bases,
                                 const int64_t* extras, int64_t position) const {
  int64_t offset = OffsetAt(number, bases, position);
  for (const RuntimeStart& start : accesses()[number].starts) {
    if (!start.index.has_value()) continue;
    int64_t at = *extras++;
    EachDigit(position, inner_dims(), [&](int64_t d, int64_t i) { at += i * start.index->inner[d]; });
    const auto* positions = static_cast<const std::byte*>(arguments[start.argument]);
    const int64_t found = ReadInteger(start.type, positions + at * ByteCount(start.type));
    offset += std::clamp<int64_t>(found, 0, start.max) * start.stride;
  }
  return offset;
}

// Widens one element to its compute type in `to`, or returns its address if no conversion is needed.
std::byte* TileProgram::ReadScalar(ElementType type, const TileCall& widen, std::byte* from, std::byte* to) {
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

// Returns the address of the tile's elements and prefetches the next tile, whose row may begin anywhere.
std::byte* TileProgram::Runner::RowOf(const DirectPointer& pointer, int64_t begin, int64_t n) {
  constexpr int64_t kLine = 64, kMax = 4096;  // Both are in bytes.
  const int64_t* extras = base_.data() + program_.irregular_[pointer.row].second;
  auto* data = static_cast<std::byte*>(arguments_[program_.access(pointer.access).argument]);
  const auto row = [&](int64_t position) {
    return data +
           program_.RowOffsetAt(pointer.access, arguments_, base_.data(), extras, position) * pointer.width;
  };
  Ahead& ahead = ahead_[pointer.row];
  std::byte* at = ahead.position == begin ? ahead.at : row(begin);
  if (begin + n < program_.inner_count()) {
    ahead = {begin + n, row(begin + n)};
    for (int64_t b = 0; b < std::min(n * pointer.width, kMax); b += kLine) __builtin_prefetch(ahead.at + b);
  }
  return at;
}

// Sets the pointers that are constant for all tiles.
void TileProgram::Runner::SetRegisters() {
  for (const DirectPointer& pointer : program_.registers_) {
    std::byte* at = RegisterOf(pointer.value);
    pointers_[pointer.value] = at;
    ChainStep& step = chain_steps_[pointer.step];
    if (pointer.is_second)
      step.second = at;
    else
      step.operand = at;
  }
}

void TileProgram::Runner::BeginRows() {
  if (native_ != nullptr) return BeginNativeRows();
  if (!program_.moves_by_rows_) return;
  for (const Chain& chain : program_.chains_) {
    for (const DirectPointer& pointer : chain.direct) {
      const Access& access = program_.access(pointer.access);
      auto* data = static_cast<std::byte*>(arguments_[access.argument]);
      ChainStep& step = chain_steps_[chain.begin + pointer.step];
      const bool widens = pointer.kind == DirectPointer::Kind::kScalar && pointer.widen.function != nullptr;
      const bool is_read = pointer.value < 0 || program_.values_[pointer.value].access >= 0;
      moving_.push_back({data + start_[pointer.access] * pointer.width, access.outer[0] * pointer.width,
                         pointer.pattern == Pattern::kDense ? pointer.width : 0,
                         pointer.is_second ? &step.second : &step.operand,
                         is_read ? nullptr : &pointers_[pointer.value], widens ? &pointer : nullptr});
    }
  }
  row_ = 0;
}

void TileProgram::Runner::SetRow(int64_t row) {
  if (row_ < 0)
    SetOuter(row);
  else if (native_ != nullptr)
    SetNativeRow(row);
  else
    row_ = row;
}

[[gnu::always_inline]] inline void TileProgram::Runner::RunOnRow(int64_t begin, int64_t n) {
  for (const Moving& moving : moving_) {
    std::byte* at = moving.at + row_ * moving.row + begin * moving.position;
    if (moving.scalar != nullptr) {
      const DirectPointer& scalar = *moving.scalar;
      at = ReadScalar(program_.access(scalar.access).type, scalar.widen, at, RegisterOf(scalar.value));
    }
    if (moving.value != nullptr) *moving.value = at;
    *moving.operand = at;
  }
  for (const Chain& chain : program_.chains_)
    RunChain(n, chain_steps_.data() + chain.begin, chain.pointers.data(),
             static_cast<int64_t>(chain.steps.size()));
}

void TileProgram::Runner::RunRows(int64_t begin, int64_t end) {
  const int64_t n = program_.inner_count();
  const bool is_tile = row_ >= 0 && n <= std::min(program_.tile_, program_.row());
  for (int64_t row = begin; row < end; ++row) {
    SetRow(row);
    if (is_tile && native_ == nullptr)
      RunOnRow(0, n);
    else
      RunTiles(0, n);
  }
}

void TileProgram::Runner::RunDirect(int64_t begin, int64_t n) {
  if (row_ >= 0) return RunOnRow(begin, n);
  using Kind = DirectPointer::Kind;
  for (const Chain& chain : program_.chains_) {
    ChainStep* steps = chain_steps_.data() + chain.begin;
    for (const DirectPointer& pointer : chain.direct) {
      const Access& access = program_.access(pointer.access);
      int64_t offset = base_[pointer.access];
      if (pointer.pattern == Pattern::kDense)
        offset += begin;
      else if (pointer.pattern == Pattern::kStrided && pointer.kind != Kind::kRow)
        offset = program_.OffsetAt(pointer.access, base_.data(), begin);
      std::byte* at = nullptr;
      if (pointer.kind == Kind::kIota) {
        at = RegisterOf(pointer.value);
        FillIota(program_.compute_type(pointer.value), 1, at, offset, 0);
      } else if (pointer.kind == Kind::kRow) {
        at = RowOf(pointer, begin, n);
      } else {
        at = static_cast<std::byte*>(arguments_[access.argument]) + offset * pointer.width;
        if (pointer.kind == Kind::kScalar)
          at = ReadScalar(access.type, pointer.widen, at, RegisterOf(pointer.value));
      }
      if (pointer.value >= 0) pointers_[pointer.value] = at;
      if (pointer.is_second)
        steps[pointer.step].second = at;
      else
        steps[pointer.step].operand = at;
    }
    RunChain(n, steps, chain.pointers.data(), static_cast<int64_t>(chain.steps.size()));
  }
}

void TileProgram::Runner::SwapFold() {
  std::swap(chain_steps_[program_.fold_step_].function, fold_);
  if (program_.yield_step_ >= 0) std::swap(chain_steps_[program_.yield_step_].function, leave_);
}

void TileProgram::Runner::RunFolding(int64_t begin, int64_t end, ChainFold& fold) {
  if (native_ != nullptr) return FoldNative(begin, end, fold);
  fold_ = fold.function();
  leave_ = ChainPass();
  fold.Begin();
  for (const int64_t tile = std::min(program_.tile_, ChainFold::kLongest); begin < end; begin += tile) {
    const int64_t n = std::min(tile, end - begin), strips = n / kHalfStrip * kHalfStrip;
    fold.BeginTile(n);
    if (strips > 0) {
      SwapFold();
      chain_steps_[program_.fold_step_].operand = fold.operand();
      RunDirect(begin, strips);
      SwapFold();
      chain_steps_[program_.fold_step_].operand = nullptr;
    }
    if (n > strips) {
      RunDirect(begin + strips, n - strips);
      fold.Add(static_cast<const float*>(yielded(0)), n - strips);
    }
  }
}

void TileProgram::Runner::RunFoldingRows(int64_t first, absl::Span<ChainFold> folds) {
  const int64_t n = program_.inner_count();
  const bool is_tile = row_ >= 0 && native_ == nullptr && n % kHalfStrip == 0 &&
                       n <= std::min(program_.tile_, ChainFold::kLongest);
  if (!is_tile) {
    for (ChainFold& fold : folds) {
      SetRow(first++);
      RunFolding(0, n, fold);
    }
    return;
  }
  fold_ = folds[0].function();
  leave_ = ChainPass();
  SwapFold();
  for (ChainFold& fold : folds) {
    SetRow(first++);
    fold.Begin();
    fold.BeginTile(n);
    chain_steps_[program_.fold_step_].operand = fold.operand();
    RunOnRow(0, n);
  }
  SwapFold();
}

}  // namespace hlo::cpu
