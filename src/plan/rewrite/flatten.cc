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
#include "plan/rewrite/contraction_rewriter.h"
#include "plan/rewrite/forwarding.h"
#include "plan/rewrite/graph_builder.h"
#include "plan/rewrite/mixed_types.h"
#include "plan/rewrite/padded_values.h"
#include "plan/rewrite/sink_broadcasts.h"
#include "plan/rewrite/tiled_bitcast.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/elementwise.h"
#include "reference/program.h"

namespace hlo::plan {
namespace {

constexpr size_t kMaxNodes = 1 << 20;
constexpr int64_t kMaxCallDepth = 256;

bool IsBounded(const Shape& shape) {
  if (shape.IsArray()) return !shape.HasUnboundedDim();
  return std::all_of(shape.elements().begin(), shape.elements().end(), IsBounded);
}

bool HasDefaultLayout(const Shape& shape) { return shape.layout() == nullptr; }

class Flattener : private Inliner {
 public:
  Flattener(const reference::Effects& effects, const CustomCalls* custom_calls, const FlattenOptions& options,
            ChangeCounter& changes, Graph& graph)
      : effects_(effects),
        custom_calls_(custom_calls),
        options_(options),
        changes_(changes),
        graph_(graph),
        build_(effects, custom_calls, graph),
        padded_(graph),
        contractions_(options, changes, graph, build_, *this) {}

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
          HLO_ASSIGN_OR_RETURN(Leaves result, InlineMap(instruction, operands, block));
          if (SameDimensions(graph_.values[result[0]].shape, shape)) return result;
        }
        break;
      case Opcode::kWhile:
        return While(instruction, operands[0], block);
      case Opcode::kConditional:
        return Conditional(instruction, operands, block);
      default:
        return contractions_.Rewrite(instruction, operands, block);
    }
    return std::nullopt;
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
    HLO_ASSIGN_OR_RETURN(std::optional<Leaves> repeated, RewriteUniform(instruction, operands, block));
    if (repeated.has_value()) return *std::move(repeated);
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

  // Returns the scalar of which a value has copies only, or kNoValue.
  ValueId ScalarOf(ValueId v) const {
    v = graph_.Resolve(v);
    if (graph_.values[v].shape.rank() == 0) return v;
    const Node* node = graph_.values[v].node;
    const bool is_broadcast =
        node != nullptr && node->kind == Node::Kind::kOp && node->instruction->opcode() == Opcode::kBroadcast;
    if (!is_broadcast || graph_.values[graph_.Resolve(node->operands[0])].shape.rank() > 0) return kNoValue;
    return node->operands[0];
  }
  // Performs an elementwise operation on broadcast scalars once, and broadcasts its result.
  absl::StatusOr<std::optional<Leaves>> RewriteUniform(const Instruction& instruction,
                                                       const std::vector<Leaves>& operands, Block* block) {
    const Shape& shape = instruction.shape();
    if (!options_.sink_broadcasts || !reference::IsElementwise(instruction.opcode()) || !shape.IsArray() ||
        shape.rank() == 0 || operands.empty() || build_.HasDynamic(operands) || effects_.Has(instruction))
      return std::nullopt;
    std::vector<Leaves> scalars;
    for (const Leaves& operand : operands) {
      const ValueId scalar = operand.size() == 1 ? ScalarOf(operand[0]) : kNoValue;
      if (scalar == kNoValue) return std::nullopt;
      scalars.push_back({scalar});
    }
    std::optional<CheckedModule> once = SinkBroadcasts(instruction);
    if (!once.has_value() || !changes_.Allow("sink_broadcasts", instruction.name())) return std::nullopt;
    return InlineReplacement(instruction, *std::move(once), scalars, block);
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
                                      Block* block) override {
    graph_.replacements.push_back(std::move(module));
    return Inline(*graph_.replacements.back().module().entry(), operands, block);
  }
  absl::StatusOr<Leaves> InlineReplacement(const Instruction& instruction, CheckedModule replacement,
                                           const std::vector<Leaves>& operands, Block* block) override {
    const size_t first = graph_.nodes.size();
    HLO_ASSIGN_OR_RETURN(Leaves leaves, InlineModule(std::move(replacement), operands, block));
    build_.SetReplaced(instruction, first, leaves);
    return leaves;
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

  absl::StatusOr<Leaves> InlineMap(const Instruction& map, const std::vector<Leaves>& operands,
                                   Block* block) override {
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
  ContractionRewriter contractions_;
  const Instruction* map_ = nullptr;  // The map that is being inlined.
  AsyncCalls async_;
  absl::flat_hash_map<std::string, ValueId> workspaces_;  // Zeros, keyed by their shape.
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
