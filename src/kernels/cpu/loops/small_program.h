#pragma once
// A loop of a few elements as a list of calls: no registers to choose, no rows to walk, no memory of its own.
// What steps on scalars cost is what it costs to call them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

struct RuntimeStart;

struct SmallProgram {
  static constexpr int64_t kScratchBytes = 2048;

  // bytes `offset` behind a pointer of the run, or behind the scratch memory; moved by a run-time start.
  struct Place {
    static constexpr int32_t kScratch = -1;
    int32_t argument = kScratch;
    int32_t start = 0;  // Which of the starts; 0: none.
    int64_t offset = 0;
    int32_t width = 0;  // Bytes of an element.
  };
  struct Call {
    TileCall call;
    Place out;
    std::array<Place, 3> in;
  };
  struct Start {
    int32_t argument;
    ElementType type;
    int64_t byte_offset;  // Of the number.
    int64_t max;
    int64_t byte_stride;
    int32_t number;  // Starts of one number stand side by side and add up.
  };

  static constexpr int64_t kMostInFrame = 64;  // Elements; of more there is one call.
  int64_t count = 0;
  std::vector<Call> calls;
  std::vector<Start> starts;
  static constexpr int32_t kMostStarts = 16;

  void Run(void* const* arguments) const;
};

}  // namespace hlo::cpu
