#include "plan/rewrite/flatten.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "ir/element_types.h"
#include "ir/result_shapes.h"
#include "plan/analysis/node_traits.h"
#include "plan/calls/library_calls.h"
#include "plan/codegen/operations.h"
#include "plan/rewrite/async_calls.h"
#include "plan/rewrite/batch_norm.h"
#include "plan/rewrite/degenerate_contractions.h"
#include "plan/rewrite/forwarding.h"
#include "plan/rewrite/graph_builder.h"
#include "plan/rewrite/mixed_types.h"
#include "plan/rewrite/padded_values.h"
#include "plan/rewrite/scaled_dot.h"
#include "plan/rewrite/sequential_reduce.h"
#include "plan/rewrite/tiled_bitcast.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/elementwise.h"
#include "reference/program.h"
#include "types/promotion.h"

namespace hlo::plan {
namespace {

constexpr size_t kMaxNodes = 1 << 20;
constexpr int64_t kMaxCallDepth = 256;

bool IsBounded(const Shape& shape) {
  if (shape.IsArray()) return !shape.HasUnboundedDim();
  return std::all_of(shape.elements().begin(), shape.elements().end(), IsBounded);
}

bool HasDefaultLayout(const Shape& shape) { return shape.layout() == nullptr; }

class Flattener {
 public:
  Flattener(const reference::Effects& effects, const CustomCalls* custom_calls, const FlattenOptions& options,
            ChangeCounter& changes, Graph& graph)
      : effects_(effects),
        custom_calls_(custom_calls),
        options_(options),
        changes_(changes),
        graph_(graph),
        build_(effects, custom_calls, graph),
        padded_(graph) {}

