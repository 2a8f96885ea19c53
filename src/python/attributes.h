#pragma once
// Attributes of instructions as Python's objects.

#include "python/bindings.h"

namespace hlo::python {

nb::dict Attributes(const InstructionView& view);

}  // namespace hlo::python
