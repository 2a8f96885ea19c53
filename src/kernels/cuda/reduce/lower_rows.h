#pragma once
// Lowers loops and reductions over the same rows to one launch (rows_body.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// A loop, or the body of a reduction together with the reduction.
struct RowsPartProgram {
  const loops::LoopProgram* body;
  const loops::Reduction* reduction = nullptr;  // Null for a loop.
};

// An argument that the launch reads from memory or writes.
struct RowsArgument {
  int32_t argument;
  bool is_written;
  // Arguments have the same pattern if one thread accesses each element of both, and reads it before it
  // writes it. -1: no other argument has the same pattern.
  int32_t pattern;
};

struct LoweredRows {
  LoweredProgram program;
  std::vector<RowsArgument> arguments;
};

// Runs the parts in order, as if one after the other. Only arguments for which `is_live_out` holds are
// certain to be written. Returns nullopt if a part reads elements of another row that an earlier part writes,
// if the 32-bit VM does not support its code, or if rows do not fit into shared memory.
std::optional<LoweredRows> LowerRows(absl::Span<const RowsPartProgram> parts,
                                     absl::FunctionRef<bool(int32_t)> is_live_out,
                                     const device::DeviceProperties& device);

}  // namespace hlo::cuda
