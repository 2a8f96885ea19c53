// Registers the kernels of cholesky and triangular-solve. All types are widened to f64 or c128 and rounded
// once.

#include "kernels/cuda/lapack/triangular_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "fmt/format.h"
#include "kernels/cuda/lapack/triangular_body.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// Converts elements from one type to another. Arguments: from, to.
class Conversion {
 public:
  static std::optional<Conversion> Make(ElementType from, ElementType to, int64_t count,
                                        const DeviceProperties& device) {
    Conversion conversion;
    conversion.byte_count_ = count * ByteCount(to);
    if (from == to) return conversion;
    const loops::Lane lane = loops::LaneOf(to);
    loops::LoopProgram program({}, {count});
    loops::Value value = program.Load(loops::Access{.argument = 0, .type = from, .inner = {1}});
    if (loops::LaneOf(from) != lane) value = program.Apply(*loops::FindConvert(from, to), lane, {value});
    if (const auto round = loops::FindRounding(to); round.has_value())
      value = program.Apply(*round, lane, {value});
    program.Store(value, loops::Access{.argument = 1, .type = to, .inner = {1}});
    program.Finish();
    absl::StatusOr<LoweredProgram> lowered = LowerLoop(program, device);
    if (!lowered.ok()) return std::nullopt;
    conversion.loop_ = *std::move(lowered);
    return conversion;
  }

  bool is_copy() const { return !loop_.has_value(); }
  absl::Status Run(const void* from, void* to, Stream stream) const {
    if (is_copy()) return device::CopyOnDevice(to, from, byte_count_, stream);
    void* pointers[] = {const_cast<void*>(from), to};
    return loop_->run(pointers, nullptr, stream);
  }

 private:
  std::optional<LoweredProgram> loop_;
  int64_t byte_count_ = 0;
};

template <class Kernel>
absl::Status LaunchBlocks(int64_t blocks, size_t shared_bytes, const typename Kernel::Args& args,
                          Stream stream) {
  if (blocks == 0) return absl::OkStatus();
  return Launch<Kernel>({{static_cast<uint32_t>(blocks)}, Kernel::kThreads, shared_bytes}, args, stream);
}

int64_t Tiles(int64_t count, int64_t tile) { return CeilDiv(count, tile); }

template <class T>
absl::Status Subtract(const SubtractArgs<T>& args, int64_t batch, Stream stream) {
  using Kernel = SubtractGemm<T>;
  return LaunchBlocks<Kernel>(Tiles(args.rows, Kernel::kTile) * Tiles(args.columns, Kernel::kTile) * batch,
                              Kernel::kSharedBytes, args, stream);
}
template <class T>
absl::Status Solve(const SolveArgs<T>& args, int64_t batch, Stream stream) {
  using Kernel = SolveBlock<T>;
  return LaunchBlocks<Kernel>(Tiles(args.columns, Kernel::kThreads) * batch, Kernel::kSharedBytes, args,
                              stream);
}

// Factors l l^H = a in place, from the lower triangle (potrf).
template <class T>
absl::Status Factor(const MatrixView<T>& a, int64_t n, int64_t batch, uint32_t* failed, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  HLO_RETURN_IF_ERROR(device::FillOnDevice(failed, 0, batch * sizeof *failed, stream));
  for (int64_t first = 0; first < n; first += kBlock) {
    const MatrixView<T> block = a.From(first, first);
    const auto size = static_cast<uint32_t>(std::min(kBlock, n - first));
    HLO_RETURN_IF_ERROR(
        LaunchBlocks<FactorBlock<T>>(batch, FactorBlock<T>::kSharedBytes, {block, size, failed}, stream));
    const auto rest = static_cast<uint32_t>(n - first - size);
    if (rest == 0) break;
    // The rows below are solved against the adjoint of the diagonal block (trsm).
    const MatrixView<T> below = block.From(size, 0);
    HLO_RETURN_IF_ERROR(
        Solve<T>({.a = block, .x = below.Adjoint(), .size = size, .columns = rest}, batch, stream));
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = block.From(size, size),
                                     .a = below,
                                     .b = below.Adjoint(),
                                     .rows = rest,
                                     .columns = rest,
                                     .depth = size,
                                     .lower_only = true},
                                    batch, stream));
  }
  return absl::OkStatus();
}

