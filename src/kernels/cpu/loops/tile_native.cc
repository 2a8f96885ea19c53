// This file runs tile programs as native code: it resolves accesses to pointers, gathers elements that are
// not contiguous, and scatters results.

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "kernels/cpu/chains/chain_fold.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLongestTile = 16 << 10;
// In longer rows the tail takes little time; in rows shorter than a half strip, the call does.
constexpr int64_t kLongestWithTail = 1024;
constexpr int64_t kSlotAlignment = 64;

}  // namespace

// Returns true if chains are faster than native code. Chains convert bf16 with fewer instructions and
// prefetch rows that begin anywhere. They reduce the last value as they compute it, except for the tail of a
// row.
bool TileProgram::IsBestAsChains() const {
  if (!is_direct_) return false;
  const bool has_tails =
      inner_count() % kHalfStrip != 0 && inner_count() > kHalfStrip && inner_count() < kLongestWithTail;
  return (Folds() && chains_.size() == 1 && !has_tails) ||
         std::any_of(chains_.begin(), chains_.end(), [](const Chain& chain) {
           return chain.layout == ChainLayout::kBlocks ||
                  std::any_of(chain.direct.begin(), chain.direct.end(), [](const DirectPointer& pointer) {
                    return pointer.kind == DirectPointer::Kind::kRow;
                  });
         });
}

void TileProgram::AllowNativeCode(MayAlias may_alias) {
  const bool compiles_all = NativeCodeDelay() == 0;
  if (FindNativeIsa() == NativeIsa::kNone || copy_.has_value() || (small_.has_value() && !compiles_all))
    return;
  if (!compiles_all && IsBestAsChains()) return;
  auto native = std::make_shared<Native>();
  for (const Stored& stored : stored_) {
    bool early = true;
    for (const Step& step : steps_) {
      for (int32_t a = step.access; a >= 0; a = accesses()[a].next) {
        if (!accesses()[a].IsArray() ||
            !may_alias(accesses()[a].argument, accesses()[stored.access].argument))
          continue;
        early = false;
        native->overwritten.push_back(a);
      }
    }
    native->early.push_back(early);
  }
  native_ = std::move(native);
}

void TileProgram::AllowNativeCodeOfRuns(MayAlias may_alias) {
  AllowNativeCode(may_alias);
  if (native_ != nullptr) native_->rows = FindDirectRows();
}

void TileProgram::PrepareNativeCode(double nanoseconds) const {
  if (native_ == nullptr) return;
  native_->code.Prepare(nanoseconds, [&] {
    return native_->rows.has_value() ? CompileRows(*native_) : CompileNative(*native_);
  });
}

const TileProgram::Native* TileProgram::ReadyNative() const {
  const bool is_ready = native_ != nullptr && !native_->rows.has_value() && native_->code.get() != nullptr;
  return is_ready ? native_.get() : nullptr;
}

// Chooses how a load reaches the code.
TileProgram::Native::Read TileProgram::NativeReadOf(const Step& step, Native& native) const {
  using Kind = Native::Read::Kind;
  const Access& access = accesses()[step.access];
  const bool in_row = by_rows_ && yields().empty() && access.IsRegular();
  const bool widens = step.call.function != nullptr && !NativeLoop::Supports(access.type);
  Native::Read read{Kind::kTile, NativeLoop::Form::kArray, step.access,
                    step.out,    access.argument,          ByteCount(access.type)};
  if (widens) read.widen = step.call;
  if (!access.IsArray()) {
    const ComputeType of_step = compute_type(step.out);
    const bool counts =
        access.argument == Access::kIota && ComputeTypeBytes(of_step) >= 4 && of_step < ComputeType::kF32;
    if (access.argument == Access::kIota && patterns_[step.access] == Pattern::kScalar) {
      read.kind = Kind::kIota;
      read.form = NativeLoop::Form::kScalar;
    } else if (counts && !access.inner.empty() && access.inner.back() == 1 &&
               (inner_dims().size() == 1 || in_row)) {
      read.kind = Kind::kIota;
      read.form = NativeLoop::Form::kCount;
    }
  } else if (patterns_[step.access] == Pattern::kScalar ||
             (patterns_[step.access] == Pattern::kStrided && in_row && access.inner.back() == 0)) {
    if (access.IsRegular()) {
      read.kind = Kind::kMemory;
      read.form = NativeLoop::Form::kScalar;
    }
  } else if (!widens && patterns_[step.access] == Pattern::kDense && access.IsRegular()) {
    read.kind = Kind::kMemory;
  } else if (!widens && in_row && access.inner.back() == 1) {
    read.kind = Kind::kMemory;
  } else if (!widens && IsDenseInTile(step.access)) {
    read.kind = Kind::kRow;
    read.row = DirectRead(step.out);
  }
  if (read.kind == Kind::kTile) {
    read.is_periodic = IsPeriodic(step.access);
    if (IsTransposed(step.access)) read.transposed = native.transposed_count++;
    if (std::optional<Native::Offsets> offsets = OffsetsOf(step.access)) {
      read.offsets = static_cast<int32_t>(native.offsets.size());
      native.offsets.push_back(*std::move(offsets));
    }
    if (std::optional<EdgeTable> edges = EdgeTable::Of(source_, step.access)) {
      read.edges = static_cast<int32_t>(native.edges.size());
      native.edges.push_back(*std::move(edges));
    }
  }
  if (read.kind == Kind::kTile || read.kind == Kind::kIota) read.slot = native.slot_count++;
  if (widens) read.wide_slot = native.slot_count++;
  return read;
}

