// Registers the kernels of potrf, getrf, geqrf, orgqr, ormqr and gtsv. All types are widened to f64 or c128
// and rounded once.

#include "kernels/cuda/lapack/factorisation_kernels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cuda/lapack/blocked_qr.h"
#include "kernels/cuda/lapack/factorisation_builder.h"
#include "kernels/cuda/lapack/lu_body.h"
#include "kernels/cuda/lapack/tridiagonal_body.h"

namespace hlo::cuda {
namespace {

using Function = FactorisationCall::Function;
std::optional<CudaKernel> Potrf(FactorisationBuilder b, const FactorisationCall& form) {
  const WideArray operand = b.Operand(form.array), factor = b.Result(0);
  const size_t order = b.Integers(static_cast<size_t>(form.info));
  const int64_t n = b.columns, batch = b.batch, count = batch * n * n;
  const int64_t failed = b.Take(batch * int64_t{sizeof(uint32_t)}),
                pivots = b.Take(batch * int64_t{sizeof(double)});
  return b.Finish(
      "potrf",
      [=, lower = form.lower]<class T>(Operands operands, Results results, std::byte* memory,
                                       Stream stream) -> absl::Status {
        auto* orders = static_cast<int32_t*>(results[order]);
        HLO_RETURN_IF_ERROR(device::FillOnDevice(orders, 0, batch * int64_t{sizeof(int32_t)}, stream));
        if (count == 0) return absl::OkStatus();
        T *given = At<T>(memory, operand.offset), *data = At<T>(memory, factor.offset);
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        HLO_RETURN_IF_ERROR(device::CopyOnDevice(data, given, count * int64_t{sizeof(T)}, stream));
        const MatrixView<T> matrices{data, n * n, lower ? n : 1, lower ? 1 : n};
        const FactorArgs<T> args{
            .failed = At<uint32_t>(memory, failed), .order = orders, .pivot = At<double>(memory, pivots)};
        HLO_RETURN_IF_ERROR(Factor<T>(matrices, n, batch, args, stream));
        HLO_RETURN_IF_ERROR(
            LaunchElements<MergeFactor<T>>({data, given, n, count, lower, orders, args.pivot}, stream));
        return Narrow(factor, memory, results, stream);
      });
}

template <class T>
absl::Status FactorLu(T* data, const MatrixSizes& sizes, int32_t* pivots, int32_t* info, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  const auto [m, n, batch] = sizes;
  const int64_t count = std::min(m, n);
  const MatrixView<T> a{data, m * n, n, 1};
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t size = std::min(kBlock, count - first), end = first + size;
    const MatrixView<T> panel = a.From(first, first);
    HLO_RETURN_IF_ERROR(LaunchBlocks<LuPanel<T>>(
        batch, LuPanel<T>::kSharedBytes,
        {panel, Small(m - first), Small(size), Small(first), pivots + first, Small(count), info}, stream));
    if (n > size) {
      const int64_t tiles = Tiles(n - size, SwapRows<T>::kThreads);
      HLO_RETURN_IF_ERROR(LaunchBlocks<SwapRows<T>>(
          tiles * batch, 0,
          {a, Small(n), Small(first), Small(end), Small(first), Small(size), pivots + first, Small(count)},
          stream));
    }
    if (n == end) continue;
    const MatrixView<T> right = a.From(first, end);
    HLO_RETURN_IF_ERROR(Solve<T>(
        {.a = panel, .x = right, .size = Small(size), .columns = Small(n - end), .unit_diagonal = true},
        batch, stream));
    if (m == end) continue;
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = a.From(end, end),
                                     .a = a.From(end, first),
                                     .b = right,
                                     .rows = Small(m - end),
                                     .columns = Small(n - end),
                                     .depth = Small(size)},
                                    batch, stream));
  }
  return absl::OkStatus();
}

// The elements of a panel have 32-bit numbers.
bool HasSmallPanels(const FactorisationBuilder& b) {
  return b.rows * int64_t{kTriangleBlock<double>} < int64_t{1} << 32;
}

