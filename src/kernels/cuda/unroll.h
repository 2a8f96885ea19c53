#pragma once
// HLO_UNROLL before a short loop, so that what it indexes lies in registers.

#include "kernels/cuda/portable.h"
