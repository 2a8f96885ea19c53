#pragma once
// Builds the kernels of custom calls on a batch of matrices: operands are widened to f64 or c128 in the
// workspace, and results are rounded once.

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/align.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/lapack/blocked.h"
#include "kernels/cuda/lapack/conversion.h"

namespace hlo::cuda {

using Operands = absl::Span<const void* const>;
using Results = absl::Span<void* const>;

// An array that is converted to or from the wide type: an operand or result, and its copy in the workspace.
struct WideArray {
  int64_t number = 0, offset = 0;
  Conversion conversion;
};

// The parts of a kernel that all functions share.
class FactorisationBuilder {
 public:
  FactorisationBuilder(const Instruction& call, int64_t array, const DeviceProperties& device)
      : call_(call), device_(device), results_(ResultShapes(call)), is_written_(results_.size()) {
    const Shape& a = call.operand(array)->shape();
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

  // One launch has so many thread blocks, each of which applies `count` reflectors to a matrix. It must end
  // in time if the driver limits the time of kernels.
  void RequireReflections(int64_t blocks, int64_t row_count, int64_t column_count, int64_t count) {
    constexpr double kMaxMultiplications = 0x1p31;
    const double each = is_complex ? 8 : 2,
                 rounds = static_cast<double>(CeilDiv(blocks, int64_t{device_.multiprocessors})),
                 elements = static_cast<double>(row_count) * static_cast<double>(column_count);
    is_valid &= !device_.limits_kernel_time ||
                each * rounds * elements * static_cast<double>(count) < kMaxMultiplications;
  }

  ElementType wide() const { return is_complex ? ElementType::kC128 : ElementType::kF64; }
  int64_t Take(int64_t byte_count) { return std::exchange(end_, end_ + device::Aligned(byte_count)); }
  WideArray Operand(int64_t number) {
    const Shape& shape = call_.operand(number)->shape();
    return Array(number, shape, shape.type(), wide(), nullptr);
  }
  // The result replaces `operand`, which has as many elements, unless it is null.
  WideArray Result(int64_t number, const WideArray* operand = nullptr) {
    return Written(number, wide(), operand);
  }
  // Returns a result whose elements are real also for complex matrices.
  WideArray RealResult(int64_t number) { return Written(number, ElementType::kF64, nullptr); }
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
  WideArray Written(int64_t number, ElementType wide, const WideArray* reused) {
    const auto k = static_cast<size_t>(number);
    if (k >= results_.size() || !results_[k].IsArray()) {
      is_valid = false;
      return {};
    }
    is_written_[k] = true;
    return Array(number, results_[k], wide, results_[k].type(), reused);
  }
  // One of the types is wide.
  WideArray Array(int64_t number, const Shape& shape, ElementType from, ElementType to,
                  const WideArray* reused) {
    const int64_t count = *shape.ElementCount();
    std::optional<Conversion> conversion = Conversion::Make(from, to, count, device_);
    if (IsComplex(from) != IsComplex(to) || !conversion.has_value()) {
      is_valid = false;
      return {};
    }
    const ElementType wide = IsComplex(from) ? ElementType::kC128 : ElementType::kF64;
    return {number, reused != nullptr ? reused->offset : Take(count * ByteCount(wide)),
            *std::move(conversion)};
  }

  const Instruction& call_;
  const DeviceProperties& device_;
  absl::Span<const Shape> results_;
  std::vector<bool> is_written_;
  int64_t end_ = 0;
};

inline absl::Status Widen(const WideArray& array, Operands operands, std::byte* memory, Stream stream) {
  return array.conversion.Run(operands[static_cast<size_t>(array.number)], memory + array.offset, stream);
}
inline absl::Status Narrow(const WideArray& array, std::byte* memory, Results results, Stream stream) {
  return array.conversion.Run(memory + array.offset, results[static_cast<size_t>(array.number)], stream);
}

template <class T>
T* At(std::byte* memory, int64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace hlo::cuda
