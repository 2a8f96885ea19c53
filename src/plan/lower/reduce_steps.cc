#include <algorithm>

#include "absl/algorithm/container.h"
#include "plan/analysis/associativity.h"
#include "plan/lower/loop_steps.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

std::vector<ElementType> TypesOf(const Instruction& reduce) {
  std::vector<ElementType> types;
  for (int64_t k = 0; k < reduce.operand_count() / 2; ++k) types.push_back(reduce.operand(k)->shape().type());
  return types;
}
bool IsAssociative(const Instruction& reduce, const ReduceCode& code, ValueSet values_in) {
  return plan::IsAssociative(*reduce.Get<attr::to_apply>(), code.code, TypesOf(reduce), values_in);
}

// Returns the number of equal parts into which a row is split, so that a tile holds one element of each part;
// 1 if the row is too short or has no suitable divisor.
int64_t PartCount(int64_t length) {
  constexpr int64_t kMax = 128, kMin = 16;
  if (length < 2 * kMin) return 1;
  for (int64_t parts = std::min(kMax, length / 2); parts >= kMin; --parts) {
    if (length % parts == 0) return parts;
  }
  return 1;
}

// Returns true if rows have gaps between their elements, and neighbouring rows none, in more arrays than the
// reverse.
bool ReadsColumns(const loops::LoopProgram& rows) {
  if (rows.inner_dims().size() != 1 || rows.outer_dims().empty()) return false;
  int64_t columns = 0;
  rows.VisitAccesses([&](const loops::Access& access, bool) {
    if (!access.IsArray()) return;
    const int64_t in_row = access.inner.back(), between_rows = access.outer.back();
    if (between_rows == 1 && in_row != 0) ++columns;
    if (in_row == 1 && between_rows != 0) --columns;
  });
  return columns > 0;
}

// Returns true if an array is read at run-time starts that differ between rows, but not within one. A loop by
// columns would compute the starts of a row for each of its elements.
bool HasStartsOfRows(const loops::LoopProgram& rows) {
  const auto varies = [](int64_t stride) { return stride != 0; };
  bool any = false;
  rows.VisitAccesses([&](const loops::Access& access, bool) {
    bool between_rows = false, in_row = !access.edges.empty();
    for (const loops::RuntimeStart& start : access.starts) {
      if (!start.index.has_value()) continue;
      between_rows = between_rows || absl::c_any_of(start.index->outer, varies);
      in_row = in_row || absl::c_any_of(start.index->inner, varies);
    }
    any = any || (between_rows && !in_row);
  });
  return any;
}

}  // namespace

std::vector<loops::Reduction::Result> LoopSteps::ReductionResults(const Node& node) const {
  const size_t count = node.operands.size() / 2;
  std::vector<loops::Reduction::Result> results;
  for (size_t k = 0; k < count; ++k) {
    results.push_back({node.operands[count + k], node.results[k], ShapeOf(node.operands[count + k]).type(),
                       ShapeOf(node.results[k]).type()});
  }
  return results;
}

ReduceStep LoopSteps::Reduce(const Node& node, ReduceCode code) {
  const Instruction& reduce = *node.instruction;
  const Shape& shape = ShapeOf(node.operands[0]);
  ReduceDims dims(shape, reduce.Get<attr::dimensions>(),
                  StoredOrder(shape.rank(), graph_.values[node.operands[0]].rotation));
  // Results are stored in the order in which the loop visits them.
  std::sort(dims.kept.begin(), dims.kept.end());
  const auto kept_rank = static_cast<int64_t>(dims.kept.size());
  const Index kept = Pick(dims.kept, StoredOrder(kept_rank, RotationOf(node.results[0])));
  dims.kept.assign(kept.begin(), kept.end());
  // The reduction runs by rows if the reduced elements are contiguous.
  bool rows = code.reassociation == loops::Reassociation::kAny && dims.IsByRows();
  int64_t parts = 1;
  const ValueSet values_in =
      code.reassociation != loops::Reassociation::kNone || IsAssociative(reduce, code, ValueSet::kAll)
          ? ValueSet::kAll
          : ValueSet::kNumbers;
  ArgMinMaxRule rule;
  if (code.reassociation == loops::Reassociation::kNone) {
    const bool may_be_arg_min_max = dims.has_long_rows && dims.reduced.size() == 1 &&
                                    IsIotaAlong(node, dims.last) && AreRoundedForCombiner(node);
    if (may_be_arg_min_max && (values_in == ValueSet::kAll || IsAssociative(reduce, code, values_in)))
      rule = FindArgMinMax(*reduce.Get<attr::to_apply>(), code.code, TypesOf(reduce), values_in);
    if (values_in == ValueSet::kAll) code.reassociation = loops::Reassociation::kAdjacent;
    // A single contiguous dimension is reduced.
    if (rule.arg_min_max != loops::Reduction::ArgMinMax::kNone)
      rows = true;
    else if (values_in == ValueSet::kAll && dims.minor_reduced &&
             Product(shape.dims()) == dims.kept_count * shape.dim(dims.last))
      parts = PartCount(shape.dim(dims.last));
  }
  if (parts > 1) {
    const int64_t length = shape.dim(dims.last) / parts;
    return {loops::ReduceProgram({{.combiner = std::move(code.code),
                                   .reassociation = code.reassociation,
                                   .fold = code.fold,
                                   .results = ReductionResults(node),
                                   .part_length = length},
                                  SplitRows(node, dims.last, parts)})};
  }
  const bool is_arg_min_max = rule.arg_min_max != loops::Reduction::ArgMinMax::kNone;
  const bool may_be_by_rows = code.reassociation == loops::Reassociation::kAny && dims.minor_reduced;
  loops::LoopProgram loop = ReductionLoop(node, dims, is_arg_min_max, may_be_by_rows, &rows);
  return {loops::ReduceProgram({{.rows = rows,
                                 .combiner = std::move(code.code),
                                 .reassociation = code.reassociation,
                                 .fold = code.fold,
                                 .results = ReductionResults(node),
                                 .arg_min_max = rule.arg_min_max,
                                 .keeps_last_value = rule.keeps_last_value,
                                 .excludes_nans = values_in == ValueSet::kNumbers && is_arg_min_max},
                                std::move(loop)})};
}

