#pragma once
// Instances of the tile VM, by words per value and values per thread.

#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

using TileVm4 = TileVm<1, 4>;   // Types of up to 32 bits.
using TileVm8 = TileVm<2, 2>;   // Types of up to 64 bits.
using TileVm16 = TileVm<4, 1>;  // All types, including c128.

}  // namespace hlo::cuda
