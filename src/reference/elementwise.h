#pragma once
// Scalar kernels of elementwise instructions, for arrays and for the scalars of to_apply computations.

#include <cmath>
#include <complex>
#include <optional>
#include <type_traits>

#include "reference/wide_scalar.h"

namespace hlo::reference {

struct ScalarStep;
// Computes one element; excess operands are ignored. The result is rounded to the instruction's type.
using ScalarKernel = WideScalar (*)(const ScalarStep& step, const WideScalar& a, const WideScalar& b,
                                    const WideScalar& c);

struct ScalarStep {
  ScalarKernel kernel = nullptr;
  ElementType from, to;  // The types of the first operand and of the result.
  int bits, result_bits;
  ScalarRound round;
  // For reduce-precision; stochastic-convert uses the width of its random numbers.
  int exponent_bits = 0, mantissa_bits = 0, random_bits = 0;

  WideScalar operator()(const WideScalar& a, const WideScalar& b = {}, const WideScalar& c = {}) const {
    return kernel(*this, a, b, c);
  }
};

// Returns nullopt for instructions that are not elementwise, and for types without semantics for the
// operation.
std::optional<ScalarStep> FindScalarStep(const Instruction& instruction);
// Likewise for a scalar opcode whose operands and result have the same type.
std::optional<ScalarStep> FindScalarStep(Opcode opcode, ElementType type);
bool IsElementwise(Opcode opcode);
// Returns the conversion between two types, as `convert` performs it.
ScalarStep ConvertStep(ElementType from, ElementType to);
// Returns the reinterpretation of a scalar's bits as another type of the same width; nullopt for other
// widths.
std::optional<ScalarStep> BitcastStep(const Instruction& bitcast);
// Returns the comparison a < b in the total order of the type (semantics 3.9).
ScalarStep TotalOrderLess(ElementType type);

// Computes result element i from operand elements i; scalar operands are broadcast.
absl::StatusOr<Literal> EachElement(OpContext& context);

// Accesses the value in a WideScalar.
template <Wide W>
W Unwrap(const WideScalar& value) {
  if constexpr (std::is_same_v<W, bool>)
    return value.u != 0;
  else if constexpr (std::is_same_v<W, int64_t>)
    return value.s;
  else if constexpr (std::is_same_v<W, uint64_t>)
    return value.u;
  else if constexpr (std::is_same_v<W, double>)
    return value.f;
  else
    return {value.f, value.imag};
}
// Returns a rounded result.
template <Wide W>
WideScalar Wrap(const ScalarStep& step, W value) {
  WideScalar result;
  if constexpr (std::is_same_v<W, bool>) {
    result.u = value ? 1 : 0;
  } else if constexpr (std::is_same_v<W, int64_t>) {
    result.s = SignExtend(value, step.result_bits);
  } else if constexpr (std::is_same_v<W, uint64_t>) {
    result.u = ZeroExtend(value, step.result_bits);
  } else if constexpr (std::is_same_v<W, double>) {
    result.f = step.round(value);
  } else {
    result.f = step.round(value.real());
    result.imag = step.round(value.imag());
  }
  return result;
}

// Constructs a function object of types/scalar_ops.h, with the operand's width if it takes one.
template <class F>
F MakeOperation(const ScalarStep& step) {
  if constexpr (requires { F{1}; })
    return F{step.bits};
  else
    return (void)step, F{};
}

// Returns the function object's kernel for a type class; nullptr if it is not defined for it.
template <class F>
ScalarKernel KernelOf(ElementType type) {
  return DispatchWide(type, []<class W>() -> ScalarKernel {
    if constexpr (std::is_invocable_v<F, W>) {
      return [](const ScalarStep& s, const WideScalar& a, const WideScalar&, const WideScalar&) {
        return Wrap(s, MakeOperation<F>(s)(Unwrap<W>(a)));
      };
    } else if constexpr (std::is_invocable_v<F, W, W>) {
      return [](const ScalarStep& s, const WideScalar& a, const WideScalar& b, const WideScalar&) {
        return Wrap(s, MakeOperation<F>(s)(Unwrap<W>(a), Unwrap<W>(b)));
      };
    } else if constexpr (std::is_invocable_v<F, W, W, W>) {
      return [](const ScalarStep& s, const WideScalar& a, const WideScalar& b, const WideScalar& c) {
        return Wrap(s, MakeOperation<F>(s)(Unwrap<W>(a), Unwrap<W>(b), Unwrap<W>(c)));
      };
    } else {
      return nullptr;
    }
  });
}

}  // namespace hlo::reference
