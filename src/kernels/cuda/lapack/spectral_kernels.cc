// Registers the kernels of eigenvalues of Hermitian matrices and of singular values. All types are widened to
// f64 or c128 and rounded once.

#include "kernels/cuda/lapack/spectral_kernels.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/lapack/blocked_qr.h"
#include "kernels/cuda/lapack/factorisation_builder.h"
#include "kernels/cuda/lapack/spectral_body.h"

namespace hlo::cuda {
namespace {

// --- Jacobi rotations

struct JacobiPlan {
  uint32_t lanes = 0, width = 0, groups = 0, threads = 0;
  size_t shared_bytes = 0;
};

JacobiPlan PlanJacobi(int64_t rows, int64_t columns, int64_t element_bytes, const DeviceProperties& device) {
  constexpr int64_t kMaxWidth = 16, kMaxThreads = 512;
  const int64_t column_bytes = std::max<int64_t>(rows * element_bytes, 1),
                fitting = device.shared_bytes_per_block / column_bytes / 2, all = Tiles(columns, 2);
  const bool in_shared = fitting > 0;
  int64_t width = all;
  if (all > fitting) width = in_shared ? std::min(fitting, kMaxWidth) : kMaxWidth;
  width = std::clamp<int64_t>(width, 1, std::max<int64_t>(all, 1));
  uint32_t lanes = 4;
  while (lanes < std::min<int64_t>(rows, kWarpSize)) lanes *= 2;
  return {.lanes = lanes,
          .width = Small(width),
          .groups = Small(2 * Tiles(Tiles(columns, width), 2)),
          .threads = Small(std::min<int64_t>(RoundUp(width * lanes, kWarpSize), kMaxThreads)),
          .shared_bytes = in_shared ? static_cast<size_t>(2 * width * column_bytes) : 0};
}

template <class T>
absl::Status Orthogonalise(JacobiArgs<T> args, const JacobiPlan& plan, int64_t batch, Stream stream) {
  HLO_RETURN_IF_ERROR(device::FillOnDevice(
      args.has_rotated, 0, batch * kJacobiSweeps * int64_t{sizeof *args.has_rotated}, stream));
  args.lanes = plan.lanes;
  args.width = plan.width;
  args.groups = plan.groups;
  args.in_shared = plan.shared_bytes > 0;
  const uint32_t sweeps = plan.groups == 2 ? kJacobiSweeps : 1;
  const LaunchShape shape{{Small(batch * plan.groups / 2)}, plan.threads, plan.shared_bytes};
  for (args.first_sweep = 0; args.first_sweep < kJacobiSweeps; args.first_sweep += sweeps) {
    args.end_sweep = args.first_sweep + sweeps;
    for (args.round = 0; args.round + 1 < plan.groups; ++args.round)
      HLO_RETURN_IF_ERROR(Launch<OrthogonaliseColumns<T>>(shape, args, stream));
  }
  return absl::OkStatus();
}

// --- Parts of both decompositions

// The memory of the values of each column, and of each matrix.
struct SpectrumMemory {
  int64_t values, order, exponents, has_rotated, failed;
};

SpectrumMemory TakeSpectrum(FactorisationBuilder& b, int64_t batch, int64_t n) {
  const int64_t word = sizeof(uint32_t);
  return {.values = b.Take(batch * n * int64_t{sizeof(double)}),
          .order = b.Take(batch * n * word),
          .exponents = b.Take(batch * word),
          .has_rotated = b.Take(batch * kJacobiSweeps * word),
          .failed = b.Take(batch * word)};
}

RankArgs RankArgsOf(const SpectrumMemory& spectrum, int64_t n, const WideArray& sorted, int32_t* failed,
                    std::byte* memory) {
  return {.values = At<double>(memory, spectrum.values),
          .n = Small(n),
          .exponents = At<int32_t>(memory, spectrum.exponents),
          .has_rotated = At<uint32_t>(memory, spectrum.has_rotated),
          .order = At<uint32_t>(memory, spectrum.order),
          .sorted = At<double>(memory, sorted.offset),
          .failed = failed};
}

template <class T>
absl::Status Measure(const MeasureArgs<T>& args, int64_t batch, Stream stream) {
  return LaunchBlocks<MeasureColumns<T>>(batch * args.n, MeasureColumns<T>::kSharedBytes, args, stream);
}

// --- Eigenvalues

struct EigenPlan {
  int64_t n, batch;
  bool lower;
  JacobiPlan jacobi;
  WideArray a, vectors, values;
  int64_t hermitian, columns, not_definite;
  SpectrumMemory spectrum;
};

// The eigenvectors of a are the left singular vectors of the Cholesky factor of a + shift.
template <class T>
absl::Status DecomposeHermitian(const EigenPlan& plan, std::byte* memory, int32_t* failed, Stream stream) {
  const int64_t n = plan.n, batch = plan.batch;
  const MatrixView<T> a{At<T>(memory, plan.a.offset), n * n, n, 1};
  T *hermitian = At<T>(memory, plan.hermitian), *columns = At<T>(memory, plan.columns);
  HLO_RETURN_IF_ERROR(
      LaunchBlocks<PrepareHermitian<T>>(batch, PrepareHermitian<T>::kSharedBytes,
                                        {.a = plan.lower ? a : a.Adjoint(),
                                         .rows = Small(n),
                                         .columns = Small(n),
                                         .scaled = hermitian,
                                         .exponents = At<int32_t>(memory, plan.spectrum.exponents),
                                         .shifted = columns},
                                        stream));
  auto* not_definite = At<uint32_t>(memory, plan.not_definite);
  HLO_RETURN_IF_ERROR(Factor<T>({columns, n * n, 1, n}, n, batch, {.failed = not_definite}, stream));
  HLO_RETURN_IF_ERROR(
      LaunchElements<FinishFactor<T>>({columns, n, batch * n * n, false, not_definite}, stream));
  HLO_RETURN_IF_ERROR(Orthogonalise<T>({.columns = columns,
                                        .rows = Small(n),
                                        .column_count = Small(n),
                                        .orthogonal_rows = Small(n),
                                        .has_rotated = At<uint32_t>(memory, plan.spectrum.has_rotated)},
                                       plan.jacobi, batch, stream));
  HLO_RETURN_IF_ERROR(
      Measure<T>({columns, n, Small(n), hermitian, At<double>(memory, plan.spectrum.values)}, batch, stream));
  HLO_RETURN_IF_ERROR(
      LaunchBlocks<RankValues>(batch, 0, RankArgsOf(plan.spectrum, n, plan.values, failed, memory), stream));
  T* vectors = At<T>(memory, plan.vectors.offset);
  HLO_RETURN_IF_ERROR(LaunchElements<GatherColumns<T>>({.source = columns,
                                                        .source_rows = n,
                                                        .n = n,
                                                        .order = At<uint32_t>(memory, plan.spectrum.order),
                                                        .to = {vectors, n * n, n, 1},
                                                        .rows = n,
                                                        .columns = n,
                                                        .count = batch * n * n},
                                                       stream));
  return LaunchElements<InvalidateMatrices<T>>({vectors, n * n, batch * n * n, failed}, stream);
}

// --- Singular values

// A matrix with at least as many rows as columns is a = q [r; 0], where r^H = z s w^H is found by rotations w
// of the columns of r^H. So a = (q [w; 0]) s z^H. A wide matrix has the adjoint decomposition.
struct SingularPlan {
  int64_t m, n, batch;  // m >= n.
  bool is_wide, vectors;
  JacobiPlan jacobi;
  WideArray a, values;
  WideArray left, right;  // Arrays that receive q w and z.
  bool left_is_adjoint, right_is_adjoint;
  int64_t left_columns;
  int64_t q, taus, z, columns;
  SpectrumMemory spectrum;
};

// Applies reflectors to c, the last one first.
template <class T>
absl::Status ApplyQ(const MatrixView<T>& reflectors, const T* taus, const MatrixView<T>& c, MatrixSizes sizes,
                    int64_t count, Stream stream) {
  return Reflect<T>({.reflectors = reflectors,
                     .c = c,
                     .taus = taus,
                     .tau_stride = Small(count),
                     .count = Small(count),
                     .rows = Small(sizes.rows),
                     .columns = Small(sizes.columns),
                     .backwards = true},
                    sizes.batch, stream);
}

template <class T>
absl::Status SingularVectors(const SingularPlan& plan, std::byte* memory, const int32_t* failed,
                             Stream stream) {
  const int64_t m = plan.m, n = plan.n, batch = plan.batch, p = plan.left_columns;
  T *q = At<T>(memory, plan.q), *taus = At<T>(memory, plan.taus), *z = At<T>(memory, plan.z),
    *columns = At<T>(memory, plan.columns), *left = At<T>(memory, plan.left.offset),
    *right = At<T>(memory, plan.right.offset);
  const auto* order = At<uint32_t>(memory, plan.spectrum.order);
  const MatrixView<T> factor{q, m * n, n, 1}, dense{z, n * n, n, 1};
  const MatrixView<T> u =
      plan.left_is_adjoint ? MatrixView<T>{left, p * m, m, 1}.Adjoint() : MatrixView<T>{left, p * m, p, 1};
  const MatrixView<T> square{right, n * n, n, 1}, v = plan.right_is_adjoint ? square.Adjoint() : square;
  // The taus of q are needed after those of z.
  T* z_taus = taus + batch * n;
  const auto gather = [&](int64_t first, const MatrixView<T>& to, int64_t rows, int64_t width,
                          const T* signs) {
    return LaunchElements<GatherColumns<T>>(
        {columns + first, 2 * n, n, order, to, rows, width, batch * rows * width, signs}, stream);
  };
  HLO_RETURN_IF_ERROR(gather(0, dense, n, n, nullptr));
  HLO_RETURN_IF_ERROR(FactorQr<T>(z, z_taus, {n, n, batch}, stream));
  HLO_RETURN_IF_ERROR(LaunchElements<SetIdentity<T>>({right, n, n, batch * n * n}, stream));
  HLO_RETURN_IF_ERROR(ApplyQ<T>(dense, z_taus, v, {n, n, batch}, n, stream));
  // The triangular factor of z is s, except for signs.
  HLO_RETURN_IF_ERROR(gather(n, u, m, p, z));
  HLO_RETURN_IF_ERROR(ApplyQ<T>(factor, taus, u, {m, p, batch}, n, stream));
  if (n == 0) return absl::OkStatus();
  HLO_RETURN_IF_ERROR(LaunchElements<InvalidateMatrices<T>>({left, m * p, batch * m * p, failed}, stream));
  return LaunchElements<InvalidateMatrices<T>>({right, n * n, batch * n * n, failed}, stream);
}

template <class T>
absl::Status SingularValues(const SingularPlan& plan, std::byte* memory, int32_t* failed, Stream stream) {
  const int64_t m = plan.m, n = plan.n, batch = plan.batch, rows = plan.vectors ? 2 * n : n;
  T *q = At<T>(memory, plan.q), *a = At<T>(memory, plan.a.offset), *columns = At<T>(memory, plan.columns);
  const MatrixView<T> tall{a, m * n, n, 1}, wide{a, m * n, m, 1};
  HLO_RETURN_IF_ERROR(
      LaunchBlocks<PrepareGeneral<T>>(batch, PrepareGeneral<T>::kSharedBytes,
                                      {.a = plan.is_wide ? wide.Adjoint() : tall,
                                       .rows = Small(m),
                                       .columns = Small(n),
                                       .scaled = q,
                                       .exponents = At<int32_t>(memory, plan.spectrum.exponents)},
                                      stream));
  HLO_RETURN_IF_ERROR(FactorQr<T>(q, At<T>(memory, plan.taus), {m, n, batch}, stream));
  HLO_RETURN_IF_ERROR(
      LaunchElements<StackTriangle<T>>({q, m * n, columns, n, rows, batch * n * rows}, stream));
  HLO_RETURN_IF_ERROR(Orthogonalise<T>({.columns = columns,
                                        .rows = Small(rows),
                                        .column_count = Small(n),
                                        .orthogonal_rows = Small(n),
                                        .has_rotated = At<uint32_t>(memory, plan.spectrum.has_rotated)},
                                       plan.jacobi, batch, stream));
  HLO_RETURN_IF_ERROR(Measure<T>({columns, rows, Small(n), nullptr, At<double>(memory, plan.spectrum.values)},
                                 batch, stream));
  RankArgs rank = RankArgsOf(plan.spectrum, n, plan.values, failed, memory);
  rank.descending = true;
  return LaunchBlocks<RankValues>(batch, 0, rank, stream);
}

// Fills in the memory of the vectors. Returns false if the results do not have their shapes.
bool PlanVectors(FactorisationBuilder& b, const SingularValueCall& form, absl::Span<const Shape> results,
                 SingularPlan& plan) {
  if (results.size() < 4 || !results[2].IsArray() || !results[3].IsArray()) return false;
  const WideArray u = b.Result(2), v = b.Result(3);
  plan.left = plan.is_wide ? v : u;
  plan.right = plan.is_wide ? u : v;
  plan.left_is_adjoint = plan.is_wide && form.adjoint;
  plan.right_is_adjoint = !plan.is_wide && form.adjoint;
  const int64_t square = plan.batch * plan.n * plan.n, left = *results[plan.is_wide ? 3 : 2].ElementCount();
  plan.left_columns = plan.m == 0 || plan.batch == 0 ? 0 : left / (plan.batch * plan.m);
  return *results[plan.is_wide ? 2 : 3].ElementCount() == square;
}

// Requires that the launches fit the grid, and sizes of matrices 31 bits.
void RequireSizes(FactorisationBuilder& b, int64_t rows, int64_t columns) {
  b.Require(16 * rows, 16);
  b.is_valid &= static_cast<double>(rows) * static_cast<double>(columns) < 0x1p31;
}

}  // namespace

std::optional<CudaKernel> FindEigenKernel(const Instruction& call, int64_t array, bool lower,
                                          const DeviceProperties& device) {
  FactorisationBuilder b(call, array, device);
  const int64_t n = b.columns, batch = b.batch, size = batch * n * n * ByteCount(b.wide());
  RequireSizes(b, n, n);
  EigenPlan plan{.n = n,
                 .batch = batch,
                 .lower = lower,
                 .jacobi = PlanJacobi(n, n, ByteCount(b.wide()), device),
                 .a = b.Operand(array),
                 .vectors = b.Result(0),
                 .values = b.RealResult(1),
                 .hermitian = b.Take(size),
                 .columns = b.Take(size),
                 .not_definite = b.Take(batch * int64_t{sizeof(uint32_t)}),
                 .spectrum = TakeSpectrum(b, batch, n)};
  const bool has_info = ResultShapes(call).size() > 2;
  const size_t info = has_info ? b.Integers(2) : 0;
  return b.Finish(
      "syevd",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        auto* failed =
            has_info ? static_cast<int32_t*>(results[info]) : At<int32_t>(memory, plan.spectrum.failed);
        HLO_RETURN_IF_ERROR(device::FillOnDevice(failed, 0, batch * int64_t{sizeof(int32_t)}, stream));
        if (batch * n == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(plan.a, operands, memory, stream));
        HLO_RETURN_IF_ERROR(DecomposeHermitian<T>(plan, memory, failed, stream));
        HLO_RETURN_IF_ERROR(Narrow(plan.values, memory, results, stream));
        return Narrow(plan.vectors, memory, results, stream);
      });
}

