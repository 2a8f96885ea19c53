#pragma once
// This file splits the positions of a small loop into runs, at which an access has a constant stride, and
// finds where accesses start at run time.

#include <cstdint>
#include <optional>
#include <vector>

#include "loops/loop_program.h"

namespace hlo::cpu {

struct AccessRun {
  static constexpr int32_t kNumbers = -1;

  int64_t first = 0, count = 0;  // Positions in row-major order.
  // An argument, whose elements from `element` on are accessed, `stride` apart; or kNumbers, for the integers
  // from `element` on.
  int32_t argument = kNumbers;
  int64_t element = 0, stride = 0;
  // The access whose run-time starts are added to the element; null: none.
  const loops::Access* moved_by = nullptr;

  // Starts that vary with the position are those at `first`, and the same in the whole run.
  bool has_own_starts() const;
};

// Returns the runs of an access of a program without outer dimensions, or nullopt if there are more than
// `most` or numbers that vary at run time. Strides other than 0 and 1 occur only in runs of numbers; strides
// of 0 only if `may_repeat`.
std::optional<std::vector<AccessRun>> RunsOf(const loops::LoopProgram& program, const loops::Access& access,
                                             int64_t most, bool may_repeat);

// Returns the value of an affine function at an inner position.
int64_t ValueAt(const loops::Affine& affine, absl::Span<const int64_t> inner_dims, int64_t position);

// Returns the start at run time, which does not vary with the position.
int64_t PositionOf(const loops::RuntimeStart& start, void* const* arguments);
// Returns the sum of the starts at run time that do not vary with the position, in elements.
int64_t FixedStartsOf(const loops::Access& access, void* const* arguments);
// Returns the offset of an access at the first position of both loops, without starts that vary.
inline int64_t StartOf(const loops::Access& access, void* const* arguments) {
  return access.offset + (access.starts.empty() ? 0 : FixedStartsOf(access, arguments));
}

}  // namespace hlo::cpu
