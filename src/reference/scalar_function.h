#pragma once
// A to_apply computation over scalars (combiners, comparators, map bodies), made ready to be run once per
// element.

#include <complex>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "reference/op.h"
#include "types/wide.h"

namespace hlo::reference {

// One scalar in the wide type of its element type (types/dispatch.h); bool is held as 0 or 1 in `u`.
struct WideScalar {
  union {
    int64_t s;
    uint64_t u;
    double f;
  };
  double imag = 0;  // Complex: f is the real part.
  WideScalar() : u(0) {}
};

// Element i of an array literal, and storing one (rounds to the literal's type).
WideScalar LoadScalar(const Literal& literal, int64_t i);
void StoreScalar(Literal& literal, int64_t i, const WideScalar& value);

class ScalarFunction {
 public:
  virtual ~ScalarFunction() = default;
  // `results` has one entry, or as many as the root tuple has elements. Values are rounded to the declared
  // type after every instruction. Computations that are not made of scalar elementwise instructions alone
  // (calls, while, tuples inside, ...) are evaluated through the caller, so every computation with scalar
  // parameters and results works.
  virtual absl::Status Run(absl::Span<const WideScalar> arguments, absl::Span<WideScalar> results) = 0;

  static absl::StatusOr<std::unique_ptr<ScalarFunction>> Make(const Computation& computation, Caller& caller);
};

}  // namespace hlo::reference
