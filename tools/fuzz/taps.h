#pragma once
// Variants of existing modules, with random inner values as additional results and other changes that
// preserve every value.

#include <cstdint>
#include <string>
#include <vector>

namespace hlo::fuzz {

// Returns the module files in folders, in order of path. Cached per list of folders.
const std::vector<std::string>& ModulesIn(const std::vector<std::string>& folders);
// Returns a variant of one of the files; empty if the file is unsuitable.
std::string RandomTap(uint64_t seed, const std::vector<std::string>& files);

}  // namespace hlo::fuzz
