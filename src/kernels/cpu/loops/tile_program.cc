#include "kernels/cpu/loops/tile_program.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/check.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kTile = 1024;
std::atomic<int64_t> largest_tile = kTile;
// The setup cost of longer loops is negligible.
constexpr int64_t kLongestSmall = SmallProgram::kMaxInFrame;
// Shorter rows are joined into one tile.
constexpr int64_t kShortestRow = 128;
constexpr int64_t kScratchBytes = 32 << 10;  // The budget that fits in the L1 cache.

bool IsRowMajor(const Strides& strides, absl::Span<const int64_t> dims) {
  int64_t expected = 1;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    if (dims[d] != 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

}  // namespace

void SetLargestTile(int64_t elements) { largest_tile = elements; }

TileValue TileProgram::Load(Access access) {
  const bool small = access.IsArray() && !IsStoredAsLane(access.type);
  values_.push_back({LaneOf(access.type), -1, static_cast<int32_t>(accesses_.size())});
  const auto value = static_cast<TileValue>(values_.size() - 1);
  steps_.push_back(
      {small ? LoadTile(access.type) : TileCall{}, value, static_cast<int32_t>(accesses_.size())});
  accesses_.push_back(std::move(access));
  return value;
}

TileValue TileProgram::Load(std::vector<Access> pieces) {
  const TileValue value = Load(std::move(pieces[0]));
  for (size_t k = 1; k < pieces.size(); ++k) {
    accesses_.back().next = static_cast<int32_t>(accesses_.size());
    accesses_.push_back(std::move(pieces[k]));
  }
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

// Merges adjacent dimensions that are contiguous in every access, and drops dimensions of size 1.
void TileProgram::Collapse(std::vector<int64_t>& dims, bool outer) {
  std::vector<Strides*> all;
  for (Access& access : accesses_) {
    all.push_back(outer ? &access.outer : &access.inner);
    VisitExtras(access, [&](Affine& extra) { all.push_back(outer ? &extra.outer : &extra.inner); });
  }
  std::vector<int64_t> collapsed;
  std::vector<Strides> walked(all.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool joins = !collapsed.empty();
    for (size_t a = 0; a < all.size(); ++a) joins = joins && walked[a].back() == (*all[a])[d] * dims[d];
    if (joins)
      collapsed.back() *= dims[d];
    else
      collapsed.push_back(dims[d]);
    for (size_t a = 0; a < all.size(); ++a) {
      if (joins)
        walked[a].back() = (*all[a])[d];
      else
        walked[a].push_back((*all[a])[d]);
    }
  }
  dims = std::move(collapsed);
  for (size_t a = 0; a < all.size(); ++a) *all[a] = std::move(walked[a]);
}

TileProgram::Pattern TileProgram::PatternOf(const Access& access) const {
  if (!access.IsRegular()) return Pattern::kStrided;
  if (std::all_of(access.inner.begin(), access.inner.end(), [](int64_t s) { return s == 0; }))
    return inner_count_ == 1 ? Pattern::kDense : Pattern::kScalar;
  return IsRowMajor(access.inner, inner_dims_) ? Pattern::kDense : Pattern::kStrided;
}

// Allocates registers; a register is free after the last use of its value.
void TileProgram::AssignRegisters() {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const size_t until = steps_[s].chain < 0 ? s : chains_[steps_[s].chain].last;
    for (int k = 0; k < steps_[s].operand_count; ++k) last_use[steps_[s].in[k]] = until;
  }
  for (const Stored& stored : stored_) last_use[stored.value] = steps_.size();
  for (TileValue value : yielded_) last_use[value] = steps_.size();
  std::vector<int32_t> free_registers;
  int64_t widest = 1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    Value& out = values_[step.out];
    // Splat values are computed once, so that their registers stay live.
    const bool stays = step.access >= 0 && patterns_[step.access] == Pattern::kScalar;
    if (!out.is_passed_on) {
      widest = std::max(widest, LaneBytes(out.lane));
      if (free_registers.empty() || stays) {
        out.register_number = static_cast<int32_t>(register_count_++);
      } else {
        out.register_number = free_registers.back();
        free_registers.pop_back();
      }
    }
    if (stays) last_use[step.out] = steps_.size();
    auto release = [&](TileValue value) {
      if (last_use[value] != s || values_[value].register_number < 0) return;
      last_use[value] = steps_.size();  // Prevents a second release.
      free_registers.push_back(values_[value].register_number);
    };
    const size_t first = step.chain >= 0 && chains_[step.chain].last == s ? chains_[step.chain].first : s;
    for (size_t member = first; member <= s; ++member) {
      for (int k = 0; k < steps_[member].operand_count; ++k) release(steps_[member].in[k]);
    }
    if (last_use[step.out] == 0 && s != 0) release(step.out);
  }
  // An extra register holds small floats before they are widened.
  ++register_count_;
  // The tile size of reductions is fixed, because results depend on it.
  tile_ = yielded_.empty() ? largest_tile.load() : kTile;
  while (tile_ > 128 && tile_ * widest * register_count_ > kScratchBytes) tile_ /= 2;
  register_bytes_ = (tile_ * widest + 63) / 64 * 64;
}

