#pragma once
// Reductions of the values that a loop program yields, along its inner dimensions (rows) or its outer ones
// (columns).

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/opcode.h"
#include "loops/loop_program.h"
#include "loops/scalar_function.h"

namespace hlo::loops {

// The permitted reassociation of a combiner: none, between adjacent values, or in any order.
enum class Reassociation : uint8_t { kNone, kAdjacent, kAny };

struct Reduction {
  // The inner dimensions of the program are the reduced ones and the outer ones are kept if `rows`, otherwise
  // the reverse.
  bool rows = true;
  // Maps (accumulators..., values...) to accumulators. Rows are combined in an unspecified order if
  // reordering affects nothing but rounding.
  ScalarFunction combiner{{}};
  Reassociation reassociation = Reassociation::kAny;
  // The associative operation that the combiner of a single value is, except for rounding.
  std::optional<Opcode> fold = std::nullopt;
  struct Result {
    int32_t init, output;  // Arguments of the run: a scalar and the dense result.
    ElementType init_type, output_type;
  };
  std::vector<Result> results = {};
  // The length of the parts that are contiguous in a tile, for rows in which adjacent values are combined.
  // The last outer dimension iterates over the parts.
  int64_t part_length = 1;
  // The combiner of (value, position) pairs is argmax or argmin: it keeps the first largest or smallest
  // value, or the first NaN.
  enum class ArgMinMax : uint8_t { kNone, kArgMax, kArgMin };
  ArgMinMax arg_min_max = ArgMinMax::kNone;
  // Among equal values, which may be zeros of both signs, the last value is paired with the first position.
  bool keeps_last_value = false;
  // It is an argmax or argmin only of values without NaNs; rows with a NaN are combined in order.
  bool excludes_nans = false;

  // Return the numbers of kept and reduced positions of the body.
  template <class Body>
  int64_t KeptCount(const Body& body) const {
    return rows ? body.outer_count() / part_length : body.inner_count();
  }
  template <class Body>
  int64_t ReducedCount(const Body& body) const {
    return rows ? body.inner_count() * part_length : body.outer_count();
  }
  // Returns the operation if the combiner is one scalar opcode on an accumulator and a value.
  const Operation* BinaryOperation() const;
};

struct ReduceProgram : Reduction {
  LoopProgram body;  // Yields the values to be reduced.
  int64_t kept_count() const { return KeptCount(body); }
  int64_t reduced_count() const { return ReducedCount(body); }
};

}  // namespace hlo::loops
