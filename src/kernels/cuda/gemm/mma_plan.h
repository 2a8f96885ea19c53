#pragma once
// Selects tensor-core GEMMs: which products qualify, in which type, and how operands are packed. The
// selection depends on types, `algorithm` and shape only.

#include <optional>

#include "device/properties.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/mma_gemm_body.h"
#include "kernels/cuda/gemm/pack_body.h"

namespace hlo::cuda {

// The form in which tensor cores compute a product: the operand type, and the number of pieces each operand
// is split into.
struct TensorForm {
  MmaKind kind = MmaKind::kBF16;
  PackedType packed = PackedType::kBF16;
  uint32_t element_bytes = 2;
  uint32_t pieces = 1;
  // Products of pieces (piece 0 is the most significant) in order of accumulation; NaNs are cleared before
  // the last one.
  struct Pair {
    int a, b;
  };
  std::vector<Pair> gemms = {{0, 0}};
  bool has_wgmma = false;   // The device has wgmma.
  int multiprocessors = 1;  // Number of multiprocessors that share the tiles; does not affect results.
};

// Returns nullopt if tensor cores do not support these types with this algorithm on this device. All other
// products keep their full precision.
std::optional<TensorForm> TensorFormOf(ElementType a, ElementType b, ElementType result,
                                       PrecisionAlgorithm algorithm, const device::DeviceProperties& device);

// Returns the form for `algorithm`s that allow accumulators of fewer bits: FP8 operands, by wgmma, for large
// products only. Other products use the form above.
std::optional<TensorForm> ShortSumsFormOf(ElementType a, ElementType b, ElementType result,
                                          PrecisionAlgorithm algorithm,
                                          const device::DeviceProperties& device);

// StoredType returns the element type of a packed operand; integers keep the signedness of `type`. ShapeOf
// returns the launch shape of a pack kernel.
ElementType StoredType(PackedType packed, ElementType type);
LaunchShape ShapeOf(const PackArgs& args);

// Appends the steps of the product in this form. Returns false, and appends nothing, if tensor cores do not
// support its shape. If elements may be missing, the caller must add a search for non-finite values first
// (MayMeetNonFinite).
bool AddTensorCoreGemm(const Gemm& gemm, ElementType compute, const TensorForm& form, StepList* list);

}  // namespace hlo::cuda
