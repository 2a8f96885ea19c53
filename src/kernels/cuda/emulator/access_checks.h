#pragma once
// Checks of the memory accesses of emulated kernels, in builds with HLO_RUN_EMULATOR_CHECKS. The compiler
// then calls a function before each load and store of a kernel body. A kernel fails if
//   * two threads access the same byte, at least one of them writes it, and no barrier orders the accesses: a
//     barrier of the block, or one of the warp (sync_warp) if both are in it. Shuffles and ballots order
//     nothing. Nothing orders accesses of different blocks of a launch. Atomic and volatile accesses do not
//     conflict with each other;
//   * an address is less aligned than its type.
// Waits for mbarriers are not modelled: after a TMA copy, the bytes that it writes have no earlier accesses.

#include <cstddef>
#include <cstdint>

namespace hlo::cuda::emulator {

struct Fiber;

enum class Access : uint8_t { kRead, kWrite, kAtomic };

#ifdef HLO_RUN_EMULATOR_CHECKS

// The position of a thread in the order that barriers make.
struct AccessClock {
  uint16_t block = 0, thread = 0;      // The block's number in the launch.
  uint16_t syncs = 0, warp_syncs = 0;  // Barriers that the thread has passed.
  int32_t unchecked = 0;               // The number of Unchecked objects.
  const std::byte *stack = nullptr, *stack_end = nullptr;
};
AccessClock& ClockOf(Fiber& fiber);

// Forgets all accesses; launches are ordered.
void StartLaunchChecks();
// Sets the thread that accesses memory next; nullptr: none does.
void SetAccessingFiber(Fiber* fiber);
// Checks and records an access of the current thread.
void NoteAccess(const void* address, size_t byte_count, Access access);
// Forgets the accesses to this memory.
void ForgetAccesses(const void* address, size_t byte_count);

// The emulator's own accesses within a kernel are not checked while this exists.
class Unchecked {
 public:
  explicit Unchecked(Fiber& fiber);
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
  ~Unchecked();

 private:
  AccessClock& clock_;
};

#else

inline void NoteAccess(const void*, size_t, Access) {}
inline void ForgetAccesses(const void*, size_t) {}
struct Unchecked {
  explicit Unchecked(Fiber&) {}
};

#endif

}  // namespace hlo::cuda::emulator
