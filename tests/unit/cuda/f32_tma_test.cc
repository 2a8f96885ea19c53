// Tests the f32 GEMM of Hopper on the emulator: random numbers have the bits of the chains of fused
// multiply-adds that the kernel promises, and integers those of the reference.

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulated.h"
#include "kernels/cuda/gemm/f32_tma_gemm_body.h"
#include "kernels/cuda/gemm/f32_tma_plan.h"
#include "loops/gemm_problem.h"

namespace hlo::cuda::f32_tma_test {
namespace {

constexpr F32TmaTileSize kSizes[] = {F32TmaTileSize::k128x128, F32TmaTileSize::k128x64,
                                     F32TmaTileSize::k64x64, F32TmaTileSize::k64x32};

template <class Tile>
void ExpectTileIsWhole() {
  std::set<std::pair<uint32_t, uint32_t>> seen[2];
  for (uint32_t t = 0; t < Tile::kThreads; ++t) {
    if (Tile::Slice(t) > 0) continue;
    for (int r = 0; r < Tile::kThreadRows; ++r) {
      for (int c = 0; c < Tile::kThreadColumns; ++c) {
        EXPECT_LT(Tile::Column(t, c), Tile::kColumns);
        EXPECT_TRUE(seen[0].emplace(Tile::template Row<false>(t, r), Tile::Column(t, c)).second);
        EXPECT_TRUE(seen[1].emplace(Tile::template Row<true>(t, r), Tile::Column(t, c)).second);
      }
    }
  }
  for (const auto& elements : seen) {
    EXPECT_EQ(elements.size(), static_cast<size_t>(Tile::kRows) * Tile::kColumns);
    EXPECT_EQ(elements.rbegin()->first, static_cast<uint32_t>(Tile::kRows) - 1);
  }
}

TEST(F32Tma, EveryElementHasOneThreadPerSlice) {
  ExpectTileIsWhole<F32TmaTile128x128>();
  ExpectTileIsWhole<F32TmaTile128x64>();
  ExpectTileIsWhole<F32TmaTile64x64>();
  ExpectTileIsWhole<F32TmaTile64x32>();
}

struct Case {
  int64_t m, n, k, chunks;
};

int SlicesOf(F32TmaTileSize size) {
  return size == F32TmaTileSize::k64x64 ? 2 : size == F32TmaTileSize::k64x32 ? 4 : 1;
}

// Sums a chain per slice of each chunk; slices, then chunks are added in order.
float ChainOf(const float* a, int64_t a_step, const float* b, int64_t b_step, int64_t k, int slices,
              int64_t chunk) {
  float total = 0;
  for (int64_t first = 0; first < k; first += chunk) {
    float sums[4] = {};
    for (int64_t i = first; i < std::min(k, first + chunk); ++i) {
      float& sum = sums[(i - first) % 32 / (32 / slices)];
      sum = std::fma(a[i * a_step], b[i * b_step], sum);
    }
    float sum = sums[0];
    for (int s = 1; s < slices; ++s) sum += sums[s];
    total = first == 0 ? sum : total + sum;
  }
  return total;
}

TEST(F32Tma, IsAChainPerSlice) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  for (const Case& c : {Case{132, 136, 72, 1}, {60, 68, 300, 2}, {64, 32, 4, 1}}) {
    for (const bool a_rows : {false, true}) {
      for (const bool b_rows : {false, true}) {
        const loops::GemmProblem problem = loops::DotProblem(
            {ElementType::kF32, a_rows ? Index{c.k, c.m} : Index{c.m, c.k}, {}, {a_rows ? 0 : 1}},
            {ElementType::kF32, b_rows ? Index{c.k, c.n} : Index{c.n, c.k}, {}, {b_rows ? 0 : 1}},
            ElementType::kF32);
        std::optional<Gemm> gemm = GemmOf(problem);
        ASSERT_TRUE(gemm.has_value());
        ChooseAccess(&*gemm);
        const std::vector<float> a = RandomFloats(c.m * c.k, 1), b = RandomFloats(c.k * c.n, 2);
        for (const F32TmaTileSize size : kSizes) {
          const F32TmaTiling tiling = F32TmaTilingOf({c.m, c.n, c.k}, size, c.chunks);
          StepList list;
          ASSERT_TRUE(AddF32TmaGemm(*gemm, tiling, &list));
          std::vector<float> workspace(list.workspace_bytes / 4, NAN);
          for (const int32_t schedule : {0, 2}) {
            std::vector<float> got(c.m * c.n, NAN);
            const StepArrays arrays{a.data(), b.data(), got.data(),
                                    reinterpret_cast<std::byte*>(workspace.data()), EmulatedStream(schedule)};
            for (const KernelStep& step : list.steps) {
              const absl::Status status = step(arrays);
              ASSERT_TRUE(status.ok()) << status;
            }
            for (int64_t i = 0; i < c.m; ++i) {
              for (int64_t j = 0; j < c.n; ++j) {
                const float want = ChainOf(a.data() + (a_rows ? i : i * c.k), a_rows ? c.m : 1,
                                           b.data() + (b_rows ? j : j * c.k), b_rows ? c.n : 1, c.k,
                                           SlicesOf(size), tiling.chunks.length);
                ASSERT_EQ(got[i * c.n + j], want) << list.name << " " << i << " " << j;
              }
            }
          }
        }
      }
    }
  }
}

// Tiles and chunks of the shapes that they are tuned for.
TEST(F32Tma, TilesByWaves) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  const auto name = [](int64_t m, int64_t n, int64_t k) {
    const F32TmaTiling tiling = F32TmaTilingFor({m, n, k}, 32);
    return std::to_string(tiling.rows) + "x" + std::to_string(tiling.columns);
  };
  EXPECT_EQ(name(512, 512, 512), "64x32");
  EXPECT_EQ(name(1024, 1024, 1024), "64x64");
  EXPECT_EQ(name(2048, 2048, 2048), "128x128");
  EXPECT_EQ(name(4096, 4096, 4096), "128x128");
  EXPECT_EQ(name(8192, 8192, 8192), "128x64");
  for (int64_t k = 256; k < 3000; k += 37) {
    const F32TmaTiling tiling = F32TmaTilingFor({128, 128, k}, 32);
    EXPECT_LT((tiling.chunks.count - 1) * int64_t{tiling.chunks.length}, k);  // No chunk is empty.
  }
}

TEST(F32Tma, DotsAreExact) {
  ExpectExactBy(" tma ", {"f32[72,68]",
                          "dot",
                          {"f32[72,52]", "f32[52,68]"},
                          "lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
  // A batch, a broadcast batch, and columns that vectors do not fill.
  ExpectExactBy(
      " tma ",
      {"f32[3,36,44]",
       "dot",
       {"f32[3,36,40]", "f32[3,40,44]"},
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"});
  ExpectExactBy(" tma ", {"f32[33,43]",
                          "dot",
                          {"f32[33,500]", "f32[43,500]"},
                          "lhs_contracting_dims={1}, rhs_contracting_dims={1}"});
  // Rows that are not aligned run on another kernel.
  const std::string other = ExpectExact({"f32[33,43]",
                                         "dot",
                                         {"f32[33,50]", "f32[50,43]"},
                                         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
  EXPECT_EQ(other.find("tma"), std::string::npos) << other;
}

}  // namespace
}  // namespace hlo::cuda::f32_tma_test
