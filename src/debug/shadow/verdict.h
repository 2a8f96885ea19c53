#pragma once
// Judges the result of another implementation by a shadow run.

#include <cstdint>
#include <string>
#include <vector>

#include "debug/shadow/shadow.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

enum class RoundingVerdict : uint8_t {
  kExplained,       // The difference is within the error bound.
  kIllConditioned,  // The difference is within the bound, which is large because of an ill-conditioned
                    // instruction.
  kNotJudged,       // No element has a bound, and some differ from the declared values.
  kBeyondEstimate,  // The difference exceeds the bound, which is an estimate.
  kBug,             // Rounding cannot explain the difference.
};

// The verdict for an output.
struct OutputVerdict {
  std::string key;  // The shape index of the leaf, as in ArrayLeaves.
  RoundingVerdict verdict = RoundingVerdict::kExplained;
  std::string problem;  // A difference of shapes.
  // The element with the largest error relative to its bound, and its values.
  std::vector<int64_t> index;
  std::string got, declared;
  bool is_discrete = false;  // It is neither a float nor a complex number.
  double wide = 0;
  double error_ulp = 0, bound_ulp = 0;  // The error and the bound of that element.
  int64_t outside = 0;                  // The number of elements beyond their bounds.
  int64_t outside_proven = 0;           // The number of those whose bound is not an estimate.
  int64_t unbounded = 0;                // The number of elements that may have any value.
  // kIllConditioned, kNotJudged: the worst ill-conditioned instruction; nullptr if there is none.
  const InstructionError* cause = nullptr;
};

// True if an element is beyond its bound.
bool IsUnexplained(const OutputVerdict& verdict);
// True if rounding explains the difference: the elements with a bound are within it.
bool IsExplained(const OutputVerdict& verdict);

// Compares an array with a value and its bound; the verdict is not kIllConditioned.
OutputVerdict JudgeArray(const ShadowValue& value, const Literal& got);

// Returns the verdicts in the order of the outputs of the module. `got` is the other result.
std::vector<OutputVerdict> Judge(const ShadowReport& report, const Module& module, const Literal& got);

std::string ToString(const OutputVerdict& verdict);
nlohmann::ordered_json ToJson(const OutputVerdict& verdict);

}  // namespace hlo::debug
