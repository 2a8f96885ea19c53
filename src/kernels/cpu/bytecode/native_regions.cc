#include "kernels/cpu/bytecode/native_regions.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

// A select by a comparison uses five other general registers.
constexpr int kMaxGeneralPins = 5, kMaxVectorPins = 10;
// Functions preserve the last registers.
constexpr int kMaxGeneralPinsWithCalls = 2;

bool Overlaps(const FrameScalar& scalar, int64_t begin, int64_t bytes) {
  return scalar.at < begin + bytes && begin < int64_t{scalar.at} + scalar.bytes;
}

}  // namespace

NativeRegions::NativeRegions(const MicroCode& code) : code_(code) {
  const std::vector<MicroCode::Block>& blocks = code_.blocks();
  region_of_.assign(blocks.size(), -1);
  for (size_t k = 0; k < blocks.size(); ++k) {
    const MicroOp& last = code_.ops()[blocks[k].end - 1];
    if (last.code != kRepeat) continue;
    const auto end = static_cast<int32_t>(k);
    const int32_t begin = code_.BlockOf(code_.TargetsOf(last)[0]);
    if (begin > end) continue;
    const bool is_innermost =
        std::all_of(region_of_.begin() + begin, region_of_.begin() + end + 1, [](int r) { return r < 0; });
    if (!is_innermost) continue;
    Region region{begin, end, last.c, {}};
    Accesses accesses = AccessesOf(region);
    if (accesses.escapes) continue;
    EraseUnsuitable(region, accesses);
    region.pins = AssignRegisters(std::move(accesses));
    for (int32_t b = begin; b <= end; ++b) region_of_[b] = static_cast<int32_t>(regions_.size());
    regions_.push_back(std::move(region));
  }
}

const std::vector<Pin>& NativeRegions::PinsOf(int32_t block) const {
  static const std::vector<Pin> none;
  return region_of_[block] < 0 ? none : regions_[region_of_[block]].pins;
}

void NativeRegions::Accesses::Add(const FrameScalar& scalar, const OperandKind& kind, bool is_written) {
  if (scalar.bytes == 0) return;
  auto found = std::find_if(candidates.begin(), candidates.end(),
                            [&](const Candidate& each) { return each.scalar == scalar; });
  if (found == candidates.end()) found = candidates.insert(found, {scalar});
  ++found->uses;
  found->is_written |= is_written;
  if (kind.bank.has_value()) found->in_vectors += *kind.bank == Bank::kVector ? 1 : -1;
}

NativeRegions::Accesses NativeRegions::AccessesOf(const Region& region) const {
  Accesses accesses;
  const int64_t first = code_.blocks()[region.first].begin, end = code_.blocks()[region.last].end;
  for (int64_t k = first; k < end; ++k) {
    const MicroOp& op = code_.ops()[k];
    if (op.is_dead) continue;
    const Effects effects = code_.EffectsOf(op);
    const OperandKinds kinds = KindsOf(op.code);
    for (size_t in = 0; in < 3; ++in) accesses.Add(effects.in[in], kinds.in[in], false);
    accesses.Add(effects.out, kinds.out, true);
    accesses.calls = accesses.calls || effects.calls;
    accesses.escapes = accesses.escapes || effects.escapes;
    for (const Bytecode::Bytes& range : effects.reads) {
      if (range.count > 0) accesses.in_memory.push_back(range);
    }
    if (effects.writes.count > 0) accesses.in_memory.push_back(effects.writes);
  }
  return accesses;
}

void NativeRegions::EraseUnsuitable(const Region& region, Accesses& accesses) const {
  for (Candidate& each : accesses.candidates) {
    for (const Bytecode::Bytes& range : accesses.in_memory)
      each.is_excluded |= Overlaps(each.scalar, range.begin, range.count);
    for (const Candidate& other : accesses.candidates)
      each.is_excluded |=
          other.scalar != each.scalar && Overlaps(each.scalar, other.scalar.at, other.scalar.bytes);
    for (int32_t b = region.first; b <= region.last; ++b)
      each.is_live = each.is_live || code_.IsLiveIn(b, each.scalar);
  }
  std::erase_if(accesses.candidates, [](const Candidate& each) { return each.is_excluded || !each.is_live; });
}

std::vector<Pin> NativeRegions::AssignRegisters(Accesses accesses) const {
  std::stable_sort(accesses.candidates.begin(), accesses.candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.is_written != b.is_written ? a.is_written : a.uses > b.uses;
                   });
  std::vector<Pin> pins;
  int general = 0, vectors = 0;
  for (const Candidate& each : accesses.candidates) {
    const Bank bank = each.in_vectors > 0                            ? Bank::kVector
                      : each.in_vectors < 0 || each.scalar.bytes < 4 ? Bank::kGeneral
                                                                     : code_.BankOf(each.scalar);
    if (bank == Bank::kGeneral) {
      // Most constants are immediate operands.
      if (!each.is_written && code_.ConstantAt(each.scalar).has_value()) continue;
      if (general >= (accesses.calls ? kMaxGeneralPinsWithCalls : kMaxGeneralPins)) continue;
      const int last = static_cast<int>(FrameCache::kGeneral.size()) - 1;
      pins.push_back({each.scalar, {bank, FrameCache::kGeneral[last - general++]}, each.is_written});
    } else if (!accesses.calls && vectors < kMaxVectorPins) {
      pins.push_back({each.scalar, {bank, vectors++}, each.is_written});
    }
  }
  return pins;
}

}  // namespace hlo::cpu
