#pragma once
// Forwarding: instructions whose results are leaves of their operands, or zeros.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"

namespace hlo::plan {

struct LeafSource {
  static constexpr int64_t kZeros = -1;
  int64_t operand = kZeros;
  int64_t leaf = 0;  // The number of the leaf within the operand.
};

// Returns one source for each leaf of the result; nullopt if the instruction computes anything.
// `custom_calls` are the user's.
std::optional<std::vector<LeafSource>> ForwardedLeaves(const Instruction& instruction,
                                                       const CustomCalls* custom_calls);

}  // namespace hlo::plan
