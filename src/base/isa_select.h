#pragma once
// The interface between isa.cc, isa_select.cc and the levels of portable programs
// (tools/cmake/isa_levels.sh). isa_select.cc runs before anything else and therefore includes no header of
// the C++ library.

#include <stdint.h>

namespace hlo::isa {

// An instruction set that the kernels of a portable program are compiled for.
struct Level {
  const char* name;
  const uint64_t* features;      // The extensions that its code may use, by the bits of cpu_features.def.
  const void* const* functions;  // Its version of each kernel function.
};

// Returns the levels of the program, the best first; the last one has no name. Null in programs that have one
// instruction set.
const Level* Levels();

// Returns true if the processor has all extensions that `level` may use.
bool IsSupported(const Level& level);

// Makes `level` the one that runs.
void Choose(const Level& level);

// Returns the name of the level that runs, or that of the program's only instruction set. Whoever calls it
// also links the check of the processor.
const char* Name();

}  // namespace hlo::isa
