// This file finds the pointers of programs that consist only of chains with operands and results in memory,
// of which a tile only sets pointers and runs the chains (run_direct_tiles.cc).

#include <algorithm>

#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

using Pattern = TileAccesses::Pattern;

}  // namespace

void TileProgram::FindDirectPointers() {
  const auto is_direct_step = [&](const TileInstruction& step) {
    if (step.access < 0) return step.chain >= 0;
    const TileRegister& value = values_[step.out];
    if (value.for_chains && value.form != ChainForm::kBF16) return true;
    return (value.for_chains || step.call.function == nullptr) && accesses_.IsDenseInTile(step.access);
  };
  const auto is_direct_store = [&](const TileStore& stored) {
    return stored.by_chain || (values_[stored.value].stored_as == stored.access &&
                               accesses_.pattern(stored.access) == Pattern::kDense);
  };
  is_direct_ = !chains_.empty() && std::all_of(steps_.begin(), steps_.end(), is_direct_step) &&
               std::all_of(stored_.begin(), stored_.end(), is_direct_store) &&
               std::all_of(yields().begin(), yields().end(),
                           [&](TileValue value) { return values_[value].access < 0; });
  if (!is_direct_) return;
  for (TileChain& chain : chains_) {
    const auto add = [&](size_t k, bool is_second, DirectPointer pointer) {
      const bool is_register = pointer.kind == DirectPointer::Kind::kRegister;
      pointer.step = static_cast<int32_t>(is_register ? chain.begin + k : k);
      pointer.is_second = is_second;
      (is_register ? registers_ : chain.direct).push_back(pointer);
    };
    for (size_t k = 0; k < chain.steps.size(); ++k) {
      const TileChain::Operands& operands = chain.operands[k];
      if (operands.access >= 0)
        add(k, false, InMemory(operands.access));
      else if (operands.value >= 0)
        add(k, false, chain.pointers[k].is_store ? DirectStore(operands.value) : DirectRead(operands.value));
      if (operands.second >= 0) add(k, true, DirectRead(operands.second));
    }
  }
  FindFold();
  const auto moves = [](const DirectPointer& pointer) {
    return pointer.pattern != Pattern::kStrided && pointer.kind != DirectPointer::Kind::kIota;
  };
  moves_by_rows_ =
      outer_dims().size() == 1 && std::all_of(chains_.begin(), chains_.end(), [&](const TileChain& c) {
        return std::all_of(c.direct.begin(), c.direct.end(), moves);
      });
}

DirectPointer TileProgram::InMemory(int32_t access) const {
  return {DirectPointer::Kind::kMemory, false, accesses_.pattern(access), 0, -1, access,
          accesses_.width(access)};
}

// Returns the location to which a chain stores a value.
DirectPointer TileProgram::DirectStore(TileValue number) const {
  const TileRegister& value = values_[number];
  const bool in_place = value.stored_as >= 0 && accesses_.pattern(value.stored_as) == Pattern::kDense;
  DirectPointer pointer{DirectPointer::Kind::kRegister, false, Pattern::kDense, 0, number, -1};
  if (in_place) pointer = InMemory(value.stored_as);
  pointer.value = number;
  return pointer;
}

DirectPointer TileProgram::DirectRead(TileValue number) const {
  using Kind = DirectPointer::Kind;
  const TileRegister& value = values_[number];
  if (value.access < 0) return DirectStore(number);
  const bool is_iota = accesses()[value.access].argument == Access::kIota;
  DirectPointer pointer = InMemory(value.access);
  const auto irregular = accesses_.irregular();
  const auto found = std::find_if(irregular.begin(), irregular.end(),
                                  [&](const auto& entry) { return entry.first == value.access; });
  if (found != irregular.end()) {
    pointer.kind = Kind::kRow;
    pointer.row = static_cast<int32_t>(found - irregular.begin());
  } else {
    pointer.kind = is_iota ? Kind::kIota : value.form == ChainForm::kScalar ? Kind::kScalar : Kind::kMemory;
  }
  pointer.value = number;
  pointer.widen = std::find_if(steps_.begin(), steps_.end(), [&](const TileInstruction& s) {
                    return s.out == number;
                  })->call;
  return pointer;
}

// Finds the steps that the yielded value passes through, if it is the last value of a chain.
void TileProgram::FindFold() {
  if (yields().size() != 1) return;
  const TileValue value = yields()[0];
  for (const TileChain& chain : chains_) {
    if (steps_[chain.last].out != value || compute_type(value) != ComputeType::kF32) continue;
    fold_step_ = static_cast<int64_t>(chain.begin + chain.steps.size()) - 2;
    const bool is_read =
        values_[value].stored_as >= 0 ||
        std::any_of(steps_.begin(), steps_.end(), [&](const TileInstruction& step) {
          return std::count(step.in.begin(), step.in.begin() + step.operand_count, value) != 0;
        });
    if (!is_read) yield_step_ = fold_step_ - 1;
  }
}

}  // namespace hlo::cpu
