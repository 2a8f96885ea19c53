// Registers the kernels of potrf, getrf, geqrf, orgqr and ormqr. All types are widened to f64 or c128 and
// rounded once.

#include "kernels/cuda/lapack/factorisation_kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "device/align.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/lapack/blocked.h"
#include "kernels/cuda/lapack/conversion.h"
#include "kernels/cuda/lapack/lu_body.h"
#include "kernels/cuda/lapack/reflectors_body.h"

namespace hlo::cuda {
namespace {

using Function = FactorisationCall::Function;
using Operands = absl::Span<const void* const>;
using Results = absl::Span<void* const>;

// An array that is converted to or from the wide type: an operand or result, and its copy in the workspace.
struct WideArray {
  int64_t number = 0, offset = 0;
  Conversion conversion;
};

// The parts of a kernel that all functions share.
class Builder {
 public:
  Builder(const Instruction& call, const FactorisationCall& form, const DeviceProperties& device)
      : call_(call), device_(device), results_(ResultShapes(call)), is_written_(results_.size()) {
    const Shape& a = call.operand(form.array)->shape();
    is_complex = IsComplex(a.type());
    rows = a.dim(a.rank() - 2);
    columns = a.dim(a.rank() - 1);
    batch = BatchOf(a);
    Require(rows, columns);
  }

  // The launches for matrices of this size must fit the grid.
  void Require(int64_t row_count, int64_t column_count) {
    is_valid &= Fits(batch, row_count, column_count, device_);
  }

  ElementType wide() const { return is_complex ? ElementType::kC128 : ElementType::kF64; }
  int64_t Take(int64_t byte_count) { return std::exchange(end_, end_ + device::Aligned(byte_count)); }
  WideArray Operand(int64_t number) { return Array(number, call_.operand(number)->shape(), true, nullptr); }
  // The result replaces `operand`, which has as many elements, unless it is null.
  WideArray Result(int64_t number, const WideArray* operand = nullptr) {
    const auto k = static_cast<size_t>(number);
    if (k >= results_.size()) {
      is_valid = false;
      return {};
    }
    is_written_[k] = true;
    return Array(number, results_[k], false, operand);
  }
  // Returns the number of a result of s32.
  size_t Integers(size_t number) {
    if (number >= results_.size() || !results_[number].IsArray(ElementType::kS32))
      is_valid = false;
    else
      is_written_[number] = true;
    return number;
  }

  // Returns the kernel that calls run.operator()<T>(operands, results, workspace, stream) and clears all
  // other results.
  template <class Run>
  std::optional<CudaKernel> Finish(const char* name, Run&& run) {
    if (!is_valid) return std::nullopt;
    std::vector<std::pair<size_t, int64_t>> cleared;
    for (size_t k = 0; k < results_.size(); ++k) {
      if (!results_[k].IsArray()) return std::nullopt;
      if (!is_written_[k]) cleared.emplace_back(k, *DenseByteCount(results_[k]));
    }
    CudaKernel kernel{.name = fmt::format("{} {}", name, is_complex ? "c128" : "f64"),
                      .workspace_bytes = end_};
    kernel.run = [run = std::forward<Run>(run), cleared = std::move(cleared), complex = is_complex](
                     Operands operands, Results results, void* workspace, Stream stream) -> absl::Status {
      for (const auto& [k, byte_count] : cleared)
        HLO_RETURN_IF_ERROR(device::FillOnDevice(results[k], 0, byte_count, stream));
      auto* memory = static_cast<std::byte*>(workspace);
      return InWideType(
          complex, [&]<class T>() { return run.template operator()<T>(operands, results, memory, stream); });
    };
    return kernel;
  }

  bool is_complex = false, is_valid = true;
  int64_t rows = 0, columns = 0, batch = 0;

 private:
  WideArray Array(int64_t number, const Shape& shape, bool widen, const WideArray* place) {
    const int64_t count = *shape.ElementCount();
    std::optional<Conversion> conversion = widen ? Conversion::Make(shape.type(), wide(), count, device_)
                                                 : Conversion::Make(wide(), shape.type(), count, device_);
    if (IsComplex(shape.type()) != is_complex || !conversion.has_value()) {
      is_valid = false;
      return {};
    }
    return {number, place != nullptr ? place->offset : Take(count * ByteCount(wide())),
            *std::move(conversion)};
  }

