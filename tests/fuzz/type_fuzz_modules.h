#pragma once
// Valid modules and mutants of them that differ in a type, a size or a dimension number.

#include <cstdint>
#include <random>
#include <string>

#include "absl/types/span.h"

namespace hlo::fuzz {

// A source of decisions: a fuzzing engine's bytes or pseudo-random numbers.
class Choices {
 public:
  explicit Choices(absl::Span<const uint8_t> bytes) : bytes_(bytes), is_random_(false) {}
  Choices(int64_t seed, int64_t iteration)
      : random_(static_cast<uint64_t>(seed) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(iteration)) {}

  // Returns a number in [0, count).
  int64_t Below(int64_t count);
  bool OneIn(int64_t count) { return Below(count) == 0; }

 private:
  absl::Span<const uint8_t> bytes_;
  bool is_random_ = true;
  std::mt19937_64 random_;
};

// Returns one of the modules, on arrays of about `elements` elements, after a few mutations. Most are
// invalid.
std::string MakeMutant(Choices& choices, int64_t elements);

}  // namespace hlo::fuzz
