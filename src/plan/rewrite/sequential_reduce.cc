#include "plan/rewrite/sequential_reduce.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo_run/builder.h"
#include "ir/result_shapes.h"
#include "plan/analysis/associativity.h"
#include "plan/calls/call_builder.h"
#include "plan/calls/replacement.h"
#include "plan/codegen/operations.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using build::Op;

// A kernel combines the elements of more results at once, which takes less time than a loop.
constexpr int64_t kMaxResults = 4, kMinReduced = 64;

// The elements in row-major order: the results and the combined elements of each.
struct Elements {
  int64_t results, combined;
  int64_t between_results, between_elements;  // Distances.
};

// Returns nullopt if reduced dimensions precede and follow others of more than one element.
std::optional<Elements> ElementsOf(const Instruction& reduce) {
  const Shape& shape = reduce.operand(0)->shape();
  const IntList reduced = reduce.Get<attr::dimensions>();
  Elements elements{1, 1, 1, 1};
  int changes = 0;
  std::optional<bool> last_is_reduced;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool is_reduced = Contains(reduced, d);
    (is_reduced ? elements.combined : elements.results) *= shape.dim(d);
    if (shape.dim(d) == 1) continue;
    changes += last_is_reduced.has_value() && *last_is_reduced != is_reduced ? 1 : 0;
    last_is_reduced = is_reduced;
  }
  if (changes > 1) return std::nullopt;
  const bool by_rows = last_is_reduced == true;
  (by_rows ? elements.between_results : elements.between_elements) =
      by_rows ? elements.combined : elements.results;
  return elements;
}

// True for types whose operations on scalars have bytecode.
bool IsType(ElementType type) {
  return IsHalf(type) || (BitWidth(type) >= 32 && (IsFloat(type) || IsIntegral(type)));
}

// True for an operation of a few machine instructions.
bool IsShort(const Instruction* i) {
  switch (i->opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAbs:
    case Opcode::kNegate:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
    case Opcode::kCompare:
    case Opcode::kSelect:
      return true;
    case Opcode::kDivide:
      return IsFloat(i->shape().type());
    default:
      return false;
  }
}

// True for a combiner that has to be applied in order.
bool IsSequential(const Instruction& reduce, absl::Span<const ElementType> types) {
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  const std::optional<ReduceCode> code = FindReduceCode(reduce);
  return code.has_value() && code->reassociation == loops::Reassociation::kNone &&
         !IsAssociative(to_apply, code->code, types, ValueSet::kAll) &&
         !IsAssociative(to_apply, code->code, types, ValueSet::kNumbers);
}

}  // namespace

std::optional<CheckedModule> ReplaceSequentialReduce(const Instruction& reduce) {
  const Computation& to_apply = *reduce.Get<attr::to_apply>();
  const int64_t count = reduce.operand_count() / 2;
  std::vector<ElementType> types;
  for (int64_t k = 0; k < count; ++k) types.push_back(reduce.operand(k)->shape().type());
  const std::optional<Elements> elements = ElementsOf(reduce);
  if (!elements.has_value() || elements->results < 1 ||
      elements->results > (absl::c_all_of(to_apply.instructions(), IsShort) ? kMaxResults : 1) ||
      elements->combined < kMinReduced ||
      elements->results * elements->combined > std::numeric_limits<int32_t>::max() ||
      !absl::c_all_of(types, IsType) || CallsComputations(to_apply) || !CombinesInOperandTypes(reduce) ||
      !IsSequential(reduce, types))
    return std::nullopt;

  build::Builder builder(reduce.name());
  const auto number = [&](int64_t value) {
    return builder.Constant(ElementType::kS32, static_cast<double>(value));
  };
  std::vector<Op> operands, start = {number(0)};
  for (int64_t k = 0; k < count; ++k) {
    const Op operand = builder.Parameter(k, reduce.operand(k)->shape().WithoutLayouts());
    operands.push_back(build::Reshape(operand, {elements->results * elements->combined}));
  }
  for (int64_t k = 0; k < count; ++k) {
    const Op init = builder.Parameter(count + k, reduce.operand(count + k)->shape().WithoutLayouts());
    start.insert(start.end(), static_cast<size_t>(elements->results), init);
  }
  start.insert(start.end(), operands.begin(), operands.end());
  const Op state = builder.Tuple(start);
  const build::Function condition =
      builder.Define("elements_remain", {state.shape()}, [&](const std::vector<Op>& arguments) {
        return build::Lt(build::GetTupleElement(arguments[0], 0), number(elements->combined));
      });
  const build::Function body =
      builder.Define("combine_next", {state.shape()}, [&](const std::vector<Op>& arguments) {
        std::vector<Op> parts = build::Elements(arguments[0]);
        const Op first =
            elements->between_elements == 1 ? parts[0] : parts[0] * number(elements->between_elements);
        for (int64_t r = 0; r < elements->results; ++r) {
          const Op position = r == 0 ? first : first + number(r * elements->between_results);
          std::vector<Op> pair;
          for (int64_t k = 0; k < count; ++k)
            pair.push_back(parts[static_cast<size_t>(1 + k * elements->results + r)]);
          for (int64_t k = 0; k < count; ++k) {
            const Op array = parts[static_cast<size_t>(1 + count * elements->results + k)];
            pair.push_back(build::Reshape(build::DynamicSlice(array, {position}, {1}), {}));
          }
          const Op combined = Inlined(builder, to_apply, pair);
          const std::vector<Op> values =
              combined.shape().IsTuple() ? build::Elements(combined) : std::vector<Op>{combined};
          for (int64_t k = 0; k < count; ++k)
            parts[static_cast<size_t>(1 + k * elements->results + r)] = values[static_cast<size_t>(k)];
        }
        parts[0] = parts[0] + number(1);
        return builder.Tuple(parts);
      });
  const std::vector<Op> end = build::Elements(build::While(condition, body, state));
  if (end.size() != start.size()) return std::nullopt;
  const absl::Span<const Shape> shapes = ResultShapes(reduce);
  std::vector<Op> results;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Op> each;
    for (int64_t r = 0; r < elements->results; ++r)
      each.push_back(build::Reshape(end[static_cast<size_t>(1 + k * elements->results + r)], {1}));
    const Op all = each.size() == 1 ? each[0] : build::ConcatInDim(each, 0);
    results.push_back(build::Reshape(all, ToVector(shapes[static_cast<size_t>(k)].dims())));
  }
  return BuildReplacement(builder, results, reduce);
}

}  // namespace hlo::plan