  const Instruction& call_;
  const DeviceProperties& device_;
  absl::Span<const Shape> results_;
  std::vector<bool> is_written_;
  int64_t end_ = 0;
};

absl::Status Widen(const WideArray& array, Operands operands, std::byte* memory, Stream stream) {
  return array.conversion.Run(operands[static_cast<size_t>(array.number)], memory + array.offset, stream);
}
absl::Status Narrow(const WideArray& array, std::byte* memory, Results results, Stream stream) {
  return array.conversion.Run(memory + array.offset, results[static_cast<size_t>(array.number)], stream);
}

template <class T>
T* At(std::byte* memory, int64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

std::optional<CudaKernel> Potrf(Builder b, const FactorisationCall& form) {
  const WideArray operand = b.Operand(form.array), factor = b.Result(0);
  const size_t order = b.Integers(1);
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
        HLO_RETURN_IF_ERROR(LaunchBlocks<MergeFactor<T>>(Tiles(count, MergeFactor<T>::kThreads), 0,
                                                         {data, given, n, count, lower, orders, args.pivot},
                                                         stream));
        return Narrow(factor, memory, results, stream);
      });
}

struct MatrixSizes {
  int64_t rows, columns, batch;
};

template <class T>
absl::Status FactorLu(T* data, const MatrixSizes& sizes, int32_t* pivots, int32_t* info, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  const auto [m, n, batch] = sizes;
  const int64_t count = std::min(m, n);
  const MatrixView<T> a{data, m * n, n, 1};
  const auto small = [](int64_t x) { return static_cast<uint32_t>(x); };
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t size = std::min(kBlock, count - first), end = first + size;
    const MatrixView<T> panel = a.From(first, first);
    HLO_RETURN_IF_ERROR(LaunchBlocks<LuPanel<T>>(
        batch, LuPanel<T>::kSharedBytes,
        {panel, small(m - first), small(size), small(first), pivots + first, small(count), info}, stream));
    if (n > size) {
      const int64_t tiles = Tiles(n - size, SwapRows<T>::kThreads);
      HLO_RETURN_IF_ERROR(LaunchBlocks<SwapRows<T>>(
          tiles * batch, 0,
          {a, small(n), small(first), small(end), small(first), small(size), pivots + first, small(count)},
          stream));
    }
    if (n == end) continue;
    const MatrixView<T> right = a.From(first, end);
    HLO_RETURN_IF_ERROR(Solve<T>(
        {.a = panel, .x = right, .size = small(size), .columns = small(n - end), .unit_diagonal = true},
        batch, stream));
    if (m == end) continue;
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = a.From(end, end),
                                     .a = a.From(end, first),
                                     .b = right,
                                     .rows = small(m - end),
                                     .columns = small(n - end),
                                     .depth = small(size)},
                                    batch, stream));
  }
  return absl::OkStatus();
}

