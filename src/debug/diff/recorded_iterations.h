#pragma once
// Compares the recorded values of single iterations of loops.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debug/diff/diff.h"

namespace hlo::debug {

// Runs the module on the arguments, and compares its values with those recorded under these keys of `trace`
// (see KeyOf), such as `add.3@2` in iteration 2 of a loop, or `w.1`, an element of a tuple. Keys that name no
// value of the run are counted in `unknown_keys`.
absl::Status CompareIterations(const CheckedModule& module, Archive& recorded,
                               const std::vector<std::string>& keys, const std::vector<Literal>& arguments,
                               const DiffOptions& options, RecordedIterations& result);

}  // namespace hlo::debug
