#include "kernels/cpu/loops/tile_program.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/arithmetic.h"
#include "base/check.h"
#include "kernels/cpu/loops/tile_chains.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kTile = 1024;
std::atomic<int64_t> largest_tile = kTile;
constexpr int64_t kScratchBytes = 32 << 10;  // The budget that fits in the L1 cache.

using Pattern = TileAccesses::Pattern;

}  // namespace

void SetLargestTile(int64_t elements) { largest_tile = elements; }
int64_t LargestTile() { return largest_tile; }

int64_t TileLength(int64_t largest, int64_t byte_count) {
  while (largest > 128 && largest * byte_count > kScratchBytes) largest /= 2;
  return largest;
}

// Allocates registers; a register is free after the last use of its value.
void TileProgram::AssignRegisters() {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const size_t until = steps_[s].chain < 0 ? s : chains_[steps_[s].chain].last;
    for (int k = 0; k < steps_[s].operand_count; ++k) last_use[steps_[s].in[k]] = until;
  }
  for (const TileStore& stored : stored_) last_use[stored.value] = steps_.size();
  for (TileValue value : yields()) last_use[value] = steps_.size();
  std::vector<int32_t> free_registers;
  int64_t widest = 1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const TileInstruction& step = steps_[s];
    TileRegister& out = values_[step.out];
    // Splat and periodic values are read once, so that their registers stay live.
    const bool is_periodic = step.access >= 0 && accesses_.IsPeriodic(step.access);
    const bool stays =
        is_periodic || (step.access >= 0 && accesses_.pattern(step.access) == Pattern::kScalar);
    if (is_periodic) period_ = inner_dims().back();
    if (!out.is_passed_on) {
      widest = std::max(widest, ComputeTypeBytes(out.compute_type));
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
  tile_ = TileLength(yields().empty() ? LargestTile() : kTile, widest * register_count_);
  // Tiles that begin at the same position of a row share periodic values.
  if (yields().empty() && tile_ > period_) tile_ -= tile_ % period_;
  register_bytes_ = RoundUp(tile_ * widest, 64);
}

TileProgram::TileProgram(loops::LoopProgram program, MayAlias may_alias) : accesses_(std::move(program)) {
  values_.reserve(source().steps().size());
  steps_.reserve(source().steps().size());
  for (const loops::LoopProgram::Step& step : source().steps()) {
    const auto value = static_cast<TileValue>(values_.size());
    values_.push_back({step.compute_type, -1, step.access});
    const bool widens = step.IsLoad() && accesses()[step.access].IsArray();
    const TileCall call = !step.IsLoad() ? FindTileCall(step.operation)
                          : widens       ? LoadTile(accesses()[step.access].type)
                                         : TileCall{};
    HLO_CHECK(step.IsLoad() || call.function != nullptr);
    steps_.push_back({call, value, step.access, step.operand_count, step.in});
  }
  for (const loops::LoopProgram::Stored& stored : source().stores()) {
    drops_ |= accesses()[stored.access].drops;
    stored_.push_back({stored.value, stored.access, StoreRoundedTile(accesses()[stored.access].type)});
  }
  // The setup cost of chains is negligible in longer loops.
  constexpr int64_t kShortest = 64;
  ChainSelector chains(accesses_, values_, steps_, stored_, chains_);
  if (inner_count() > kShortest)
    chains.SelectChains([&](const TileStore& stored) { return MayStoreEarly(stored, may_alias); });
  AssignRegisters();
  accesses_.SetTile(tile_);
  // A value that is stored once, in its compute type, is computed in place.
  for (const TileStore& stored : stored_) {
    TileRegister& value = values_[stored.value];
    const bool direct = value.access < 0 && value.stored_as < 0 && !value.is_passed_on &&
                        IsStoredAsComputed(accesses()[stored.access].type) &&
                        MayStoreEarly(stored, may_alias);
    if (direct) value.stored_as = stored.access;
  }
  for (size_t s = 0; s < steps_.size() && !yields().empty(); ++s) {
    if (steps_[s].out == yields()[0]) first_steps_ = s + 1;
  }
  size_t chain_steps = 0;
  for (TileChain& chain : chains_) {
    chains.BuildChain(chain);
    chain.begin = chain_steps;
    chain_steps += chain.steps.size();
  }
  FindDirectPointers();
  yields_bf16_ = FindsBF16();
  for (const TileInstruction& step : steps_)
    nanoseconds_ += step.access >= 0 ? 0.2 : 0.15 * ComputeTypeBytes(compute_type(step.out)) / 4;
  nanoseconds_ += 0.5 * static_cast<double>(accesses_.irregular().size());
  small_ = CompileSmall(source());
  if (small_.has_value() && small_->is_for_bytecode) small_.reset();
  if (source().IsCopy()) PrepareCopy();
}

std::optional<int64_t> TileProgram::LongestDistance() const {
  std::optional<int64_t> longest;
  for (const TileInstruction& step : steps_) {
    if (step.access < 0) continue;
    const Access& access = accesses()[step.access];
    if (access.IsArray() && accesses_.pattern(step.access) == Pattern::kStrided && !access.inner.empty() &&
        access.inner.back() > 1)
      longest = std::max(longest.value_or(0), access.inner.back() * ByteCount(access.type));
  }
  return longest;
}

std::optional<int64_t> TileProgram::StoredStep() const {
  if (!source().YieldedAsStored().has_value() || outer_dims().size() != 1) return std::nullopt;
  return accesses()[0].outer[0] * accesses_.width(0);
}

// Returns true if the value may be stored as soon as it is computed. Operations that precede it in the source
// but were moved behind it must not use an element that the store may overwrite.
bool TileProgram::MayStoreEarly(const TileStore& stored, MayAlias may_alias) const {
  const int32_t to = accesses()[stored.access].argument;
  const auto reads = [&](TileValue value) {
    for (int32_t a = values_[value].access; a >= 0; a = accesses()[a].next) {
      if (accesses()[a].IsArray() && may_alias(accesses()[a].argument, to)) return true;
    }
    return false;
  };
  // Values are numbered in the order of the source.
  for (size_t s = steps_.size(); s-- > 0 && steps_[s].out != stored.value;) {
    const auto* in = steps_[s].in.data();
    if (steps_[s].out < stored.value && std::any_of(in, in + steps_[s].operand_count, reads)) return false;
  }
  return true;
}

bool TileProgram::FindsBF16() const {
  if (yields().size() != 1) return false;
  return std::any_of(steps_.begin(), steps_.end(), [&](const TileInstruction& step) {
    if (step.out != yields()[0]) return false;
    const ChainOperation operation = ChainOperationOf(step.call);
    return step.access >= 0
               ? accesses()[step.access].type == ElementType::kBF16 && accesses()[step.access].IsArray()
               : operation.rounds || operation.kind == ChainOperation::Kind::kRound;
  });
}

}  // namespace hlo::cpu