std::optional<CudaKernel> Getrf(Builder b, const FactorisationCall& form) {
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

template <class T>
absl::Status Reflect(const ApplyReflectorsArgs<T>& args, int64_t batch, Stream stream) {
  if (args.count == 0) return absl::OkStatus();
  return LaunchBlocks<ApplyReflectors<T>>(Tiles(args.columns, kReflectedColumns) * batch,
                                          ApplyReflectors<T>::kSharedBytes, args, stream);
}

template <class T>
absl::Status FactorQr(T* data, T* taus, const MatrixSizes& sizes, Stream stream) {
  const auto [m, n, batch] = sizes;
  const int64_t count = std::min(m, n);
  const auto small = [](int64_t x) { return static_cast<uint32_t>(x); };
  const MatrixView<T> a{data, m * n, n, 1};
  for (int64_t first = 0; first < count; first += kReflectedColumns) {
    const int64_t size = std::min<int64_t>(kReflectedColumns, count - first), end = first + size;
    const MatrixView<T> panel = a.From(first, first);
    HLO_RETURN_IF_ERROR(
        LaunchBlocks<QrPanel<T>>(batch, QrPanel<T>::kSharedBytes,
                                 {panel, small(m - first), small(size), taus + first, small(count)}, stream));
    HLO_RETURN_IF_ERROR(Reflect<T>({.reflectors = panel,
                                    .c = a.From(first, end),
                                    .taus = taus + first,
                                    .tau_stride = small(count),
                                    .count = small(size),
                                    .rows = small(m - first),
                                    .columns = small(n - end),
                                    .conjugate = true},
                                   batch, stream));
  }
  return absl::OkStatus();
}

std::optional<CudaKernel> Geqrf(Builder b, const FactorisationCall& form) {
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

int64_t LastDimension(const Instruction& call, int64_t operand) {
  const Shape& shape = call.operand(operand)->shape();
  return shape.dim(shape.rank() - 1);
}
uint32_t ReflectorCount(const Builder& b, const Instruction& call, int64_t taus) {
  return static_cast<uint32_t>(std::min({LastDimension(call, taus), b.rows, b.columns}));
}

std::optional<CudaKernel> Orgqr(Builder b, const Instruction& call, const FactorisationCall& form) {
  const WideArray reflectors = b.Operand(form.array), taus = b.Operand(form.array + 1), q = b.Result(0);
  const uint32_t count = ReflectorCount(b, call, form.array + 1),
                 stride = static_cast<uint32_t>(LastDimension(call, form.array + 1));
  const int64_t m = b.rows, n = b.columns, batch = b.batch, elements = m * n * batch;
  return b.Finish(
      "orgqr",
      [=]<class T>(Operands operands, Results results, std::byte* memory, Stream stream) -> absl::Status {
        if (elements == 0) return absl::OkStatus();
        HLO_RETURN_IF_ERROR(Widen(reflectors, operands, memory, stream));
        HLO_RETURN_IF_ERROR(Widen(taus, operands, memory, stream));
        T* data = At<T>(memory, q.offset);
        HLO_RETURN_IF_ERROR(LaunchBlocks<SetIdentity<T>>(Tiles(elements, SetIdentity<T>::kThreads), 0,
                                                         {data, m, n, elements}, stream));
        HLO_RETURN_IF_ERROR(Reflect<T>({.reflectors = {At<T>(memory, reflectors.offset), m * n, n, 1},
                                        .c = {data, m * n, n, 1},
                                        .taus = At<T>(memory, taus.offset),
                                        .tau_stride = stride,
                                        .count = count,
                                        .rows = static_cast<uint32_t>(m),
                                        .columns = static_cast<uint32_t>(n),
                                        .backwards = true},
                                       batch, stream));
        return Narrow(q, memory, results, stream);
      });
}

// c (1 - tau v v^H) is the adjoint of (1 - conj(tau) v v^H) c^H.
std::optional<CudaKernel> Ormqr(Builder b, const Instruction& call, const FactorisationCall& form) {
  const WideArray reflectors = b.Operand(0), taus = b.Operand(1), operand = b.Operand(2),
                  product = b.Result(0, &operand);
  const uint32_t count = ReflectorCount(b, call, 1), stride = static_cast<uint32_t>(LastDimension(call, 1));
  const Shape& c = call.operand(2)->shape();
  const int64_t m = b.rows, n = b.columns, batch = b.batch, rows = c.dim(c.rank() - 2),
                columns = c.dim(c.rank() - 1);
  b.Require(rows, columns);
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
                                        .rows = static_cast<uint32_t>(m),
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
  Builder builder(call, form, device);
  switch (form.function) {
    case Function::kPotrf:
      return Potrf(std::move(builder), form);
    case Function::kGetrf:
      return Getrf(std::move(builder), form);
    case Function::kGeqrf:
      return Geqrf(std::move(builder), form);
    case Function::kOrgqr:
      return Orgqr(std::move(builder), call, form);
    case Function::kOrmqr:
      return Ormqr(std::move(builder), call, form);
  }
  return std::nullopt;
}

}  // namespace hlo::cuda
