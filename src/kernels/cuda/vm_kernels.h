#pragma once
// The kernels of the machine for elementwise code: by the words of its values and how many a thread computes.

#include "kernels/cuda/coded_body.h"
#include "kernels/cuda/reduce_vm_body.h"
#include "kernels/cuda/vm_body.h"

namespace hlo::cuda {

using TileVm4 = TileVm<1, 4>;   // Everything of 32 bits and fewer.
using TileVm8 = TileVm<2, 2>;   // And of 64.
using TileVm16 = TileVm<4, 1>;  // And c128.

using ReduceVm4 = ReduceVm<1>;
using ReduceVm8 = ReduceVm<2>;
using ReduceVm16 = ReduceVm<4>;

}  // namespace hlo::cuda
