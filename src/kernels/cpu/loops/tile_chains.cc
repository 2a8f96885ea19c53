#include "kernels/cpu/loops/tile_chains.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hlo::cpu {
namespace {

using Kind = ChainOperation::Kind;
using Pattern = TileAccesses::Pattern;

// Returns true if values of this compute type can stay in the registers of a chain.
bool IsChainType(ComputeType compute_type) {
  return compute_type == ComputeType::kF32 || compute_type == ComputeType::kS32 ||
         compute_type == ComputeType::kU32 || compute_type == ComputeType::kPred;
}

}  // namespace

// Returns true if the step can extend the chain. It must use the last value, read all other operands from
// memory, including earlier values of the chain, and no step that must precede it may depend on the chain.
bool ChainSelector::MayFollow(const std::vector<size_t>& members, size_t next) const {
  const TileInstruction& step = steps_[next];
  if (step.access >= 0 || step.chain >= 0 || !IsChainType(compute_type(step.out))) return false;
  const Kind kind = ChainOperationOf(step.call).kind;
  const auto is_member = [&](TileValue value) {
    return std::any_of(members.begin(), members.end(), [&](size_t m) { return steps_[m].out == value; });
  };
  int from_last = 0;
  for (int k = 0; k < step.operand_count; ++k) {
    if (!IsChainType(compute_type(step.in[k]))) return false;
    from_last += !members.empty() && step.in[k] == steps_[members.back()].out;
  }
  const bool by_call = kind == Kind::kNone && step.operand_count == 1 &&
                       compute_type(step.out) != ComputeType::kPred &&
                       compute_type(step.in[0]) != ComputeType::kPred;
  if (kind == Kind::kNone && !by_call) return false;
  if (kind == Kind::kSelect && (from_last > 1 || compute_type(step.out) == ComputeType::kPred)) return false;
  if (members.empty()) return true;
  for (size_t between = members.front() + 1; between < next; ++between) {
    const TileInstruction& other = steps_[between];
    if (std::find(members.begin(), members.end(), between) != members.end()) continue;
    for (int k = 0; k < other.operand_count; ++k) {
      if (is_member(other.in[k])) return false;
    }
  }
  return true;
}

bool ChainSelector::GrowChain(std::vector<size_t>& members) const {
  // A member, including the new one, needs at most three steps (compute, round, store in a register) and one
  // per store. The chain has another step at its start and two at its end.
  const int64_t steps =
      3 + 3 * static_cast<int64_t>(members.size() + 1) + static_cast<int64_t>(stored_.size());
  if (steps > kLongestChain) return false;
  const TileValue last = steps_[members.back()].out;
  for (size_t next = members.back() + 1; next < steps_.size(); ++next) {
    const TileInstruction& step = steps_[next];
    const bool uses = std::find(step.in.begin(), step.in.begin() + step.operand_count, last) !=
                      step.in.begin() + step.operand_count;
    if (!uses || !MayFollow(members, next)) continue;
    members.push_back(next);
    return true;
  }
  return false;
}

bool ChainSelector::IsWorthwhile(const std::vector<size_t>& members) const {
  size_t saved = members.size() - 1, own = 0;
  for (const size_t m : members) {
    const TileInstruction& step = steps_[m];
    own += ChainOperationOf(step.call).kind != Kind::kNone;
    // Values that are reduced on the fly need no store.
    saved += yields().size() == 1 && yields()[0] == step.out && compute_type(step.out) == ComputeType::kF32;
    for (const TileStore& stored : stored_)
      saved += stored.value == step.out && accesses_.access(stored.access).type == ElementType::kBF16;
    for (int k = 0; k < step.operand_count; ++k) {
      const int32_t access = values_[step.in[k]].access;
      if (access < 0) continue;
      saved += accesses_.access(access).type == ElementType::kBF16 || accesses_.IsScalarInRow(access) ||
               accesses_.IsScalarOfRow(access) || accesses_.IsIotaInRow(access);
    }
  }
  return own > 0 && saved > 0;
}

// Reorders steps so that those of the chain are consecutive, after the others.
void ChainSelector::MakeConsecutive(const std::vector<size_t>& members) {
  std::vector<TileInstruction> others, own;
  for (size_t s = members.front(); s <= members.back(); ++s)
    (std::find(members.begin(), members.end(), s) == members.end() ? others : own).push_back(steps_[s]);
  for (TileInstruction& step : own) step.chain = static_cast<int32_t>(chains_.size());
  chains_.push_back({});
  auto to = std::copy(others.begin(), others.end(), steps_.begin() + static_cast<int64_t>(members.front()));
  std::copy(own.begin(), own.end(), to);
}

