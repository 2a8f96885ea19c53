#include "program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/opcode.h"
#include "types/scalar_ops.h"

namespace hlo::fuzz {
namespace {

constexpr double kCarriedTop = 4;

// Returns the largest magnitude that arithmetic may approach; integers wrap, so they have no limit.
double MagnitudeLimit(ElementType type) {
  switch (ComponentType(type)) {
    case ElementType::kF64:
      return 0x1p200;
    case ElementType::kF32:
    case ElementType::kBF16:
      return 0x1p60;
    case ElementType::kF16:
      return 0x1p14;
    default:
      return IsFloat(ComponentType(type)) ? 8 : std::numeric_limits<double>::infinity();
  }
}

// Returns the significand bits of the accumulator type of sums of this type.
int AccumulatorBits(ElementType type) { return ComponentType(type) == ElementType::kF64 ? 53 : 24; }

// Includes the implicit bit.
int SignificandBits(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return 53;
    case ElementType::kF32:
      return 24;
    case ElementType::kF16:
      return 11;
    case ElementType::kBF16:
      return 8;
    default:
      return 1;  // The narrowest of the 8-bit floats, and smaller ones.
  }
}

bool IsInexact(ElementType type) { return IsFloat(type) || IsComplex(type); }

// Returns the largest magnitude of the function at evenly spaced points of the interval.
template <class F>
double LargestOn(double low, double high) {
  constexpr int kSteps = 64;
  double largest = 0;
  for (int i = 0; i <= kSteps; ++i)
    largest = std::max(largest, std::abs(scalar::ForBits<F>(64)(low + (high - low) * i / kSteps)));
  return largest;
}

template <class F>
void AddFunction(std::string_view opcode, double low, double high, std::vector<Function>* functions) {
  if constexpr (std::is_invocable_r_v<double, F, double>)
    functions->push_back({opcode, low, high, 1.25 * LargestOn<F>(low, high)});
}

}  // namespace

const std::vector<Function>& UnaryFunctions() {
  static const auto* const functions = [] {
    auto* all = new std::vector<Function>;
#define HLO_FUNCTION_OP(name, text, operands, attributes, shape_rule, builder, precision, low, high, traits) \
  AddFunction<scalar::name>(text, low, high, all);
#include "hlo_run/opcodes.def"
    return all;
  }();
  return *functions;
}

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return count;
}
std::string Braces(const Dims& items) { return fmt::format("{{{}}}", fmt::join(items, ",")); }
std::string ShapeText(ElementType type, const Dims& dims) {
  return fmt::format("{}[{}]", Name(type), fmt::join(dims, ","));
}
std::string ShapeText(const Value& value) {
  return value.shape.empty() ? ShapeText(value.type, value.dims) : value.shape;
}

std::string NumberText(ElementType type, double number) {
  if (IsPred(type)) return number != 0 ? "true" : "false";
  if (IsComplex(type)) return fmt::format("({}, 0)", NumberText(ComponentType(type), number));
  if (!IsFloat(type)) return fmt::format("{}", static_cast<int64_t>(number));
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return std::signbit(number) ? "-0" : "0";
  return fmt::format("{}", number);
}

std::string Program::NewName(std::string_view stem) { return fmt::format("{}.{}", stem, ++names_); }

std::string Program::Finish(const Body& entry, const Values& results) {
  std::string text = fmt::format("HloModule {}{}\n\n", is_exact ? "exact" : "loose",
                                 is_exact && has_contraction ? "_but_zeros" : "");
  Body body = entry;
  const std::string last = body.Text("ENTRY main", results, true);
  for (const std::string& computation : computations) text += computation + "\n";
  return text + last;
}

Value Body::Parameter(std::string_view stem, ElementType type, const Dims& dims) {
  return Parameter(stem, {.type = type, .dims = dims});
}
Value Body::Parameter(std::string_view stem, const Value& like) {
  Value value = like;
  value.name = program.NewName(stem);
  Line(fmt::format("{} = {} parameter({})", value.name, ShapeText(value), parameters_++));
  return value;
}

Value Body::Op(std::string_view opcode, const Values& operands, ElementType type, const Dims& dims,
               std::string_view attributes, const Value& like) {
  return Shaped(opcode, operands, {.type = type, .dims = dims, .top = like.top, .step = like.step},
                attributes);
}
Value Body::Shaped(std::string_view opcode, const Values& operands, const Value& result,
                   std::string_view attributes) {
  std::string stem(opcode);
  std::replace(stem.begin(), stem.end(), '-', '_');
  Value value = result;
  value.name = program.NewName(stem);
  std::string names;
  for (const Value& operand : operands) names += (names.empty() ? "" : ", ") + operand.name;
  Line(fmt::format("{} = {} {}({}){}{}", value.name, ShapeText(value), opcode, names,
                   attributes.empty() ? "" : ", ", attributes));
  return value;
}

