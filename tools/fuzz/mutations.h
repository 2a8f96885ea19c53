#pragma once
// Variants of existing modules, with random inner values as additional results and other changes that
// preserve every value.

#include <cstdint>
#include <string>
#include <vector>

namespace hlo::fuzz {

// Returns the modules in the .hlo files of folders, in the order of their paths. Files are read once for each
// list of folders.
const std::vector<std::string>& ModulesIn(const std::vector<std::string>& folders);
// Returns a variant of one of the modules; empty if the module that was drawn cannot be changed.
std::string RandomMutation(uint64_t seed, const std::vector<std::string>& modules);

}  // namespace hlo::fuzz
