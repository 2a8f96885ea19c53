#include "kernels/cuda/emulator/emulator.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/arithmetic.h"
#include "base/check.h"
#include "fmt/format.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace hlo::cuda {
namespace emulator {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 512 << 10;
#else
constexpr size_t kStackBytes = 128 << 10;
#endif
constexpr size_t kCanaryBytes = 256;
constexpr std::byte kCanary{0xa5}, kPoison{0xff};
constexpr int64_t kMaxSpins = 1 << 19;
constexpr size_t kConcurrentBlocks = 3;  // Shuffled schedules run so many blocks at a time.

std::string_view Name(SyncOp sync_op) {
  switch (sync_op) {
    case SyncOp::kNone:
      return "nothing";
    case SyncOp::kSync:
      return "sync";
    case SyncOp::kSyncWarp:
      return "sync_warp";
    case SyncOp::kShfl:
      return "shfl";
    case SyncOp::kBallot:
      return "ballot";
    case SyncOp::kMatchAny:
      return "match_any";
  }
  return "";
}

// Threads that synchronise with each other.
struct Group {
  uint32_t arrived = 0;
  uint64_t generation = 0;  // Counts completed barriers.
};
struct Warp {
  Group group;
  SyncOp sync_op = SyncOp::kNone;
  // Double-buffered: a lane may write its next value while others still read the previous ones.
  alignas(16) std::byte values[2][kWarpSize * 16];
};
struct Copy {
  std::byte* to;
  const std::byte* from;
  int bytes, valid_bytes;
  int64_t group;
};

class Machine;
struct ResidentBlock;

}  // namespace

struct Fiber {
  ucontext_t context;
  void* stack = nullptr;
  void* fake_stack = nullptr;  // Used by AddressSanitizer.
  Machine* machine = nullptr;
  ResidentBlock* home = nullptr;
  uint32_t thread = 0;
  bool ended = false;
  SyncOp waiting = SyncOp::kNone;
  uint64_t generation = 0;  // The group's generation at the start of the wait.
  std::vector<Copy> copies;
  int64_t commits = 0;
#ifdef HLO_RUN_EMULATOR_CHECKS
  AccessClock clock;
#endif

  ~Fiber() {
    if (stack != nullptr) munmap(stack, kStackBytes);
  }
};

namespace {

// A slot for a resident thread block: the block, its shared memory and its threads.
struct ResidentBlock {
  Dim3 block;
  bool is_active = false;
  uint32_t live = 0;
  Group group;
  std::vector<Warp> warps;
  std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, &std::free};
  std::vector<std::unique_ptr<Fiber>> fibers;

  std::byte* shared() const { return memory.get(); }
};

class Machine {
 public:
  absl::Status Run(Dim3 grid, uint32_t threads, size_t shared_bytes, Schedule schedule,
                   absl::FunctionRef<void(HostEnv&)> body);

  void SwitchToScheduler(Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&fiber.fake_stack, scheduler_stack_, scheduler_stack_size_);
#endif
    swapcontext(&fiber.context, &scheduler_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack_, &scheduler_stack_size_);
#endif
  }

  Group& GroupOf(const Fiber& fiber, SyncOp sync_op) {
    ResidentBlock& home = *fiber.home;
    return sync_op == SyncOp::kSync ? home.group : home.warps[fiber.thread / kWarpSize].group;
  }
  bool CanRun(const Fiber& fiber) {
    if (fiber.ended) return false;
    return fiber.waiting == SyncOp::kNone || GroupOf(fiber, fiber.waiting).generation != fiber.generation;
  }
  void Arrive(Group& group, uint32_t expected) {
    if (group.arrived < expected || expected == 0) return;
    group.arrived = 0;
    ++group.generation;
    spins_ = 0;
  }
  // Never returns to the fiber, so its stack must not own anything.
  template <class... Args>
  void Fail(Fiber& fiber, fmt::format_string<Args...> what, Args&&... args) {
    if (failure_.empty()) {
      const Dim3& block = fiber.home->block;
      failure_ = fmt::format("thread {} of block ({},{},{}): {}", fiber.thread, block.x, block.y, block.z,
                             fmt::format(what, std::forward<Args>(args)...));
    }
    while (true) SwitchToScheduler(fiber);
  }

  Dim3 grid_;
  uint32_t threads_ = 0;
  size_t shared_bytes_ = 0;
  int64_t spins_ = 0;
  const absl::FunctionRef<void(HostEnv&)>* body_ = nullptr;

 private:
  static void Enter(unsigned low, unsigned high);
  void SwitchToFiber(Fiber& fiber);
  void MakeFiber(Fiber& fiber, ResidentBlock& home, uint32_t thread);
  void PrepareResidents(size_t count);
  void StartBlock(ResidentBlock& resident, uint64_t number);
  bool RunThreads(ResidentBlock& resident);
  void RunBlocks(absl::Span<const uint64_t> blocks);
  std::string Deadlock(const ResidentBlock& resident) const;

  Schedule schedule_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<ResidentBlock>> residents_;
  std::vector<uint32_t> order_;
  ucontext_t scheduler_;
  [[maybe_unused]] void* scheduler_fake_stack_ = nullptr;
  [[maybe_unused]] const void* scheduler_stack_ = nullptr;
  [[maybe_unused]] size_t scheduler_stack_size_ = 0;
  std::string failure_;
};

