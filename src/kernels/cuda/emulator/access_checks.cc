#include "kernels/cuda/emulator/access_checks.h"

#include <array>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "kernels/cuda/emulator/emulator.h"

#ifdef HLO_RUN_EMULATOR_CHECKS

namespace hlo::cuda::emulator {
namespace {

// The latest accesses of one kind to a byte.
struct LatestAccess {
  uint16_t block = 0;
  uint16_t thread : 10 = 0;
  uint16_t exists : 1 = 0;
  uint16_t is_atomic : 1 = 0;
  uint16_t of_warp : 1 = 0;    // Several threads of one warp, since its latest barrier.
  uint16_t of_block : 1 = 0;   // Several warps, since the latest barrier of the block.
  uint16_t of_blocks : 1 = 0;  // Several blocks.
  uint16_t syncs = 0, warp_syncs = 0;
};
struct ByteAccesses {
  LatestAccess read, write;
};

bool InOneWarp(const LatestAccess& stamp, const AccessClock& clock) {
  return stamp.block == clock.block && stamp.thread / kWarpSize == clock.thread / kWarpSize;
}

// True if the accesses happened before those that the thread makes now.
bool IsBefore(const LatestAccess& stamp, const AccessClock& clock) {
  if (!stamp.exists) return true;
  if (stamp.of_blocks || stamp.block != clock.block) return false;
  if (stamp.syncs != clock.syncs) return true;
  if (stamp.of_block || !InOneWarp(stamp, clock)) return false;
  return stamp.warp_syncs != clock.warp_syncs || (!stamp.of_warp && stamp.thread == clock.thread);
}

LatestAccess LatestAccessOf(const AccessClock& clock, bool is_atomic) {
  LatestAccess stamp;
  stamp.block = clock.block;
  stamp.thread = clock.thread;
  stamp.exists = 1;
  stamp.is_atomic = is_atomic;
  stamp.syncs = clock.syncs;
  stamp.warp_syncs = clock.warp_syncs;
  return stamp;
}

// Adds a thread to accesses that may be concurrent with its own.
void Join(LatestAccess* stamp, const AccessClock& clock, bool is_atomic) {
  if (IsBefore(*stamp, clock)) {
    *stamp = LatestAccessOf(clock, is_atomic);
  } else if (stamp->block != clock.block) {
    stamp->of_blocks = 1;
  } else if (!InOneWarp(*stamp, clock)) {
    stamp->of_block = 1;
  } else {
    stamp->of_warp = 1;
  }
}

constexpr uintptr_t kPageBytes = 4096;
using Page = std::array<ByteAccesses, kPageBytes>;

struct State {
  Fiber* fiber = nullptr;
  AccessClock* clock = nullptr;
  absl::flat_hash_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t last_number = 0;
  Page* last = nullptr;

  ByteAccesses& At(uintptr_t address) {
    const uintptr_t number = address / kPageBytes;
    if (last == nullptr || number != last_number) {
      std::unique_ptr<Page>& page = pages[number];
      if (page == nullptr) page = std::make_unique<Page>();
      last_number = number;
      last = page.get();
    }
    return (*last)[address % kPageBytes];
  }
};
thread_local State state;

const char* Verb(bool writes) { return writes ? "writes" : "reads"; }

[[gnu::noinline]] void Report(uintptr_t address, bool writes, const LatestAccess& other, bool other_writes) {
  const auto shared = reinterpret_cast<uintptr_t>(Shared(*state.fiber));
  const bool is_shared = address >= shared && address < shared + (uintptr_t{227} << 10);
  const std::string where = is_shared ? fmt::format("shared memory at {}", address - shared)
                                      : fmt::format("global memory at {:#x}", address);
  static thread_local std::string text;  // The fiber's stack ends here.
  text = fmt::format("{} {}, which thread {} of block {} of the launch {} without a barrier between them",
                     Verb(writes), where, other.thread + 0, other.block,
                     other_writes ? "has written" : "has read");
  ++state.clock->unchecked;
  Fail(*state.fiber, text.c_str());
}

}  // namespace

void StartLaunchChecks() {
  state.pages.clear();
  state.last = nullptr;
}

void SetAccessingFiber(Fiber* fiber) {
  state.fiber = fiber;
  state.clock = fiber == nullptr ? nullptr : &ClockOf(*fiber);
}

void NoteAccess(const void* address, size_t byte_count, Access access) {
  const AccessClock* clock = state.clock;
  if (clock == nullptr) return;
  const auto* begin = static_cast<const std::byte*>(address);
  if (begin >= clock->stack && begin < clock->stack_end) return;
  const bool writes = access != Access::kRead, is_atomic = access == Access::kAtomic;
  for (size_t i = 0; i < byte_count; ++i) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(begin) + i;
    ByteAccesses& byte = state.At(at);
    const bool both_atomic = is_atomic && byte.write.is_atomic;
    if (!both_atomic && !IsBefore(byte.write, *clock))
      return Report(at, writes, byte.write, /*other_writes=*/true);
    if (!writes) {
      Join(&byte.read, *clock, /*is_atomic=*/false);
      continue;
    }
    if (!IsBefore(byte.read, *clock)) return Report(at, writes, byte.read, /*other_writes=*/false);
    if (both_atomic) {
      Join(&byte.write, *clock, /*is_atomic=*/true);
    } else {
      byte = {{}, LatestAccessOf(*clock, is_atomic)};
    }
  }
}

