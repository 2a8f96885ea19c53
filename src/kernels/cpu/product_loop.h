#pragma once
// A loop over the result of a dot or convolution, block by block as the product finishes them.

#include <cstdint>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {

// The epilogue that runs `program`, whose positions are those of the product's result. Of its arguments,
// number `product` stands for that result, of elements of `byte_count` bytes; it has no pointer of its own.
// Both outlive the epilogue.
class ProductLoop {
 public:
  ProductLoop(const TileProgram& program, absl::Span<void* const> arguments, int32_t product,
              int64_t byte_count, bool in_place)
      : program_(program),
        arguments_(arguments),
        product_(product),
        byte_count_(byte_count),
        in_place_(in_place) {}
  GemmEpilogue epilogue() const { return {&RunBlock, this, program_.nanoseconds_per_element()}; }

 private:
  static void RunBlock(const void* loop, const ProductBlock& block);

  const TileProgram& program_;
  absl::Span<void* const> arguments_;
  int32_t product_;
  int64_t byte_count_;
  bool in_place_;
};

}  // namespace hlo::cpu
