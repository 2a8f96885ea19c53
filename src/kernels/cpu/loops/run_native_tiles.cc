// This file runs tiles of native code: it resolves accesses to pointers, gathers elements that are not
// contiguous, and scatters results.

#include <algorithm>

#include "kernels/cpu/chains/chain_fold.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"

namespace hlo::cpu {
namespace {

using Pattern = TileAccesses::Pattern;

}  // namespace

int64_t TileRunner::tile() const { return native_ != nullptr ? native_->tile : program_.tile_; }

std::byte* TileRunner::NativeSlot(int32_t slot) const {
  return scratch_ + program_.register_bytes_ * program_.register_count_ + native_->slot_bytes * slot;
}

// Returns the pointer through which the code reads an input.
const std::byte* TileRunner::NativePointer(size_t number, int64_t begin, int64_t n) {
  using Kind = NativeTiles::Read::Kind;
  const NativeTiles::Read& read = native_->reads[number];
  if (read.kind == Kind::kRow) return RowOf(read.row, begin, n);
  const std::byte* at = nullptr;
  if (read.kind == Kind::kTile) {
    if (read.is_periodic && n <= native_periodic_count_ && begin % program_.period_ == native_phase_)
      return static_cast<const std::byte*>(native_pointers_[number]);
    if (read.interleaved >= 0 && IsInOneRow(begin, n)) {
      const NativeTiles::Interleaved& all = native_->interleaved[read.interleaved];
      if (all.first_read == number) ReadInterleaved(all, begin, n);
      at = NativeSlot(read.slot);
    }
    if (read.transposed >= 0) at = TransposedRow(number, begin, n);
    if (at == nullptr && read.offsets >= 0) at = Gather(number, begin, n, NativeSlot(read.slot));
    if (at == nullptr && read.edges >= 0) {
      native_->edges[read.edges].Read(arguments_, base_.data(), begin, n, NativeSlot(read.slot));
      at = NativeSlot(read.slot);
    }
    if (at == nullptr)
      at = program_.accesses_.Read(read.access, arguments_, base_.data(), begin, n, NativeSlot(read.slot));
  } else {
    const int64_t offset = program_.accesses_.OffsetAt(read.access, base_.data(), begin);
    if (read.kind == Kind::kIota) {
      FillIota(program_.compute_type(read.value), 1, NativeSlot(read.slot), offset, 0);
      return NativeSlot(read.slot);
    }
    at = static_cast<const std::byte*>(arguments_[read.argument]) + offset * read.width;
  }
  if (read.widen.function == nullptr) return at;
  const void* in[] = {at};
  std::byte* wide = NativeSlot(read.wide_slot);
  read.widen.function(read.form == NativeLoop::Form::kScalar ? 1 : n, wide, in, read.widen.parameter);
  return wide;
}

// Prepares to advance the pointers by rows, if each is affine in the digits of the row and in the position.
void TileRunner::BeginNativeRows() {
  if (program_.outer_dims().empty()) return;
  const auto add = [&](int32_t number) {
    const Access& access = AccessOf(number);
    const int64_t width = ByteCount(access.type);
    native_moving_.push_back({static_cast<std::byte*>(arguments_[access.argument]) + start_[number] * width,
                              access.outer.back() * width,
                              program_.accesses_.pattern(number) == Pattern::kDense ? width : 0, number});
  };
  for (const NativeTiles::Read& read : native_->reads) {
    if (read.kind != NativeTiles::Read::Kind::kMemory || read.widen.function != nullptr ||
        program_.accesses_.pattern(read.access) == Pattern::kStrided)
      return;
    add(read.access);
  }
  for (const NativeTiles::Write& write : native_->writes) {
    if (write.access >= 0 && write.slot >= 0) return;
    if (write.access >= 0)
      add(write.access);
    else
      native_moving_.push_back({NativeSlot(write.slot), 0, 0, -1});
  }
  for (const NativeTiles::Write& write : native_->writes) {
    if (write.access < 0) pointers_[write.value] = NativeSlot(write.slot);
  }
  row_ = 0;
  static_cast<void>(IsNextOuter(0));
}

void TileRunner::SetNativeRow(int64_t row) {
  row_ = row;
  if (IsNextOuter(row)) {
    for (NativeMoving& moving : native_moving_) moving.at += moving.row;
    return;
  }
  for (NativeMoving& moving : native_moving_) {
    if (moving.access < 0) continue;
    const Access& access = AccessOf(moving.access);
    int64_t offset = start_[moving.access];
    EachDigit(row, program_.outer_dims(), [&](int64_t d, int64_t i) { offset += i * access.outer[d]; });
    moving.at = static_cast<std::byte*>(arguments_[access.argument]) + offset * ByteCount(access.type);
  }
}

void TileRunner::RunNative(int64_t begin, int64_t n) {
  const NativeTiles& native = *native_;
  size_t k = 0;
  if (row_ >= 0) {
    for (const NativeMoving& moving : native_moving_)
      native_pointers_[k++] = moving.at + begin * moving.position;
    return code_->Run(native_pointers_.data(), n);
  }
  for (; k < native.reads.size(); ++k)
    native_pointers_[k] = const_cast<std::byte*>(NativePointer(k, begin, n));
  if (program_.period_ > 1 && (n > native_periodic_count_ || begin % program_.period_ != native_phase_)) {
    native_phase_ = begin % program_.period_;
    native_periodic_count_ = n;
  }
  const auto place = [&](const NativeTiles::Write& write) {
    return static_cast<std::byte*>(arguments_[write.argument]) + (base_[write.access] + begin) * write.width;
  };
  for (const NativeTiles::Write& write : native.writes) {
    if (write.slot >= 0) {
      native_pointers_[k++] = NativeSlot(write.slot);
      if (write.access < 0) pointers_[write.value] = NativeSlot(write.slot);
      continue;
    }
    native_pointers_[k++] = place(write);
  }
  code_->Run(native_pointers_.data(), n);
  for (const NativeTiles::Write& write : native.writes) {
    if (write.slot < 0 || write.access < 0) continue;
    const std::byte* from = NativeSlot(write.slot);
    if (write.narrow.function != nullptr) {
      const void* in[] = {from};
      std::byte* to = write.narrow_slot >= 0 ? NativeSlot(write.narrow_slot) : place(write);
      write.narrow.function(n, to, in, write.narrow.parameter);
      from = to;
      if (write.narrow_slot < 0) continue;
    }
    program_.accesses_.Write(write.access, false, arguments_, base_[write.access], begin, n, from);
  }
}

void TileRunner::FoldNative(int64_t begin, int64_t end, ChainFold& fold) {
  fold.Begin();
  for (const int64_t tile = std::min(program_.tile_, ChainFold::kLongest); begin < end; begin += tile) {
    const int64_t n = std::min(tile, end - begin);
    RunNative(begin, n);
    fold.BeginTile(n);
    fold.AddTile(static_cast<const float*>(yielded(0)), n);
  }
}

}  // namespace hlo::cpu