std::optional<CudaKernel> FindSingularValueKernel(const Instruction& call, const SingularValueCall& form,
                                                  const DeviceProperties& device) {
  FactorisationBuilder b(call, form.array, device);
  const int64_t m = std::max(b.rows, b.columns), n = std::min(b.rows, b.columns), batch = b.batch,
                element = ByteCount(b.wide()), rows = form.vectors ? 2 * n : n;
  RequireSizes(b, m, rows);
  SingularPlan plan{.m = m,
                    .n = n,
                    .batch = batch,
                    .is_wide = b.rows < b.columns,
                    .vectors = form.vectors,
                    .jacobi = PlanJacobi(rows, n, element, device),
                    .a = b.Operand(form.array),
                    .values = b.RealResult(1),
                    .q = b.Take(batch * m * n * element),
                    .taus = b.Take(2 * batch * n * element),
                    .z = b.Take(batch * n * n * element),
                    .columns = b.Take(batch * n * rows * element),
                    .spectrum = TakeSpectrum(b, batch, n)};
  if (form.vectors && !PlanVectors(b, form, ResultShapes(call), plan)) return std::nullopt;
  const size_t info = b.Integers(4);
  return b.Finish(
      "gesdd",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        auto* failed = static_cast<int32_t*>(results[info]);
        HLO_RETURN_IF_ERROR(device::FillOnDevice(failed, 0, batch * int64_t{sizeof(int32_t)}, stream));
        if (batch * n > 0) {
          HLO_RETURN_IF_ERROR(Widen(plan.a, operands, memory, stream));
          HLO_RETURN_IF_ERROR(SingularValues<T>(plan, memory, failed, stream));
          HLO_RETURN_IF_ERROR(Narrow(plan.values, memory, results, stream));
        }
        if (!plan.vectors) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(SingularVectors<T>(plan, memory, failed, stream));
        HLO_RETURN_IF_ERROR(Narrow(plan.left, memory, results, stream));
        return Narrow(plan.right, memory, results, stream);
      });
}

}  // namespace hlo::cuda
