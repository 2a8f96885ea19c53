// This file compiles tile programs to native code: it chooses how each access reaches the code.

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLongestTile = 16 << 10;
// In longer rows the tail takes little time; in rows shorter than a half strip, the call does.
constexpr int64_t kLongestWithTail = 1024;
constexpr int64_t kSlotAlignment = 64, kSetsBytes = 1024;

using Pattern = TileAccesses::Pattern;

}  // namespace

// Returns true if chains are faster than native code. Chains convert bf16 with fewer instructions and
// prefetch rows that begin anywhere. They reduce the last value as they compute it, except for the tail of a
// row.
bool TileProgram::IsBestAsChains() const {
  if (!is_direct_) return false;
  const bool has_tails =
      inner_count() % kHalfStrip != 0 && inner_count() > kHalfStrip && inner_count() < kLongestWithTail;
  return (Folds() && chains_.size() == 1 && !has_tails) ||
         std::any_of(chains_.begin(), chains_.end(), [](const TileChain& chain) {
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
  for (const TileStore& stored : stored_) {
    bool early = true;
    for (const TileInstruction& step : steps_) {
      for (int32_t a = step.access; a >= 0; a = accesses()[a].next) {
        if (!accesses()[a].IsArray() ||
            !may_alias(accesses()[a].argument, accesses()[stored.access].argument))
          continue;
        early = false;
        native->overwrites.loads.push_back(a);
      }
    }
    native->overwrites.early.push_back(early);
  }
  native_ = std::move(native);
}

void TileProgram::AllowNativeCodeOfRuns(MayAlias may_alias) {
  AllowNativeCode(may_alias);
  if (native_ != nullptr) native_->rows = NativeRows::Of(source());
}

void TileProgram::PrepareNativeCode(double nanoseconds) const {
  if (native_ == nullptr) return;
  native_->code.Prepare(nanoseconds, [&] {
    return native_->rows.has_value() ? native_->rows->Compile(source(), native_->overwrites)
                                     : CompileNative(*native_);
  });
}

const TileProgram::Native* TileProgram::ReadyNative() const {
  const bool is_ready = native_ != nullptr && !native_->rows.has_value() && native_->code.get() != nullptr;
  return is_ready ? native_.get() : nullptr;
}

// Returns the index of the group of interleaved accesses to which this one belongs, and adds the group if it
// is new. Returns -1 if the access belongs to none.
int32_t TileProgram::InterleavedOf(int32_t number, NativeTiles& tiles) const {
  constexpr int64_t kMostColumns = 32;
  const Access& access = accesses()[number];
  const auto is_alike = [&](const Access& other) {
    return other.argument == access.argument && other.type == access.type && other.inner == access.inner &&
           other.outer == access.outer && other.starts.empty() && other.edges.empty() && other.next < 0;
  };
  const int64_t stride = access.inner.empty() ? 0 : access.inner.back();
  if (!access.IsArray() || !is_alike(access) || stride < 2 || stride > kMostColumns) return -1;
  // Elements from the first row of the array on, in rows of the stride.
  std::vector<std::pair<int64_t, int32_t>> offsets;
  for (const TileInstruction& step : steps_) {
    if (step.access >= 0 && is_alike(accesses()[step.access]))
      offsets.push_back({accesses()[step.access].offset, step.access});
  }
  std::sort(offsets.begin(), offsets.end());
  for (size_t first = 0, last = 0; first < offsets.size(); first = last) {
    while (last < offsets.size() && offsets[last].first < offsets[first].first + stride) ++last;
    if (access.offset < offsets[first].first || access.offset > offsets[last - 1].first) continue;
    const int32_t leader = offsets[first].second;
    const int64_t columns = offsets[last - 1].first - offsets[first].first + 1;
    if (last - first < 2 || columns > 2 * static_cast<int64_t>(last - first)) return -1;
    for (size_t k = 0; k < tiles.interleaved.size(); ++k) {
      if (tiles.interleaved[k].access == leader) return static_cast<int32_t>(k);
    }
    tiles.interleaved.push_back({leader, columns, tiles.slot_count, tiles.reads.size()});
    tiles.slot_count += static_cast<int32_t>(columns);
    return static_cast<int32_t>(tiles.interleaved.size()) - 1;
  }
  return -1;
}

// Chooses how a load reaches the code.
NativeTiles::Read TileProgram::NativeReadOf(const TileInstruction& step, NativeTiles& tiles) const {
  using Kind = NativeTiles::Read::Kind;
  const Access& access = accesses()[step.access];
  const bool in_row = accesses_.by_rows() && yields().empty() && access.IsRegular();
  const bool widens = step.call.function != nullptr && !NativeLoop::Supports(access.type);
  NativeTiles::Read read{Kind::kTile, NativeLoop::Form::kArray, step.access,
                         step.out,    access.argument,          ByteCount(access.type)};
  if (widens) read.widen = step.call;
  if (!access.IsArray()) {
    const ComputeType of_step = compute_type(step.out);
    const bool counts =
        access.argument == Access::kIota && ComputeTypeBytes(of_step) >= 4 && of_step < ComputeType::kF32;
    if (access.argument == Access::kIota && accesses_.pattern(step.access) == Pattern::kScalar) {
      read.kind = Kind::kIota;
      read.form = NativeLoop::Form::kScalar;
    } else if (counts && !access.inner.empty() && access.inner.back() == 1 &&
               (inner_dims().size() == 1 || in_row)) {
      read.kind = Kind::kIota;
      read.form = NativeLoop::Form::kCount;
    }
  } else if (accesses_.pattern(step.access) == Pattern::kScalar ||
             (accesses_.pattern(step.access) == Pattern::kStrided && in_row && access.inner.back() == 0)) {
    if (access.IsRegular()) {
      read.kind = Kind::kMemory;
      read.form = NativeLoop::Form::kScalar;
    }
  } else if (!widens && accesses_.pattern(step.access) == Pattern::kDense && access.IsRegular()) {
    read.kind = Kind::kMemory;
  } else if (!widens && in_row && access.inner.back() == 1) {
    read.kind = Kind::kMemory;
  } else if (!widens && accesses_.IsDenseInTile(step.access)) {
    read.kind = Kind::kRow;
    read.row = DirectRead(step.out);
  }
  if (read.kind == Kind::kTile) {
    read.is_periodic = accesses_.IsPeriodic(step.access);
    if (accesses_.IsTransposed(step.access)) read.transposed = tiles.transposed_count++;
    if (std::optional<GatherOffsets> offsets = accesses_.OffsetsOf(step.access)) {
      read.offsets = static_cast<int32_t>(tiles.offsets.size());
      tiles.offsets.push_back(*std::move(offsets));
    }
    if (std::optional<EdgeTable> edges = EdgeTable::Of(source(), step.access)) {
      read.edges = static_cast<int32_t>(tiles.edges.size());
      tiles.edges.push_back(*std::move(edges));
    }
  }
  const bool has_table = read.transposed >= 0 || read.offsets >= 0 || read.edges >= 0 || read.is_periodic;
  if (read.kind == Kind::kTile && !has_table) read.interleaved = InterleavedOf(step.access, tiles);
  if (read.interleaved >= 0) {
    const NativeTiles::Interleaved& all = tiles.interleaved[read.interleaved];
    read.slot = all.slot + static_cast<int32_t>(access.offset - accesses()[all.access].offset);
  } else if (read.kind == Kind::kTile || read.kind == Kind::kIota) {
    read.slot = tiles.slot_count++;
  }
  if (widens) read.wide_slot = tiles.slot_count++;
  return read;
}

std::unique_ptr<const NativeLoop> TileProgram::CompileNative(Native& native) const {
  std::vector<NativeLoop::Input> inputs;
  std::vector<NativeLoop::Output> outputs;
  NativeTiles& tiles = native.tiles;
  int64_t widest = 1;
  const auto lane_type = [&](TileValue value) { return NativeLoop::TypeOf(compute_type(value)); };
  for (const TileInstruction& step : steps_) {
    widest = std::max(widest, ComputeTypeBytes(compute_type(step.out)));
    if (step.access < 0) continue;
    const NativeTiles::Read read = NativeReadOf(step, tiles);
    const std::vector<int32_t>& overwritten = native.overwrites.loads;
    const bool reloads = read.kind == NativeTiles::Read::Kind::kTile ||
                         std::find(overwritten.begin(), overwritten.end(), step.access) == overwritten.end();
    const bool is_lane = read.widen.function != nullptr || !accesses()[step.access].IsArray();
    inputs.push_back(
        {step.out, read.form, is_lane ? lane_type(step.out) : accesses()[step.access].type, reloads});
    tiles.reads.push_back(read);
  }
  for (size_t k = 0; k < stored_.size(); ++k) {
    const TileStore& stored = stored_[k];
    const ElementType type = accesses()[stored.access].type;
    const bool narrows = !NativeLoop::Supports(type),
               dense = accesses_.pattern(stored.access) == Pattern::kDense;
    NativeTiles::Write write{stored.value, stored.access, accesses()[stored.access].argument,
                             ByteCount(type)};
    if (narrows) write.narrow = stored.narrow;
    if (narrows || !dense) write.slot = tiles.slot_count++;
    if (narrows && !dense) write.narrow_slot = tiles.slot_count++;
    outputs.push_back({stored.value, narrows ? lane_type(stored.value) : type,
                       native.overwrites.early[k] || write.slot >= 0});
    tiles.writes.push_back(write);
  }
  for (const TileValue value : yields()) {
    tiles.writes.push_back({.value = value, .access = -1, .slot = tiles.slot_count++});
    outputs.push_back({value, lane_type(value), true});
  }
  tiles.tile = tile_;
  if (yields().empty() && LargestTile() >= tile_) {
    const int64_t largest =
        LargestTile() < kLongestTile / 16 ? tile_ : TileLength(kLongestTile, tiles.slot_count * widest);
    tiles.tile = std::max(tile_, largest);
    if (tiles.tile > period_) tiles.tile -= tiles.tile % period_;
  }
  tiles.slot_bytes = RoundUp(tiles.tile * widest, kSlotAlignment);
  // Slots a power of two apart would share the sets of the cache.
  if (tiles.slot_bytes % kSetsBytes == 0) tiles.slot_bytes += kSlotAlignment;
  return NativeLoop::Compile(source(), inputs, outputs);
}

}  // namespace hlo::cpu
