#include "plan/rewrite/contraction_folding.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/arena.h"
#include "loops/gemm_problem.h"
#include "plan/analysis/uses.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// One operand of a dot or a convolution.
struct DotSide {
  ValueId value;
  Instruction* instruction;  // An instruction of the operand's shape.
  Index batch, contracting;  // Of dots.
};

Index Permuted(IntList permutation, const Index& dims) {
  Index permuted;
  for (const int64_t d : dims) permuted.push_back(permutation[d]);
  return permuted;
}

// True if the free dimensions of the operand keep their order.
bool KeepsOrder(IntList permutation, const DotSide& side) {
  const Index free = OtherDims(static_cast<int64_t>(permutation.size()), side.batch, side.contracting);
  const Index permuted = Permuted(permutation, free);
  return std::is_sorted(permuted.begin(), permuted.end());
}

// Returns true if there may be faster kernels for two operands of type `narrow`, with sums of type `wide`.
bool IsNarrowTypeOf(ElementType narrow, ElementType wide) {
  if (wide == ElementType::kF32) return narrow == ElementType::kBF16 || narrow == ElementType::kF16;
  return wide == ElementType::kS32 && narrow == ElementType::kS8;
}
// Returns true if kernels widen a single operand of this type as fast as they read a wide one.
bool WidensOnLoad(ElementType narrow, ElementType wide) {
  return wide == ElementType::kF32 && loops::WidensOnLoad(narrow);
}

class ContractionFolder {
 public:
  ContractionFolder(const Module& module, Graph& graph, bool mixes_types, ChangeCounter& changes)
      : module_(module), graph_(graph), mixes_types_(mixes_types), changes_(changes) {}

  void Fold(Node& node) {
    if (IsPlainDot(node)) FoldIntoDot(node);
    if (IsPlain(node, Opcode::kConvolution)) FoldIntoConvolution(node);
  }

  void FoldIntoDot(Node& node) {
    const Instruction& dot = *node.instruction;
    std::array<DotSide, 2> sides = SidesOf(node);
    bool folds = FoldOperandTransposes(&sides);
    std::array<DotSide, 2> narrow = sides;
    if (IsLarge(dot) && (FoldConversions(dot.shape().type(), &narrow) || FoldEach(node, sides, &narrow))) {
      FoldOperandTransposes(&narrow);
      sides = narrow;
      folds = true;
    }
    if (folds) Replace(node, sides);
  }

  void FoldIntoConvolution(Node& node) {
    const Instruction& convolution = *node.instruction;
    std::array<DotSide, 2> sides = {DotSide{node.operands[0], convolution.operand(0), {}, {}},
                                    DotSide{node.operands[1], convolution.operand(1), {}, {}}};
    if (FoldConversions(convolution.shape().type(), &sides)) Replace(node, sides);
  }

