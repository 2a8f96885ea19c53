#pragma once
// Which instruction stands at a place of a text? Also where the text is no module.

#include <cstdint>
#include <string_view>

#include "hlo_run/source_text.h"

namespace hlo::text {

// The name of the instruction whose text holds the offset, without `%`; "" outside of instructions.
std::string_view InstructionNameAt(const SourceText& source, uint32_t offset);

}  // namespace hlo::text
