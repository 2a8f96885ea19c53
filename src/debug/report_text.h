#pragma once
// Texts that several reports contain.

#include <cstdint>
#include <string>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::debug {

// Prints `{1} at {0,3}`: a leaf of a result and an index.
std::string PlaceText(const Shape& shape, int64_t leaf, const std::vector<int64_t>& index);
// Prints an instruction without layouts, in the short form.
std::string ShortText(const Instruction& instruction);
// Prints `%a -> %b -> %c`, with at most 12 names.
std::string PathText(const std::vector<const Instruction*>& path);

}  // namespace hlo::debug
