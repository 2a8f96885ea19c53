#pragma once
// Made-up elements.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hlo_run/io.h"
#include "io/index_operands.h"

namespace hlo::io {

// The values of one array.
struct ArrayFill {
  InputFill fill = InputFill::kUniform;
  std::optional<InputRange> range;
  int64_t limit = kNoIndexLimit;  // Integers are at most this; then they are not negative.
};

// Fills array number `array` of those that are made from one seed. FailedPrecondition where the range holds
// no value of the array's type.
absl::Status FillArray(Literal& literal, const ArrayFill& fill, uint64_t seed, uint64_t array);

// As MakeInputs, for the parameters that are wanted alone; the others are literals without a value.
absl::StatusOr<std::vector<Literal>> MakeSomeInputs(const Module& module, const MakeOptions& options,
                                                    const std::function<bool(size_t)>& is_wanted);

}  // namespace hlo::io
