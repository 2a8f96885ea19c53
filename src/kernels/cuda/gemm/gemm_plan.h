#pragma once
// Selects the kernels of a product, their tiles and split-K. The selection depends on types and shape only.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/gemm/non_finite_search_body.h"
#include "loops/gemm_problem.h"

namespace hlo::cuda {

// The arrays that a step of a kernel accesses.
struct StepArrays {
  const void* a = nullptr;
  const void* b = nullptr;
  void* result = nullptr;
  std::byte* workspace = nullptr;
  device::Stream stream;
  absl::Span<const void* const> extras = {};  // The arrays of the epilogue.
};
// Sets the array pointers of the epilogue.
void SetEpilogueArrays(const StepArrays& arrays, Epilogue* epilogue);
// The location of an operand's first element: in an array of the instruction, or in the workspace.
struct OperandLocation {
  enum class Array : uint8_t { kA, kB, kWorkspace };
  Array array = Array::kA;
  int64_t bytes = 0;

  const void* In(const StepArrays& arrays) const {
    const void* data = array == Array::kA ? arrays.a : array == Array::kB ? arrays.b : arrays.workspace;
    return static_cast<const std::byte*>(data) + bytes;
  }
};
using KernelStep = std::function<absl::Status(const StepArrays&)>;

// Steps in stream order.
struct StepList {
  std::string name;
  int64_t workspace_bytes = 0;
  int64_t shared_bytes = 0;  // The part at the start of the workspace that all steps share.
  std::vector<KernelStep> steps;
};

// The dimensions of one index of a product, with their strides in the two arrays that share it. Only the
// first array may have axes.
struct PairedDims {
  struct Dim {
    int64_t size = 1, first = 0, second = 0;
    int32_t axis = -1;
    int64_t step = 0;
  };
  std::vector<Dim> dims;

  int64_t Count() const;
  // Drops dimensions of size 1 and collapses adjacent dimensions that are contiguous in both arrays.
  void Merge();
  // Returns nullopt if there are too many dimensions or too large numbers.
  std::optional<IndexMap> First() const { return Map(true); }
  std::optional<IndexMap> Second() const { return Map(false); }

 private:
  std::optional<IndexMap> Map(bool first) const;
};

// Returns the product of a dot from the CPU engine's description; nullopt if indices are too large.
std::optional<Gemm> GemmOf(const loops::GemmProblem& problem);

// Chooses how operands are loaded and the result is stored, after maps and types are set. Exchanges the
// operands if that makes the result's columns contiguous, or few.
void ChooseAccess(Gemm* gemm);

// True if runs of `count` terms at multiples of `count` are contiguous and aligned.
bool HasTermRuns(const Operand& operand, int64_t count);

// True if index i is at offset i * stride.
bool IsLinear(const IndexMap& map, int64_t stride);

// Returns a dense f32 array of the product's batch, rows and columns.
Result DensePart(const Gemm& gemm);

// The split of the terms (split-K).
struct Chunks {
  uint32_t count = 1, length = 0xffffffffu;
};
// Returns the largest power of two of chunks that gives at most `max_blocks` thread blocks, with at least
// `least` terms per chunk, a multiple of `unit`.
Chunks CutTerms(uint32_t k, int64_t blocks, int64_t max_blocks, uint32_t least, uint32_t unit);

// The kernels of a product.
enum class GemmMethod : uint8_t {
  kElements,       // One thread per element.
  kThin,           // One pass over the rows, for up to eight columns.
  kF32Large,       // f32 tiles of 128 x 128.
  kF32Small,       // f32 tiles of 64 x 64.
  kF64TensorCore,  // f64 tiles of 128 x 128.
  kGeneralTiles,   // Tiles of any type.
};
// Depends on types, shape and device properties only.
GemmMethod MethodFor(const Gemm& gemm, ElementType compute, const device::DeviceProperties& device);

// True if the product's kernels multiply padding zeros with the other operand, which is wrong for infinities
// and NaN. A search for non-finite filter elements must then precede them.
bool MayMeetNonFinite(const Gemm& gemm, ElementType compute, GemmMethod method);
// Returns the bits by which a non-finite element is recognised: for complex types, of the real or imaginary
// part.
SearchPattern NonFinitePattern(ElementType type);
// Adds a search of the instruction's operand b, which is dense. It sets the flag at the start of the
// workspace. The first `input_count` elements of operand a, which has the same type, are searched too.
void AddNonFiniteSearch(int64_t filter_count, ElementType filter_type, StepList* list,
                        int64_t input_count = 0);

// AddElementsIfFound appends the kernel that skips elements out of bounds, to run only if the search found a
// non-finite value. FitsElementKernel is true if the product has fewer than 2^31 elements.
bool FitsElementKernel(const Gemm& gemm);
void AddElementsIfFound(const Gemm& gemm, ElementType compute, StepList* list);

// Appends the sum of the parts of the chunks of `args`, which are at this offset of the workspace and have
// type `compute`. `run_if`: condition on the flag at the start of the workspace.
void AddSumParts(const GemmArgs& args, ElementType compute, int64_t parts_offset, std::optional<bool> run_if,
                 StepList* list);

// Appends the steps that compute the product in `compute` (one of the types of loops::GemmComputeType) by a
// method that supports it. Returns false if the product is too large.
bool AddGemm(const Gemm& gemm, ElementType compute, GemmMethod method, StepList* list);

}  // namespace hlo::cuda
