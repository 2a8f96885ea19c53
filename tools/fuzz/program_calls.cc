// Instructions that call computations, and contractions.

#include <cmath>
#include <limits>
#include <numeric>

#include "fmt/format.h"
#include "program.h"

namespace hlo::fuzz {
namespace {

// Returns the value with the range of loop-carried values, branch results and parameters of called
// computations.
Value Unbounded(Value value, bool is_exact) {
  const bool is_float = IsFloat(ComponentType(value.type));
  value.top = is_float ? 4 : std::numeric_limits<double>::infinity();
  value.step = is_float && !is_exact ? kUnknownStep : 0;
  return value;
}

double Neutral(std::string_view opcode, ElementType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const int64_t bits = BitWidth(type);
  if (opcode == "multiply") return 1;
  if (opcode == "and")
    return IsUnsigned(type) ? std::ldexp(1, static_cast<int>(std::min<int64_t>(bits, 16))) - 1 : -1;
  if (opcode != "maximum" && opcode != "minimum") return 0;
  const bool is_low = opcode == "maximum";
  if (IsPred(type)) return is_low ? 0 : 1;
  if (IsFloat(type) && (type == ElementType::kF64 || type == ElementType::kF32 || type == ElementType::kF16 ||
                        type == ElementType::kBF16))
    return is_low ? -kInfinity : kInfinity;
  if (IsFloat(type)) return is_low ? -8 : 8;
  if (IsUnsigned(type)) return is_low ? 0 : std::ldexp(1, static_cast<int>(std::min<int64_t>(bits, 53))) - 1;
  const double edge = std::ldexp(1, static_cast<int>(std::min<int64_t>(bits, 53)) - 1);
  return is_low ? -edge : edge - 1;
}

}  // namespace

std::string Body::Computation(std::string_view stem, const Values& parameters, const BodyFn& body) {
  const std::string name = program.NewName(stem);
  Body inner(program, depth);
  Values given;
  for (const Value& p : parameters) {
    given.push_back(inner.Parameter("a", p));
  }
  const Values results = body(inner, given);
  program.computations.push_back(inner.Text(name, results, results.size() > 1));
  return name;
}

std::string Body::Combiner(std::string_view opcode, ElementType type) {
  const Value scalar{.type = type};
  return Computation(opcode == "and"  ? "all"
                     : opcode == "or" ? "any"
                                      : "fold",
                     {scalar, scalar}, [&](Body& b, const Values& v) -> Values {
                       const bool turned = random.Chance(0.2);
                       return {b.Op(opcode, {v[turned ? 1 : 0], v[turned ? 0 : 1]}, type, {}, "", v[0])};
                     });
}

std::string Body::Comparator(ElementType type, std::string_view direction, const Values& more) {
  Values parameters = {{.type = type}, {.type = type}};
  for (const Value& v : more) parameters.insert(parameters.end(), 2, Value{.type = v.type});
  const bool is_total = IsFloat(type) && program.is_wild && random.Chance(0.5);
  return Computation("order", parameters, [&](Body& b, const Values& v) -> Values {
    return {b.Op("compare", {v[0], v[1]}, ElementType::kPred, {},
                 fmt::format("direction={}{}", direction, is_total ? ", type=TOTALORDER" : ""), v[0])};
  });
}

Value Body::Reduce(std::string_view opcode, const Value& x, const Dims& dimensions) {
  int64_t terms = 1;
  Dims kept;
  std::vector<bool> is_reduced(x.dims.size(), false);
  for (const int64_t d : dimensions) {
    is_reduced[d] = true;
    terms *= x.dims[d];
  }
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!is_reduced[d]) kept.push_back(x.dims[d]);
  }
  const bool is_sum = opcode == "add" || opcode == "multiply";
  Value from = is_sum ? Exact(x, terms) : x;
  if (opcode == "multiply" && (IsFloat(ComponentType(x.type)))) {
    from = Clamp(from, -1, 1);  // Only products of signs are exact in every order.
    if (from.name == x.name) return Reduce("add", x, dimensions);
  }
  Value like = from;
  if (opcode == "add") like.top = from.top * static_cast<double>(terms);
  if (is_sum && IsFloat(ComponentType(x.type))) program.has_contraction = true;
  const Value init = Constant(x.type, Neutral(opcode, x.type));
  return Op("reduce", {from, init}, x.type, kept,
            fmt::format("dimensions={}, to_apply={}", Braces(dimensions), Combiner(opcode, x.type)), like);
}

Value Body::Dot(const Value& x, const Value& y, const std::string& attributes, const Dims& dims,
                int64_t terms) {
  const Value a = Exact(x, terms), b = Exact(y, terms);
  Value like{.top = a.top * b.top * static_cast<double>(terms),
             .step = std::max(a.step + b.step, kUnknownStep)};
  if (IsFloat(ComponentType(x.type))) program.has_contraction = true;
  // All of these round the operands the same way on every engine, and the sums stay exact.
  const char* algorithm = "";
  if (x.type == ElementType::kF32 && random.Chance(0.15)) {
    algorithm =
        random.Pick<const char*>({", algorithm=dot_f32_f32_f32", ", algorithm=dot_bf16_bf16_f32",
                                  ", algorithm=dot_tf32_tf32_f32", ", algorithm=dot_bf16_bf16_f32_x3",
                                  ", algorithm=dot_bf16_bf16_f32_x6", ", operand_precision={highest,high}"});
  }
  Value dot = Op("dot", {a, b}, x.type, dims, attributes + algorithm, like);
  const bool is_narrow = IsFloat(x.type) && BitWidth(x.type) <= 16;
  // Dots of narrow floats may overflow their type; the overflow is the same in every order.
  return is_narrow ? Carried(dot) : dot;
}

