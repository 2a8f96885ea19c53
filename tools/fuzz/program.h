#pragma once
// Writes random modules as text, instruction by instruction, and tracks the range of values.
//
// Floating values are multiples of 2^step with magnitude at most `top`. A sum of products is exact in every
// order if all partial sums fit into the significand of the accumulator, so that every correct evaluator
// gives the same bits; Exact() makes operands of contractions and reductions fit. Elementwise arithmetic
// needs no such care, because the contract specifies its bits.

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/element_type.h"
#include "random.h"

namespace hlo::fuzz {

using Dims = std::vector<int64_t>;

struct Value {
  std::string name;
  ElementType type = ElementType::kF32;
  Dims dims;
  double top = 3;
  int step = 0;       // kUnknownStep: any value of the type.
  std::string shape;  // The text of a shape with a layout or dynamic dimensions; empty for others.

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};
inline constexpr int kUnknownStep = -100000;

int64_t Count(const Dims& dims);
std::string Braces(const Dims& items);
std::string ShapeText(ElementType type, const Dims& dims);
std::string ShapeText(const Value& value);
// Returns the text of a constant of this type.
std::string NumberText(ElementType type, double number);

// An elementary function of one operand; it is finite and at most `top` in magnitude on [low, high].
struct Function {
  std::string_view opcode;
  double low, high, top;
};
const std::vector<Function>& UnaryFunctions();

using Values = std::vector<Value>;
class Body;
using BodyFn = std::function<Values(Body&, const Values&)>;

// A module: finished computations and the parameters of the entry.
class Program {
 public:
  // `is_exact`: all results must have the reference's bits. `is_wild`: parameters may contain infinities and
  // NaN.
  Program(uint64_t seed, bool is_exact, bool is_wild) : random(seed), is_exact(is_exact), is_wild(is_wild) {}

  std::string NewName(std::string_view stem);
  // Returns the text of the module; the entry's body must be complete.
  std::string Finish(const Body& entry, const Values& results);

  Random random;
  const bool is_exact, is_wild;
  bool has_contraction = false;  // Signs of zeros may then differ.
  bool may_be_large = false;
  std::deque<std::string> computations;

 private:
  int64_t names_ = 0;
};

// The instructions of one computation.
class Body {
 public:
  Body(Program& program, int depth) : program(program), random(program.random), depth(depth) {}

  Value Parameter(std::string_view stem, ElementType type, const Dims& dims);
  Value Parameter(std::string_view stem, const Value& like);
  // Adds an instruction; `like` gives the range of its result.
  Value Op(std::string_view opcode, const Values& operands, ElementType type, const Dims& dims,
           std::string_view attributes, const Value& like);
  // Adds an instruction with the shape and the range of `result`.
  Value Shaped(std::string_view opcode, const Values& operands, const Value& result,
               std::string_view attributes = "");

  // Adds a unary instruction whose result has a layout.
  Value UnaryWithLayout(std::string_view opcode, const Value& x, const Dims& dims,
                        const Dims& minor_to_major);

  Value Constant(ElementType type, double number);
  Value Splat(ElementType type, const Dims& dims, double number);
  Value Iota(ElementType type, const Dims& dims, int64_t dimension);

  Value Unary(std::string_view opcode, const Value& x);
  // The operands must have the same shape. Results that could overflow are clamped.
  Value Binary(std::string_view opcode, const Value& x, const Value& y);
  Value Compare(const Value& x, const Value& y, std::string_view direction);
  Value Select(const Value& p, const Value& x, const Value& y);
  Value Convert(const Value& x, ElementType type);
  Value Clamp(const Value& x, double low, double high);

  Value Broadcast(const Value& x, const Dims& dims, const Dims& mapping);
  Value Reshape(const Value& x, const Dims& dims);
  Value Transpose(const Value& x, const Dims& permutation);
  Value Slice(const Value& x, const Dims& starts, const Dims& limits, const Dims& strides = {});
  Value Concatenate(const Values& pieces, int64_t dimension);
  Value Pad(const Value& x, double number, const Dims& low, const Dims& high, const Dims& interior = {});
  Value Reverse(const Value& x, const Dims& dimensions);
  Value DynamicSlice(const Value& x, const Values& starts, const Dims& sizes);
  Value DynamicUpdateSlice(const Value& x, const Value& update, const Values& starts);

  // Reduces dimensions by addition, multiplication or an extremum, starting from the identity element.
  Value Reduce(std::string_view opcode, const Value& x, const Dims& dimensions);
  // Contracts the last dimension of x with the second to last of y; the dimensions before are batch
  // dimensions.
  Value Dot(const Value& x, const Value& y);
  Value Dot(const Value& x, const Value& y, const std::string& attributes, const Dims& dims, int64_t terms);

  Values Call(std::string_view opcode, const Values& operands, const BodyFn& body);  // A call or fusion.
  // Adds async-start and async-done of a computation with this result.
  Value Async(const std::string& computation, const Values& operands, const Value& result);
  Values While(const Values& inits, const BodyFn& condition, const BodyFn& body);
  Values Conditional(const Value& index, const std::vector<Values>& operands,
                     const std::vector<BodyFn>& branches);
  // Adds a computation with these parameters. Returns its name.
  std::string Computation(std::string_view stem, const Values& parameters, const BodyFn& body);
  // Adds a combiner of two scalars.
  std::string Combiner(std::string_view opcode, ElementType type);
  // Adds a comparator of scalars; `more` are additional pairs of parameters that it ignores.
  std::string Comparator(ElementType type, std::string_view direction, const Values& more = {});

  // Returns the value as integers small enough for exact sums of `terms` products of two such values.
  Value Exact(const Value& x, int64_t terms);
  // Returns the same for sums of `terms` values that are rounded to their type after every addition.
  Value ExactInType(const Value& x, int64_t terms);
  // Returns the value with another type and other sizes: converted, sliced, padded, broadcast or reshaped.
  Value Fit(const Value& x, ElementType type, const Dims& dims);
  // Returns the value clamped to the range of loop-carried values and branch results.
  Value Carried(const Value& x);

  // Adds an instruction whose result is a tuple of arrays like `results`. Returns its elements.
  Values Several(std::string_view opcode, const Values& operands, const Values& results,
                 std::string_view attributes);
  // Adds an instruction whose result is a pair of arrays of these sizes; Elements() extracts them.
  Value PairOf(std::string_view opcode, const Values& operands, ElementType first, ElementType second,
               const Dims& dims, std::string_view attributes);
  Value Tuple(const Values& values);
  Values Elements(const Value& tuple, const Values& like);
  std::string Text(std::string_view header, const Values& results, bool as_tuple);

  Program& program;
  Random& random;
  const int depth;  // Number of enclosing loops and branches.

 private:
  void Line(std::string text) { lines_.push_back(std::move(text)); }
  // Returns the shape of a tuple of these values.
  std::string TupleShape(const Values& values) const;

  std::vector<std::string> lines_;
  int64_t parameters_ = 0;
};

}  // namespace hlo::fuzz