void ChainSelector::SelectChains(absl::FunctionRef<bool(const TileStore&)> may_store_early) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!MayFollow({}, s)) continue;
    std::vector<size_t> members{s};
    while (GrowChain(members)) {
    }
    if (!IsWorthwhile(members)) continue;
    MakeConsecutive(members);
    if (members.back() - s + 1 > members.size()) --s;  // Another step is at this index now.
  }
  // Renumbers the chains in execution order.
  int32_t number = -1, found = -1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const int32_t before = std::exchange(found, steps_[s].chain);
    if (found < 0) continue;
    if (found != before) chains_[++number].first = s;
    chains_[number].last = s;
    steps_[s].chain = number;
  }
  ChooseForms(may_store_early);
}

void ChainSelector::ChooseForms(absl::FunctionRef<bool(const TileStore&)> may_store_early) {
  std::vector<bool> by_others(values_.size(), false), by_chains(values_.size(), false);
  std::vector<bool> may_count(values_.size(), true);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const TileInstruction& step = steps_[s];
    for (int k = 0; k < step.operand_count; ++k) {
      const bool follows =
          step.chain >= 0 && s > chains_[step.chain].first && steps_[s - 1].out == step.in[k];
      if (step.chain < 0)
        by_others[step.in[k]] = true;
      else if (!follows)
        by_chains[step.in[k]] = true;
      // The first value of a chain may be the only operand of its first operation.
      const bool begins = step.chain >= 0 && s == chains_[step.chain].first && k == 0;
      if (!begins && !SupportsIota(ChainOperationOf(step.call).kind)) may_count[step.in[k]] = false;
    }
  }
  for (const TileValue value : yields()) by_others[value] = true;
  for (TileStore& stored : stored_) {
    const Access& access = accesses_.access(stored.access);
    const bool in_chain = std::any_of(steps_.begin(), steps_.end(), [&](const TileInstruction& step) {
      return step.out == stored.value && step.chain >= 0;
    });
    stored.by_chain = in_chain && access.type == ElementType::kBF16 &&
                      compute_type(stored.value) == ComputeType::kF32 &&
                      accesses_.pattern(stored.access) == Pattern::kDense && may_store_early(stored);
    if (!stored.by_chain) by_others[stored.value] = true;
  }
  for (const TileInstruction& step : steps_) {
    TileRegister& value = values_[step.out];
    if (step.chain >= 0) value.is_passed_on = !by_others[step.out] && !by_chains[step.out];
    value.form = value.compute_type == ComputeType::kPred ? ChainForm::kPred : ChainForm::kLane;
    if (step.access < 0 || by_others[step.out] || !by_chains[step.out] ||
        value.compute_type == ComputeType::kPred)
      continue;
    const Access& access = accesses_.access(step.access);
    if (accesses_.pattern(step.access) == Pattern::kScalar || accesses_.IsScalarInRow(step.access))
      value.form = ChainForm::kScalar;
    else if (accesses_.IsIotaInRow(step.access) && may_count[step.out])
      value.form = ChainForm::kCount;
    else if (access.type == ElementType::kBF16 && access.IsArray())
      value.form = ChainForm::kBF16;
    else
      continue;
    value.for_chains = true;
  }
}

// Returns the layout that suits the element types that the chain reads and writes.
ChainLayout ChainSelector::LayoutOf(const TileChain& chain) const {
  int64_t bf16 = 0, others = 0;
  const auto count = [&](ChainForm form) {
    bf16 += form == ChainForm::kBF16;
    others += form == ChainForm::kLane || form == ChainForm::kPred;
  };
  for (size_t s = chain.first; s <= chain.last; ++s) {
    const TileInstruction& step = steps_[s];
    for (int k = 0; k < step.operand_count; ++k) {
      if (s == chain.first || step.in[k] != steps_[s - 1].out) count(values_[step.in[k]].form);
    }
    const bool is_folded = s == chain.last && yields().size() == 1 && yields()[0] == step.out;
    if (!values_[step.out].is_passed_on && !is_folded) count(values_[step.out].form);
    for (const TileStore& stored : stored_) bf16 += stored.by_chain && stored.value == step.out;
  }
  return bf16 > others ? ChainLayout::kBlocks : ChainLayout::kInOrder;
}

