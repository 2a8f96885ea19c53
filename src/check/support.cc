#include "check/support.h"

#include <bitset>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"
#include "types/promotion.h"

namespace hlo::check {

Diagnostic& RuleContext::NoteOperand(Diagnostic& diagnostic, int64_t i) const {
  const Instruction& operand = *instruction_.operand(i);
  return diagnostic.Note(operand.name_range(), "'{}' is {}", operand.name(), Text(operand.shape()));
}

// Limits the findings in malicious modules with millions of operands.
static constexpr size_t kMaxFindings = 10'000;

Diagnostic& RuleContext::Report(Severity severity, SourceRange at, std::string_view rule,
                                fmt::string_view format, fmt::format_args args) {
  const bool too_many = diagnostics_.all().size() >= kMaxFindings && !diagnostics_.ok();
  if (severity == Severity::kError ? too_many || diagnostics_.full()
                                   : diagnostics_.all().size() >= kMaxFindings) {
    thread_local Diagnostic dropped;
    return dropped = {};
  }
  if (!at.known()) at = instruction_.opcode_range();
  std::string message = fmt::vformat(format, args);
  if (!at.known()) {
    message = fmt::format("{} '{}' in '{}': {}", Name(instruction_.opcode()), instruction_.name(),
                          instruction_.parent() ? instruction_.parent()->name() : "", message);
  }
  Diagnostic& diagnostic = severity == Severity::kError ? diagnostics_.Error(at, "{}", message)
                                                        : diagnostics_.Warning(at, "{}", message);
  return diagnostic.Rule(fmt::format("shape-rules {}", rule));
}

std::string DescribeTypes(TypeSet set) {
  absl::InlinedVector<std::string_view, 5> words;
  if (set & kPredSet) words.push_back("pred");
  if ((set & kIntegralSet) == kIntegralSet)
    words.push_back("integral");
  else if (set & kSignedSet)
    words.push_back("signed integral");
  else if (set & kIntegralSet)
    words.push_back("unsigned integral");
  if (set & kFloatSet) words.push_back("floating");
  if (set & kComplexSet) words.push_back("complex");
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

ElementType WiderType(RuleContext& context, ElementType a, ElementType b, std::string_view rule) {
  if (a == b) return a;
  const int order = ComparePrecedence(a, b);
  if (order == 0) {
    context.ErrorIfStrict({}, rule, "neither of {} and {} is the wider type; {} is taken", Name(a), Name(b),
                          Name(a));
  }
  return order < 0 ? b : a;
}

bool BoundProduct(const Shape& shape, int64_t* product) {
  *product = 1;
  bool overflow = false;
  for (int64_t size : shape.dims()) {
    if (size == 0) {
      *product = 0;
      return true;
    }
    if (size != Shape::kUnbounded && __builtin_mul_overflow(*product, size, product)) overflow = true;
  }
  return !overflow;
}

bool RequireDistinctDimensions(RuleContext& context, SourceRange at, std::string_view rule,
                               std::string_view what, IntList numbers, int64_t rank) {
  // Ranks are at most 64, and index tuples are little longer.
  std::bitset<Shape::kMaxRank + 64> seen;
  for (int64_t d : numbers) {
    if (!InRange(d, rank) || d >= static_cast<int64_t>(seen.size())) {
      context.Error(at, rule, "{} {} has {}, but its entries must be in [0, {})", what, Text(numbers), d,
                    rank);
      return false;
    }
    if (seen[d]) {
      context.Error(at, rule, "{} {} has {} twice", what, Text(numbers), d);
      return false;
    }
    seen[d] = true;
  }
  return true;
}

bool RequireAscendingDimensions(RuleContext& context, SourceRange at, std::string_view rule,
                                std::string_view what, IntList numbers, int64_t rank) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] < numbers[i - 1]) {
      context.Error(at, rule, "{} {} must be in ascending order", what, Text(numbers));
      return false;
    }
  }
  return RequireDistinctDimensions(context, at, rule, what, numbers, rank);
}

bool RequireArray(RuleContext& context, int64_t i, std::string_view rule) {
  if (context.operand(i).IsArray()) [[likely]]
    return true;
  context.OperandError(i, rule, "operand {} of {} must be an array, but it is {}", i,
                       Name(context.instruction().opcode()), Text(context.operand(i)));
  return false;
}

bool RequireArrays(RuleContext& context, std::string_view rule) {
  bool ok = true;
  for (int64_t i = 0; i < context.operand_count(); ++i) ok &= RequireArray(context, i, rule);
  return ok;
}

bool RequireType(RuleContext& context, int64_t i, TypeSet set, std::string_view rule) {
  if (Contains(set, context.operand(i).type())) [[likely]]
    return true;
  context.OperandError(i, rule, "{} takes {} elements, but operand {} is {}",
                       Name(context.instruction().opcode()), DescribeTypes(set), i, Text(context.operand(i)));
  return false;
}

std::string Text(IntList numbers) { return "{" + absl::StrJoin(numbers, ",") + "}"; }

std::string SizeText(int64_t size) { return size == Shape::kUnbounded ? "?" : std::to_string(size); }

bool RequireOneDimension(RuleContext& context, std::string_view rule, int64_t* dimension) {
  const IntList dimensions = context.Get<attr::dimensions>();
  if (dimensions.size() == 1) [[likely]] {
    *dimension = dimensions[0];
    return true;
  }
  context.Error(context.range_of<attr::dimensions>(), rule,
                "dimensions must name one dimension, but it is {}", Text(dimensions));
  return false;
}

}  // namespace hlo::check
