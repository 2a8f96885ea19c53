#pragma once
// Generates elements of arrays.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hlo_run/io.h"
#include "io/index_operands.h"

namespace hlo::io {

// Determines the values of an array.
struct ArrayFill {
  InputFill fill = InputFill::kUniform;
  std::optional<InputRange> range;
  int64_t limit = kNoIndexLimit;  // If set, integers are in [0, limit].
};

// Fills array number `array` of a seed. Returns FailedPrecondition if the range contains no value of the
// array's type.
absl::Status FillArray(Literal& literal, const ArrayFill& fill, uint64_t seed, uint64_t array);

// Generates the wanted parameters as MakeInputs does; the others are literals without a value. `shapes` may
// replace those of the parameters.
absl::StatusOr<std::vector<Literal>> MakeSomeInputs(const Module& module, const MakeOptions& options,
                                                    const std::function<bool(size_t)>& is_wanted,
                                                    absl::Span<const Shape> shapes = {});

}  // namespace hlo::io