void ChainSelector::BuildChain(TileChain& chain) const {
  const TileInstruction& first = steps_[chain.first];
  const auto add = [&](ChainFn function, ChainForm form, TileChain::Operands operands) {
    chain.steps.push_back({function});
    chain.pointers.push_back({form, false, false, form});
    chain.operands.push_back(operands);
  };
  // Irregular rows are loaded first, because the next tile does not follow them in memory.
  const auto comes_from_anywhere = [&](TileValue value) {
    const int32_t access = values_[value].access;
    return access >= 0 && !accesses_.access(access).IsRegular();
  };
  const bool swaps = IsChainBinary(ChainOperationOf(first.call).kind) && comes_from_anywhere(first.in[1]);
  TileValue before = first.in[swaps ? 1 : 0];
  const ChainForm form = values_[before].form;
  chain.layout = LayoutOf(chain);
  add(ChainLoad(chain.layout, form, !comes_from_anywhere(before)), form, {before});
  for (size_t s = chain.first; s <= chain.last; ++s) {
    AddOperation(steps_[s], before, chain);
    before = steps_[s].out;
    AddStores(before, chain);
  }
  if (yields().size() == 1 && yields()[0] == before && compute_type(before) == ComputeType::kF32)
    add(ChainPass(), ChainForm::kLane, {});
  add(ChainEnd(), ChainForm::kLane, {});
}

// Returns true if the value is only stored as bf16, so that the store rounds it.
bool ChainSelector::RoundsAsStored(TileValue value, const TileChain& chain) const {
  return steps_[chain.last].out == value && values_[value].is_passed_on &&
         std::any_of(stored_.begin(), stored_.end(),
                     [&](const TileStore& s) { return s.value == value && s.by_chain; });
}

void ChainSelector::AddOperation(const TileInstruction& step, TileValue before, TileChain& chain) const {
  const ChainOperation operation = ChainOperationOf(step.call);
  bool rounds = operation.rounds && !RoundsAsStored(step.out, chain);
  const auto operand = std::find(step.in.begin(), step.in.end(), before) - step.in.begin();
  ChainStep next;
  ChainPointer pointer{ChainForm::kLane, false, false, ChainForm::kLane};
  TileChain::Operands operands;
  if (operation.kind == Kind::kNone) {
    next = {ChainCall(), nullptr, nullptr, step.call};
  } else if (operation.kind == Kind::kRound) {
    next.function = ChainRound(true);
  } else if (IsChainUnary(operation.kind)) {
    next.function = ChainUnary(operation.kind);
  } else if (operation.kind == Kind::kSelect) {
    operands = {step.in[operand == 0 ? 1 : 0], step.in[operand == 2 ? 1 : 2]};
    pointer = {values_[operands.value].form, false, true, values_[operands.second].form};
    next.function = ChainSelect(chain.layout, static_cast<int>(operand), pointer.form, pointer.second_form);
  } else {
    const bool is_both = step.in[0] == step.in[1];
    if (!is_both) operands.value = step.in[1 - operand];
    if (!is_both) pointer.form = values_[operands.value].form;
    const ChainOperand from = is_both        ? ChainOperand::kBoth
                              : operand == 0 ? ChainOperand::kFirst
                                             : ChainOperand::kSecond;
    next.function = ChainBinary(chain.layout, operation.kind, from, pointer.form, rounds);
    if (next.function.exists())
      rounds = false;
    else
      next.function = ChainBinary(chain.layout, operation.kind, from, pointer.form, false);
  }
  HLO_CHECK(next.function.exists());
  const auto add = [&](const ChainStep& added, const ChainPointer& form, const TileChain::Operands& values) {
    chain.steps.push_back(added);
    chain.pointers.push_back(form);
    chain.operands.push_back(values);
  };
  add(next, pointer, operands);
  if (rounds) add({ChainRound(false)}, {ChainForm::kLane, false, false, ChainForm::kLane}, {});
}

// Adds the stores of a value that was just computed.
void ChainSelector::AddStores(TileValue value, TileChain& chain) const {
  const auto add = [&](ChainFn function, ChainForm form, bool is_store, TileChain::Operands operands) {
    chain.steps.push_back({function});
    chain.pointers.push_back({form, is_store, false, form});
    chain.operands.push_back(operands);
  };
  const auto& call = std::find_if(steps_.begin(), steps_.end(), [&](const TileInstruction& s) {
                       return s.out == value;
                     })->call;
  const bool rounds = ChainOperationOf(call).rounds && RoundsAsStored(value, chain);
  for (const TileStore& stored : stored_) {
    if (stored.value != value || !stored.by_chain) continue;
    add(ChainStore(chain.layout, ChainForm::kBF16, rounds), ChainForm::kBF16, true, {-1, -1, stored.access});
  }
  if (!values_[value].is_passed_on)
    add(ChainStore(chain.layout, values_[value].form, false), values_[value].form, true, {value});
}

}  // namespace hlo::cpu
