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

// A loop, or the body of a reduction and what it does with the values.
struct RowsPartProgram {
  const loops::LoopProgram* body;
  const loops::Reduction* reduction = nullptr;  // Of a loop: null.
};

// An argument that the launch reads from memory or writes.
struct RowsArgument {
  int32_t argument;
  bool is_written;
  // Every element of arguments with the same place is accessed by one thread, the same for both, that reads
  // it before it writes it. -1: this holds for no other argument.
  int32_t place;
};

struct LoweredRows {
  LoweredProgram program;
  std::vector<RowsArgument> arguments;
};

// Runs the parts in order, as if one after the other. Only arguments for which `is_live_out` holds are
// certain to be written. Returns nullopt if a part reads elements of another row that an earlier part writes,
// if its code is not one for the core, or if rows do not fit into shared memory.
std::optional<LoweredRows> LowerRows(absl::Span<const RowsPartProgram> parts,
                                     absl::FunctionRef<bool(int32_t)> is_live_out,
                                     const device::DeviceProperties& device);

}  // namespace hlo::cuda
