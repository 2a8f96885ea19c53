#pragma once
// Runs kernel bodies on the host, with one fiber per thread: one thread block at a time, or, in shuffled
// schedules, three of them, so that blocks wait for each other. It detects more bugs than a GPU:
//   * shared memory is initialised to 0xff bytes (NaN, -1), and so is the target of an asynchronous copy,
//     until a wait covers it, which exposes early reads;
//   * threads run until they synchronise, in a configurable order: a missing barrier makes the result depend
//     on the schedule;
//   * deadlocks are reported with the locations at which threads wait.
// It does not detect missing fences or memory-order bugs. Builds with HLO_RUN_EMULATOR_CHECKS detect races
// and misaligned accesses too (access_checks.h).

#include <cstring>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kernels/cuda/emulator/access_checks.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

struct Schedule {
  enum class Order : uint8_t { kForward, kReversed, kShuffled };  // Order of threads and of thread blocks.
  Order order = Order::kForward;
  uint32_t seed = 1;
};
// Schedules that tests run a kernel under; all must give identical bits.
inline constexpr Schedule kSchedules[] = {{Schedule::Order::kForward},
                                          {Schedule::Order::kReversed},
                                          {Schedule::Order::kShuffled, 1},
                                          {Schedule::Order::kShuffled, 2}};

namespace emulator {
struct Fiber;
// Synchronising operations. All threads of a barrier must wait at the same one.
enum class SyncOp : uint8_t { kNone, kSync, kSyncWarp, kShfl, kBallot, kMatchAny };
uint32_t Thread(const Fiber& fiber);
uint32_t Threads(const Fiber& fiber);
Dim3 Block(const Fiber& fiber);
Dim3 Grid(const Fiber& fiber);
std::byte* Shared(Fiber& fiber);
void Synchronize(Fiber& fiber, SyncOp sync_op);
// Each lane publishes a value of up to 16 bytes. Returns the values of all lanes, 16 bytes apart, valid until
// the next barrier.
const std::byte* Exchange(Fiber& fiber, SyncOp sync_op, const void* value, size_t byte_count);
void CopyAsync(Fiber& fiber, void* shared, const void* global, int bytes, int valid_bytes);
void Commit(Fiber& fiber);
void Wait(Fiber& fiber, int newest);
void Spin(Fiber& fiber);
void Fail(Fiber& fiber, const char* what);
}  // namespace emulator

class HostEnv {
 public:
  explicit HostEnv(emulator::Fiber& fiber) : fiber_(fiber) {}

  uint32_t thread() const { return emulator::Thread(fiber_); }
  uint32_t threads() const { return emulator::Threads(fiber_); }
  Dim3 block() const { return emulator::Block(fiber_); }
  Dim3 grid() const { return emulator::Grid(fiber_); }
  std::byte* shared() const { return emulator::Shared(fiber_); }

  void sync() const { emulator::Synchronize(fiber_, emulator::SyncOp::kSync); }
  void sync_warp() const { emulator::Synchronize(fiber_, emulator::SyncOp::kSyncWarp); }

  template <class T>
  T shfl(T v, int lane) const {
    return FromLane(v, lane & 31);
  }
  template <class T>
  T shfl_xor(T v, int mask) const {
    const int lane = Lane() ^ mask;
    return FromLane(v, lane < 32 ? lane : Lane());
  }
  template <class T>
  T shfl_up(T v, int distance) const {
    return FromLane(v, Lane() >= distance ? Lane() - distance : Lane());
  }
  template <class T>
  T shfl_down(T v, int distance) const {
    return FromLane(v, Lane() + distance < 32 ? Lane() + distance : Lane());
  }
  // Returns the values of all lanes, 16 bytes apart, valid until the next barrier; for instructions that read
  // several lanes.
  template <class T>
  const std::byte* exchange(const T& v) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    return emulator::Exchange(fiber_, emulator::SyncOp::kShfl, &v, sizeof v);
  }
  uint32_t ballot(bool p) const { return LanesWith(emulator::SyncOp::kBallot, p ? 1 : 0, 1); }
  uint32_t match_any(uint32_t v) const { return LanesWith(emulator::SyncOp::kMatchAny, v, v); }
  uint32_t match_digit(uint32_t v) const { return match_any(v); }

  template <int Bytes>
  void copy_async(void* shared, const void* global, int valid_bytes) const {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    emulator::CopyAsync(fiber_, shared, global, Bytes, valid_bytes);
  }
  void commit() const { emulator::Commit(fiber_); }
  template <int N>
  void wait() const {
    emulator::Wait(fiber_, N);
  }

  template <class T>
  T load_once(const T* p) const {
    return *p;
  }

  template <class T>
  T atomic_add(T* p, std::type_identity_t<T> v) const {
    return Update(p, [&](T old) { return static_cast<T>(old + v); });
  }
  template <class T>
  T atomic_max(T* p, std::type_identity_t<T> v) const {
    return Update(p, [&](T old) { return v > old ? v : old; });
  }
  template <class T>
  T atomic_min(T* p, std::type_identity_t<T> v) const {
    return Update(p, [&](T old) { return v < old ? v : old; });
  }
  uint32_t atomic_or(uint32_t* p, uint32_t v) const {
    return Update(p, [&](uint32_t old) { return old | v; });
  }

  void fence() const {}
  // Ends the kernel with this description of its bug.
  void fail(const char* what) const { emulator::Fail(fiber_, what); }
  // Yields to other fibers: the flag may be set by a thread of the same block, or of an earlier one.
  template <class T>
  T load_volatile(const T* p) const {
    const emulator::Unchecked unchecked(fiber_);
    emulator::Spin(fiber_);
    return *p;
  }
  template <class T>
  void store_volatile(T* p, T v) const {
    Update(p, [&](T) { return v; });
  }
  // The emulator's own accesses are not checked while the result exists.
  emulator::Unchecked unchecked() const { return emulator::Unchecked(fiber_); }

 private:
  // Atomic because a fiber runs until it waits.
  template <class T, class F>
  T Update(T* p, F&& f) const {
    emulator::NoteAccess(p, sizeof(T), emulator::Access::kAtomic);
    const emulator::Unchecked unchecked(fiber_);
    const T old = *p;
    *p = f(old);
    return old;
  }

  int Lane() const { return static_cast<int>(thread() % kWarpSize); }

  template <class T>
  T FromLane(T v, int lane) const {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16));
    std::memcpy(&v, emulator::Exchange(fiber_, emulator::SyncOp::kShfl, &v, sizeof v) + 16 * lane, sizeof v);
    return v;
  }
  uint32_t LanesWith(emulator::SyncOp sync_op, uint32_t mine, uint32_t wanted) const {
    const std::byte* values = emulator::Exchange(fiber_, sync_op, &mine, sizeof mine);
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      uint32_t value;
      std::memcpy(&value, values + 16 * lane, sizeof value);
      if (value == wanted) lanes |= 1u << lane;
    }
    return lanes;
  }

  emulator::Fiber& fiber_;
};

// Runs all thread blocks of a grid. Returns Internal with a description if the kernel has a bug.
absl::Status Emulate(Dim3 grid, uint32_t threads, size_t shared_bytes, Schedule schedule,
                     absl::FunctionRef<void(HostEnv&)> body);

}  // namespace hlo::cuda
