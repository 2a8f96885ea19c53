#pragma once
// Converts attributes of instructions to Python objects.

#include "python/bindings.h"

namespace hlo::python {

nb::dict Attributes(const InstructionView& view);

}  // namespace hlo::python
