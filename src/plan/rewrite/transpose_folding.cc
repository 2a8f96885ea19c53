#include "plan/rewrite/transpose_folding.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/arena.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// One operand of a dot.
struct DotSide {
  ValueId value;
  Instruction* instruction;  // An instruction of the operand's shape.
  Index batch, contracting;
};

Index Permuted(IntList permutation, const Index& dims) {
  Index places;
  for (const int64_t d : dims) places.push_back(permutation[d]);
  return places;
}

// True if the free dimensions of the operand keep their order.
bool KeepsOrder(IntList permutation, const DotSide& side) {
  const Index free = OtherDims(static_cast<int64_t>(permutation.size()), side.batch, side.contracting);
  const Index places = Permuted(permutation, free);
  return std::is_sorted(places.begin(), places.end());
}

class TransposeFolder {
 public:
  TransposeFolder(const Module& module, Graph& graph, ChangeCounter& changes)
      : module_(module), graph_(graph), changes_(changes) {}

  void Fold(Node& node) {
    const Instruction& dot = *node.instruction;
    if (dot.opcode() != Opcode::kDot || dot.operand_count() != 2 || node.needs_reference) return;
    std::array<DotSide, 2> sides = {DotSide{node.operands[0], dot.operand(0), dot.Get<attr::lhs_batch_dims>(),
                                            dot.Get<attr::lhs_contracting_dims>()},
                                    DotSide{node.operands[1], dot.operand(1), dot.Get<attr::rhs_batch_dims>(),
                                            dot.Get<attr::rhs_contracting_dims>()}};
    bool folds = false;
    for (DotSide& side : sides) {
      while (FoldTranspose(&side)) folds = true;
    }
    if (!folds || !changes_.Allow("transpose_folding", dot.name())) return;
    node.operands = {sides[0].value, sides[1].value};
    node.instruction = WithSides(dot, sides);
    if (node.shown == &dot) node.shown = node.instruction;
  }

 private:
  // Replaces the operand by the operand of its transpose.
  bool FoldTranspose(DotSide* side) const {
    const Node* producer = graph_.values[graph_.Resolve(side->value)].node;
    if (producer == nullptr || producer->kind != Node::Kind::kOp || producer->needs_reference) return false;
    const Instruction& transpose = *producer->instruction;
    if (transpose.opcode() != Opcode::kTranspose ||
        !std::ranges::equal(transpose.shape().dims(), side->instruction->shape().dims()) ||
        !std::ranges::equal(transpose.operand(0)->shape().dims(),
                            graph_.values[producer->operands[0]].shape.dims()))
      return false;
    const IntList permutation = transpose.Get<attr::dimensions>();
    if (!KeepsOrder(permutation, *side)) return false;
    *side = {producer->operands[0], transpose.operand(0), Permuted(permutation, side->batch),
             Permuted(permutation, side->contracting)};
    return true;
  }

  const Instruction* WithSides(const Instruction& dot, const std::array<DotSide, 2>& sides) {
    Module& module = RewrittenModule(graph_, module_);
    if (computation_ == nullptr) computation_ = module.NewComputation("folded_transposes");
    Instruction* const operands[] = {sides[0].instruction, sides[1].instruction};
    Instruction* copy = module.AddInstruction(computation_, dot.opcode(), dot.name(), dot.shape(), operands,
                                              dot.attributes());
    const auto set = [&](AttrId id, const Index& dims) {
      if (!dims.empty())
        InstructionEditor::SetAttribute(module, *copy, id,
                                        AttrValue::Of(IntList(module.arena().Copy(IntList(dims)))));
    };
    set(attr::lhs_batch_dims::kId, sides[0].batch);
    set(attr::lhs_contracting_dims::kId, sides[0].contracting);
    set(attr::rhs_batch_dims::kId, sides[1].batch);
    set(attr::rhs_contracting_dims::kId, sides[1].contracting);
    InstructionEditor::SetRanges(*copy, dot.name_range(), dot.shape_range(), dot.opcode_range(), {});
    return copy;
  }

  const Module& module_;
  Graph& graph_;
  ChangeCounter& changes_;
  Computation* computation_ = nullptr;
};

}  // namespace

void FoldTransposes(const Module& module, Graph& graph, ChangeCounter& changes) {
  TransposeFolder folder(module, graph, changes);
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp) folder.Fold(node);
  }
}

}  // namespace hlo::plan
