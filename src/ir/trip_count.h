#pragma once
// Trip counts of loops, as far as the text of a module says them.

#include <cstdint>
#include <optional>

#include "hlo_run/module.h"

namespace hlo {

// Returns the trip count that XLA has recorded in backend_config={"known_trip_count":{"n":"5"}}, or that of a
// loop that counts up from one constant to another. It is unknown if the instruction is not a `while`.
std::optional<int64_t> StaticTripCount(const Instruction& loop);

}  // namespace hlo
