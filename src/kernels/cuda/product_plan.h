#pragma once
// Which kernels compute a product, with which tiles, and how its terms are cut: by types and shape alone.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cuda/product_launch.h"

namespace hlo::cuda {

// What a step of a kernel works on.
struct StepArrays {
  const void* a = nullptr;
  const void* b = nullptr;
  void* result = nullptr;
  std::byte* workspace = nullptr;
  device::Stream stream;
  absl::Span<const void* const> extras = {};  // Of the epilogue.
};
// Says where the arrays of the epilogue lie.
void TakeExtras(const StepArrays& arrays, Epilogue* epilogue);
using KernelStep = std::function<absl::Status(const StepArrays&)>;

// Steps in the order of the stream.
struct StepList {
  std::string name;
  int64_t workspace_bytes = 0;
  int64_t shared_bytes = 0;  // Of the workspace, at its start: what all steps see.
  std::vector<KernelStep> steps;
};

// Dimensions of one index of a product, with their strides in two arrays that share it. Only the first array
// may have axes.
struct PairedDims {
  struct Dim {
    int64_t size = 1, first = 0, second = 0;
    int32_t axis = -1;
    int64_t step = 0;
  };
  std::vector<Dim> dims;

  int64_t Count() const;
  // Drops dimensions of size 1 and joins neighbours that are one in both arrays.
  void Merge();
  // nullopt: too many dimensions, or numbers too large.
  std::optional<IndexMap> First() const { return Map(true); }
  std::optional<IndexMap> Second() const { return Map(false); }

 private:
  std::optional<IndexMap> Map(bool first) const;
};

// The product of a dot, from the CPU engine's description. nullopt: indices too large for kernels.
std::optional<Product> ProductOf(const cpu::GemmProblem& problem);

// Says how operands are read and the result is written, after maps and types are set; exchanges the operands
// where the result's columns are then neighbours, or few.
void ChooseAccess(Product* product);

// Whether runs of `count` terms, starting at multiples of it, are neighbours in memory and begin at multiples
// of it.
bool HasTermRuns(const Operand& operand, int64_t count);

// A dense array of the product's batch, rows and columns, f32.
Result DensePart(const Product& product);

// How the terms of a product are cut.
struct Chunks {
  uint32_t count = 1, length = 0xffffffffu;
};
// As many chunks, a power of two, as give at most `most_blocks` blocks, of at least `least` terms and a
// multiple of `unit`.
Chunks CutTerms(uint32_t k, int64_t blocks, int64_t most_blocks, uint32_t least, uint32_t unit);

// Which kernel computes a product.
enum class ProductMethod : uint8_t {
  kElements,       // One thread an element.
  kThin,           // At most eight columns.
  kF32Large,       // f32 tiles of 128 x 128.
  kF32Small,       // f32 tiles of 64 x 64.
  kF64TensorCore,  // f64 tiles of 128 x 128.
  kGeneralTiles,   // Tiles of any type.
};
// By types, shape and the kind of device alone.
ProductMethod MethodFor(const Product& product, ElementType compute, const device::DeviceProperties& device);

// Whether the product's kernels take elements that do not exist for zeros, which must not meet infinities or
// NaN of the other operand. Then a search for those in the filter comes first.
bool MayMeetNonFinite(const Product& product, ElementType compute, ProductMethod method);
// Searches operand b of the instruction, dense.
void AddNonFiniteSearch(int64_t filter_count, ElementType filter_type, StepList* list);

// Appends the kernel that leaves elements out which do not exist, to run where the search has found
// something. The product has fewer than 2^31 elements.
bool CanTakeElements(const Product& product);
void AddElementsIfFound(const Product& product, ElementType compute, StepList* list);

// Appends what computes the product in `compute` (one of the types of cpu::GemmComputeType); false where it
// is too large. The method must be able to take it.
bool AddProduct(const Product& product, ElementType compute, ProductMethod method, StepList* list);

}  // namespace hlo::cuda