Unchecked::Unchecked(Fiber& fiber) : clock_(ClockOf(fiber)) { ++clock_.unchecked; }
Unchecked::~Unchecked() { --clock_.unchecked; }

void ForgetAccesses(const void* address, size_t byte_count) {
  for (size_t i = 0; i < byte_count; ++i) state.At(reinterpret_cast<uintptr_t>(address) + i) = {};
}

namespace {

void Check(const void* address, size_t byte_count, Access access) {
  if (state.clock != nullptr && state.clock->unchecked == 0) NoteAccess(address, byte_count, access);
}

struct SourceLocation {
  const char* file;
  uint32_t line, column;
};
struct MismatchData {
  SourceLocation location;
  const void* type;
  uint8_t log_alignment, kind;
};

}  // namespace
}  // namespace hlo::cuda::emulator

// The functions that the compiler calls with -fsanitize=thread,alignment. Programs are not linked to the
// runtime libraries of the sanitizers.
using hlo::cuda::emulator::Access;
using hlo::cuda::emulator::Check;
using hlo::cuda::emulator::MismatchData;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, size_t n) { Check(p, n, Access::kRead); }
void __tsan_write_range(void* p, size_t n) { Check(p, n, Access::kWrite); }
#define HLO_TSAN_ACCESSES(n)                                             \
  void __tsan_read##n(void* p) { Check(p, n, Access::kRead); }           \
  void __tsan_write##n(void* p) { Check(p, n, Access::kWrite); }         \
  void __tsan_unaligned_read##n(void* p) { Check(p, n, Access::kRead); } \
  void __tsan_unaligned_write##n(void* p) { Check(p, n, Access::kWrite); }
HLO_TSAN_ACCESSES(1)
HLO_TSAN_ACCESSES(2)
HLO_TSAN_ACCESSES(4)
HLO_TSAN_ACCESSES(8)
HLO_TSAN_ACCESSES(16)

// Atomic operations of the host's own code.
#define HLO_TSAN_ATOMICS(bits, T)                                                                         \
  T __tsan_atomic##bits##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                                             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                       \
  T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) {                                            \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int) {                                            \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  T __tsan_atomic##bits##_fetch_and(volatile T* p, T v, int) {                                            \
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  T __tsan_atomic##bits##_fetch_or(volatile T* p, T v, int) {                                             \
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                       \
  T __tsan_atomic##bits##_fetch_xor(volatile T* p, T v, int) {                                            \
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {          \
    return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int, int) {            \
    return __atomic_compare_exchange_n(p, expected, v, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
  }
HLO_TSAN_ATOMICS(8, uint8_t)
HLO_TSAN_ATOMICS(16, uint16_t)
HLO_TSAN_ATOMICS(32, uint32_t)
HLO_TSAN_ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

void __ubsan_handle_type_mismatch_v1(const MismatchData* data, void* address) {
  using hlo::cuda::emulator::state;
  if (state.fiber == nullptr || state.clock->unchecked > 0) return;
  static thread_local std::string text;
  text = fmt::format("{}:{}: an access to {} needs an alignment of {} bytes", data->location.file,
                     data->location.line, address, 1 << data->log_alignment);
  hlo::cuda::emulator::Fail(*state.fiber, text.c_str());
}
}

#endif
