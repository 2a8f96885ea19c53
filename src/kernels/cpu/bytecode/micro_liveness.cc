// This file finds the basic blocks of micro-operations and the liveness of the frame's bytes.

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/cpu/bytecode/micro_ops.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

bool IsJump(uint16_t code) {
  return code == kCheckedAddressS32 || code == kCheckedAddress || code == kAddCheckedAddress ||
         (code >= kRepeat && code <= kEnd);
}

}  // namespace

void MicroCode::FindBlocks() {
  std::vector<int64_t> starts = {0};
  for (size_t k = 0; k < ops_.size(); ++k) {
    if (!IsJump(ops_[k].code)) continue;
    starts.push_back(static_cast<int64_t>(k) + 1);
    for (const int64_t target : TargetsOf(ops_[k])) starts.push_back(first_[target]);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  if (starts.back() == static_cast<int64_t>(ops_.size())) starts.pop_back();
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t end = k + 1 < starts.size() ? starts[k + 1] : static_cast<int64_t>(ops_.size());
    block_of_.emplace(starts[k], static_cast<int32_t>(k));
    blocks_.push_back({starts[k], end, {}});
  }
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& block = blocks_[k];
    const MicroOp& last = ops_[block.end - 1];
    if (last.code != kJump && last.code != kJumpTo && last.code != kEnd)
      block.successors.push_back(static_cast<int32_t>(k) + 1);
    if (IsJump(last.code)) {
      for (const int64_t target : TargetsOf(last)) block.successors.push_back(BlockOf(target));
    }
  }
}

void MicroCode::FindBounds() {
  const auto add = [&](const Range& range) {
    if (range.count <= 0) return;
    bounds_.push_back(range.begin);
    bounds_.push_back(range.begin + range.count);
  };
  for (const MicroOp& op : ops_) {
    const Effects effects = EffectsOf(op);
    for (const FrameScalar& scalar : effects.in) add({scalar.at, scalar.bytes});
    add({effects.out.at, effects.out.bytes});
    for (const Range& range : effects.reads) add(range);
    add(effects.writes);
  }
  if (frame_.results.has_value()) {
    for (const Range& range : *frame_.results) add(range);
  }
  add(kWholeFrame);
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
}

void MicroCode::Mark(Bits& bits, const Range& range, bool value) const {
  if (range.count <= 0) return;
  auto bit =
      static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), range.begin) - bounds_.begin());
  for (; bit + 1 < bounds_.size() && bounds_[bit] < range.begin + range.count; ++bit) {
    const uint64_t one = uint64_t{1} << (bit % 64);
    bits[bit / 64] = value ? bits[bit / 64] | one : bits[bit / 64] & ~one;
  }
}

bool MicroCode::IsLive(const Bits& bits, const FrameScalar& scalar) const {
  auto bit =
      static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), scalar.at) - bounds_.begin());
  for (; bit + 1 < bounds_.size() && bounds_[bit] < scalar.at + scalar.bytes; ++bit) {
    if ((bits[bit / 64] >> (bit % 64) & 1) != 0) return true;
  }
  return false;
}

void MicroCode::StepBack(const MicroOp& op, const Effects& effects, Bits& live) const {
  if (effects.is_removable && !IsLive(live, effects.out)) return;
  Mark(live, {effects.out.at, effects.out.bytes}, false);
  for (const FrameScalar& scalar : effects.in) Mark(live, {scalar.at, scalar.bytes}, true);
  for (const Range& range : effects.reads) Mark(live, range, true);
  if (op.code != kEnd) return;
  if (!frame_.results.has_value()) return Mark(live, kWholeFrame, true);
  for (const Range& range : *frame_.results) Mark(live, range, true);
}

void MicroCode::FindLiveness() {
  const size_t words = CeilDiv(bounds_.size(), 64);
  live_in_.assign(blocks_.size(), Bits(words));
  live_out_ = live_in_;
  std::vector<Effects> effects;
  for (const MicroOp& op : ops_) effects.push_back(EffectsOf(op));
  for (bool changes = true; changes;) {
    changes = false;
    for (size_t k = blocks_.size(); k-- > 0;) {
      const Block& block = blocks_[k];
      Bits& out = live_out_[k];
      for (const int32_t next : block.successors) {
        for (size_t w = 0; w < words; ++w) out[w] |= live_in_[next][w];
      }
      Bits live = out;
      for (int64_t n = block.end; n-- > block.begin;) StepBack(ops_[n], effects[n], live);
      changes = changes || live != live_in_[k];
      live_in_[k] = std::move(live);
    }
  }
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Bits live = live_out_[k];
    for (int64_t n = blocks_[k].end; n-- > blocks_[k].begin;) {
      MicroOp& op = ops_[n];
      op.is_dead = effects[n].is_removable && !IsLive(live, effects[n].out);
      for (size_t in = 0; in < 3; ++in) {
        op.dies[in] = effects[n].in[in].bytes > 0 && !IsLive(live, effects[n].in[in]);
      }
      StepBack(op, effects[n], live);
    }
  }
}

void MicroCode::CountBanks() {
  const auto count = [&](const FrameScalar& scalar, const OperandKind& kind) {
    if (kind.bytes > 0 && kind.bank.has_value()) banks_[scalar.at] += *kind.bank == Bank::kVector ? 1 : -1;
  };
  for (const MicroOp& op : ops_) {
    const Effects effects = EffectsOf(op);
    const OperandKinds kinds = KindsOf(op.code);
    count(effects.out, kinds.out);
    for (size_t k = 0; k < 3; ++k) count(effects.in[k], kinds.in[k]);
  }
}

Bank MicroCode::BankOf(const FrameScalar& scalar) const {
  if (scalar.bytes < 4) return Bank::kGeneral;
  const auto found = banks_.find(scalar.at);
  return found != banks_.end() && found->second > 0 ? Bank::kVector : Bank::kGeneral;
}

}  // namespace hlo::cpu
