#include "plan/rewrite/contraction_rewriter.h"

#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "base/status.h"
#include "ir/element_types.h"
#include "plan/analysis/node_traits.h"
#include "plan/rewrite/batch_norm.h"
#include "plan/rewrite/degenerate_contractions.h"
#include "plan/rewrite/scaled_dot.h"
#include "plan/rewrite/separate_taps.h"
#include "plan/rewrite/sequential_reduce.h"
#include "plan/rewrite/unroll_convolution.h"
#include "plan/rewrite/unroll_windows.h"
#include "types/promotion.h"

namespace hlo::plan {
namespace {

// True if no element of an array of floats is an infinity or NaN.
bool HasOnlyFiniteNumbers(const Literal& literal) {
  const auto all_finite = [](auto numbers) {
    return absl::c_all_of(numbers, [](auto x) { return std::isfinite(static_cast<double>(x)); });
  };
  switch (literal.type()) {
    case ElementType::kF32:
      return all_finite(literal.span<float>());
    case ElementType::kF64:
      return all_finite(literal.span<double>());
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::optional<Leaves>> ContractionRewriter::Rewrite(const Instruction& instruction,
                                                                   const std::vector<Leaves>& operands,
                                                                   Block* block) {
  if (build_.HasDynamic(operands)) return std::nullopt;
  switch (instruction.opcode()) {
    case Opcode::kReduce:
      return RewriteReduce(instruction, operands, block);
    case Opcode::kReduceWindow:
      return RewriteReduceWindow(instruction, operands, block);
    case Opcode::kDot:
      return RewriteDot(instruction, operands, block);
    case Opcode::kConvolution:
      if (options_.rewrite_degenerate_contractions) {
        HLO_ASSIGN_OR_RETURN(std::optional<Leaves> result,
                             Replace("degenerate_contractions", instruction, ReplaceSeparateTaps(instruction),
                                     operands, block));
        if (result.has_value()) return result;
      }
      if (options_.unroll_windows) {
        HLO_ASSIGN_OR_RETURN(
            std::optional<Leaves> result,
            Replace("unroll_windows", instruction, UnrollConvolution(instruction, IsFinite(operands[1][0])),
                    operands, block));
        if (result.has_value()) return result;
      }
      return Product(instruction, Concatenated(operands), block);
    case Opcode::kRaggedDot:
      return Product(instruction, Concatenated(operands), block);
    case Opcode::kScaledDot:
      if (!options_.expand_scaled_dots) return std::nullopt;
      return Replace("scaled_dot", instruction, ExpandScaledDot(instruction), operands, block);
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      if (!options_.expand_batch_norms) return std::nullopt;
      return Replace("batch_norm", instruction, ExpandBatchNorm(instruction), operands, block);
    default:
      return std::nullopt;
  }
}

bool ContractionRewriter::MayBeStored(ValueId v) const {
  constexpr int64_t kMaxBytes = 4 << 20;
  const Value& value = graph_.values[graph_.Resolve(v)];
  return value.node == nullptr || !IsElementwise(graph_, *value.node) ||
         *DenseByteCount(value.shape) <= kMaxBytes;
}

bool ContractionRewriter::IsFinite(ValueId v) const {
  while (true) {
    const Value& value = graph_.values[graph_.Resolve(v)];
    if (value.constant != nullptr) return HasOnlyFiniteNumbers(*value.constant);
    if (value.node == nullptr || value.node->kind != Node::Kind::kOp || value.node->operands.size() != 1)
      return false;
    switch (value.node->instruction->opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kReverse:
      case Opcode::kSlice:
      case Opcode::kTranspose:
        v = value.node->operands[0];
        break;
      default:
        return false;
    }
  }
}

absl::StatusOr<std::optional<Leaves>> ContractionRewriter::Replace(std::string_view pass,
                                                                   const Instruction& instruction,
                                                                   std::optional<CheckedModule> replacement,
                                                                   const std::vector<Leaves>& operands,
                                                                   Block* block) {
  if (!replacement.has_value() || !changes_.Allow(pass, instruction.name())) return std::nullopt;
  return inliner_.InlineReplacement(instruction, *std::move(replacement), operands, block);
}

absl::StatusOr<std::optional<Leaves>> ContractionRewriter::RewriteReduceWindow(
    const Instruction& reduce_window, const std::vector<Leaves>& operands, Block* block) {
  if (!options_.rewrite_degenerate_contractions) return std::nullopt;
  HLO_ASSIGN_OR_RETURN(
      std::optional<Leaves> result,
      Replace("degenerate_contractions", reduce_window, ReplaceTiledWindows(reduce_window), operands, block));
  if (result.has_value()) {
    tiled_windows_[(*result)[0]] = {&reduce_window, operands[0][0], operands[1][0]};
    return result;
  }
  if (!options_.unroll_windows) return std::nullopt;
  return Replace("unroll_windows", reduce_window, UnrollWindows(reduce_window), operands, block);
}

std::optional<ContractionRewriter::TiledWindows> ContractionRewriter::WindowsOf(ValueId v) const {
  while (true) {
    v = graph_.Resolve(v);
    if (const auto found = tiled_windows_.find(v); found != tiled_windows_.end()) return found->second;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || node->kind != Node::Kind::kOp || node->needs_reference) return std::nullopt;
    const Instruction& instruction = *node->instruction;
    if (instruction.opcode() == Opcode::kReduceWindow && node->operands.size() == 2)
      return TiledWindows{&instruction, node->operands[0], node->operands[1]};
    const bool is_bitcast = instruction.opcode() == Opcode::kBitcast &&
                            instruction.operand(0)->shape().type() == instruction.shape().type() &&
                            instruction.operand(0)->shape().layout() == nullptr &&
                            instruction.shape().layout() == nullptr;
    if (instruction.opcode() != Opcode::kReshape && !is_bitcast) return std::nullopt;
    v = node->operands[0];
  }
}
absl::StatusOr<std::optional<Leaves>> ContractionRewriter::RewriteReduceOfWindows(
    const Instruction& reduce, const std::vector<Leaves>& operands, Block* block) {
  if (reduce.operand_count() != 2) return std::nullopt;
  const std::optional<TiledWindows> windows = WindowsOf(operands[0][0]);
  const Literal* init = windows.has_value() ? graph_.values[graph_.Resolve(windows->init)].constant : nullptr;
  if (init == nullptr) return std::nullopt;
  return Replace("degenerate_contractions", reduce,
                 ReplaceReduceOfWindows(reduce, *windows->instruction, *init),
                 {{windows->operand}, operands[1]}, block);
}

absl::StatusOr<std::optional<Leaves>> ContractionRewriter::RewriteReduce(const Instruction& reduce,
                                                                         const std::vector<Leaves>& operands,
                                                                         Block* block) {
  if (std::optional<CheckedModule> elements = ReplaceSingleElements(reduce)) {
    const auto count = static_cast<std::ptrdiff_t>(operands.size() / 2);
    return inliner_.InlineReplacement(reduce, *std::move(elements),
                                      {operands.begin(), operands.begin() + count}, block);
  }
  if (options_.rewrite_sequential_reductions) {
    HLO_ASSIGN_OR_RETURN(
        std::optional<Leaves> in_order,
        Replace("sequential_reduce", reduce, ReplaceSequentialReduce(reduce), operands, block));
    if (in_order.has_value()) return in_order;
  }
  if (!options_.rewrite_degenerate_contractions) return std::nullopt;
  HLO_ASSIGN_OR_RETURN(std::optional<Leaves> at_once, RewriteReduceOfWindows(reduce, operands, block));
  if (at_once.has_value()) return at_once;
  if (std::vector<CheckedModule> terms = ReplaceSmallReduce(reduce);
      !terms.empty() && changes_.Allow("degenerate_contractions", reduce.name())) {
    Leaves result = operands[1];
    const size_t first = graph_.nodes.size();
    for (CheckedModule& term : terms) {
      HLO_ASSIGN_OR_RETURN(Leaves element, inliner_.InlineModule(std::move(term), {operands[0]}, block));
      // Only the last node has the name.
      if (Node* node = graph_.values[result[0]].node; result != operands[1] && node != nullptr)
        node->named_after = nullptr;
      HLO_ASSIGN_OR_RETURN(result, inliner_.InlineMap(reduce, {result, element}, block));
    }
    build_.SetReplaced(reduce, first, result);
    if (SameDimensions(graph_.values[result[0]].shape, reduce.shape())) return result;
  }
  if (!options_.rewrite_narrow_reductions || !MayBeStored(operands[0][0])) return std::nullopt;
  return Replace("degenerate_contractions", reduce, ReplaceNarrowReduce(reduce), operands, block);
}

absl::StatusOr<std::optional<Leaves>> ContractionRewriter::RewriteDot(const Instruction& dot,
                                                                      const std::vector<Leaves>& operands,
                                                                      Block* block) {
  if (std::optional<CheckedModule> product = ReplaceSingleProduct(dot))
    return inliner_.InlineReplacement(dot, *std::move(product), operands, block);
  if (options_.rewrite_degenerate_contractions) {
    HLO_ASSIGN_OR_RETURN(std::optional<Leaves> result,
                         Replace("degenerate_contractions", dot, ReplaceThinDot(dot), operands, block));
    if (result.has_value()) return result;
    HLO_ASSIGN_OR_RETURN(result,
                         Replace("degenerate_contractions", dot, ReplaceVectorDot(dot), operands, block));
    if (result.has_value()) return result;
  }
  return Product(dot, Concatenated(operands), block);
}

Leaves ContractionRewriter::Product(const Instruction& instruction, Leaves operands, Block* block) {
  const Shape& shape = instruction.shape();
  const ElementType type = ProductType(instruction.operand(0)->shape().type(),
                                       instruction.operand(1)->shape().type(), shape.type());
  if (type == shape.type()) return build_.AddOp(instruction, shape, std::move(operands), block)->results;
  Module& module = RewrittenModule(graph_, *instruction.parent()->module());
  if (products_ == nullptr) products_ = module.NewComputation("products");
  Shape rounded = shape;
  rounded.set_type(type);
  const auto add = [&](Opcode opcode, const Shape& result, absl::Span<Instruction* const> of,
                       absl::Span<const AttrEntry> attributes) {
    Instruction* added = module.AddInstruction(products_, opcode, instruction.name(), result, of, attributes);
    InstructionEditor::SetRanges(*added, instruction.name_range(), instruction.shape_range(),
                                 instruction.opcode_range(), {});
    return added;
  };
  Instruction* product = add(instruction.opcode(), rounded, instruction.operands(), instruction.attributes());
  Node* sum = build_.AddOp(*product, rounded, std::move(operands), block);
  sum->named_after = &instruction;
  Node* result = build_.AddOp(*add(Opcode::kConvert, shape, {product}, {}), shape, sum->results, block);
  result->named_after = nullptr;
  return result->results;
}

}  // namespace hlo::plan
