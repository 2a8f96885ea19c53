// This file maps tile operations to chain operations.

#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/chains/tile_chain.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {
namespace {

using Kind = ChainOperation::Kind;

absl::flat_hash_map<TileFn, ChainOperation> MakeOperations() {
  absl::flat_hash_map<TileFn, ChainOperation> operations;
  const auto add = [&](const TileCall& call, ChainOperation operation) {
    if (call.function != nullptr) operations.emplace(call.function, operation);
  };
  std::vector<std::pair<Opcode, Kind>> floats = {
      {Opcode::kAdd, Kind::kAddF32},           {Opcode::kSubtract, Kind::kSubtractF32},
      {Opcode::kMultiply, Kind::kMultiplyF32}, {Opcode::kDivide, Kind::kDivideF32},
      {Opcode::kMaximum, Kind::kMaximumF32},   {Opcode::kMinimum, Kind::kMinimumF32},
      {Opcode::kNegate, Kind::kNegateF32},     {Opcode::kAbs, Kind::kAbsF32},
      {Opcode::kSqrt, Kind::kSqrtF32},         {Opcode::kExponential, Kind::kExpF32},
      {Opcode::kTanh, Kind::kTanhF32},         {Opcode::kLogistic, Kind::kLogisticF32}};
  if (kFusesMulAdd) {
    floats.emplace_back(Opcode::kSine, Kind::kSineF32);
    floats.emplace_back(Opcode::kCosine, Kind::kCosineF32);
  }
  for (const auto& [opcode, kind] : floats) {
    add(FindTileOp(opcode, ElementType::kF32), {kind});
    add(FindRoundedTileOp(opcode, ElementType::kBF16), {kind, true});
  }
  const std::pair<Opcode, Kind> integers[] = {{Opcode::kAdd, Kind::kAdd32},
                                              {Opcode::kSubtract, Kind::kSubtract32},
                                              {Opcode::kMultiply, Kind::kMultiply32},
                                              {Opcode::kAnd, Kind::kAnd},
                                              {Opcode::kOr, Kind::kOr},
                                              {Opcode::kXor, Kind::kXor},
                                              {Opcode::kNegate, Kind::kNegate32},
                                              {Opcode::kNot, Kind::kNot},
                                              {Opcode::kShiftLeft, Kind::kShiftLeft},
                                              {Opcode::kShiftRightLogical, Kind::kShiftRightLogical}};
  for (const auto& [opcode, kind] : integers) {
    add(FindTileOp(opcode, ElementType::kS32), {kind});
    add(FindTileOp(opcode, ElementType::kU32), {kind});
  }
  using Direction = ComparisonDirection;
  const std::tuple<Direction, Kind, Kind> comparisons[] = {
      {Direction::kEq, Kind::kEqF32, Kind::kEqS32}, {Direction::kNe, Kind::kNeF32, Kind::kNeS32},
      {Direction::kLt, Kind::kLtF32, Kind::kLtS32}, {Direction::kLe, Kind::kLeF32, Kind::kLeS32},
      {Direction::kGt, Kind::kGtF32, Kind::kGtS32}, {Direction::kGe, Kind::kGeF32, Kind::kGeS32}};
  for (const auto& [direction, of_floats, of_integers] : comparisons) {
    add(FindTileCompare(direction, false, ElementType::kF32), {of_floats});
    add(FindTileCompare(direction, false, ElementType::kS32), {of_integers});
  }
  add(FindTileOp(Opcode::kAnd, ElementType::kPred), {Kind::kAndPred});
  add(FindTileOp(Opcode::kOr, ElementType::kPred), {Kind::kOrPred});
  add(FindTileOp(Opcode::kXor, ElementType::kPred), {Kind::kXorPred});
  add(FindTileOp(Opcode::kNot, ElementType::kPred), {Kind::kNotPred});
  add(FindTileSelect(ElementType::kF32), {Kind::kSelect});
  add(RoundTile(ElementType::kBF16), {Kind::kRound});
  return operations;
}

}  // namespace

ChainOperation ChainOperationOf(const TileCall& call) {
  static const auto* operations = new absl::flat_hash_map<TileFn, ChainOperation>(MakeOperations());
  const auto found = operations->find(call.function);
  return found == operations->end() ? ChainOperation{} : found->second;
}

}  // namespace hlo::cpu