// makecontext passes ints. A fiber runs one thread of each block, block after block.
void Machine::Enter(unsigned low, unsigned high) {
  auto* fiber = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(high) << 32);
  Machine& machine = *fiber->machine;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &machine.scheduler_stack_, &machine.scheduler_stack_size_);
#endif
#ifdef HLO_RUN_EMULATOR_CHECKS
  fiber->clock.stack = static_cast<const std::byte*>(fiber->stack);
  fiber->clock.stack_end = fiber->clock.stack + kStackBytes;
#endif
  while (true) {
    HostEnv env(*fiber);
    (*machine.body_)(env);
    fiber->ended = true;
    machine.spins_ = 0;
    --fiber->home->live;
    machine.Arrive(fiber->home->group, fiber->home->live);
    machine.SwitchToScheduler(*fiber);
  }
}

void Machine::SwitchToFiber(Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&scheduler_fake_stack_, fiber.stack, kStackBytes);
#endif
#ifdef HLO_RUN_EMULATOR_CHECKS
  SetAccessingFiber(&fiber);
#endif
  swapcontext(&scheduler_, &fiber.context);
#ifdef HLO_RUN_EMULATOR_CHECKS
  SetAccessingFiber(nullptr);
#endif
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
}

void Machine::MakeFiber(Fiber& fiber, ResidentBlock& home, uint32_t thread) {
  fiber.machine = this;
  fiber.home = &home;
  fiber.thread = thread;
  fiber.stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  HLO_CHECK(fiber.stack != MAP_FAILED);
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(fiber.stack, kStackBytes);  // An earlier fiber may have left poisoned bytes.
#endif
  HLO_CHECK(getcontext(&fiber.context) == 0);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  const auto address = reinterpret_cast<uintptr_t>(&fiber);
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Machine::Enter), 2,
              static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
}

std::string Machine::Deadlock(const ResidentBlock& resident) const {
  std::map<SyncOp, std::pair<int, uint32_t>> waiting;  // Number of waiting threads, and the first of them.
  uint32_t ended = 0;
  for (uint32_t t = 0; t < threads_; ++t) {
    const Fiber& fiber = *resident.fibers[t];
    if (fiber.ended) {
      ++ended;
      continue;
    }
    auto [at, added] = waiting.try_emplace(fiber.waiting, 0, t);
    ++at->second.first;
  }
  const Dim3& block = resident.block;
  std::string text = fmt::format("deadlock in block ({},{},{}):", block.x, block.y, block.z);
  for (const auto& [sync_op, who] : waiting)
    text += fmt::format(" {} threads wait at {} (thread {} first);", who.first, Name(sync_op), who.second);
  return text + fmt::format(" {} have ended", ended);
}

void Machine::PrepareResidents(size_t count) {
  while (residents_.size() < count) residents_.push_back(std::make_unique<ResidentBlock>());
  for (size_t r = 0; r < count; ++r) {
    ResidentBlock& resident = *residents_[r];
    while (resident.fibers.size() < threads_) {
      resident.fibers.push_back(std::make_unique<Fiber>());
      MakeFiber(*resident.fibers.back(), resident, static_cast<uint32_t>(resident.fibers.size() - 1));
    }
    const size_t bytes = RoundUp(shared_bytes_ + kCanaryBytes, 1024);
    resident.memory.reset(static_cast<std::byte*>(std::aligned_alloc(1024, bytes)));
    std::fill_n(resident.shared() + shared_bytes_, kCanaryBytes, kCanary);
  }
}