std::unique_ptr<const NativeLoop> TileProgram::CompileNative(Native& native) const {
  std::vector<NativeLoop::Input> inputs;
  std::vector<NativeLoop::Output> outputs;
  int64_t widest = 1;
  const auto lane_type = [&](TileValue value) { return NativeLoop::TypeOf(compute_type(value)); };
  for (const Step& step : steps_) {
    widest = std::max(widest, ComputeTypeBytes(compute_type(step.out)));
    if (step.access < 0) continue;
    const Native::Read read = NativeReadOf(step, native);
    const auto& overwritten = native.overwritten;
    const bool reloads = read.kind == Native::Read::Kind::kTile ||
                         std::find(overwritten.begin(), overwritten.end(), step.access) == overwritten.end();
    const bool is_lane = read.widen.function != nullptr || !accesses()[step.access].IsArray();
    inputs.push_back(
        {step.out, read.form, is_lane ? lane_type(step.out) : accesses()[step.access].type, reloads});
    native.reads.push_back(read);
  }
  for (size_t k = 0; k < stored_.size(); ++k) {
    const Stored& stored = stored_[k];
    const ElementType type = accesses()[stored.access].type;
    const bool narrows = !NativeLoop::Supports(type), dense = patterns_[stored.access] == Pattern::kDense;
    Native::Write write{stored.value, stored.access, accesses()[stored.access].argument, ByteCount(type)};
    if (narrows) write.narrow = stored.narrow;
    if (narrows || !dense) write.slot = native.slot_count++;
    if (narrows && !dense) write.narrow_slot = native.slot_count++;
    outputs.push_back(
        {stored.value, narrows ? lane_type(stored.value) : type, native.early[k] || write.slot >= 0});
    native.writes.push_back(write);
  }
  for (const TileValue value : yields()) {
    native.writes.push_back({.value = value, .access = -1, .slot = native.slot_count++});
    outputs.push_back({value, lane_type(value), true});
  }
  native.tile = tile_;
  if (yields().empty() && LargestTile() >= tile_) {
    const int64_t largest =
        LargestTile() < kLongestTile / 16 ? tile_ : TileLength(kLongestTile, native.slot_count * widest);
    native.tile = std::max(tile_, largest);
    if (native.tile > period_) native.tile -= native.tile % period_;
  }
  native.slot_bytes = RoundUp(native.tile * widest, kSlotAlignment);
  return NativeLoop::Compile(source_, inputs, outputs);
}

int64_t TileProgram::Runner::tile() const { return native_ != nullptr ? native_->tile : program_.tile_; }

std::byte* TileProgram::Runner::NativeSlot(int32_t slot) const {
  return scratch_ + program_.register_bytes_ * program_.register_count_ + native_->slot_bytes * slot;
}