// Solves a x = x in place (trsm).
template <class T>
absl::Status Substitute(SolveArgs<T> args, int64_t n, int64_t batch, Stream stream) {
  constexpr int64_t kBlock = kTriangleBlock<T>;
  const MatrixView<T> a = args.a, x = args.x;
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t size = std::min(kBlock, n - done), first = args.lower ? done : n - done - size;
    args.a = a.From(first, first);
    args.x = x.From(first, 0);
    args.size = static_cast<uint32_t>(size);
    HLO_RETURN_IF_ERROR(Solve<T>(args, batch, stream));
    const int64_t rest = args.lower ? first + size : 0;  // First remaining row.
    HLO_RETURN_IF_ERROR(Subtract<T>({.c = x.From(rest, 0),
                                     .a = a.From(rest, first),
                                     .b = args.x,
                                     .rows = static_cast<uint32_t>(n - done - size),
                                     .columns = args.columns,
                                     .depth = static_cast<uint32_t>(size)},
                                    batch, stream));
  }
  return absl::OkStatus();
}

// Calls run.operator()<T>() with the wide type.
template <class Run>
absl::Status InWideType(bool complex, Run&& run) {
  return complex ? run.template operator()<WideComplex>() : run.template operator()<double>();
}

// True if the launches for matrices of this size fit the grid and shared memory.
bool Fits(int64_t batch, int64_t rows, int64_t columns, const DeviceProperties& device) {
  const double blocks = static_cast<double>(batch) * static_cast<double>(Tiles(rows, 16)) *
                        static_cast<double>(Tiles(columns, 16));
  return blocks < 0x1p31 &&
         device.shared_bytes_per_block >= static_cast<int64_t>(SolveBlock<double>::kSharedBytes);
}

int64_t BatchOf(const Shape& matrices) {
  return hlo::Product(matrices.dims().subspan(0, static_cast<size_t>(matrices.rank() - 2)));
}

std::string NameOf(const char* what, bool complex) {
  return complex ? fmt::format("{} c128, blocks of {}", what, kTriangleBlock<WideComplex>)
                 : fmt::format("{} f64, blocks of {}", what, kTriangleBlock<double>);
}

}  // namespace

std::optional<CudaKernel> FindCholeskyKernel(const Instruction& cholesky, const DeviceProperties& device) {
  const Shape &a = cholesky.operand(0)->shape(), &result = cholesky.shape();
  const bool complex = IsComplex(a.type()), lower = cholesky.Get<attr::lower>();
  const ElementType wide = complex ? ElementType::kC128 : ElementType::kF64;
  const int64_t n = a.dim(a.rank() - 1), batch = BatchOf(a), count = batch * n * n;
  const std::optional<Conversion> widen = Conversion::Make(a.type(), wide, count, device),
                                  narrow = Conversion::Make(wide, result.type(), count, device);
  if (IsComplex(result.type()) != complex || !widen || !narrow || !Fits(batch, n, n, device))
    return std::nullopt;
  const int64_t flag_bytes = device::Aligned(batch * int64_t{sizeof(uint32_t)});
  return CudaKernel{
      NameOf("cholesky", complex), flag_bytes + (narrow->is_copy() ? 0 : count * ByteCount(wide)),
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
          Stream stream) -> absl::Status {
        if (count == 0) return absl::OkStatus();
        auto* failed = static_cast<uint32_t*>(workspace);
        void* data = narrow->is_copy() ? results[0] : static_cast<std::byte*>(workspace) + flag_bytes;
        HLO_RETURN_IF_ERROR(widen->Run(operands[0], data, stream));
        HLO_RETURN_IF_ERROR(InWideType(complex, [&]<class T>() -> absl::Status {
          // The upper factor is the transposed lower factor of the transpose.
          const MatrixView<T> matrices{static_cast<T*>(data), n * n, lower ? n : 1, lower ? 1 : n};
          HLO_RETURN_IF_ERROR(Factor<T>(matrices, n, batch, failed, stream));
          return LaunchBlocks<FinishFactor<T>>(Tiles(count, FinishFactor<T>::kThreads), 0,
                                               {static_cast<T*>(data), n, count, lower, failed}, stream);
        }));
        return narrow->Run(data, results[0], stream);
      }};
}

