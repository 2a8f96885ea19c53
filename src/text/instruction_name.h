#pragma once
// Finds the instruction at a location in text, which need not be a valid module.

#include <cstdint>
#include <string_view>

#include "hlo_run/source_text.h"

namespace hlo::text {

// Returns the name, without `%`, of the instruction whose text contains the offset; "" outside of
// instructions.
std::string_view InstructionNameAt(const SourceText& source, uint32_t offset);

}  // namespace hlo::text
