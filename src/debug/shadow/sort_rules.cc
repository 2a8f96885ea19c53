// Rules for sorts and top-k.

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "debug/shadow/linear_rules.h"
#include "reference/scalar_function.h"
#include "reference/wide_scalar.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

// The positions along a dimension of one line of an array, and their order after the sort.
struct Lines {
  int64_t length, stride;
  std::vector<int64_t> starts;
};
Lines LinesOf(const Literal& array, int64_t dimension) {
  const Index strides = RowMajorStrides(array.dims());
  Lines lines{array.dim(dimension), strides[dimension], {}};
  Index sizes(array.dims());
  sizes[dimension] = 1;
  for (const Index& i : EachIndex(sizes)) lines.starts.push_back(Offset(i, strides));
  return lines;
}

// Returns array[from[i]] for each i.
absl::StatusOr<Literal> Permuted(const Literal& array, const std::vector<int64_t>& from,
                                 absl::Span<const int64_t> dims) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(array.type(), dims)));
  const int64_t width = ByteCount(array.type());
  for (size_t i = 0; i < from.size(); ++i)
    std::copy_n(array.data() + from[i] * width, width,
                result.mutable_data() + static_cast<int64_t>(i) * width);
  return result;
}

absl::StatusOr<ShadowValue> PermutedShadow(const ShadowValue& operand, const Literal& declared,
                                           const std::vector<int64_t>& from) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(declared));
  if (operand.is_float()) {
    HLO_ASSIGN_OR_RETURN(result.wide, Permuted(operand.wide, from, declared.dims()));
  }
  if (!operand.is_exact()) {
    HLO_ASSIGN_OR_RETURN(result.bound, Permuted(operand.bound, from, declared.dims()));
  }
  if (operand.low.shape().IsValid()) {
    HLO_ASSIGN_OR_RETURN(result.low, Permuted(operand.low, from, declared.dims()));
  }
  for (const Literal& trial : operand.trials) {
    HLO_ASSIGN_OR_RETURN(Literal permuted, Permuted(trial, from, declared.dims()));
    result.trials.push_back(std::move(permuted));
  }
  return result;
}

