#pragma once
// Where does each value lie in one piece of memory, if those that are needed at the same time must not
// overlap?

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace hlo::plan {

struct Lifetime {
  int64_t begin, end;  // Inclusive.
  int64_t byte_count;
};

struct Placement {
  // One for each lifetime, aligned to its size rounded up to a power of two, or 64.
  std::vector<int64_t> offsets;
  int64_t byte_count = 0;
};

// As little memory as two simple orders get by with.
Placement PlaceLifetimes(absl::Span<const Lifetime> lifetimes);

}  // namespace hlo::plan