void Machine::StartBlock(ResidentBlock& resident, uint64_t number) {
  resident.block = {static_cast<uint32_t>(number % grid_.x),
                    static_cast<uint32_t>(number / grid_.x % grid_.y),
                    static_cast<uint32_t>(number / grid_.x / grid_.y)};
  resident.is_active = true;
  std::fill_n(resident.shared(), shared_bytes_, kPoison);
  ForgetAccesses(resident.shared(), shared_bytes_);
  resident.live = threads_;
  resident.group = {};
  resident.warps.assign(threads_ / kWarpSize, {});
  spins_ = 0;
  for (uint32_t t = 0; t < threads_; ++t) {
    Fiber& fiber = *resident.fibers[t];
    fiber.ended = false;
    fiber.waiting = SyncOp::kNone;
    fiber.copies.clear();
    fiber.commits = 0;
#ifdef HLO_RUN_EMULATOR_CHECKS
    fiber.clock.block = static_cast<uint16_t>(number);
    fiber.clock.thread = static_cast<uint16_t>(t);
    fiber.clock.syncs = fiber.clock.warp_syncs = 0;
    fiber.clock.unchecked = 0;
#endif
  }
}

// Runs each thread of a block until it waits. Returns false if none could run.
bool Machine::RunThreads(ResidentBlock& resident) {
  if (schedule_.order == Schedule::Order::kShuffled) std::shuffle(order_.begin(), order_.end(), random_);
  bool ran = false;
  for (const uint32_t t : order_) {
    Fiber& fiber = *resident.fibers[t];
    if (!CanRun(fiber)) continue;
    fiber.waiting = SyncOp::kNone;
    ran = true;
    SwitchToFiber(fiber);
    if (!failure_.empty()) break;
  }
  return ran;
}

// Runs all blocks, as many at a time as there are residents, in this order.
void Machine::RunBlocks(absl::Span<const uint64_t> blocks) {
  size_t next = 0;
  const auto start = [&](ResidentBlock& resident) {
    if (next < blocks.size())
      StartBlock(resident, blocks[next++]);
    else
      resident.is_active = false;
  };
  const size_t count = schedule_.order == Schedule::Order::kShuffled ? kConcurrentBlocks : 1;
  PrepareResidents(std::min(count, blocks.size()));
  for (const auto& resident : residents_) resident->is_active = false;
  for (size_t r = 0; r < std::min(count, blocks.size()); ++r) start(*residents_[r]);
  for (bool is_active = true; is_active;) {
    is_active = false;
    for (const auto& resident : residents_) {
      if (!resident->is_active) continue;
      is_active = true;
      if (count > 1 && random_() % 2 == 0) continue;  // Blocks do not keep pace.
      if (!RunThreads(*resident)) failure_ = Deadlock(*resident);
      if (!failure_.empty()) return;
      if (resident->live > 0) continue;
      const std::byte* end = resident->shared() + shared_bytes_;
      if (std::any_of(end, end + kCanaryBytes, [](std::byte b) { return b != kCanary; })) {
        const Dim3& block = resident->block;
        failure_ = fmt::format("block ({},{},{}) wrote beyond its {} bytes of shared memory", block.x,
                               block.y, block.z, shared_bytes_);
        return;
      }
      start(*resident);
    }
  }
}

absl::Status Machine::Run(Dim3 grid, uint32_t threads, size_t shared_bytes, Schedule schedule,
                          absl::FunctionRef<void(HostEnv&)> body) {
  if (threads == 0 || threads > 1024 || threads % kWarpSize != 0)
    return absl::InternalError(
        fmt::format("a block of {} threads: must be a multiple of 32 up to 1024", threads));
  if (shared_bytes > (227 << 10))
    return absl::InternalError(
        fmt::format("{} bytes of shared memory: no machine has more than 227 KB", shared_bytes));
  grid_ = grid;
  threads_ = threads;
  shared_bytes_ = shared_bytes;
  schedule_ = schedule;
  random_.seed(schedule.seed);
  body_ = &body;
  failure_.clear();
#ifdef HLO_RUN_EMULATOR_CHECKS
  StartLaunchChecks();
#endif
  order_.resize(threads);
  std::iota(order_.begin(), order_.end(), 0u);
  std::vector<uint64_t> blocks(uint64_t{grid.x} * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), uint64_t{0});
  if (schedule.order == Schedule::Order::kReversed) {
    std::reverse(order_.begin(), order_.end());
    std::reverse(blocks.begin(), blocks.end());
  } else if (schedule.order == Schedule::Order::kShuffled) {
    std::shuffle(blocks.begin(), blocks.end(), random_);
  }
  RunBlocks(blocks);
  if (failure_.empty()) return absl::OkStatus();
  residents_.clear();  // The fibers' state is undefined after a failure.
  return absl::InternalError(failure_);
}

}  // namespace

