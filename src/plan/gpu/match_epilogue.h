#pragma once
// Recognises loops over the result of a product (a dot or convolution) that its kernel can apply when it
// stores the result.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cuda/gemm/epilogue.h"
#include "loops/loop_program.h"

namespace hlo::plan {

struct MatchedEpilogue {
  cuda::Epilogue epilogue;
  std::vector<int32_t> arrays;  // The loop's arguments that are the epilogue's arrays.
  int32_t stored = -1;          // The argument that the loop writes.
};

// Returns the epilogue that is equivalent to `loop`. `product` is the argument that is the product's result,
// dense, with `count` elements of type `declared`. The loop must read each element once, in order
// (analysis/elementwise_loop.h), and apply only add, subtract, multiply, maximum, minimum and conversions,
// with operands of the result's shape or broadcast vectors. Returns nullopt otherwise.
std::optional<MatchedEpilogue> MatchEpilogue(const loops::LoopProgram& loop, int32_t product,
                                             ElementType declared, int64_t count);

}  // namespace hlo::plan
