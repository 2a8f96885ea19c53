#include "check/window.h"

#include "base/counted.h"
#include "check/support.h"

namespace hlo::check {
namespace {

// Computes (n - 1) * dilation + 1, or 0 if n is 0; false on overflow.
bool Dilated(int64_t size, int64_t dilation, int64_t* result) {
  if (size == 0) {
    *result = 0;
    return true;
  }
  return !__builtin_mul_overflow(size - 1, dilation, result) && !__builtin_add_overflow(*result, 1, result);
}

constexpr std::string_view kReducer = "3.15";

Diagnostic& ReducerError(RuleContext& c, SourceRange at, const Computation& reducer,
                         const std::string& what) {
  return c.Error(at, kReducer, "{}", what)
      .Note(reducer.name_range(), "'{}' has {} and gives {}", reducer.name(),
            Counted(reducer.parameters().size(), "parameter"), Text(reducer.root()->shape()));
}

// Returns element j of the reducer's result.
const Shape& ResultOf(const Computation& reducer, int64_t j) {
  const Shape& root = reducer.root()->shape();
  return root.IsTuple() ? root.element(j) : root;
}

bool CheckReduced(RuleContext& c, SourceRange at, const Computation& reducer, int64_t j, int64_t count,
                  const Reduced& array) {
  const Shape& result = ResultOf(reducer, j);
  const Shape& accumulator = reducer.parameter(j)->shape();
  const Shape& element = reducer.parameter(count + j)->shape();
  if (!result.IsScalar()) {
    ReducerError(
        c, at, reducer,
        fmt::format("result {} of '{}' must be a scalar, but it is {}", j, reducer.name(), Text(result)));
    return false;
  }
  if (!accumulator.IsScalar(result.type())) {
    ReducerError(c, at, reducer,
                 fmt::format("'{}' gives {}, but its parameter {}, the accumulator, is {}", reducer.name(),
                             Text(result), j, Text(accumulator)));
    return false;
  }
  if (!SameFp(result.type(), array.init)) {
    ReducerError(c, at, reducer,
                 fmt::format("'{}' gives {}, but the initial value is of type {}", reducer.name(),
                             Text(result), Name(array.init)));
    return false;
  }
  if (!element.IsScalar() || !SameFp(element.type(), array.element) ||
      !SameFp(element.type(), result.type())) {
    ReducerError(c, at, reducer,
                 fmt::format("parameter {} of '{}' takes elements of type {}, but it is {}", count + j,
                             reducer.name(), Name(array.element), Text(element)));
    return false;
  }
  return true;
}

}  // namespace

bool WindowOutputSize(RuleContext& c, SourceRange at, std::string_view rule, int64_t dimension, int64_t base,
                      const WindowDim& w, int64_t* size) {
  if (w.size <= 0 || w.stride <= 0 || w.base_dilation < 1 || w.window_dilation < 1) {
    c.Error(at, rule,
            "dimension {} of the window needs positive size, stride and dilations, but they are {}, {}, {} "
            "and {}",
            dimension, w.size, w.stride, w.base_dilation, w.window_dilation);
    return false;
  }
  if (base == Shape::kUnbounded) {
    *size = Shape::kUnbounded;
    return true;
  }
  int64_t padded = 0, window = 0;
  if (!Dilated(base, w.base_dilation, &padded) || !Dilated(w.size, w.window_dilation, &window) ||
      __builtin_add_overflow(padded, w.padding_low, &padded) ||
      __builtin_add_overflow(padded, w.padding_high, &padded) || padded < 0) {
    c.Error(at, rule, "dimension {} of the window pads {} with {} and {}, which leaves no valid size",
            dimension, Counted(base, "element"), w.padding_low, w.padding_high);
    return false;
  }
  *size = padded == 0 || window > padded ? 0 : (padded - window) / w.stride + 1;
  return true;
}

Shape WindowOutput(RuleContext& c, std::string_view rule, const Shape& base, ElementType type) {
  const Window window = c.Get<attr::window>();
  const SourceRange at = c.range_of<attr::window>();
  if (static_cast<int64_t>(window.size()) != base.rank()) {
    c.NoteOperand(c.Error(at, rule, "the window has {}, but {} has {}", Counted(window.size(), "dimension"),
                          Text(base), base.rank()),
                  0);
    return {};
  }
  Shape result = Shape::Scalar(type);
  bool ok = true;
  for (int64_t d = 0; d < base.rank(); ++d) {
    int64_t size = 0;
    ok &= WindowOutputSize(c, at, "3.16", d, base.dim(d), window[d], &size);
    result.AppendDim(size, base.IsDynamic(d));
  }
  return ok ? result : Shape();
}

bool CheckReducer(RuleContext& c, SourceRange at, const Computation& reducer,
                  absl::Span<const Reduced> arrays) {
  const auto count = static_cast<int64_t>(arrays.size());
  if (static_cast<int64_t>(reducer.parameters().size()) != 2 * count) {
    ReducerError(c, at, reducer,
                 fmt::format("'{}' must have {} to combine {} arrays, but it has {}", reducer.name(),
                             Counted(2 * count, "parameter"), count, reducer.parameters().size()));
    return false;
  }
  const Shape& root = reducer.root()->shape();
  const int64_t results = root.IsTuple() ? static_cast<int64_t>(root.elements().size()) : 1;
  if (results != count) {
    ReducerError(c, at, reducer,
                 fmt::format("'{}' must give {}, but it gives {}", reducer.name(), Counted(count, "value"),
                             Text(root)));
    return false;
  }
  bool ok = true;
  for (int64_t j = 0; j < count; ++j) ok &= CheckReduced(c, at, reducer, j, count, arrays[j]);
  return ok;
}

bool RequireScalars(RuleContext& c, int64_t first, int64_t count, std::string_view rule) {
  bool ok = true;
  for (int64_t i = first; i < first + count; ++i) {
    if (c.operand(i).IsScalar()) continue;
    c.OperandError(i, rule, "operand {} of {} must be a scalar, but it is {}", i,
                   Name(c.instruction().opcode()), Text(c.operand(i)));
    ok = false;
  }
  return ok;
}

void CheckParameterPrecision(RuleContext& c, SourceRange at, const Computation& computation) {
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    const Shape& parameter = computation.parameter(i)->shape();
    if (parameter.type() == c.operand(i).type()) continue;
    c.NoteOperand(c.MixedPrecision(at, kReducer, "parameter {} of '{}' is {}, but operand {} is {}", i,
                                   computation.name(), Text(parameter), i, Text(c.operand(i))),
                  i);
    return;
  }
}

}  // namespace hlo::check
