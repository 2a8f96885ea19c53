// Tests the emulator's checks of memory accesses on kernels with and without bugs.

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/emulator/emulator.h"

namespace hlo::cuda {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Returns what the emulator reports of two blocks of 64 threads, under the first schedule that finds a bug.
std::string Report(absl::FunctionRef<void(HostEnv&)> body) {
  for (const Schedule schedule : kSchedules) {
    if (const absl::Status status = Emulate({2}, 64, 1024, schedule, body); !status.ok())
      return std::string(status.message());
  }
  return "";
}

int* SharedInts(HostEnv& env) { return reinterpret_cast<int*>(env.shared()); }
// Keeps the compiler from removing a load.
void Use(int value) { asm volatile("" ::"r"(value)); }

TEST(AccessChecks, ABarrierOrdersAccessesOfABlock) {
  const auto exchange = [](HostEnv& env, bool barrier) {
    const uint32_t t = env.thread();
    SharedInts(env)[t] = 1;
    if (barrier) env.sync();
    Use(SharedInts(env)[63 - t]);
  };
  EXPECT_THAT(Report([&](HostEnv& env) { exchange(env, true); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { exchange(env, false); }), HasSubstr("without a barrier between"));
}

TEST(AccessChecks, WritesAfterReadsNeedABarrier) {
  const auto rotate = [](HostEnv& env, bool barrier) {
    const uint32_t t = env.thread();
    SharedInts(env)[t] = 1;
    env.sync();
    const int value = SharedInts(env)[(t + 1) % 64];
    if (barrier) env.sync();
    SharedInts(env)[t] = value;
  };
  EXPECT_THAT(Report([&](HostEnv& env) { rotate(env, true); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { rotate(env, false); }), HasSubstr("shared memory"));
}

TEST(AccessChecks, ABarrierOfAWarpOrdersItsThreadsAlone) {
  const auto exchange = [](HostEnv& env, uint32_t distance) {
    const uint32_t t = env.thread();
    SharedInts(env)[t] = 1;
    env.sync_warp();
    Use(SharedInts(env)[t ^ distance]);
  };
  EXPECT_THAT(Report([&](HostEnv& env) { exchange(env, 1); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { exchange(env, 32); }), HasSubstr("shared memory"));
}

TEST(AccessChecks, ShufflesOrderNothing) {
  EXPECT_THAT(Report([](HostEnv& env) {
                SharedInts(env)[env.thread()] = 1;
                env.shfl(1, 0);
                Use(SharedInts(env)[env.thread() ^ 1]);
              }),
              HasSubstr("shared memory"));
}

TEST(AccessChecks, NothingOrdersBlocks) {
  std::vector<int> global(64);
  EXPECT_THAT(Report([&](HostEnv& env) {
                if (env.block().x == 0) global[env.thread()] = 1;
              }),
              IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { global[env.thread()] = 1; }), HasSubstr("global memory"));
}

TEST(AccessChecks, AtomicAccessesConflictWithOthersAlone) {
  std::vector<uint32_t> global(1);
  EXPECT_THAT(Report([&](HostEnv& env) { env.atomic_add(global.data(), 1); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) {
                env.atomic_add(global.data(), 1);
                Use(static_cast<int>(global[0]));
              }),
              HasSubstr("global memory"));
}

TEST(AccessChecks, CopiesAreWritesUntilTheirWait) {
  alignas(16) static const int from[64] = {};
  const auto copy = [](HostEnv& env, bool barrier) {
    const uint32_t t = env.thread();
    env.copy_async<4>(SharedInts(env) + t, from + t, 4);
    env.commit();
    if (!barrier) env.sync();
    env.wait<0>();
    if (barrier) env.sync();
    Use(SharedInts(env)[63 - t]);
  };
  EXPECT_THAT(Report([&](HostEnv& env) { copy(env, true); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { copy(env, false); }), HasSubstr("shared memory"));
}

TEST(AccessChecks, VectorsAreAligned) {
  struct alignas(16) Vector {
    int x[4];
  };
  alignas(16) static const int from[8] = {};
  const auto load = [](HostEnv&, const int* address) {
    const Vector vector = *reinterpret_cast<const Vector*>(address);
    Use(vector.x[0] + vector.x[3]);
  };
  EXPECT_THAT(Report([&](HostEnv& env) { load(env, from + 4); }), IsEmpty());
  EXPECT_THAT(Report([&](HostEnv& env) { load(env, from + 1); }), HasSubstr("alignment of 16 bytes"));
}

}  // namespace
}  // namespace hlo::cuda