// Returns for each position of the sorted arrays the one it comes from, by the declared keys.
absl::StatusOr<std::vector<int64_t>> SortedPositions(RuleContext& context, const Lines& lines) {
  const Instruction& sort = context.instruction;
  std::vector<ElementType> types;
  for (const auto& operand : context.operands) types.insert(types.end(), 2, operand.declared.type());
  HLO_ASSIGN_OR_RETURN(const auto less, reference::ScalarFunction::Make(*sort.Get<attr::to_apply>(),
                                                                        context.declared_caller, types));
  std::vector<int64_t> from(static_cast<size_t>(context.operands[0].declared.element_count()));
  std::vector<reference::WideScalar> arguments(2 * context.operands.size());
  absl::Status failure;
  const auto comes_first = [&](int64_t a, int64_t b) {
    for (size_t k = 0; k < context.operands.size(); ++k) {
      arguments[2 * k] = reference::LoadScalar(context.operands[k].declared, a);
      arguments[2 * k + 1] = reference::LoadScalar(context.operands[k].declared, b);
    }
    reference::WideScalar result;
    if (const absl::Status status = less->Run(arguments, absl::MakeSpan(&result, 1)); !status.ok())
      failure = status;
    return result.u != 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  for (const int64_t start : lines.starts) {
    for (int64_t i = 0; i < lines.length; ++i) order[static_cast<size_t>(i)] = start + i * lines.stride;
    std::stable_sort(order.begin(), order.end(), comes_first);
    for (int64_t i = 0; i < lines.length; ++i)
      from[static_cast<size_t>(start + i * lines.stride)] = order[static_cast<size_t>(i)];
  }
  HLO_RETURN_IF_ERROR(failure);
  return from;
}

// The elements of a sorted line, with sign 1 or -1 so that they do not decrease.
struct SortedLine {
  int64_t start, stride, length;
  double sign;
  int64_t operator[](int64_t i) const { return start + i * stride; }
};

// Returns 1 or -1 for a line of keys that do not decrease or do not increase, and otherwise 0.
double DirectionOf(const Literal& keys, const Lines& lines, int64_t start) {
  bool rises = true, falls = true;
  for (int64_t i = 0; i + 1 < lines.length; ++i) {
    const double a = reference::LoadScalar(keys, start + i * lines.stride).f,
                 b = reference::LoadScalar(keys, start + (i + 1) * lines.stride).f;
    rises = rises && a <= b;
    falls = falls && a >= b;
  }
  return rises ? 1 : falls ? -1 : 0;
}

// The i-th smallest key is between the i-th smallest lower end and the i-th smallest upper end.
void BoundSortedKeys(const SortedLine& line, const std::vector<double>& low, const std::vector<double>& high,
                     ShadowValue& keys) {
  std::vector<double> lows = low, highs = high;
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  for (int64_t i = 0; i < line.length; ++i) {
    const double value = line.sign * Doubles(keys.wide)[line[i]];
    const double bound =
        std::max(value - lows[static_cast<size_t>(i)], highs[static_cast<size_t>(i)] - value);
    MutableDoubles(keys.bound)[line[i]] = std::isnan(bound) ? kInfinity : bound;
  }
}

// Marks the positions whose element may be another one, because its interval overlaps that of a key before or
// after it.
void MarkOverlaps(const SortedLine& line, const std::vector<double>& low, const std::vector<double>& high,
                  std::vector<bool>& uncertain) {
  double highest = -kInfinity, lowest = kInfinity;
  for (size_t i = 0; i < low.size(); ++i) {
    if (i > 0 && !(highest < low[i])) uncertain[static_cast<size_t>(line[static_cast<int64_t>(i)])] = true;
    highest = std::max(highest, high[i]);
  }
  for (size_t i = low.size(); i-- > 0;) {
    if (i + 1 < low.size() && !(high[i] < lowest))
      uncertain[static_cast<size_t>(line[static_cast<int64_t>(i)])] = true;
    lowest = std::min(lowest, low[i]);
  }
}

// Bounds the sorted keys, and finds the positions at which the keys and payloads are uncertain.
absl::Status RecordReversals(RuleContext& context, const Lines& lines, ShadowValue& keys,
                             std::vector<bool>& uncertain) {
  if (!keys.is_float() || keys.is_exact() || keys.wide.type() != ElementType::kF64) {
    context.is_estimated = context.is_estimated || !keys.is_exact();
    return absl::OkStatus();
  }
  HLO_RETURN_IF_ERROR(keys.bound.MakeUnique());
  const auto length = static_cast<size_t>(lines.length);
  for (const int64_t start : lines.starts) {
    const SortedLine line{start, lines.stride, lines.length, DirectionOf(keys.declared, lines, start)};
    // Other keys or NaNs determine the order.
    if (line.sign == 0) {
      context.is_estimated = true;
      continue;
    }
    std::vector<double> low(length), high(length);
    for (size_t i = 0; i < length; ++i) {
      const int64_t at = line[static_cast<int64_t>(i)];
      const double value = line.sign * Doubles(keys.wide)[at], bound = Doubles(keys.bound)[at];
      low[i] = value - bound;
      high[i] = value + bound;
      const bool is_reversed = i > 0 && value < line.sign * Doubles(keys.wide)[at - line.stride];
      if (is_reversed && context.decision.count++ == 0) context.decision.position = at - line.stride;
    }
    BoundSortedKeys(line, low, high, keys);
    MarkOverlaps(line, low, high, uncertain);
  }
  context.is_uncertain =
      context.is_uncertain || std::find(uncertain.begin(), uncertain.end(), true) != uncertain.end();
  return absl::OkStatus();
}

// Widens the bounds of payloads: where the order of keys is uncertain, a payload may be that of any
// neighbour.
absl::Status WidenPayload(ShadowValue& payload, const std::vector<bool>& uncertain) {
  HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(payload));
  HLO_RETURN_IF_ERROR(bound.MakeUnique());
  bool any = !payload.is_exact();
  for (size_t i = 0; i < uncertain.size(); ++i) {
    if (!uncertain[i]) continue;
    MutableDoubles(bound)[static_cast<int64_t>(i)] = kInfinity;
    any = true;
  }
  if (any) payload.bound = std::move(bound);
  return absl::OkStatus();
}