// Turns a program that only copies into one on untyped elements of the same width.
void TileProgram::MoveBits() {
  const bool only_moves =
      yielded_.empty() &&
      std::all_of(steps_.begin(), steps_.end(),
                  [&](const Step& step) { return step.access >= 0 && accesses_[step.access].IsArray(); }) &&
      std::all_of(stored_.begin(), stored_.end(), [&](const Stored& stored) {
        return accesses_[stored.access].type == accesses_[values_[stored.value].access].type;
      });
  if (!only_moves) return;
  for (Access& access : accesses_) access.type = BytesOf(access.type);
  for (Step& step : steps_) {
    step.call = {};
    values_[step.out].lane = LaneOf(accesses_[step.access].type);
  }
  is_copy_ = steps_.size() == 1 && stored_.size() == 1 && accesses_[steps_[0].access].IsRegular();
}

void TileProgram::Finish() {
  outer_count_ = Product(outer_dims_);
  inner_count_ = Product(inner_dims_);
  MoveBits();
  Collapse(outer_dims_, true);
  Collapse(inner_dims_, false);
  base_count_ = static_cast<int32_t>(accesses_.size());
  for (const Access& access : accesses_) {
    patterns_.push_back(PatternOf(access));
    scalars_vary_ |= patterns_.back() == Pattern::kScalar &&
                     std::any_of(access.outer.begin(), access.outer.end(), [](int64_t s) { return s != 0; });
    if (access.IsRegular()) continue;
    irregular_.emplace_back(static_cast<int32_t>(patterns_.size() - 1), base_count_);
    VisitExtras(access, [&](const Affine&) { ++base_count_; });
  }
  for (Stored& stored : stored_) stored.narrow = StoreRoundedTile(accesses_[stored.access].type);
  by_rows_ = !inner_dims_.empty() && inner_dims_.back() >= kShortestRow;
  if (inner_count_ > kLongestSmall) FormChains();
  AssignRegisters();
  by_rows_ = !inner_dims_.empty() && inner_dims_.back() >= std::min(kShortestRow, tile_);
  // A value that is stored once, in its lane type, is computed in place.
  for (const Stored& stored : stored_) {
    Value& value = values_[stored.value];
    const bool direct = value.access < 0 && value.stored_as < 0 && !value.is_passed_on &&
                        IsStoredAsLane(accesses_[stored.access].type);
    if (direct) value.stored_as = stored.access;
  }
  for (size_t s = 0; s < steps_.size() && !yielded_.empty(); ++s) {
    if (steps_[s].out == yielded_[0]) first_steps_ = s + 1;
  }
  size_t chain_steps = 0;
  for (Chain& chain : chains_) {
    BuildChain(chain);
    chain.begin = chain_steps;
    chain_steps += chain.steps.size();
  }
  FindDirectPointers();
  yields_bf16_ = FindsBF16();
  for (const Step& step : steps_)
    nanoseconds_ += step.access >= 0 ? 0.2 : 0.15 * LaneBytes(lane(step.out)) / 4;
  nanoseconds_ += 0.5 * static_cast<double>(irregular_.size());
  small_ = MakeSmall();
}