  absl::Status Run(const Computation& entry) {
    graph_.entry = build_.NewBlock(nullptr, nullptr);
    std::vector<Leaves> arguments;
    for (const Instruction* parameter : entry.parameters()) {
      if (!IsBounded(parameter->shape())) return absl::UnimplementedError("arrays of unbounded size");
      arguments.push_back(build_.NewLeaves(parameter->shape(), nullptr));
      for (const ValueId leaf : arguments.back()) {
        if (leaf != kNoValue) graph_.values[leaf].parameter = static_cast<int32_t>(graph_.parameters.size());
        graph_.parameters.push_back(leaf);
      }
    }
    HLO_ASSIGN_OR_RETURN(Leaves results, Inline(entry, arguments, graph_.entry));
    padded_.SetResults(std::move(results));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Leaves> Inline(const Computation& computation, const std::vector<Leaves>& arguments,
                                Block* block) {
    absl::flat_hash_map<const Instruction*, Leaves> leaves;
    for (const Instruction* instruction : reference::LiveInstructions(computation, effects_)) {
      if (graph_.nodes.size() > kMaxNodes)
        return absl::UnimplementedError("the module's calls unfold into too many instructions");
      std::vector<Leaves> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(leaves[operand]);
      if (instruction->opcode() == Opcode::kParameter) {
        leaves[instruction] = arguments[instruction->Get<attr::number>()];
        continue;
      }
      if (map_ != nullptr && instruction->opcode() != Opcode::kCall &&
          instruction->opcode() != Opcode::kConstant) {
        const Shape lanes = Shape::Array(instruction->shape().type(), map_->shape().dims());
        leaves[instruction] = build_.AddOp(*instruction, lanes, Concatenated(operands), block)->results;
        continue;
      }
      HLO_ASSIGN_OR_RETURN(leaves[instruction], AddInstruction(*instruction, operands, block));
    }
    return leaves[computation.root()];
  }

  // Returns the results of an instruction that is inlined, forwarded or rewritten; nullopt if it needs a node
  // of its own.
  absl::StatusOr<std::optional<Leaves>> Rewrite(const Instruction& instruction,
                                                const std::vector<Leaves>& operands, Block* block) {
    const Shape& shape = instruction.shape();
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return Constant(instruction);
      case Opcode::kCopy:
      case Opcode::kConvert:
        if (shape.IsTuple() || instruction.operand(0)->shape().type() == shape.type()) return operands[0];
        break;
      case Opcode::kBitcast:
        // Without layouts it is a reshape; layouts without tiles have a kernel.
        if (instruction.operand(0)->shape().type() == shape.type() && HasDefaultLayout(shape) &&
            HasDefaultLayout(instruction.operand(0)->shape()) &&
            SameDimensions(instruction.operand(0)->shape(), shape))
          return operands[0];
        if (build_.IsDynamic(operands[0][0])) break;
        if (std::optional<CheckedModule> moves = ExpandTiledBitcast(instruction); moves.has_value())
          return InlineReplacement(instruction, *std::move(moves), operands, block);
        break;
      case Opcode::kGetDimensionSize:
        if (!build_.IsDynamic(operands[0][0])) return DimensionSize(instruction);
        break;
      case Opcode::kAsyncStart:
      case Opcode::kAsyncUpdate:
        return async_.Advance(
            instruction, operands,
            [&](const Computation& called, const std::vector<Leaves>& arguments) {
              return Inline(called, arguments, block);
            },
            [&](const Shape& context) { return build_.Zeros(context); });
      case Opcode::kAsyncDone:
        return async_.Result(instruction);
      case Opcode::kCall:
      case Opcode::kFusion:
        return Inline(*instruction.called_computations()[0], operands, block);
      case Opcode::kCustomCall:
        if (const Computation* own = reference::SuppliedComputation(instruction, custom_calls_))
          return Inline(*own, operands, block);
        if (build_.IsUserCustomCall(instruction)) break;
        if (reference::custom::FunctionOf(instruction) == &reference::custom::CallEmbedded)
          return Inline(*instruction.called_computations()[0], operands, block);
        if (options_.expand_library_calls) {
          if (std::optional<CheckedModule> replacement = ExpandLibraryCall(instruction, options_.for_gpu);
              replacement.has_value() && changes_.Allow("library_calls", instruction.name()))
            return LibraryCall(instruction, *std::move(replacement), operands, block);
        }
        break;
      case Opcode::kMap:
        if (IsElementwiseMap(instruction) && !build_.HasDynamic(operands)) {
          HLO_ASSIGN_OR_RETURN(Leaves result, Map(instruction, operands, block));
          if (SameDimensions(graph_.values[result[0]].shape, shape)) return result;
        }
        break;
      case Opcode::kWhile:
        return While(instruction, operands[0], block);
      case Opcode::kConditional:
        return Conditional(instruction, operands, block);
      default:
        return RewriteContraction(instruction, operands, block);
    }
    return std::nullopt;
  }

  // True if an operand of a reduction is in memory anyway, or is small.
  bool MayBeStored(ValueId v) const {
    constexpr int64_t kMaxBytes = 4 << 20;
    const Value& value = graph_.values[graph_.Resolve(v)];
    return value.node == nullptr || !IsElementwise(graph_, *value.node) ||
           *DenseByteCount(value.shape) <= kMaxBytes;
  }

  // Inlines the replacement of an instruction, if there is one and the pass may change it.
  absl::StatusOr<std::optional<Leaves>> Inline(std::string_view pass, const Instruction& instruction,
                                               std::optional<CheckedModule> replacement,
                                               const std::vector<Leaves>& operands, Block* block) {
    if (!replacement.has_value() || !changes_.Allow(pass, instruction.name())) return std::nullopt;
    return InlineReplacement(instruction, *std::move(replacement), operands, block);
  }

  // Rewrites products, reductions and batch norms in the same way.
  absl::StatusOr<std::optional<Leaves>> RewriteContraction(const Instruction& instruction,
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
      case Opcode::kRaggedDot:
        return Product(instruction, Concatenated(operands), block);
      case Opcode::kScaledDot:
        if (!options_.expand_scaled_dots) return std::nullopt;
        return Inline("scaled_dot", instruction, ExpandScaledDot(instruction), operands, block);
      case Opcode::kBatchNormGrad:
      case Opcode::kBatchNormInference:
      case Opcode::kBatchNormTraining:
        if (!options_.expand_batch_norms) return std::nullopt;
        return Inline("batch_norm", instruction, ExpandBatchNorm(instruction), operands, block);
      default:
        return std::nullopt;
    }
  }

