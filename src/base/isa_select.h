#pragma once
// The interface between isa.cc and isa_select.cc. The latter runs before anything else and therefore knows no
// C++ library.

namespace hlo::isa {

// Returns the name of the program's instruction set. Whoever calls it also links the check of the processor.
const char* Name();

}  // namespace hlo::isa
