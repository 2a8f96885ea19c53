#pragma once
// This file selects the operations of a program that run as chains, whose values stay in vector registers.

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/loops/tile_accesses.h"
#include "kernels/cpu/loops/tile_parts.h"

namespace hlo::cpu {

class ChainSelector {
 public:
  // All arguments outlive the object. It reorders steps, and sets their chains and the forms of their values.
  ChainSelector(const TileAccesses& accesses, std::vector<TileRegister>& values,
                std::vector<TileInstruction>& steps, std::vector<TileStore>& stores,
                std::vector<TileChain>& chains)
      : accesses_(accesses), values_(values), steps_(steps), stored_(stores), chains_(chains) {}

  // Forms the chains, without their code. `may_store_early` returns true if a value may be stored as soon as
  // it is computed.
  void SelectChains(absl::FunctionRef<bool(const TileStore&)> may_store_early);
  // Sets the code of a chain, after the registers of its values have been assigned.
  void BuildChain(TileChain& chain) const;

 private:
  bool GrowChain(std::vector<size_t>& members) const;
  bool MayFollow(const std::vector<size_t>& members, size_t next) const;
  bool IsWorthwhile(const std::vector<size_t>& members) const;
  void MakeConsecutive(const std::vector<size_t>& members);
  void ChooseForms(absl::FunctionRef<bool(const TileStore&)> may_store_early);
  ChainLayout LayoutOf(const TileChain& chain) const;
  void AddOperation(const TileInstruction& step, TileValue before, TileChain& chain) const;
  void AddStores(TileValue value, TileChain& chain) const;
  bool RoundsAsStored(TileValue value, const TileChain& chain) const;
  ComputeType compute_type(TileValue value) const { return values_[value].compute_type; }
  absl::Span<const TileValue> yields() const { return accesses_.program().yields(); }

  const TileAccesses& accesses_;
  std::vector<TileRegister>& values_;
  std::vector<TileInstruction>& steps_;
  std::vector<TileStore>& stored_;
  std::vector<TileChain>& chains_;
};

}  // namespace hlo::cpu