std::optional<SmallProgram> TileProgram::MakeSmall() const {
  if (outer_count_ != 1 || inner_count_ == 0 || inner_count_ > tile_ || !yielded_.empty())
    return std::nullopt;
  const bool is_long = inner_count_ > kLongestSmall;
  if (is_long && (is_copy_ || !chains_.empty())) return std::nullopt;
  SmallProgram small{.count = inner_count_};
  int64_t widest = 1;
  for (const Value& value : values_) widest = std::max(widest, LaneBytes(value.lane));
  const int64_t stride = (widest * inner_count_ + 15) / 16 * 16;
  if (!is_long && stride * register_count_ > SmallProgram::kScratchBytes) return std::nullopt;
  const auto in_register = [&](const Value& value) {
    return SmallProgram::Place{SmallProgram::Place::kScratch, 0, value.register_number * stride,
                               static_cast<int32_t>(LaneBytes(value.lane))};
  };
  int32_t start_count = 0;
  const auto in_memory = [&](const Access& access) {
    const int64_t width = ByteCount(access.type);
    SmallProgram::Place place{access.argument, 0, access.offset * width, static_cast<int32_t>(width)};
    if (access.starts.empty()) return place;
    place.start = ++start_count;
    for (const RuntimeStart& s : access.starts)
      small.starts.push_back(
          {s.argument, s.type, s.element * ByteCount(s.type), s.max, s.stride * width, place.start});
    return place;
  };
  std::vector<SmallProgram::Place> places(values_.size());
  for (const Step& step : steps_) {
    const Value& value = values_[step.out];
    SmallProgram::Place& place = places[step.out];
    place = in_register(value);
    if (step.access >= 0) {
      const Access& access = accesses_[step.access];
      const Pattern pattern = patterns_[step.access];
      if (!access.IsArray() || pattern == Pattern::kStrided) return std::nullopt;
      SmallProgram::Place memory = in_memory(access);
      // A scalar that needs a conversion is not supported: it would be widened first, then splat.
      if (pattern == Pattern::kScalar && step.call.function != nullptr) return std::nullopt;
      if (pattern == Pattern::kScalar)
        small.calls.push_back({SplatTile(value.lane), place, {memory}});
      else if (step.call.function != nullptr)
        small.calls.push_back({step.call, place, {memory}});
      else
        place = memory;
      continue;
    }
    if (value.stored_as >= 0 && patterns_[value.stored_as] == Pattern::kDense)
      place = in_memory(accesses_[value.stored_as]);
    SmallProgram::Call call{step.call, place, {}};
    for (int k = 0; k < step.operand_count; ++k) call.in[k] = places[step.in[k]];
    small.calls.push_back(call);
  }
  for (const Stored& stored : stored_) {
    const Access& access = accesses_[stored.access];
    if (patterns_[stored.access] != Pattern::kDense || access.drops) return std::nullopt;
    if (values_[stored.value].stored_as == stored.access) continue;
    const TileCall move = stored.narrow.function != nullptr ? stored.narrow : CopyTile(lane(stored.value));
    small.calls.push_back({move, in_memory(access), {places[stored.value]}});
  }
  if (start_count > SmallProgram::kMaxStarts) return std::nullopt;
  // A long row must be a single call from memory to memory.
  const auto is_scratch = [](const SmallProgram::Place& place) {
    return place.width > 0 && place.argument == SmallProgram::Place::kScratch;
  };
  const bool is_apart = small.calls.size() == 1 && !is_scratch(small.calls[0].out) &&
                        std::none_of(small.calls[0].in.begin(), small.calls[0].in.end(), is_scratch);
  return is_long && !is_apart ? std::nullopt : std::optional(small);
}

int64_t TileProgram::LastReadAt(absl::FunctionRef<bool(const Access&)> of) const {
  const auto is_one = [&](TileValue value) {
    for (int32_t a = values_[value].access; a >= 0; a = accesses_[a].next) {
      if (of(accesses_[a])) return true;
    }
    return false;
  };
  int64_t last = -1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int k = 0; k < steps_[s].operand_count; ++k) {
      if (is_one(steps_[s].in[k])) last = static_cast<int64_t>(s);
    }
  }
  for (size_t k = 0; k < stored_.size(); ++k) {
    if (is_one(stored_[k].value)) last = static_cast<int64_t>(steps_.size() + k);
  }
  if (std::any_of(yielded_.begin(), yielded_.end(), is_one)) last = std::numeric_limits<int64_t>::max();
  return last;
}

int64_t TileProgram::WrittenAt(size_t store) const {
  const Stored& stored = stored_[store];
  const bool as_computed = stored.by_chain || values_[stored.value].stored_as == stored.access;
  for (size_t s = 0; as_computed && s < steps_.size(); ++s) {
    if (steps_[s].out == stored.value) return static_cast<int64_t>(s);
  }
  return static_cast<int64_t>(steps_.size() + store);
}

std::optional<ElementType> TileProgram::YieldedAsStored() const {
  const bool is_load = steps_.size() == 1 && yielded_.size() == 1 && stored_.empty() &&
                       steps_[0].access >= 0 && accesses_[0].IsArray() && patterns_[0] == Pattern::kDense;
  return is_load ? std::optional(accesses_[0].type) : std::nullopt;
}

std::optional<int64_t> TileProgram::StoredStep() const {
  if (!YieldedAsStored().has_value() || outer_dims_.size() != 1) return std::nullopt;
  return accesses_[0].outer[0] * Width(0);
}

bool TileProgram::FindsBF16() const {
  if (yielded_.size() != 1) return false;
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    if (step.out != yielded_[0]) return false;
    const ChainOperation operation = ChainOperationOf(step.call);
    return step.access >= 0
               ? accesses_[step.access].type == ElementType::kBF16 && accesses_[step.access].IsArray()
               : operation.rounds || operation.kind == ChainOperation::Kind::kRound;
  });
}

void TileProgram::VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit) {
  for (const Step& step : steps_) {
    for (int32_t a = step.access; a >= 0; a = accesses_[a].next) visit(accesses_[a], false);
  }
  for (const Stored& stored : stored_) visit(accesses_[stored.access], true);
  if (small_.has_value()) small_ = MakeSmall();  // Arguments may be renumbered.
}

void TileProgram::VisitAccesses(absl::FunctionRef<void(const Access&, bool)> visit) const {
  for (const Step& step : steps_) {
    for (int32_t a = step.access; a >= 0; a = accesses_[a].next) visit(accesses_[a], false);
  }
  for (const Stored& stored : stored_) visit(accesses_[stored.access], true);
}

}  // namespace hlo::cpu
