// This file runs tiles that only set pointers and run chains.

#include <algorithm>
#include <utility>

#include "kernels/cpu/chains/chain_fold.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

using Pattern = TileAccesses::Pattern;

}  // namespace

// Returns the address of the tile's elements and prefetches the next tile, whose row may begin anywhere.
std::byte* TileRunner::RowOf(const DirectPointer& pointer, int64_t begin, int64_t n) {
  constexpr int64_t kLine = 64, kMax = 4096;  // Both are in bytes.
  const int64_t* extras = base_.data() + program_.accesses_.irregular()[pointer.row].second;
  auto* data = static_cast<std::byte*>(arguments_[AccessOf(pointer.access).argument]);
  const auto row = [&](int64_t position) {
    return data + program_.accesses_.RowOffsetAt(pointer.access, arguments_, base_.data(), extras, position) *
                      pointer.width;
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
void TileRunner::SetRegisters() {
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

void TileRunner::BeginRows() {
  if (native_ != nullptr) return BeginNativeRows();
  if (!program_.moves_by_rows_) return;
  for (const TileChain& chain : program_.chains_) {
    for (const DirectPointer& pointer : chain.direct) {
      const Access& access = AccessOf(pointer.access);
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

void TileRunner::SetRow(int64_t row) {
  if (row_ < 0)
    SetOuter(row);
  else if (native_ != nullptr)
    SetNativeRow(row);
  else
    row_ = row;
}

[[gnu::always_inline]] inline void TileRunner::RunOnRow(int64_t begin, int64_t n) {
  for (const Moving& moving : moving_) {
    std::byte* at = moving.at + row_ * moving.row + begin * moving.position;
    if (moving.scalar != nullptr) {
      const DirectPointer& scalar = *moving.scalar;
      at = ReadScalar(AccessOf(scalar.access).type, scalar.widen, at, RegisterOf(scalar.value));
    }
    if (moving.value != nullptr) *moving.value = at;
    *moving.operand = at;
  }
  for (const TileChain& chain : program_.chains_)
    RunChain(n, chain_steps_.data() + chain.begin, chain.pointers.data(),
             static_cast<int64_t>(chain.steps.size()));
}

void TileRunner::RunRows(int64_t begin, int64_t end) {
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

void TileRunner::RunDirect(int64_t begin, int64_t n) {
  if (row_ >= 0) return RunOnRow(begin, n);
  using Kind = DirectPointer::Kind;
  for (const TileChain& chain : program_.chains_) {
    ChainStep* steps = chain_steps_.data() + chain.begin;
    for (const DirectPointer& pointer : chain.direct) {
      const Access& access = AccessOf(pointer.access);
      int64_t offset = base_[pointer.access];
      if (pointer.pattern == Pattern::kDense)
        offset += begin;
      else if (pointer.pattern == Pattern::kStrided && pointer.kind != Kind::kRow)
        offset = program_.accesses_.OffsetAt(pointer.access, base_.data(), begin);
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

void TileRunner::SwapFold() {
  std::swap(chain_steps_[program_.fold_step_].function, fold_);
  if (program_.yield_step_ >= 0) std::swap(chain_steps_[program_.yield_step_].function, leave_);
}

void TileRunner::RunFolding(int64_t begin, int64_t end, ChainFold& fold) {
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

void TileRunner::RunFoldingRows(int64_t first, absl::Span<ChainFold> folds) {
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