  absl::StatusOr<std::optional<Leaves>> RewriteReduceWindow(const Instruction& reduce_window,
                                                            const std::vector<Leaves>& operands,
                                                            Block* block) {
    if (!options_.rewrite_degenerate_contractions) return std::nullopt;
    HLO_ASSIGN_OR_RETURN(std::optional<Leaves> result,
                         Inline("degenerate_contractions", reduce_window, ReplaceTiledWindows(reduce_window),
                                operands, block));
    if (result.has_value()) tiled_windows_[(*result)[0]] = {&reduce_window, operands[0][0], operands[1][0]};
    return result;
  }

  // A reduction of windows that do not overlap: its instruction and operands.
  struct TiledWindows {
    const Instruction* instruction;
    ValueId operand, init;
  };
  // Returns the reduction of windows that computes an operand, or of which it is a reshape.
  std::optional<TiledWindows> WindowsOf(ValueId v) const {
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
                              HasDefaultLayout(instruction.operand(0)->shape()) &&
                              HasDefaultLayout(instruction.shape());
      if (instruction.opcode() != Opcode::kReshape && !is_bitcast) return std::nullopt;
      v = node->operands[0];
    }
  }
  // Reduces the elements of all windows at once, if the operand has their results.
  absl::StatusOr<std::optional<Leaves>> RewriteReduceOfWindows(const Instruction& reduce,
                                                               const std::vector<Leaves>& operands,
                                                               Block* block) {
    if (reduce.operand_count() != 2) return std::nullopt;
    const std::optional<TiledWindows> windows = WindowsOf(operands[0][0]);
    const Literal* init =
        windows.has_value() ? graph_.values[graph_.Resolve(windows->init)].constant : nullptr;
    if (init == nullptr) return std::nullopt;
    return Inline("degenerate_contractions", reduce,
                  ReplaceReduceOfWindows(reduce, *windows->instruction, *init),
                  {{windows->operand}, operands[1]}, block);
  }

