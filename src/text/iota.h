#pragma once
// Arithmetic of iota tiles `[d0,d1]<=[r0,r1]T(p0,p1)` (text-format 6.2.1).

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/attribute.h"

namespace hlo::text {

// Return nullopt on overflow.
std::optional<int64_t> Product(int64_t a, int64_t b);
std::optional<int64_t> ProductOf(const std::vector<int64_t>& values);
bool IsPermutation(const std::vector<int64_t>& values, size_t count);
// Removes dimensions of size 1 and merges dimensions that stay adjacent. At least one dimension remains.
void CanonicalizeIota(std::vector<int64_t>* reshape, std::vector<int64_t>* perm);

// Returns the devices of a tile in row-major order of its grid. The caller limits their number.
std::vector<int64_t> ExpandIota(const IotaTile& tile);
// Returns the values of a row-major array after transposing its dimensions to `order`.
std::vector<int64_t> Transposed(const std::vector<int64_t>& values, const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& order);

}  // namespace hlo::text