// Sorts the whole lines, because an element that is not among the first k may be in another evaluation.
absl::StatusOr<ShadowValue> SortedForTopk(RuleContext& context, const Lines& lines, const Literal& indices,
                                          std::vector<bool>& uncertain) {
  const ShadowValue& operand = context.operands[0];
  const int64_t k = indices.dim(indices.rank() - 1);
  std::vector<int64_t> from(uncertain.size());
  for (size_t row = 0; row < lines.starts.size(); ++row) {
    const int64_t start = lines.starts[row];
    std::vector<bool> is_chosen(static_cast<size_t>(lines.length), false);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t index = reference::LoadScalar(indices, static_cast<int64_t>(row) * k + i).s;
      is_chosen[static_cast<size_t>(index)] = true;
      from[static_cast<size_t>(start + i)] = start + index;
    }
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < lines.length; ++i) {
      if (!is_chosen[static_cast<size_t>(i)]) rest.push_back(start + i);
    }
    const double sign = context.instruction.Get<attr::largest>(true) ? -1 : 1;
    std::stable_sort(rest.begin(), rest.end(), [&](int64_t a, int64_t b) {
      return sign * reference::LoadScalar(operand.declared, a).f <
             sign * reference::LoadScalar(operand.declared, b).f;
    });
    std::copy(rest.begin(), rest.end(), from.begin() + start + k);
  }
  HLO_ASSIGN_OR_RETURN(const Literal declared, Permuted(operand.declared, from, operand.declared.dims()));
  HLO_ASSIGN_OR_RETURN(ShadowValue sorted, PermutedShadow(operand, declared, from));
  HLO_RETURN_IF_ERROR(RecordReversals(context, lines, sorted, uncertain));
  return sorted;
}

}  // namespace

absl::StatusOr<ShadowValue> SortRule(RuleContext& context) {
  context.has_trials = true;
  const IntList dimensions = context.instruction.Get<attr::dimensions>();
  const Lines lines = LinesOf(context.operands[0].declared, dimensions[0]);
  HLO_ASSIGN_OR_RETURN(const std::vector<int64_t> from, SortedPositions(context, lines));
  ShadowValue result;
  result.is_tuple = context.declared.shape().IsTuple();
  std::vector<bool> uncertain(from.size(), false);
  for (size_t k = 0; k < context.operands.size(); ++k) {
    const Literal& declared =
        result.is_tuple ? context.declared.element(static_cast<int64_t>(k)) : context.declared;
    HLO_ASSIGN_OR_RETURN(ShadowValue sorted, PermutedShadow(context.operands[k], declared, from));
    if (k == 0)
      HLO_RETURN_IF_ERROR(RecordReversals(context, lines, sorted, uncertain));
    else
      HLO_RETURN_IF_ERROR(WidenPayload(sorted, uncertain));
    if (!result.is_tuple) return sorted;
    result.elements.push_back(std::move(sorted));
  }
  return result;
}

// The declared indices choose the wide values.
absl::StatusOr<ShadowValue> TopkRule(RuleContext& context) {
  context.has_trials = true;
  const ShadowValue& operand = context.operands[0];
  const Literal &values = context.declared.element(0), &indices = context.declared.element(1);
  const int64_t k = values.dim(values.rank() - 1), length = operand.declared.dim(operand.declared.rank() - 1);
  std::vector<int64_t> from, first;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    from.push_back(i / k * length + reference::LoadScalar(indices, i).s);
    first.push_back(i / k * length + i % k);
  }
  ShadowValue result;
  result.is_tuple = true;
  HLO_ASSIGN_OR_RETURN(ShadowValue chosen, PermutedShadow(operand, values, from));
  HLO_ASSIGN_OR_RETURN(ShadowValue places, ExactShadow(indices));
  if (chosen.is_float() && !chosen.is_exact()) {
    const Lines lines = LinesOf(operand.declared, operand.declared.rank() - 1);
    std::vector<bool> uncertain(static_cast<size_t>(operand.declared.element_count()), false);
    HLO_ASSIGN_OR_RETURN(const ShadowValue sorted, SortedForTopk(context, lines, indices, uncertain));
    HLO_ASSIGN_OR_RETURN(chosen.bound, Permuted(sorted.bound, first, values.dims()));
    std::vector<bool> of_places;
    for (const int64_t at : first) of_places.push_back(uncertain[static_cast<size_t>(at)]);
    HLO_RETURN_IF_ERROR(WidenPayload(places, of_places));
  }
  result.elements = {std::move(chosen), std::move(places)};
  return result;
}

}  // namespace hlo::debug
