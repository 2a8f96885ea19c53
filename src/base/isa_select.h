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

// Returns the levels of the program, the best one first; the last entry has no name. Null in programs with a
// single instruction set.
const Level* Levels();

// Returns true if the processor has all extensions that `level` may use.
bool IsSupported(const Level& level);

// Returns true if the processor and the system support an extension of cpu_features.def.
bool HasFeature(const char* name);

// Selects `level`.
void Choose(const Level& level);

// Returns the name of the selected level, or of the program's only instruction set. Calling it also links the
// check of the processor.
const char* Name();

}  // namespace hlo::isa