std::optional<CudaKernel> Getrf(FactorisationBuilder b, const FactorisationCall& form) {
  b.is_valid &= HasSmallPanels(b);
  const WideArray operand = b.Operand(form.array), factor = b.Result(0, &operand);
  const size_t pivots = b.Integers(1), info = b.Integers(2);
  const MatrixSizes sizes{b.rows, b.columns, b.batch};
  return b.Finish(
      "getrf",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        auto *infos = static_cast<int32_t*>(results[info]), *rows = static_cast<int32_t*>(results[pivots]);
        HLO_RETURN_IF_ERROR(device::FillOnDevice(infos, 0, sizes.batch * int64_t{sizeof(int32_t)}, stream));
        if (sizes.rows * sizes.columns * sizes.batch == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        HLO_RETURN_IF_ERROR(FactorLu<T>(At<T>(memory, factor.offset), sizes, rows, infos, stream));
        return Narrow(factor, memory, results, stream);
      });
}

std::optional<CudaKernel> Geqrf(FactorisationBuilder b, const FactorisationCall& form) {
  const WideArray operand = b.Operand(form.array), factor = b.Result(0, &operand), taus = b.Result(1);
  const MatrixSizes sizes{b.rows, b.columns, b.batch};
  return b.Finish(
      "geqrf",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (sizes.rows * sizes.columns * sizes.batch == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        HLO_RETURN_IF_ERROR(
            FactorQr<T>(At<T>(memory, factor.offset), At<T>(memory, taus.offset), sizes, stream));
        HLO_RETURN_IF_ERROR(Narrow(factor, memory, results, stream));
        return Narrow(taus, memory, results, stream);
      });
}

PermutationArgs PermutationOf(const int32_t* pivots, int32_t* permutation, int64_t count, int64_t rows,
                              int64_t batch) {
  return {.pivots = pivots,
          .permutation = permutation,
          .pivot_count = Small(count),
          .rows = Small(rows),
          .batch = Small(batch)};
}
absl::Status Permute(const PermutationArgs& args, Stream stream) {
  return LaunchBlocks<MakePermutation>(Tiles(args.batch, MakePermutation::kThreads), 0, args, stream);
}

// The results are the factors, the pivots counted from 0, and the permutation.
std::optional<CudaKernel> LuDecomposition(FactorisationBuilder b, const FactorisationCall& form) {
  b.is_valid &= HasSmallPanels(b);
  const WideArray operand = b.Operand(form.array), factor = b.Result(0, &operand);
  const size_t pivots = b.Integers(1), permutation = b.Integers(2);
  const MatrixSizes sizes{b.rows, b.columns, b.batch};
  const int64_t count = std::min(sizes.rows, sizes.columns), word = sizeof(int32_t);
  const int64_t counted = b.Take(count * sizes.batch * word), info = b.Take(sizes.batch * word);
  return b.Finish(
      "getrf",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        auto* rows = At<int32_t>(memory, counted);
        if (count * sizes.batch > 0) {
          HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
          HLO_RETURN_IF_ERROR(
              FactorLu<T>(At<T>(memory, factor.offset), sizes, rows, At<int32_t>(memory, info), stream));
          HLO_RETURN_IF_ERROR(Narrow(factor, memory, results, stream));
        }
        PermutationArgs args =
            PermutationOf(rows, static_cast<int32_t*>(results[permutation]), count, sizes.rows, sizes.batch);
        args.counted = static_cast<int32_t*>(results[pivots]);
        args.first_row = 1;
        return Permute(args, stream);
      });
}

int64_t LastDimension(const Instruction& call, int64_t operand) {
  const Shape& shape = call.operand(operand)->shape();
  return shape.dim(shape.rank() - 1);
}
uint32_t ReflectorCount(const FactorisationBuilder& b, const Instruction& call, int64_t taus) {
  return static_cast<uint32_t>(std::min({LastDimension(call, taus), b.rows, b.columns}));
}

