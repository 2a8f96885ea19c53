#pragma once
// Modules that exist, with random inner values as further results and other changes that keep every value.

#include <cstdint>
#include <string>
#include <vector>

namespace hlo::fuzz {

// The module files in folders, in the order of their paths. Read once for each list of folders.
const std::vector<std::string>& ModulesIn(const std::vector<std::string>& folders);
// A variant of one of the files; empty where it does not lend itself to that.
std::string RandomTap(uint64_t seed, const std::vector<std::string>& files);

}  // namespace hlo::fuzz