loops::LoopProgram LoopSteps::ReductionLoop(const Node& node, const ReduceDims& dims, bool must_be_by_rows,
                                            bool may_be_by_rows, bool* rows) {
  if (*rows || may_be_by_rows) {
    LoopBuilder builder = YieldingLoop(node, dims.kept, dims.reduced);
    builder.program().Finish();
    const loops::LoopProgram& program = builder.program();
    *rows = must_be_by_rows || (*rows ? !ReadsColumns(program) : HasStartsOfRows(program));
    if (*rows) return TakeProgram(builder);
  }
  LoopBuilder builder = YieldingLoop(node, dims.reduced, dims.kept);
  return FinishProgram(builder);
}

LoopBuilder LoopSteps::YieldingLoop(const Node& reduce, const std::vector<int64_t>& outer,
                                    const std::vector<int64_t>& inner) const {
  std::vector<int64_t> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  LoopBuilder builder(graph_, fusion_, ShapeOf(reduce.operands[0]).dims(), order,
                      static_cast<int64_t>(outer.size()));
  for (size_t k = 0; k < reduce.operands.size() / 2; ++k)
    builder.program().Yield(builder.Value(reduce.operands[k]));
  return builder;
}

bool LoopSteps::AreRoundedForCombiner(const Node& reduce) const {
  const Computation& to_apply = *reduce.instruction->Get<attr::to_apply>();
  const auto count = static_cast<int64_t>(reduce.operands.size() / 2);
  const std::optional<ElementType> first = RoundedType(to_apply, 0), second = RoundedType(to_apply, count);
  if (!first.has_value() && !second.has_value()) return true;
  const Node* node = graph_.values[reduce.operands[0]].node;
  return first == second && node != nullptr && node->kind == Node::Kind::kOp &&
         node->instruction->opcode() == Opcode::kConvert &&
         node->instruction->operand(0)->shape().type() == *first;
}

bool LoopSteps::IsIotaAlong(const Node& reduce, int64_t dimension) const {
  if (reduce.operands.size() != 4) return false;
  // An iota with other uses may be stored; its values are known all the same.
  const auto producer = [&](ValueId v) {
    const Node* node = graph_.values[v].node;
    return node != nullptr && node->kind == Node::Kind::kOp ? node : nullptr;
  };
  const Node* node = producer(reduce.operands[1]);
  while (node != nullptr && node->instruction->opcode() == Opcode::kBroadcast) {
    const IntList dimensions = node->instruction->Get<attr::dimensions>();
    const auto from = std::ranges::find(dimensions, dimension);
    if (from == dimensions.end()) return false;
    dimension = from - dimensions.begin();
    node = producer(node->operands[0]);
  }
  return node != nullptr && node->instruction->opcode() == Opcode::kIota &&
         node->instruction->Get<attr::iota_dimension>() == dimension;
}

// The reduced dimension is part * length + i: the program visits all parts for each i.
loops::LoopProgram LoopSteps::SplitRows(const Node& node, int64_t dimension, int64_t parts) {
  const Shape& shape = ShapeOf(node.operands[0]);
  const int64_t rank = shape.rank(), length = shape.dim(dimension) / parts;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[dimension] = length;
  dims.push_back(parts);
  IndexMap map = IndexMap::Identity(rank + 1);
  map.offset.pop_back();
  map.coefficients.pop_back();
  map.coefficients[dimension][rank] = length;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dimension) order.push_back(d);
  }
  order.push_back(dimension);
  order.push_back(rank);
  LoopBuilder builder(graph_, fusion_, dims, order, rank);
  for (size_t k = 0; k < node.operands.size() / 2; ++k)
    builder.program().Yield(builder.Value(node.operands[k], map));
  return FinishProgram(builder);
}

}  // namespace hlo::plan