#ifdef HLO_RUN_EMULATOR_CHECKS
AccessClock& ClockOf(Fiber& fiber) { return fiber.clock; }
#endif

uint32_t Thread(const Fiber& fiber) { return fiber.thread; }
uint32_t Threads(const Fiber& fiber) { return fiber.machine->threads_; }
Dim3 Block(const Fiber& fiber) { return fiber.home->block; }
Dim3 Grid(const Fiber& fiber) { return fiber.machine->grid_; }
std::byte* Shared(Fiber& fiber) { return fiber.home->shared(); }

void Synchronize(Fiber& fiber, SyncOp sync_op) {
  Machine& machine = *fiber.machine;
  Group& group = machine.GroupOf(fiber, sync_op);
  if (sync_op != SyncOp::kSync) {
    Warp& warp = fiber.home->warps[fiber.thread / kWarpSize];
    if (group.arrived > 0 && warp.sync_op != sync_op)
      machine.Fail(fiber, "is at {} while others of its warp wait at {}", Name(sync_op), Name(warp.sync_op));
    warp.sync_op = sync_op;
  }
  fiber.waiting = sync_op;
  fiber.generation = group.generation;
  ++group.arrived;
  machine.Arrive(group, sync_op == SyncOp::kSync ? fiber.home->live : kWarpSize);
  machine.SwitchToScheduler(fiber);
#ifdef HLO_RUN_EMULATOR_CHECKS
  if (sync_op == SyncOp::kSync) ++fiber.clock.syncs;
  if (sync_op == SyncOp::kSyncWarp) ++fiber.clock.warp_syncs;
#endif
}

const std::byte* Exchange(Fiber& fiber, SyncOp sync_op, const void* value, size_t byte_count) {
  Warp& warp = fiber.home->warps[fiber.thread / kWarpSize];
  std::byte* values = warp.values[warp.group.generation % 2];
  std::memcpy(values + 16 * (fiber.thread % kWarpSize), value, byte_count);
  Synchronize(fiber, sync_op);
  return values;
}

void CopyAsync(Fiber& fiber, void* shared, const void* global, int bytes, int valid_bytes) {
  Machine& machine = *fiber.machine;
  auto* to = static_cast<std::byte*>(shared);
  const auto* from = static_cast<const std::byte*>(global);
  const std::byte* memory = fiber.home->shared();
  if (to < memory || to + bytes > memory + machine.shared_bytes_)
    machine.Fail(fiber, "copy_async to {} bytes at {} of {} bytes of shared memory", bytes, to - memory,
                 machine.shared_bytes_);
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0)
    machine.Fail(fiber, "copy_async of {} bytes to an address that is not aligned to them", bytes);
  if (valid_bytes > 0 && reinterpret_cast<uintptr_t>(from) % bytes != 0)
    machine.Fail(fiber, "copy_async of {} bytes from an address that is not aligned to them", bytes);
  if (valid_bytes < 0 || valid_bytes > bytes)
    machine.Fail(fiber, "copy_async of {} bytes, {} of them valid", bytes, valid_bytes);
  NoteAccess(to, bytes, Access::kWrite);
  std::fill_n(to, bytes, kPoison);
  fiber.copies.push_back({to, from, bytes, valid_bytes, fiber.commits});
}

void Commit(Fiber& fiber) { ++fiber.commits; }

void Wait(Fiber& fiber, int newest) {
  std::erase_if(fiber.copies, [&](const Copy& copy) {
    if (copy.group >= fiber.commits - newest) return false;
    NoteAccess(copy.to, copy.bytes, Access::kWrite);
    if (copy.valid_bytes > 0) std::memcpy(copy.to, copy.from, copy.valid_bytes);
    std::fill_n(copy.to + copy.valid_bytes, copy.bytes - copy.valid_bytes, std::byte{0});
    return true;
  });
}

void Spin(Fiber& fiber) {
  if (++fiber.machine->spins_ > kMaxSpins) fiber.machine->Fail(fiber, "waits for a flag that no thread sets");
  fiber.machine->SwitchToScheduler(fiber);
}

void Fail(Fiber& fiber, const char* what) { fiber.machine->Fail(fiber, "{}", what); }

}  // namespace emulator

absl::Status Emulate(Dim3 grid, uint32_t threads, size_t shared_bytes, Schedule schedule,
                     absl::FunctionRef<void(HostEnv&)> body) {
  static thread_local emulator::Machine machine;  // Reuses the fibers' stacks.
  return machine.Run(grid, threads, shared_bytes, schedule, body);
}

}  // namespace hlo::cuda