  absl::StatusOr<std::optional<Leaves>> RewriteReduce(const Instruction& reduce,
                                                      const std::vector<Leaves>& operands, Block* block) {
    if (std::optional<CheckedModule> elements = ReplaceSingleElements(reduce)) {
      const auto count = static_cast<std::ptrdiff_t>(operands.size() / 2);
      return InlineReplacement(reduce, *std::move(elements), {operands.begin(), operands.begin() + count},
                               block);
    }
    if (options_.rewrite_sequential_reductions) {
      HLO_ASSIGN_OR_RETURN(
          std::optional<Leaves> in_order,
          Inline("sequential_reduce", reduce, ReplaceSequentialReduce(reduce), operands, block));
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
        HLO_ASSIGN_OR_RETURN(Leaves element, InlineModule(std::move(term), {operands[0]}, block));
        // Only the last node has the name.
        if (Node* node = graph_.values[result[0]].node; result != operands[1] && node != nullptr)
          node->named_after = nullptr;
        HLO_ASSIGN_OR_RETURN(result, Map(reduce, {result, element}, block));
      }
      SetReplaced(reduce, first, result);
      if (SameDimensions(graph_.values[result[0]].shape, reduce.shape())) return result;
    }
    if (!options_.rewrite_narrow_reductions || !MayBeStored(operands[0][0])) return std::nullopt;
    return Inline("degenerate_contractions", reduce, ReplaceNarrowReduce(reduce), operands, block);
  }

  absl::StatusOr<std::optional<Leaves>> RewriteDot(const Instruction& dot,
                                                   const std::vector<Leaves>& operands, Block* block) {
    if (std::optional<CheckedModule> product = ReplaceSingleProduct(dot))
      return InlineReplacement(dot, *std::move(product), operands, block);
    if (options_.rewrite_degenerate_contractions) {
      HLO_ASSIGN_OR_RETURN(std::optional<Leaves> result,
                           Inline("degenerate_contractions", dot, ReplaceThinDot(dot), operands, block));
      if (result.has_value()) return result;
      HLO_ASSIGN_OR_RETURN(result,
                           Inline("degenerate_contractions", dot, ReplaceVectorDot(dot), operands, block));
      if (result.has_value()) return result;
    }
    return Product(dot, Concatenated(operands), block);
  }

  absl::StatusOr<Leaves> AddInstruction(const Instruction& instruction, std::vector<Leaves> operands,
                                        Block* block) {
    const Shape& shape = instruction.shape();
    if (!IsBounded(shape)) return absl::UnimplementedError("arrays of unbounded size");
    HLO_ASSIGN_OR_RETURN(std::optional<Leaves> padded, ComputePadded(instruction, operands, block));
    if (padded.has_value()) return *std::move(padded);
    // Kernels and forwarded instructions do not convert elements.
    if (MixesTypes(instruction)) {
      if (std::optional<CheckedModule> separate = SeparateTypes(instruction);
          separate.has_value() && !build_.HasDynamic(operands))
        return InlineReplacement(instruction, *std::move(separate), operands, block);
      HLO_RETURN_IF_ERROR(SliceToDynamic(operands));
      return build_.AddOp(instruction, shape, Concatenated(operands), block)->results;
    }
    if (const std::optional<std::vector<LeafSource>> sources = ForwardedLeaves(instruction, custom_calls_)) {
      HLO_ASSIGN_OR_RETURN(std::optional<Leaves> forwarded, build_.Forward(shape, *sources, operands));
      if (forwarded.has_value()) return *std::move(forwarded);
      HLO_RETURN_IF_ERROR(SliceToDynamic(operands));
      Node* node = build_.AddOp(instruction, shape, Concatenated(operands), block);
      node->needs_reference = true;
      return node->results;
    }
    if (!Info(instruction.opcode()).has(kStructural)) HLO_RETURN_IF_ERROR(SliceToDynamic(operands));
    HLO_ASSIGN_OR_RETURN(std::optional<Leaves> rewritten, Rewrite(instruction, operands, block));
    if (rewritten) return *std::move(rewritten);
    Leaves all_operands = Concatenated(operands);
    if (!IsScalarOperation(instruction) || build_.HasDynamic(all_operands))
      return build_.AddOp(instruction, shape, std::move(all_operands), block)->results;
    for (ValueId& v : all_operands) v = graph_.Resolve(v);
    ScalarOperation operation{block, instruction.opcode(), shape.type(),
                              instruction.Get<attr::direction>(ComparisonDirection::kEq), all_operands};
    if (const auto found = scalars_.find(operation); found != scalars_.end()) return found->second;
    const Node* node = build_.AddOp(instruction, shape, std::move(all_operands), block);
    return scalars_.emplace(std::move(operation), node->results).first->second;
  }

  // For PaddedValues.
  auto ModuleInliner() {
    return [this](CheckedModule module, const std::vector<Leaves>& arguments, Block* block) {
      return InlineModule(std::move(module), arguments, block);
    };
  }
  absl::StatusOr<std::optional<Leaves>> ComputePadded(const Instruction& instruction,
                                                      const std::vector<Leaves>& operands, Block* block) {
    if (!options_.for_gpu) return std::nullopt;
    return padded_.Compute(instruction, operands, block, ModuleInliner());
  }
  absl::Status SliceToDynamic(Leaves& leaves) { return padded_.SliceToDynamic(leaves, ModuleInliner()); }
  absl::Status SliceToDynamic(std::vector<Leaves>& operands) {
    for (Leaves& operand : operands) HLO_RETURN_IF_ERROR(SliceToDynamic(operand));
    return absl::OkStatus();
  }

  // True if opcode, types and a direction determine the result of the scalar operation.
  bool IsScalarOperation(const Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    return instruction.shape().IsArray() && instruction.shape().rank() == 0 &&
           reference::IsElementwise(opcode) && opcode != Opcode::kReducePrecision &&
           !instruction.Has<attr::order>() && !instruction.Has<attr::type>() &&
           !instruction.Has<attr::result_accuracy>() && !effects_.Has(instruction);
  }

  absl::StatusOr<Leaves> DimensionSize(const Instruction& instruction) {
    HLO_ASSIGN_OR_RETURN(Literal size, Literal::Create(instruction.shape().WithoutLayouts()));
    size.mutable_span<int32_t>()[0] =
        static_cast<int32_t>(instruction.operand(0)->shape().dim(instruction.Get<attr::dimensions>()[0]));
    return Leaves{graph_.NewConstant(std::move(size))};
  }

  absl::StatusOr<Leaves> InlineModule(CheckedModule module, const std::vector<Leaves>& operands,
                                      Block* block) {
    graph_.replacements.push_back(std::move(module));
    return Inline(*graph_.replacements.back().module().entry(), operands, block);
  }
  // Inlines the module that replaces an instruction. The results are leaves of the instruction for observers.
  absl::StatusOr<Leaves> InlineReplacement(const Instruction& instruction, CheckedModule replacement,
                                           const std::vector<Leaves>& operands, Block* block) {
    const size_t first = graph_.nodes.size();
    HLO_ASSIGN_OR_RETURN(Leaves leaves, InlineModule(std::move(replacement), operands, block));
    SetReplaced(instruction, first, leaves);
    return leaves;
  }
  // Names the instruction that the nodes from number `first` on replace, and its leaves.
  void SetReplaced(const Instruction& instruction, size_t first, const Leaves& leaves) {
    for (size_t i = first; i < graph_.nodes.size(); ++i) graph_.nodes[i].replacement_of = &instruction;
    const absl::Span<const Shape> shapes = ResultShapes(instruction);
    const bool has_arrays = std::all_of(shapes.begin(), shapes.end(),
                                        [](const Shape& s) { return s.IsArray() && !s.HasDynamicDim(); });
    for (size_t i = 0; has_arrays && i < std::min(leaves.size(), shapes.size()); ++i) {
      Value& value = graph_.values[leaves[i]];
      if (value.node == nullptr || value.node->replacement_of != &instruction) continue;
      if (!SameDimensions(value.shape, shapes[i]) || value.shape.type() != shapes[i].type()) continue;
      value.instruction = &instruction;
      value.leaf = static_cast<int32_t>(i);
    }
  }

  // A dot or convolution that rounds to another type than the result's becomes one of that type and a
  // convert.
  Leaves Product(const Instruction& instruction, Leaves operands, Block* block) {
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
      Instruction* added =
          module.AddInstruction(products_, opcode, instruction.name(), result, of, attributes);
      InstructionEditor::SetRanges(*added, instruction.name_range(), instruction.shape_range(),
                                   instruction.opcode_range(), {});
      return added;
    };
    Instruction* product =
        add(instruction.opcode(), rounded, instruction.operands(), instruction.attributes());
    Node* sum = build_.AddOp(*product, rounded, std::move(operands), block);
    sum->named_after = &instruction;
    Node* result = build_.AddOp(*add(Opcode::kConvert, shape, {product}, {}), shape, sum->results, block);
    result->named_after = nullptr;
    return result->results;
  }

  // The results that the replacement lacks are scratch memory, which is zero.
  absl::StatusOr<Leaves> LibraryCall(const Instruction& call, CheckedModule replacement,
                                     const std::vector<Leaves>& operands, Block* block) {
    HLO_ASSIGN_OR_RETURN(Leaves leaves, InlineReplacement(call, std::move(replacement), operands, block));
    for (const Shape& shape : ResultShapes(call).subspan(leaves.size())) {
      auto [zeros, is_new] = workspaces_.try_emplace(ToString(shape.WithoutLayouts()), kNoValue);
      if (is_new) {
        HLO_ASSIGN_OR_RETURN(zeros->second, build_.Zeros(shape));
      }
      leaves.push_back(zeros->second);
    }
    return leaves;
  }

  // Inlines the to_apply of a map, with every instruction on whole arrays.
  absl::StatusOr<Leaves> Map(const Instruction& map, const std::vector<Leaves>& operands, Block* block) {
    const size_t first = block->nodes.size();
    map_ = &map;
    HLO_ASSIGN_OR_RETURN(Leaves leaves, Inline(*map.Get<attr::to_apply>(), operands, block));
    map_ = nullptr;
    for (size_t i = first; i < block->nodes.size(); ++i) {
      Node& node = *block->nodes[i];
      node.named_after = node.results[0] == leaves[0] ? &map : nullptr;
    }
    return leaves;
  }

  absl::StatusOr<Leaves> Constant(const Instruction& instruction) {
    if (instruction.is_elided()) return absl::UnimplementedError("elided constants");
    return build_.Constant(*instruction.Get<attr::literal>());
  }

  // True if the leaf of a loop or conditional is an array of the bounds with sizes.
  bool IsSplit(ValueId leaf) const {
    return options_.for_gpu && leaf != kNoValue && graph_.values[leaf].shape.HasDynamicDim();
  }
  // Returns the leaves with the parts of those that are split in place of them.
  absl::StatusOr<Leaves> Parts(Leaves leaves, const Leaves& declared, Block* block) {
    Leaves parts;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (IsSplit(declared[i])) {
        HLO_ASSIGN_OR_RETURN(const Leaves split, padded_.Split(leaves[i], graph_.values[declared[i]].shape,
                                                               block, ModuleInliner()));
        parts.insert(parts.end(), split.begin(), split.end());
        continue;
      }
      Leaves whole = {leaves[i]};
      HLO_RETURN_IF_ERROR(SliceToDynamic(whole));
      parts.push_back(whole[0]);
    }
    return parts;
  }
  // Returns the values that a loop or conditional computes for its leaves.
  Leaves NewParts(const Leaves& leaves, Node* node) {
    Leaves parts;
    for (const ValueId leaf : leaves) {
      const Leaves own = IsSplit(leaf) ? padded_.NewParts(graph_.values[leaf].shape, node) : Leaves{leaf};
      parts.insert(parts.end(), own.begin(), own.end());
    }
    return parts;
  }
  // Returns the leaves that represent the parts in a block.
  Leaves Joined(const Leaves& leaves, const Leaves& parts, Block* block) {
    Leaves joined;
    size_t next = 0;
    for (const ValueId leaf : leaves) {
      if (!IsSplit(leaf)) {
        joined.push_back(parts[next++]);
        continue;
      }
      joined.push_back(graph_.NewValue(graph_.values[leaf].shape, nullptr));
      next += padded_.Join(joined.back(), absl::MakeConstSpan(parts).subspan(next), block);
    }
    return joined;
  }

  absl::StatusOr<Leaves> While(const Instruction& instruction, const Leaves& operand, Block* block) {
    Node* node = build_.NewNode(Node::Kind::kWhile, instruction, block);
    const Leaves leaves = build_.NewLeaves(instruction.shape(), node);
    HLO_ASSIGN_OR_RETURN(const Leaves initial, Parts(operand, leaves, block));
    const Leaves state = NewParts(leaves, node);
    for (size_t i = 0; i < state.size(); ++i) {
      if (state[i] != kNoValue) graph_.values[state[i]].is_dynamic |= build_.IsDynamic(initial[i]);
    }
    Block* condition = build_.NewBlock(block, node);
    Block* body = build_.NewBlock(block, node);
    HLO_ASSIGN_OR_RETURN(const Leaves predicate, Inline(*instruction.Get<attr::condition>(),
                                                        {Joined(leaves, state, condition)}, condition));
    HLO_ASSIGN_OR_RETURN(const Leaves results,
                         Inline(*instruction.Get<attr::body>(), {Joined(leaves, state, body)}, body));
    HLO_ASSIGN_OR_RETURN(const Leaves next, Parts(results, leaves, body));
    for (size_t i = 0; i < state.size(); ++i) {
      if (state[i] == kNoValue) continue;
      if (graph_.Resolve(next[i]) == state[i]) {  // The state is loop-invariant.
        graph_.values[state[i]].replaced_by = initial[i];
        continue;
      }
      if (build_.IsDynamic(next[i]) && !build_.IsDynamic(state[i]))
        return absl::UnimplementedError("loops whose state comes to have dynamic sizes");
      node->operands.push_back(initial[i]);
      node->results.push_back(state[i]);
      node->next.push_back(next[i]);
    }
    node->predicate = predicate[0];
    node->blocks = {condition, body};
    block->nodes.push_back(node);
    return Joined(leaves, state, block);
  }

  absl::StatusOr<Leaves> Conditional(const Instruction& instruction, const std::vector<Leaves>& operands,
                                     Block* block) {
    Node* node = build_.NewNode(Node::Kind::kConditional, instruction, block);
    node->operands = operands[0];
    const Leaves leaves = build_.NewLeaves(instruction.shape(), node), results = NewParts(leaves, node);
    const auto branches = instruction.called_computations();
    node->branch_results.resize(branches.size());
    for (size_t b = 0; b < branches.size(); ++b) {
      Block* branch = build_.NewBlock(block, node);
      HLO_ASSIGN_OR_RETURN(const Leaves whole, Inline(*branches[b], {operands[b + 1]}, branch));
      HLO_ASSIGN_OR_RETURN(const Leaves parts, Parts(whole, leaves, branch));
      node->blocks.push_back(branch);
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i] == kNoValue) continue;
        node->branch_results[b].push_back(parts[i]);
        graph_.values[results[i]].is_dynamic |= build_.IsDynamic(parts[i]);
      }
    }
    for (ValueId result : results) {
      if (result != kNoValue) node->results.push_back(result);
    }
    block->nodes.push_back(node);
    return Joined(leaves, results, block);
  }

  const reference::Effects& effects_;
  const CustomCalls* custom_calls_;
  const FlattenOptions& options_;
  ChangeCounter& changes_;
  Graph& graph_;
  GraphBuilder build_;
  PaddedValues padded_;
  Computation* products_ = nullptr;   // Owns the rewritten instructions.
  const Instruction* map_ = nullptr;  // The map that is being inlined.
  AsyncCalls async_;
  absl::flat_hash_map<ValueId, TiledWindows> tiled_windows_;  // Keyed by their results.
  absl::flat_hash_map<std::string, ValueId> workspaces_;      // Zeros, keyed by their shape.
  // Scalar operations of a block, for common subexpression elimination. Arrays are recomputed: reading them
  // again would often take longer.
  using ScalarOperation = std::tuple<const Block*, Opcode, ElementType, ComparisonDirection, Leaves>;
  absl::flat_hash_map<ScalarOperation, Leaves> scalars_;
};

}  // namespace

absl::StatusOr<Graph> Flatten(const CheckedModule& module, const CustomCalls* custom_calls,
                              const FlattenOptions& options, ChangeCounter& changes) {
  const Computation& entry = *module.module().entry();
  int64_t depth = 0;
  const reference::Effects effects(reference::CalledFrom(entry, &depth, custom_calls), custom_calls);
  if (depth == reference::kEndless || depth > kMaxCallDepth)
    return absl::UnimplementedError("calls that nest deeply");
  Graph graph;
  HLO_RETURN_IF_ERROR(Flattener(effects, custom_calls, options, changes, graph).Run(entry));
  ResolveAll(graph);
  return graph;
}

}  // namespace hlo::plan
