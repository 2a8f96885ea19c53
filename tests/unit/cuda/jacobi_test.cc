// Tests one-sided Jacobi rotations in the emulator: columns become orthogonal, and the matrix stays the
// product of the columns and the rotations, for all layouts of groups.

#include <algorithm>
#include <vector>

#include "kernels/cuda/lapack/jacobi_body.h"
#include "kernels/cuda/launch/launch.h"
#include "spectral_matrices.h"

namespace hlo::cuda::jacobi_test {
namespace {

struct Layout {
  uint32_t lanes, width, groups, threads;
  bool in_shared;
};

template <class T>
T Element(test::Complex x) {
  if constexpr (std::is_same_v<T, double>)
    return x.real();
  else
    return {x.real(), x.imag()};
}

// Rotates x above the identity, for two matrices.
template <class T, class W>
std::vector<T> Rotated(const test::Array<W>& x, const Layout& layout, int32_t schedule, uint32_t& sweeps) {
  const auto m = static_cast<uint32_t>(x.view.rows), n = static_cast<uint32_t>(x.view.columns), rows = m + n;
  std::vector<T> columns(2 * rows * n);
  for (uint32_t at = 0; at < columns.size(); ++at) {
    const uint32_t i = at % rows, j = at / rows % n;
    columns[at] = i < m ? Element<T>(x.view(i, j)) : T{i - m == j ? 1.0 : 0.0};
  }
  std::vector<uint32_t> has_rotated(2 * kJacobiSweeps);
  JacobiArgs<T> args{.columns = columns.data(),
                     .rows = rows,
                     .column_count = n,
                     .orthogonal_rows = m,
                     .lanes = layout.lanes,
                     .width = layout.width,
                     .groups = layout.groups,
                     .has_rotated = has_rotated.data(),
                     .in_shared = layout.in_shared};
  const LaunchShape shape{
      {layout.groups}, layout.threads, layout.in_shared ? 2 * layout.width * rows * sizeof(T) : 0};
  const uint32_t together = layout.groups == 2 ? kJacobiSweeps : 1;
  for (args.first_sweep = 0; args.first_sweep < kJacobiSweeps; args.first_sweep += together) {
    args.end_sweep = args.first_sweep + together;
    for (args.round = 0; args.round + 1 < layout.groups; ++args.round) {
      const absl::Status status =
          Launch<OrthogonaliseColumns<T>>(shape, args, {.emulated = true, .schedule = schedule});
      EXPECT_TRUE(status.ok()) << status;
    }
    if (has_rotated[args.first_sweep] == 0) break;
  }
  sweeps = 0;
  while (sweeps < kJacobiSweeps && has_rotated[sweeps] != 0) ++sweeps;
  return columns;
}

template <class W>
using KernelType = std::conditional_t<std::is_same_v<W, double>, double, WideComplex>;

template <class W>
W Number(KernelType<W> x) {
  if constexpr (std::is_same_v<W, double>)
    return x;
  else
    return {x.re, x.im};
}

template <class W>
void Check(const test::Array<W>& x, const Layout& layout) {
  using T = KernelType<W>;
  const int64_t m = x.view.rows, n = x.view.columns;
  uint32_t sweeps = 0;
  const std::vector<T> columns = Rotated<T>(x, layout, 0, sweeps);
  EXPECT_LE(sweeps, 12u);
  test::Array<W> u(m, n), w(n, n);
  std::vector<double> norms(n);
  for (int64_t j = 0; j < n; ++j) {
    const T* column = &columns[j * (m + n)];
    for (int64_t i = 0; i < m; ++i) norms[j] += SquaredSize(column[i]);
    norms[j] = std::sqrt(norms[j]);
    for (int64_t i = 0; i < m; ++i) u.view(i, j) = Number<W>(column[i]) / norms[j];
    for (int64_t i = 0; i < n; ++i) w.view(i, j) = Number<W>(column[m + i]);
  }
  test::ExpectOrthonormal(u.view);
  test::ExpectOrthonormal(w.view);
  test::ExpectPairs<W>(x.view.AsConst(), u.view, norms, w.view, test::SizeOf(x.view));
  for (const int32_t schedule : {1, 2}) {
    const std::vector<T> again = Rotated<T>(x, layout, schedule, sweeps);
    EXPECT_TRUE(std::equal(columns.begin(), columns.end(), again.begin())) << "schedule " << schedule;
  }
}

template <class W>
class Jacobi : public ::testing::Test {};
TYPED_TEST_SUITE(Jacobi, test::SpectralTypes);

TYPED_TEST(Jacobi, AllColumnsInABlock) {
  Check(test::RandomMatrix<TypeParam>(7, 6, 1),
        {.lanes = 16, .width = 3, .groups = 2, .threads = 64, .in_shared = true});
  Check(test::RandomMatrix<TypeParam>(5, 5, 2),
        {.lanes = 4, .width = 3, .groups = 2, .threads = 32, .in_shared = true});
  Check(test::RandomMatrix<TypeParam>(1, 1, 2),
        {.lanes = 4, .width = 1, .groups = 2, .threads = 32, .in_shared = true});
}

// More pairs than threads have lanes for.
TYPED_TEST(Jacobi, SeveralPairsForALane) {
  Check(test::RandomMatrix<TypeParam>(9, 9, 3),
        {.lanes = 32, .width = 5, .groups = 2, .threads = 64, .in_shared = false});
}

TYPED_TEST(Jacobi, GroupsOfColumns) {
  for (const bool in_shared : {false, true}) {
    Check(test::RandomMatrix<TypeParam>(12, 10, 4),
          {.lanes = 8, .width = 2, .groups = 6, .threads = 32, .in_shared = in_shared});
    Check(test::RandomMatrix<TypeParam>(8, 7, 5),
          {.lanes = 8, .width = 1, .groups = 8, .threads = 32, .in_shared = in_shared});
    Check(test::RandomMatrix<TypeParam>(10, 9, 6),
          {.lanes = 16, .width = 2, .groups = 6, .threads = 32, .in_shared = in_shared});
  }
}

}  // namespace
}  // namespace hlo::cuda::jacobi_test