// Returns the pointer through which the code reads an input.
const std::byte* TileProgram::Runner::NativePointer(size_t number, int64_t begin, int64_t n) {
  using Kind = Native::Read::Kind;
  const Native::Read& read = native_->reads[number];
  if (read.kind == Kind::kRow) return RowOf(read.row, begin, n);
  const std::byte* at = nullptr;
  if (read.kind == Kind::kTile) {
    if (read.is_periodic && n <= native_periodic_count_ && begin % program_.period_ == native_phase_)
      return static_cast<const std::byte*>(native_pointers_[number]);
    if (read.transposed >= 0) at = TransposedRow(number, begin, n);
    if (at == nullptr && read.offsets >= 0) at = Gather(number, begin, n, NativeSlot(read.slot));
    if (at == nullptr && read.edges >= 0) {
      native_->edges[read.edges].Read(arguments_, base_.data(), begin, n, NativeSlot(read.slot));
      at = NativeSlot(read.slot);
    }
    if (at == nullptr)
      at = program_.Read(read.access, arguments_, base_.data(), begin, n, NativeSlot(read.slot));
  } else {
    const int64_t offset = program_.OffsetAt(read.access, base_.data(), begin);
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
void TileProgram::Runner::BeginNativeRows() {
  if (program_.outer_dims().empty()) return;
  const auto add = [&](int32_t number) {
    const Access& access = program_.access(number);
    const int64_t width = ByteCount(access.type);
    native_moving_.push_back({static_cast<std::byte*>(arguments_[access.argument]) + start_[number] * width,
                              access.outer.back() * width,
                              program_.patterns_[number] == Pattern::kDense ? width : 0, number});
  };
  for (const Native::Read& read : native_->reads) {
    if (read.kind != Native::Read::Kind::kMemory || read.widen.function != nullptr ||
        program_.patterns_[read.access] == Pattern::kStrided)
      return;
    add(read.access);
  }
  for (const Native::Write& write : native_->writes) {
    if (write.access >= 0 && write.slot >= 0) return;
    if (write.access >= 0)
      add(write.access);
    else
      native_moving_.push_back({NativeSlot(write.slot), 0, 0, -1});
  }
  for (const Native::Write& write : native_->writes) {
    if (write.access < 0) pointers_[write.value] = NativeSlot(write.slot);
  }
  row_ = 0;
  static_cast<void>(IsNextOuter(0));
}

void TileProgram::Runner::SetNativeRow(int64_t row) {
  row_ = row;
  if (IsNextOuter(row)) {
    for (NativeMoving& moving : native_moving_) moving.at += moving.row;
    return;
  }
  for (NativeMoving& moving : native_moving_) {
    if (moving.access < 0) continue;
    const Access& access = program_.access(moving.access);
    int64_t offset = start_[moving.access];
    EachDigit(row, program_.outer_dims(), [&](int64_t d, int64_t i) { offset += i * access.outer[d]; });
    moving.at = static_cast<std::byte*>(arguments_[access.argument]) + offset * ByteCount(access.type);
  }
}

void TileProgram::Runner::RunNative(int64_t begin, int64_t n) {
  const Native& native = *native_;
  size_t k = 0;
  if (row_ >= 0) {
    for (const NativeMoving& moving : native_moving_)
      native_pointers_[k++] = moving.at + begin * moving.position;
    return native.code.get()->Run(native_pointers_.data(), n);
  }
  for (; k < native.reads.size(); ++k)
    native_pointers_[k] = const_cast<std::byte*>(NativePointer(k, begin, n));
  if (program_.period_ > 1 && (n > native_periodic_count_ || begin % program_.period_ != native_phase_)) {
    native_phase_ = begin % program_.period_;
    native_periodic_count_ = n;
  }
  const auto place = [&](const Native::Write& write) {
    return static_cast<std::byte*>(arguments_[write.argument]) + (base_[write.access] + begin) * write.width;
  };
  for (const Native::Write& write : native.writes) {
    if (write.slot >= 0) {
      native_pointers_[k++] = NativeSlot(write.slot);
      if (write.access < 0) pointers_[write.value] = NativeSlot(write.slot);
      continue;
    }
    native_pointers_[k++] = place(write);
  }
  native.code.get()->Run(native_pointers_.data(), n);
  for (const Native::Write& write : native.writes) {
    if (write.slot < 0 || write.access < 0) continue;
    const std::byte* from = NativeSlot(write.slot);
    if (write.narrow.function != nullptr) {
      const void* in[] = {from};
      std::byte* to = write.narrow_slot >= 0 ? NativeSlot(write.narrow_slot) : place(write);
      write.narrow.function(n, to, in, write.narrow.parameter);
      from = to;
      if (write.narrow_slot < 0) continue;
    }
    program_.Write(program_.access(write.access), false, arguments_, base_[write.access], begin, n, from);
  }
}

void TileProgram::Runner::FoldNative(int64_t begin, int64_t end, ChainFold& fold) {
  fold.Begin();
  for (const int64_t tile = std::min(program_.tile_, ChainFold::kLongest); begin < end; begin += tile) {
    const int64_t n = std::min(tile, end - begin);
    RunNative(begin, n);
    fold.BeginTile(n);
    fold.AddTile(static_cast<const float*>(yielded(0)), n);
  }
}

}  // namespace hlo::cpu