std::optional<CudaKernel> Orgqr(FactorisationBuilder b, const Instruction& call,
                                const FactorisationCall& form) {
  const WideArray reflectors = b.Operand(form.array), taus = b.Operand(form.array + 1), q = b.Result(0);
  const uint32_t count = ReflectorCount(b, call, form.array + 1),
                 stride = static_cast<uint32_t>(LastDimension(call, form.array + 1));
  const int64_t m = b.rows, n = b.columns, batch = b.batch, elements = m * n * batch;
  b.RequireReflections(batch * Tiles(n, kReflectedColumns), m, kReflectedColumns, count);
  return b.Finish(
      "orgqr",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (elements == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(reflectors, operands, memory, stream));
        HLO_RETURN_IF_ERROR(Widen(taus, operands, memory, stream));
        T* data = At<T>(memory, q.offset);
        HLO_RETURN_IF_ERROR(LaunchElements<SetIdentity<T>>({data, m, n, elements}, stream));
        HLO_RETURN_IF_ERROR(Reflect<T>({.reflectors = {At<T>(memory, reflectors.offset), m * n, n, 1},
                                        .c = {data, m * n, n, 1},
                                        .taus = At<T>(memory, taus.offset),
                                        .tau_stride = stride,
                                        .count = count,
                                        .rows = Small(m),
                                        .columns = Small(n),
                                        .backwards = true},
                                       batch, stream));
        return Narrow(q, memory, results, stream);
      });
}

// c (1 - tau v v^H) is the adjoint of (1 - conj(tau) v v^H) c^H.
std::optional<CudaKernel> Ormqr(FactorisationBuilder b, const Instruction& call,
                                const FactorisationCall& form) {
  const WideArray reflectors = b.Operand(0), taus = b.Operand(1), operand = b.Operand(2),
                  product = b.Result(0, &operand);
  const uint32_t count = ReflectorCount(b, call, 1), stride = static_cast<uint32_t>(LastDimension(call, 1));
  const Shape& c = call.operand(2)->shape();
  const int64_t m = b.rows, n = b.columns, batch = b.batch, rows = c.dim(c.rank() - 2),
                columns = c.dim(c.rank() - 1);
  b.Require(rows, columns);
  b.RequireReflections(batch * Tiles(form.left ? columns : rows, kReflectedColumns), m, kReflectedColumns,
                       count);
  return b.Finish(
      "ormqr",
      [=, left = form.left, adjoint = form.adjoint]<class T>(
          Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (rows * columns * batch == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(reflectors, operands, memory, stream));
        HLO_RETURN_IF_ERROR(Widen(taus, operands, memory, stream));
        HLO_RETURN_IF_ERROR(Widen(operand, operands, memory, stream));
        const MatrixView<T> all{At<T>(memory, product.offset), rows * columns, columns, 1};
        // q c applies the last reflector first, q^H c the first one. From the right, the order is reversed.
        HLO_RETURN_IF_ERROR(Reflect<T>({.reflectors = {At<T>(memory, reflectors.offset), m * n, n, 1},
                                        .c = left ? all : all.Adjoint(),
                                        .taus = At<T>(memory, taus.offset),
                                        .tau_stride = stride,
                                        .count = count,
                                        .rows = Small(m),
                                        .columns = static_cast<uint32_t>(left ? columns : rows),
                                        .backwards = left != adjoint,
                                        .conjugate = adjoint == left},
                                       batch, stream));
        return Narrow(product, memory, results, stream);
      });
}

}  // namespace

std::optional<CudaKernel> FindFactorisationKernel(const Instruction& call, const FactorisationCall& form,
                                                  const DeviceProperties& device) {
  FactorisationBuilder builder(call, form.array, device);
  switch (form.function) {
    case Function::kPotrf:
      return Potrf(std::move(builder), form);
    case Function::kGetrf:
      return Getrf(std::move(builder), form);
    case Function::kLuDecomposition:
      return LuDecomposition(std::move(builder), form);
    case Function::kGeqrf:
      return Geqrf(std::move(builder), form);
    case Function::kOrgqr:
      return Orgqr(std::move(builder), call, form);
    case Function::kOrmqr:
      return Ormqr(std::move(builder), call, form);
  }
  return std::nullopt;
}