Value Body::Constant(ElementType type, double number) {
  // One or two bits hold few numbers.
  if (IsIntegral(type) && BitWidth(type) <= 2 && std::isfinite(number)) {
    const double largest = std::ldexp(1, static_cast<int>(BitWidth(type)) - (IsSigned(type) ? 1 : 0)) - 1;
    if (number > largest) number = IsSigned(type) ? -1 : largest;
  }
  Value value{.name = program.NewName("c"), .type = type, .top = std::abs(number)};
  if (number != std::floor(number)) value.step = -4;
  if (!std::isfinite(number)) value.top = 0;
  Line(fmt::format("{} = {}[] constant({})", value.name, Name(type), NumberText(type, number)));
  return value;
}
Value Body::Splat(ElementType type, const Dims& dims, double number) {
  const Value c = Constant(type, number);
  return Op("broadcast", {c}, type, dims, "dimensions={}", c);
}
Value Body::Iota(ElementType type, const Dims& dims, int64_t dimension) {
  const Value range{.top = static_cast<double>(dims[dimension])};
  if (!IsFloat(type) || range.top < 4)
    return Op("iota", {}, type, dims, fmt::format("iota_dimension={}", dimension), range);
  // Narrow floats do not represent all of these numbers; that case is tested elsewhere.
  const Value wide =
      Op("iota", {}, ElementType::kS32, dims, fmt::format("iota_dimension={}", dimension), range);
  return Convert(Binary("remainder", wide, Splat(ElementType::kS32, dims, 5)), type);
}

Value Body::Unary(std::string_view opcode, const Value& x) {
  Value like = x;
  if (opcode == "sign" || opcode == "is-finite") like.top = 1;
  if (opcode == "floor" || opcode == "ceil" || opcode == "round-nearest-even" ||
      opcode == "round-nearest-afz")
    like = {.top = x.top + 1, .step = std::max(x.step, 0)};
  if (opcode == "exponential") like.top = std::exp(std::min(x.top, 80.0));
  if (opcode == "not") like.top = x.top + 1;
  if (opcode == "popcnt" || opcode == "count-leading-zeros") like.top = BitWidth(x.type);
  // Negative numbers wrap to large unsigned ones.
  if (IsUnsigned(x.type) && (opcode == "negate" || opcode == "not"))
    like.top = std::numeric_limits<double>::infinity();
  const std::optional<Opcode> known = ParseOpcode(opcode);
  if (known && Info(*known).has(kTranscendental)) {
    like.step = kUnknownStep;
    if (opcode != "exponential") like.top = x.top + 2;
  }
  return Op(opcode, {x}, opcode == "is-finite" ? ElementType::kPred : x.type, x.dims, "", like);
}

Value Body::Binary(std::string_view opcode, const Value& x, const Value& y) {
  Value like{.top = std::max(x.top, y.top), .step = std::min(x.step, y.step)};
  if (opcode == "add" || opcode == "subtract") like.top = x.top + y.top;
  if (opcode == "subtract" && IsUnsigned(x.type)) like.top = std::numeric_limits<double>::infinity();
  if (opcode == "and" || opcode == "or" || opcode == "xor") like.top = 2 * std::max(x.top, y.top) + 1;
  if (opcode == "multiply") {
    like.top = x.top * y.top;
    like.step = std::max(x.step + y.step, kUnknownStep);
  }
  if (opcode == "divide" || opcode == "power") {
    like.step = kUnknownStep;
    like.top = opcode == "power" ? 1e30 : x.top;
  }
  if (IsInexact(x.type) && like.top > MagnitudeLimit(x.type))
    return Binary(opcode, Carried(x), opcode == "multiply" ? Clamp(y, -2, 2) : Carried(y));
  return Op(opcode, {x, y}, x.type, x.dims, "", like);
}

Value Body::Compare(const Value& x, const Value& y, std::string_view direction) {
  return Op("compare", {x, y}, ElementType::kPred, x.dims, fmt::format("direction={}", direction),
            {.top = 1});
}
Value Body::Select(const Value& p, const Value& x, const Value& y) {
  return Op("select", {p, x, y}, x.type, x.dims, "",
            {.top = std::max(x.top, y.top), .step = std::min(x.step, y.step)});
}