Value Body::Dot(const Value& x, const Value& y) {
  const int64_t batch = x.rank() - 2;
  Dims dims(x.dims.begin(), x.dims.end() - 1), batches(batch);
  dims.push_back(y.dims.back());
  std::iota(batches.begin(), batches.end(), 0);
  std::string attributes;
  if (batch > 0) attributes = fmt::format("lhs_batch_dims={0}, rhs_batch_dims={0}, ", Braces(batches));
  attributes += fmt::format("lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", batch + 1, batch);
  return Dot(x, y, attributes, dims, x.dims.back());
}

Value Body::PairOf(std::string_view opcode, const Values& operands, ElementType first, ElementType second,
                   const Dims& dims, std::string_view attributes) {
  Value pair{.name = program.NewName(opcode)};
  std::string names;
  for (const Value& v : operands) names += (names.empty() ? "" : ", ") + v.name;
  Line(fmt::format("{} = ({}, {}) {}({}), {}", pair.name, ShapeText(first, dims), ShapeText(second, dims),
                   opcode, names, attributes));
  return pair;
}

Values Body::Several(std::string_view opcode, const Values& operands, const Values& results,
                     std::string_view attributes) {
  Value tuple{.name = program.NewName(opcode)};
  std::string names;
  for (const Value& v : operands) names += (names.empty() ? "" : ", ") + v.name;
  Line(fmt::format("{} = {} {}({}), {}", tuple.name, TupleShape(results), opcode, names, attributes));
  return Elements(tuple, results);
}

Value Body::Async(const std::string& computation, const Values& operands, const Value& result) {
  const Value start{.name = program.NewName("start")};
  std::string names;
  for (const Value& v : operands) names += (names.empty() ? "" : ", ") + v.name;
  Line(fmt::format("{} = ({}, {}, s32[]) async-start({}), calls={}", start.name, TupleShape(operands),
                   ShapeText(result.type, result.dims), names, computation));
  return Op("async-done", {start}, result.type, result.dims, "calls=" + computation, result);
}

Values Body::Call(std::string_view opcode, const Values& operands, const BodyFn& body) {
  Values results;
  const std::string name = Computation(opcode, operands, [&](Body& b, const Values& v) {
    results = body(b, v);
    return results;
  });
  const std::string attribute =
      opcode == "fusion" ? fmt::format("kind={}, calls={}", random.Chance(0.7) ? "kLoop" : "kInput", name)
                         : "to_apply=" + name;
  if (results.size() == 1)
    return {Op(opcode, operands, results[0].type, results[0].dims, attribute, results[0])};
  Value tuple{.name = program.NewName(opcode)};
  std::string names;
  for (const Value& v : operands) names += (names.empty() ? "" : ", ") + v.name;
  Line(fmt::format("{} = {} {}({}), {}", tuple.name, TupleShape(results), opcode, names, attribute));
  return Elements(tuple, results);
}

Values Body::While(const Values& inits, const BodyFn& condition, const BodyFn& body) {
  Values carried, inside;
  for (const Value& init : inits) {
    carried.push_back(IsIntegral(init.type) ? init : Carried(init));
    inside.push_back(Unbounded(carried.back(), program.is_exact));
  }
  const Value tuple = Tuple(carried);
  const std::string shape = TupleShape(carried);
  const auto computation = [&](std::string_view stem, const BodyFn& fn, bool as_tuple) {
    const std::string name = program.NewName(stem);
    Body inner(program, depth + 1);
    Value parameter{.name = program.NewName("state")};
    inner.Line(fmt::format("{} = {} parameter(0)", parameter.name, shape));
    Values results = fn(inner, inner.Elements(parameter, inside));
    for (Value& v : results) v = as_tuple && !IsIntegral(v.type) ? inner.Carried(v) : v;
    program.computations.push_back(inner.Text(name, results, as_tuple));
    return name;
  };
  const std::string condition_name = computation("condition", condition, false);
  const std::string body_name = computation("body", body, true);
  Value loop{.name = program.NewName("while")};
  Line(fmt::format("{} = {} while({}), condition={}, body={}", loop.name, shape, tuple.name, condition_name,
                   body_name));
  return Elements(loop, inside);
}

Values Body::Conditional(const Value& index, const std::vector<Values>& operands,
                         const std::vector<BodyFn>& branches) {
  Values results;
  std::string names = index.name, computations;
  for (size_t i = 0; i < branches.size(); ++i) {
    names += ", " + Tuple(operands[i]).name;
    const std::string name = program.NewName("branch");
    Body inner(program, depth + 1);
    Value parameter{.name = program.NewName("given")};
    inner.Line(fmt::format("{} = {} parameter(0)", parameter.name, TupleShape(operands[i])));
    Values made = branches[i](inner, inner.Elements(parameter, operands[i]));
    for (Value& v : made) v = IsIntegral(v.type) ? v : inner.Carried(v);
    program.computations.push_back(inner.Text(name, made, true));
    computations += (i > 0 ? ", " : "") + name;
    if (i == 0) {
      for (const Value& v : made) results.push_back(Unbounded(v, program.is_exact));
    }
  }
  Value chosen{.name = program.NewName("conditional")};
  const bool is_pred = IsPred(index.type);
  const size_t comma = computations.find(", ");
  const std::string attributes =
      is_pred ? fmt::format("true_computation={}, false_computation={}", computations.substr(0, comma),
                            computations.substr(comma + 2))
              : fmt::format("branch_computations={{{}}}", computations);
  Line(fmt::format("{} = {} conditional({}), {}", chosen.name, TupleShape(results), names, attributes));
  return Elements(chosen, results);
}

}  // namespace hlo::fuzz
