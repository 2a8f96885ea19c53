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

}  // namespace

void SetLargestTile(int64_t elements) { largest_tile = elements; }

TileProgram::Pattern TileProgram::PatternOf(const Access& access) const {
  if (loops::LoopProgram::IsInvariant(access)) return inner_count() == 1 ? Pattern::kDense : Pattern::kScalar;
  return source_.IsContiguous(access) ? Pattern::kDense : Pattern::kStrided;
}

// Returns true if every row of the innermost dimension reads the same elements and tiles hold several rows,
// so that tiles which begin at the same position of a row are equal.
bool TileProgram::IsPeriodic(int32_t access) const {
  const Access& a = accesses()[access];
  return inner_count() > 0 && patterns_[access] == Pattern::kStrided && a.IsArray() && a.IsRegular() &&
         inner_dims().size() > 1 && inner_dims().back() < kShortestRow && a.inner.back() != 0 &&
         std::all_of(a.inner.begin(), a.inner.end() - 1, [](int64_t stride) { return stride == 0; });
}

// Allocates registers; a register is free after the last use of its value.
void TileProgram::AssignRegisters() {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const size_t until = steps_[s].chain < 0 ? s : chains_[steps_[s].chain].last;
    for (int k = 0; k < steps_[s].operand_count; ++k) last_use[steps_[s].in[k]] = until;
  }
  for (const Stored& stored : stored_) last_use[stored.value] = steps_.size();
  for (TileValue value : yields()) last_use[value] = steps_.size();
  std::vector<int32_t> free_registers;
  int64_t widest = 1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    Value& out = values_[step.out];
    // Splat and periodic values are read once, so that their registers stay live.
    const bool is_periodic = step.access >= 0 && IsPeriodic(step.access);
    const bool stays = is_periodic || (step.access >= 0 && patterns_[step.access] == Pattern::kScalar);
    if (is_periodic) period_ = inner_dims().back();
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
  tile_ = yields().empty() ? largest_tile.load() : kTile;
  while (tile_ > 128 && tile_ * widest * register_count_ > kScratchBytes) tile_ /= 2;
  // Tiles that begin at the same position of a row share periodic values.
  if (yields().empty() && tile_ > period_) tile_ -= tile_ % period_;
  register_bytes_ = (tile_ * widest + 63) / 64 * 64;
}

TileProgram::TileProgram(loops::LoopProgram source) : source_(std::move(source)), is_copy_(source_.IsCopy()) {
  values_.reserve(source_.steps().size());
  steps_.reserve(source_.steps().size());
  for (const loops::LoopProgram::Step& step : source_.steps()) {
    const auto value = static_cast<TileValue>(values_.size());
    values_.push_back({step.lane, -1, step.access});
    const bool widens = step.IsLoad() && accesses()[step.access].IsArray();
    const TileCall call = !step.IsLoad() ? FindTileCall(step.operation)
                          : widens       ? LoadTile(accesses()[step.access].type)
                                         : TileCall{};
    HLO_CHECK(step.IsLoad() || call.function != nullptr);
    steps_.push_back({call, value, step.access, step.operand_count, step.in});
  }
  for (const loops::LoopProgram::Stored& stored : source_.stores())
    stored_.push_back({stored.value, stored.access, StoreRoundedTile(accesses()[stored.access].type)});
  base_count_ = static_cast<int32_t>(accesses().size());
  for (const Access& access : accesses()) {
    patterns_.push_back(PatternOf(access));
    scalars_vary_ |= patterns_.back() == Pattern::kScalar &&
                     std::any_of(access.outer.begin(), access.outer.end(), [](int64_t s) { return s != 0; });
    periodics_vary_ |=
        IsPeriodic(static_cast<int32_t>(patterns_.size() - 1)) &&
        std::any_of(access.outer.begin(), access.outer.end(), [](int64_t s) { return s != 0; });
    if (access.IsRegular()) continue;
    irregular_.emplace_back(static_cast<int32_t>(patterns_.size() - 1), base_count_);
    VisitExtras(access, [&](const Affine&) { ++base_count_; });
  }
  by_rows_ = !inner_dims().empty() && inner_dims().back() >= kShortestRow;
  if (inner_count() > kLongestSmall) FormChains();
  AssignRegisters();
  by_rows_ = !inner_dims().empty() && inner_dims().back() >= std::min(kShortestRow, tile_);
  // A value that is stored once, in its lane type, is computed in place.
  for (const Stored& stored : stored_) {
    Value& value = values_[stored.value];
    const bool direct = value.access < 0 && value.stored_as < 0 && !value.is_passed_on &&
                        IsStoredAsLane(accesses()[stored.access].type);
    if (direct) value.stored_as = stored.access;
  }
  for (size_t s = 0; s < steps_.size() && !yields().empty(); ++s) {
    if (steps_[s].out == yields()[0]) first_steps_ = s + 1;
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
  if (outer_count() != 1 || inner_count() == 0 || inner_count() > tile_ || !yields().empty())
    return std::nullopt;
  const bool is_long = inner_count() > kLongestSmall;
  if (is_long && (is_copy_ || !chains_.empty())) return std::nullopt;
  SmallProgram small{.count = inner_count()};
  int64_t widest = 1;
  for (const Value& value : values_) widest = std::max(widest, LaneBytes(value.lane));
  const int64_t stride = (widest * inner_count() + 15) / 16 * 16;
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
      const Access& access = accesses()[step.access];
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
      place = in_memory(accesses()[value.stored_as]);
    SmallProgram::Call call{step.call, place, {}};
    for (int k = 0; k < step.operand_count; ++k) call.in[k] = places[step.in[k]];
    small.calls.push_back(call);
  }
  for (const Stored& stored : stored_) {
    const Access& access = accesses()[stored.access];
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
    for (int32_t a = values_[value].access; a >= 0; a = accesses()[a].next) {
      if (of(accesses()[a])) return true;
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
  if (std::any_of(yields().begin(), yields().end(), is_one)) last = std::numeric_limits<int64_t>::max();
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

std::optional<int64_t> TileProgram::StoredStep() const {
  if (!source_.YieldedAsStored().has_value() || outer_dims().size() != 1) return std::nullopt;
  return accesses()[0].outer[0] * Width(0);
}

bool TileProgram::FindsBF16() const {
  if (yields().size() != 1) return false;
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    if (step.out != yields()[0]) return false;
    const ChainOperation operation = ChainOperationOf(step.call);
    return step.access >= 0
               ? accesses()[step.access].type == ElementType::kBF16 && accesses()[step.access].IsArray()
               : operation.rounds || operation.kind == ChainOperation::Kind::kRound;
  });
}

void TileProgram::VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit) {
  source_.VisitAccesses(visit);
  if (small_.has_value()) small_ = MakeSmall();  // Arguments may be renumbered.
}

}  // namespace hlo::cpu
