#pragma once
// Arithmetic of `[d0,d1]<=[r0,r1]T(p0,p1)` (text-format 6.2.1).

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/attribute.h"

namespace hlo::text {

// nullopt on overflow.
std::optional<int64_t> Product(int64_t a, int64_t b);
std::optional<int64_t> ProductOf(const std::vector<int64_t>& values);
bool IsPermutation(const std::vector<int64_t>& values, size_t count);
// Sizes of 1 vanish, and dimensions that stay neighbours become one. At least one dimension is left.
void CanonicalizeIota(std::vector<int64_t>* reshape, std::vector<int64_t>* perm);

// The devices of a tile in the order of its grid; the caller bounds their number.
std::vector<int64_t> ExpandIota(const IotaTile& tile);
// Values of a row-major array after its dimensions are put in the given order.
std::vector<int64_t> Transposed(const std::vector<int64_t>& values, const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& order);

}  // namespace hlo::text
