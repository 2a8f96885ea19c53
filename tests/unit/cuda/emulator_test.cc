// Tests the emulator: its results, and the detection of deliberate bugs.

#include "kernels/cuda/emulator/emulator.h"

#include <complex>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda::emulator_test {
namespace {

// Sums 256 numbers per thread block in shared memory; omits the barriers unless `barriers`.
template <class Env>
void BlockSum(Env& env, const int* in, int* out, bool barriers) {
  auto* sums = reinterpret_cast<int*>(env.shared());
  const uint32_t t = env.thread();
  sums[t] = in[env.block().x * env.threads() + t];
  if (barriers) env.sync();
  for (uint32_t half = env.threads() / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    if (barriers) env.sync();
  }
  if (t == 0) out[env.block().x] = sums[0];
}

TEST(Emulator, SumsBlocksUnderEverySchedule) {
  std::vector<int> in(3 * 256);
  std::iota(in.begin(), in.end(), 0);
  for (const Schedule schedule : kSchedules) {
    std::vector<int> out(3);
    ASSERT_TRUE(Emulate({3}, 256, 1024, schedule, [&](HostEnv& env) {
                  BlockSum(env, in.data(), out.data(), true);
                }).ok());
    EXPECT_EQ(out, (std::vector<int>{32640, 32640 + 65536, 32640 + 131072}));
  }
}

TEST(Emulator, AMissingBarrierIsDetected) {
  const std::vector<int> in(256, 1);
  int right = 0;
  for (const Schedule schedule : kSchedules) {
    int out = 0;
    ASSERT_TRUE(
        Emulate({1}, 256, 1024, schedule, [&](HostEnv& env) { BlockSum(env, in.data(), &out, false); }).ok());
    right += out == 256;
  }
  EXPECT_LT(right, static_cast<int>(std::size(kSchedules)));
}

// A two-stage pipeline that copies `count` tiles of 32 floats through shared memory.
template <int kNewest, class Env>
void Pipeline(Env& env, const float* in, float* out, int count) {
  auto* stages = reinterpret_cast<float*>(env.shared());
  const uint32_t t = env.thread();
  auto load = [&](int tile) {
    if (tile < count) env.template copy_async<4>(&stages[tile % 2 * 32 + t], &in[tile * 32 + t], 4);
    env.commit();
  };
  load(0);
  for (int tile = 0; tile < count; ++tile) {
    load(tile + 1);
    env.template wait<kNewest>();
    env.sync();
    out[tile * 32 + t] = stages[tile % 2 * 32 + (t ^ 1)];
    env.sync();
  }
}

TEST(Emulator, AWaitCompletesAsynchronousCopies) {
  std::vector<float> in(5 * 32), wanted(5 * 32);
  std::iota(in.begin(), in.end(), 0.0f);
  for (size_t i = 0; i < in.size(); ++i) wanted[i] = in[i ^ 1];
  for (const Schedule schedule : kSchedules) {
    std::vector<float> out(in.size());
    ASSERT_TRUE(Emulate({1}, 32, 256, schedule, [&](HostEnv& env) {
                  Pipeline<1>(env, in.data(), out.data(), 5);
                }).ok());
    EXPECT_EQ(out, wanted);
  }
}

TEST(Emulator, AWaitForTooFewCopiesIsDetected) {
  std::vector<float> in(5 * 32, 1), out(5 * 32);
  ASSERT_TRUE(
      Emulate({1}, 32, 256, {}, [&](HostEnv& env) { Pipeline<2>(env, in.data(), out.data(), 5); }).ok());
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(Emulator, CopiesFillInvalidBytesWithZeros) {
  alignas(16) const uint8_t in[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  uint8_t out[16] = {};
  ASSERT_TRUE(Emulate({1}, 32, 16, {}, [&](HostEnv& env) {
                if (env.thread() != 0) return;
                env.copy_async<16>(env.shared(), in, 5);
                env.commit();
                env.wait<0>();
                std::memcpy(out, env.shared(), 16);
              }).ok());
  EXPECT_EQ(out[4], 5);
  EXPECT_EQ(out[5], 0);
  EXPECT_EQ(out[15], 0);
}

TEST(Emulator, LanesExchangeValues) {
  std::vector<int> up(64), down(64), across(64), one(64);
  std::vector<std::complex<double>> pairs(64);
  std::vector<uint32_t> odd(64), same(64);
  for (const Schedule schedule : kSchedules) {
    ASSERT_TRUE(Emulate({1}, 64, 0, schedule, [&](HostEnv& env) {
                  const auto t = static_cast<int>(env.thread());
                  up[t] = env.shfl_up(t, 1);
                  down[t] = env.shfl_down(t, 2);
                  across[t] = env.shfl_xor(t, 16);
                  one[t] = env.shfl(t, 5);
                  pairs[t] = env.shfl_xor(std::complex<double>(t, -t), 1);
                  odd[t] = env.ballot(t % 2 == 1);
                  same[t] = env.match_any(static_cast<uint32_t>(t % 3));
                }).ok());
    EXPECT_EQ(up[0], 0);
    EXPECT_EQ(up[32], 32);
    EXPECT_EQ(up[40], 39);
    EXPECT_EQ(down[30], 30);
    EXPECT_EQ(down[33], 35);
    EXPECT_EQ(across[3], 19);
    EXPECT_EQ(across[63], 47);
    EXPECT_EQ(one[0], 5);
    EXPECT_EQ(one[63], 37);
    EXPECT_EQ(pairs[6], std::complex<double>(7, -7));
    EXPECT_EQ(odd[12], 0xaaaaaaaau);
    EXPECT_EQ(same[0], 0x49249249u);
  }
}

TEST(Emulator, ReportsADeadlock) {
  const absl::Status status = Emulate({1}, 64, 0, {}, [&](HostEnv& env) {
    if (env.thread() < 40)
      env.sync();
    else
      env.sync_warp();
  });
  EXPECT_EQ(
      status.message(),
      "deadlock in block (0,0,0): 40 threads wait at sync (thread 0 first); 24 threads wait at sync_warp "
      "(thread 40 first); 0 have ended");
}

TEST(Emulator, ReportsLanesThatWaitAtDifferentOperations) {
  const absl::Status status = Emulate({2}, 32, 0, {}, [&](HostEnv& env) {
    if (env.block().x == 1 && env.thread() == 7)
      env.ballot(true);
    else
      env.shfl(1, 0);
  });
  EXPECT_EQ(status.message(),
            "thread 7 of block (1,0,0): is at ballot while others of its warp wait at shfl");
}

TEST(Emulator, ReportsWritesAndCopiesOutsideOfSharedMemory) {
  EXPECT_EQ(Emulate({1}, 32, 64, {}, [](HostEnv& env) { env.shared()[64 + env.thread()] = std::byte{1}; })
                .message(),
            "block (0,0,0) wrote beyond its 64 bytes of shared memory");
  alignas(16) const float in[4] = {};
  EXPECT_EQ(Emulate({1}, 32, 64, {}, [&](HostEnv& env) { env.copy_async<16>(env.shared() + 56, in, 16); })
                .message(),
            "thread 0 of block (0,0,0): copy_async to 16 bytes at 56 of 64 bytes of shared memory");
  EXPECT_EQ(
      Emulate({1}, 32, 64, {}, [&](HostEnv& env) { env.copy_async<16>(env.shared() + 8, in, 16); }).message(),
      "thread 0 of block (0,0,0): copy_async of 16 bytes to an address that is not aligned to them");
}

TEST(Emulator, WaitsForAFlagOfTheSameBlockAndReportsAFlagThatIsNeverSet) {
  for (const Schedule schedule : kSchedules) {
    int flag = 0, seen = 0;
    EXPECT_TRUE(Emulate({1}, 64, 0, schedule, [&](HostEnv& env) {
                  if (env.thread() == 63) env.store_volatile(&flag, 1);
                  if (env.thread() == 0) {
                    while (env.load_volatile(&flag) == 0) {
                    }
                    seen = 1;
                  }
                }).ok());
    EXPECT_EQ(seen, 1);
  }
  const int never = 0;
  EXPECT_EQ(Emulate({1}, 32, 0, {},
                    [&](HostEnv& env) {
                      while (env.load_volatile(&never) == 0) {
                      }
                    })
                .message(),
            "thread 0 of block (0,0,0): waits for a flag that no thread sets");
}

// Blocks take numbers from a counter and wait for the block before them, which may be about to start.
TEST(Emulator, BlocksWaitForEarlierOnes) {
  int waits = 0;
  for (const Schedule& schedule : kSchedules) {
    uint32_t next = 0;
    std::vector<uint32_t> sums(20, 0);
    const absl::Status status = Emulate({20}, 32, 4, schedule, [&](HostEnv& env) {
      auto* number = reinterpret_cast<uint32_t*>(env.shared());
      if (env.thread() == 0) *number = env.atomic_add(&next, 1);
      env.sync();
      const uint32_t mine = *number;
      // The next block starts before this one ends.
      for (int k = 0; k < 5; ++k) env.sync();
      if (env.thread() != 0) return;
      uint32_t before = mine == 0 ? 1 : env.load_volatile(&sums[mine - 1]);
      for (; before == 0; ++waits) before = env.load_volatile(&sums[mine - 1]);
      env.store_volatile(&sums[mine], before + mine);
    });
    ASSERT_TRUE(status.ok()) << status;
    for (uint32_t b = 0; b < 20; ++b) EXPECT_EQ(sums[b], 1 + b * (b + 1) / 2);
  }
  EXPECT_GT(waits, 0);
}

TEST(Emulator, CountsWithAtomics) {
  uint32_t count = 0, most = 0, least = 100;
  ASSERT_TRUE(Emulate({4, 2, 2}, 64, 0, {Schedule::Order::kShuffled}, [&](HostEnv& env) {
                env.atomic_add(&count, 1);
                env.atomic_max(&most, env.block().x * 4 + env.block().y * 2 + env.block().z);
                env.atomic_min(&least, 5 + env.thread());
              }).ok());
  EXPECT_EQ(count, 1024u);
  EXPECT_EQ(most, 15u);
  EXPECT_EQ(least, 5u);
}

TEST(Emulator, RefusesLaunchesThatAGpuWouldRefuse) {
  EXPECT_TRUE(CheckLaunch({{0x7fffffffu, 65535, 65535}, 256}, 256).ok());
  for (const Dim3 grid : {Dim3{0, 1, 1}, Dim3{1, 65536, 1}, Dim3{1, 1, 65536}, Dim3{0x80000000u, 1, 1}})
    EXPECT_FALSE(CheckLaunch({grid, 256}, 256).ok());
  EXPECT_FALSE(CheckLaunch({{1}, 288}, 256).ok());
}

}  // namespace
}  // namespace hlo::cuda::emulator_test
