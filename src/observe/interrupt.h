#pragma once
// The flag by which the user interrupts the program.

#include <atomic>

namespace hlo {

// Signal handlers may set it. Runs whose options have it as `cancel` end at their next check.
inline std::atomic<bool> interrupt_flag{false};

inline bool IsInterrupted() { return interrupt_flag.load(std::memory_order_relaxed); }

}  // namespace hlo