  // Replaces a transpose that exchanges the free dimensions of a dot, whose result may be narrowed before, by
  // the dot of the exchanged operands.
  void FoldIntoResult(Node& node, const Uses& uses) {
    const Instruction& transpose = *node.instruction;
    if (!IsPlain(node, Opcode::kTranspose)) return;
    const Node* producer = OnlyUse(node, uses);
    if (producer != nullptr && IsPlain(*producer, Opcode::kConvert)) {
      const Node* dot = OnlyUse(*producer, uses);
      const ElementType narrow = transpose.shape().type();
      if (dot == nullptr || !IsPlainDot(*dot) || !IsNarrowTypeOf(narrow, dot->instruction->shape().type()))
        return;
      for (const DotSide& side : SidesOf(*dot)) {
        if (!mixes_types_ && TypeOf(side) != narrow) return;
      }
      producer = dot;
    }
    if (producer == nullptr || !IsPlainDot(*producer)) return;
    const auto [lhs, rhs] = SidesOf(*producer);
    const auto batch = static_cast<int64_t>(lhs.batch.size()), rank = transpose.shape().rank();
    const int64_t rows =
        lhs.instruction->shape().rank() - batch - static_cast<int64_t>(lhs.contracting.size());
    const IntList permutation = transpose.Get<attr::dimensions>();
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t from = d < batch ? d : d < rank - rows ? d + rows : d - (rank - rows - batch);
      if (permutation[d] != from) return;
    }
    if (!changes_.Allow("contraction_folding", transpose.name())) return;
    const std::array<DotSide, 2> exchanged = {rhs, lhs};
    node.operands = {rhs.value, lhs.value};
    node.instruction = WithSides(*producer->instruction, transpose, exchanged);
    if (node.named_after == &transpose) node.named_after = node.instruction;
  }

 private:
  static bool IsPlain(const Node& node, Opcode opcode) {
    return node.kind == Node::Kind::kOp && !node.needs_reference && node.instruction->opcode() == opcode;
  }
  static bool IsPlainDot(const Node& node) {
    return IsPlain(node, Opcode::kDot) && node.instruction->operand_count() == 2;
  }
  // Smaller products gain nothing from narrow types.
  static bool IsLarge(const Instruction& dot) {
    constexpr double kWorthwhile = 1 << 15;
    return static_cast<double>(Product(dot.shape().dims())) * static_cast<double>(loops::DotProblem(dot).k) >=
           kWorthwhile;
  }
  // Returns the node that computes the operand of an elementwise node or a transpose, if no other node that
  // is used reads it.
  const Node* OnlyUse(const Node& node, const Uses& uses) const {
    const auto is_other_use = [&](const Uses::Use& use) {
      return use.node != &node && (use.node == nullptr || !IsUnused(*use.node, uses));
    };
    return std::ranges::any_of(uses.of(node.operands[0]), is_other_use)
               ? nullptr
               : graph_.values[node.operands[0]].node;
  }
  static bool IsUnused(const Node& node, const Uses& uses) {
    return !node.has_effect &&
           std::ranges::all_of(node.results, [&](ValueId v) { return v != kNoValue && uses.of(v).empty(); });
  }
  static std::array<DotSide, 2> SidesOf(const Node& node) {
    const Instruction& dot = *node.instruction;
    return {DotSide{node.operands[0], dot.operand(0), dot.Get<attr::lhs_batch_dims>(),
                    dot.Get<attr::lhs_contracting_dims>()},
            DotSide{node.operands[1], dot.operand(1), dot.Get<attr::rhs_batch_dims>(),
                    dot.Get<attr::rhs_contracting_dims>()}};
  }

  ElementType TypeOf(const DotSide& side) const { return graph_.values[side.value].shape.type(); }

  bool FoldOperandTransposes(std::array<DotSide, 2>* sides) const {
    bool folds = false;
    for (DotSide& side : *sides) {
      while (FoldTranspose(&side)) folds = true;
    }
    return folds;
  }

  // Returns the node of an operand that is replaced by the operand of this node, or nullptr.
  const Node* ProducerOf(const DotSide& side, Opcode opcode) const {
    const Node* producer = graph_.values[graph_.Resolve(side.value)].node;
    if (producer == nullptr || !IsPlain(*producer, opcode)) return nullptr;
    const Instruction& x = *producer->instruction;
    const bool keeps_shapes =
        std::ranges::equal(x.shape().dims(), side.instruction->shape().dims()) &&
        std::ranges::equal(x.operand(0)->shape().dims(), graph_.values[producer->operands[0]].shape.dims());
    return keeps_shapes ? producer : nullptr;
  }

  // Replaces the operand by the operand of its conversion to the type of the sums.
  template <class Accepts>
  bool FoldConversion(ElementType wide, DotSide* side, const Accepts& accepts) const {
    const Node* producer = ProducerOf(*side, Opcode::kConvert);
    if (producer == nullptr || TypeOf(*side) != wide) return false;
    Instruction* narrow = producer->instruction->operand(0);
    const ValueId value = producer->operands[0];
    if (narrow->shape().type() != graph_.values[value].shape.type() || !accepts(narrow->shape().type(), wide))
      return false;
    side->value = value;
    side->instruction = narrow;
    return true;
  }

  // Replaces both operands by arrays of one narrower type.
  bool FoldConversions(ElementType wide, std::array<DotSide, 2>* sides) const {
    if (!FoldConversion(wide, &(*sides)[0], IsNarrowTypeOf) ||
        !FoldConversion(wide, &(*sides)[1], IsNarrowTypeOf) || TypeOf((*sides)[0]) != TypeOf((*sides)[1]))
      return false;
    return !mixes_types_ || TypeOf((*sides)[0]) != ElementType::kF16;  // CPU kernels widen f16.
  }

  // Sets `narrow` to the operands of a dot, each of which is replaced if it is a conversion.
  bool FoldEach(const Node& node, const std::array<DotSide, 2>& sides, std::array<DotSide, 2>* narrow) const {
    *narrow = sides;
    const Instruction& dot = *node.instruction;
    const loops::GemmProblem problem = loops::DotProblem(dot);
    const bool is_thin = std::min(problem.m, problem.n) <= loops::kMaxThinRows;
    if (!mixes_types_ || (IsInLoop(node) && !is_thin)) return false;
    bool folds = false;
    for (DotSide& side : *narrow) folds |= FoldConversion(dot.shape().type(), &side, WidensOnLoad);
    return folds;
  }

  static bool IsInLoop(const Node& node) {
    for (const Block* block = node.block; block->owner != nullptr; block = block->parent) {
      if (block->owner->kind == Node::Kind::kWhile) return true;
    }
    return false;
  }

  // Replaces the operand by the operand of its transpose.
  bool FoldTranspose(DotSide* side) const {
    const Node* producer = ProducerOf(*side, Opcode::kTranspose);
    if (producer == nullptr) return false;
    const Instruction& transpose = *producer->instruction;
    const IntList permutation = transpose.Get<attr::dimensions>();
    if (!KeepsOrder(permutation, *side)) return false;
    *side = {producer->operands[0], transpose.operand(0), Permuted(permutation, side->batch),
             Permuted(permutation, side->contracting)};
    return true;
  }

  void Replace(Node& node, const std::array<DotSide, 2>& sides) {
    const Instruction& before = *node.instruction;
    if (!changes_.Allow("contraction_folding", before.name())) return;
    node.operands = {sides[0].value, sides[1].value};
    node.instruction = WithSides(before, before, sides);
    if (node.named_after == &before) node.named_after = node.instruction;
  }

  // Returns a dot or convolution with other operands, and with the name and the shape of an instruction.
  const Instruction* WithSides(const Instruction& dot, const Instruction& like,
                               const std::array<DotSide, 2>& sides) {
    Module& module = RewrittenModule(graph_, module_);
    if (computation_ == nullptr) computation_ = module.NewComputation("folded_contractions");
    Instruction* const operands[] = {sides[0].instruction, sides[1].instruction};
    Instruction* copy = module.AddInstruction(computation_, dot.opcode(), like.name(), like.shape(), operands,
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
    InstructionEditor::SetRanges(*copy, like.name_range(), like.shape_range(), like.opcode_range(), {});
    return copy;
  }

  const Module& module_;
  Graph& graph_;
  bool mixes_types_;
  ChangeCounter& changes_;
  Computation* computation_ = nullptr;
};

}  // namespace

void FoldIntoContractions(const Module& module, Graph& graph, bool mixes_types, ChangeCounter& changes) {
  ContractionFolder folder(module, graph, mixes_types, changes);
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp) folder.Fold(node);
  }
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.kind == Node::Kind::kOp) folder.FoldIntoResult(node, uses);
  }
}

}  // namespace hlo::plan