std::optional<CudaKernel> FindTriangularSolveKernel(const Instruction& solve,
                                                    const DeviceProperties& device) {
  const Shape &a = solve.operand(0)->shape(), &b = solve.operand(1)->shape(), &result = solve.shape();
  const bool complex = IsComplex(a.type());
  if (IsComplex(b.type()) != complex || IsComplex(result.type()) != complex) return std::nullopt;
  const ElementType wide = complex ? ElementType::kC128 : ElementType::kF64;
  const int64_t n = a.dim(a.rank() - 1), batch = BatchOf(a), columns = b.dim(b.rank() - 1),
                size = b.dim(b.rank() - 2) * columns;
  const std::optional<Conversion> widen_a = Conversion::Make(a.type(), wide, batch * n * n, device),
                                  widen_b = Conversion::Make(b.type(), wide, batch * size, device),
                                  narrow = Conversion::Make(wide, result.type(), batch * size, device);
  const bool left = solve.Get<attr::left_side>();
  const int64_t others = left ? columns : b.dim(b.rank() - 2);
  if (!widen_a || !widen_b || !narrow || !Fits(batch, n, std::max(n, others), device)) return std::nullopt;
  const TransposeA op = solve.Get<attr::transpose_a>();
  // X op(A) = B is equivalent to op(A)^T X^T = B^T.
  const bool transposed = (op == TransposeA::kTranspose || op == TransposeA::kAdjoint) == left;
  const bool lower = solve.Get<attr::lower>() != transposed, adjoint = op == TransposeA::kAdjoint,
             unit_diagonal = solve.Get<attr::unit_diagonal>();
  const int64_t a_bytes = widen_a->is_copy() ? 0 : device::Aligned(batch * n * n * ByteCount(wide));
  return CudaKernel{
      NameOf("triangular-solve", complex), a_bytes + (narrow->is_copy() ? 0 : batch * size * ByteCount(wide)),
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void* workspace,
          Stream stream) -> absl::Status {
        if (batch * size == 0) return absl::OkStatus();
        void* triangle = workspace;
        if (widen_a->is_copy())
          triangle = const_cast<void*>(operands[0]);  // It is only read.
        else
          HLO_RETURN_IF_ERROR(widen_a->Run(operands[0], triangle, stream));
        void* data = narrow->is_copy() ? results[0] : static_cast<std::byte*>(workspace) + a_bytes;
        HLO_RETURN_IF_ERROR(widen_b->Run(operands[1], data, stream));
        HLO_RETURN_IF_ERROR(InWideType(complex, [&]<class T>() {
          const SolveArgs<T> args{
              .a = {static_cast<T*>(triangle), n * n, transposed ? 1 : n, transposed ? n : 1, adjoint},
              .x = {static_cast<T*>(data), size, left ? columns : 1, left ? 1 : columns},
              .columns = static_cast<uint32_t>(others),
              .lower = lower,
              .unit_diagonal = unit_diagonal};
          return Substitute<T>(args, n, batch, stream);
        }));
        return narrow->Run(data, results[0], stream);
      }};
}

}  // namespace hlo::cuda
