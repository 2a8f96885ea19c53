#pragma once
// Which instructions only hand their operands on? Their results are leaves of the operands, or zeros.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"

namespace hlo::plan {

struct LeafSource {
  static constexpr int64_t kZeros = -1;
  int64_t operand = kZeros;
  int64_t leaf = 0;  // Of the operand, in order.
};

// One for each leaf of the result, in order; nullopt where the instruction does more. The custom calls are
// the caller's own.
std::optional<std::vector<LeafSource>> Dissolved(const Instruction& instruction,
                                                 const CustomCalls* custom_calls);

}  // namespace hlo::plan