std::optional<CudaKernel> FindPermutationKernel(const Instruction& call) {
  const Shape &pivots = call.operand(0)->shape(), &permutation = call.shape();
  const int64_t count = pivots.dim(pivots.rank() - 1), rows = permutation.dim(permutation.rank() - 1);
  const int64_t batch = hlo::Product(pivots.dims().subspan(0, static_cast<size_t>(pivots.rank() - 1)));
  if (std::max({count, rows, batch}) >= int64_t{1} << 31) return std::nullopt;
  CudaKernel kernel{.name = "pivots to permutation"};
  kernel.run = [=](Operands operands, Results results, void* /*workspace*/, Stream stream) {
    return Permute(PermutationOf(static_cast<const int32_t*>(operands[0]), static_cast<int32_t*>(results[0]),
                                 count, rows, batch),
                   stream);
  };
  return kernel;
}

namespace {

// The arrays of a batch of tridiagonal systems in the workspace: (below, diagonal, above, right sides).
class TridiagonalSystems {
 public:
  explicit TridiagonalSystems(FactorisationBuilder& b) : n_(b.rows), columns_(b.columns), batch_(b.batch) {
    for (int64_t k = 0; k < 4; ++k) arrays_[k] = b.Operand(k);
    factors_ = b.Take(batch_ * n_ * ByteCount(b.wide()));
    exchanges_ = b.Take(batch_ * n_);
  }
  const WideArray& array(int64_t k) const { return arrays_[k]; }
  int64_t batch() const { return batch_; }
  bool IsEmpty() const { return batch_ * n_ == 0; }

  template <class T>
  absl::Status Solve(Operands operands, std::byte* memory, int32_t* infos, bool nan_if_singular,
                     Stream stream) const {
    for (const WideArray& array : arrays_) HLO_RETURN_IF_ERROR(Widen(array, operands, memory, stream));
    const auto data = [&](int k) { return At<T>(memory, arrays_[k].offset); };
    const TridiagonalArgs<T> args{.below = data(0),
                                  .diagonal = data(1),
                                  .above = data(2),
                                  .right_sides = data(3),
                                  .n = Small(n_),
                                  .columns = Small(columns_),
                                  .batch = Small(batch_),
                                  .nan_if_singular = nan_if_singular,
                                  .factors = At<T>(memory, factors_),
                                  .exchanges = At<uint8_t>(memory, exchanges_),
                                  .info = infos};
    HLO_RETURN_IF_ERROR(
        LaunchBlocks<FactorTridiagonal<T>>(Tiles(batch_, FactorTridiagonal<T>::kThreads), 0, args, stream));
    return LaunchBlocks<SolveTridiagonal<T>>(Tiles(columns_, SolveTridiagonal<T>::kThreads) * batch_, 0, args,
                                             stream);
  }

 private:
  WideArray arrays_[4];
  int64_t n_, columns_, batch_, factors_ = 0, exchanges_ = 0;
};

}  // namespace

std::optional<CudaKernel> FindGtsvKernel(const Instruction& call, const DeviceProperties& device) {
  FactorisationBuilder b(call, 3, device);
  const TridiagonalSystems systems(b);
  std::array<WideArray, 4> results_of;
  for (int64_t k = 0; k < 4; ++k) results_of[k] = b.Result(k, &systems.array(k));
  const size_t info = b.Integers(4);
  return b.Finish(
      "gtsv",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        auto* infos = static_cast<int32_t*>(results[info]);
        if (systems.IsEmpty())
          return device::FillOnDevice(infos, 0, systems.batch() * int64_t{sizeof *infos}, stream);
        HLO_RETURN_IF_ERROR(systems.Solve<T>(operands, memory, infos, false, stream));
        for (const WideArray& array : results_of) HLO_RETURN_IF_ERROR(Narrow(array, memory, results, stream));
        return absl::OkStatus();
      });
}

std::optional<CudaKernel> FindTridiagonalSolveKernel(const Instruction& call,
                                                     const DeviceProperties& device) {
  FactorisationBuilder b(call, 3, device);
  const TridiagonalSystems systems(b);
  const WideArray solution = b.Result(0, &systems.array(3));
  const int64_t info = b.Take(systems.batch() * int64_t{sizeof(int32_t)});
  return b.Finish(
      "tridiagonal solve",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (systems.IsEmpty()) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(systems.Solve<T>(operands, memory, At<int32_t>(memory, info), true, stream));
        return Narrow(solution, memory, results, stream);
      });
}

}  // namespace hlo::cuda