Value Body::Convert(const Value& x, ElementType type) {
  if (x.type == type) return x;
  Value from = x;
  if (IsComplex(x.type)) from = Op("real", {x}, ComponentType(x.type), x.dims, "", x);
  if (from.type == type) return from;
  if (IsInexact(type) && (from.top > MagnitudeLimit(type) / 2 || !std::isfinite(from.top)))
    from = Carried(from);
  Value like = from;
  if (!IsFloat(type)) like.step = 0;
  if (IsPred(type)) like.top = 1;
  if (IsIntegral(type)) like.top = std::max(from.top, 1.0);
  // Infinities become the largest integers.
  if (IsIntegral(type) && program.is_wild) like.top = std::numeric_limits<double>::infinity();
  // A large negative number becomes a large unsigned one.
  if (IsUnsigned(type) && IsIntegral(from.type)) like.top = std::numeric_limits<double>::infinity();
  return Op("convert", {from}, type, x.dims, "", like);
}

Value Body::Clamp(const Value& x, double low, double high) {
  if (IsPred(x.type) || IsComplex(x.type)) return x;
  if (IsUnsigned(x.type)) low = 0;
  if (BitWidth(x.type) < 4) return x;
  const Value like{.top = std::max(std::abs(low), std::abs(high)), .step = x.step};
  return Op("clamp", {Constant(x.type, low), x, Constant(x.type, high)}, x.type, x.dims, "", like);
}

Value Body::Exact(const Value& x, int64_t terms) {
  if (!IsInexact(x.type) || !program.is_exact) return x;
  const double most =
      std::ldexp(1.0, AccumulatorBits(x.type) - 2) / static_cast<double>(std::max<int64_t>(terms, 1));
  if (x.step >= -1 && x.top * x.top * 4 <= most && x.top <= 64) return x;
  if (IsComplex(x.type)) return Op("multiply", {x, Splat(x.type, x.dims, 0)}, x.type, x.dims, "", {.top = 0});
  Value rounded = x;
  if (x.step < 0) rounded = Unary("round-nearest-even", x);
  return Clamp(rounded, -3, 3);
}

Value Body::ExactInType(const Value& x, int64_t terms) {
  Value exact = Exact(x, terms);
  if (!IsFloat(x.type) || !program.is_exact) return exact;
  const double most =
      std::ldexp(1.0, SignificandBits(x.type)) / static_cast<double>(std::max<int64_t>(terms, 1));
  if (exact.step >= 0 && exact.top <= most) return exact;
  const double bound = std::min(3.0, std::floor(most));
  return Clamp(exact.step < 0 ? Unary("round-nearest-even", exact) : exact, -bound, bound);
}

Value Body::Carried(const Value& x) {
  if (!IsInexact(x.type) || (x.top <= kCarriedTop && x.step >= 0)) {
    if (IsIntegral(x.type) && x.top > 1000 && BitWidth(x.type) >= 4) {
      Value rest = Binary("remainder", x, Splat(x.type, x.dims, 5));
      rest.top = 4;
      return rest;
    }
    return x;
  }
  if (!program.is_exact && x.top <= kCarriedTop) return x;
  if (IsComplex(x.type)) return Op("multiply", {x, Splat(x.type, x.dims, 0)}, x.type, x.dims, "", {.top = 0});
  Value rounded = x;
  if (x.step < 0 && program.is_exact) rounded = Unary("floor", x);
  return Clamp(rounded, -kCarriedTop, kCarriedTop);
}

std::string Body::TupleShape(const Values& values) const {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + ShapeText(v);
  return "(" + text + ")";
}
Value Body::Tuple(const Values& values) {
  Value tuple{.name = program.NewName("tuple")};
  std::string names;
  for (const Value& v : values) names += (names.empty() ? "" : ", ") + v.name;
  Line(fmt::format("{} = {} tuple({})", tuple.name, TupleShape(values), names));
  return tuple;
}
Values Body::Elements(const Value& tuple, const Values& like) {
  Values elements;
  for (size_t i = 0; i < like.size(); ++i)
    elements.push_back(Shaped("get-tuple-element", {tuple}, like[i], fmt::format("index={}", i)));
  return elements;
}

std::string Body::Text(std::string_view header, const Values& results, bool as_tuple) {
  const Value root = as_tuple ? Tuple(results) : results[0];
  std::string text = fmt::format("{} {{\n", header);
  for (const std::string& line : lines_)
    text += fmt::format("  {}{}\n", line.starts_with(root.name + " = ") ? "ROOT " : "", line);
  return text + "}\n";
}

}  // namespace hlo::fuzz
