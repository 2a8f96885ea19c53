#pragma once
// Instances of the VM kernels, by words per value and values per thread.

#include "kernels/cuda/coded_body.h"
#include "kernels/cuda/reduce_vm_body.h"
#include "kernels/cuda/vm_body.h"

namespace hlo::cuda {

using TileVm4 = TileVm<1, 4>;   // Types of up to 32 bits.
using TileVm8 = TileVm<2, 2>;   // Types of up to 64 bits.
using TileVm16 = TileVm<4, 1>;  // All types, including c128.

using ReduceVm4 = ReduceVm<1>;
using ReduceVm8 = ReduceVm<2>;
using ReduceVm16 = ReduceVm<4>;

}  // namespace hlo::cuda
