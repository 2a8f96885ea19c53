#pragma once
// Compiles a to_apply computation on scalars (combiner, comparator, map body) for execution once per element.

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "reference/op.h"
#include "types/wide.h"

namespace hlo::reference {

// A scalar in the wide type of its element type (types/dispatch.h); bool is 0 or 1 in `u`.
struct WideScalar {
  union {
    int64_t s;
    uint64_t u;
    double f;
  };
  double imag = 0;  // Complex numbers; `f` is the real part.
  WideScalar() : u(0) {}
};

// Load and store element i of an array literal; storing rounds to the literal's type.
WideScalar LoadScalar(const Literal& literal, int64_t i);
void StoreScalar(Literal& literal, int64_t i, const WideScalar& value);

// Returns the types of the arrays.
std::vector<ElementType> TypesOf(absl::Span<const Literal> arrays);

// True if a computation adds its two parameters.
bool IsSumOfParameters(const Computation& computation);

class ScalarFunction {
 public:
  virtual ~ScalarFunction() = default;
  // Runs the computation. `results` has one entry, or one per element of a tuple root. Values are rounded to
  // the declared type after every instruction. Computations with other instructions than scalar elementwise
  // ones (calls, while, nested tuples, ...) are evaluated by the caller, so every computation with scalar
  // parameters and results is supported.
  virtual absl::Status Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) = 0;

  // Arguments of other types than the parameters are converted to these if `argument_types` names the types.
  static absl::StatusOr<std::unique_ptr<ScalarFunction>> Make(
      const Computation& computation, Caller& caller, absl::Span<const ElementType> argument_types = {});
};

}  // namespace hlo::reference
