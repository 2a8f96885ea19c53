#pragma once
// Which products tensor cores compute, in which type, and what is done to the operands before: by types,
// `algorithm` and shape alone.

#include <optional>

#include "device/properties.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/mma_product_body.h"
#include "kernels/cuda/pack_body.h"
#include "kernels/cuda/product_plan.h"

namespace hlo::cuda {

// How tensor cores take a product: the type that operands are brought into, and in how many pieces.
struct TensorForm {
  MmaKind kind = MmaKind::kBF16;
  PackedType packed = PackedType::kBF16;
  uint32_t element_bytes = 2;
  uint32_t pieces = 1;
  // Products of pieces, the highest first, in the order in which they are added; before the last NaNs are
  // cleared.
  struct Pair {
    int a, b;
  };
  std::vector<Pair> products = {{0, 0}};
  bool has_wgmma = false;   // On a device with groups of warps that multiply.
  int multiprocessors = 1;  // How many blocks share the tiles; says nothing about bits.
};

// nullopt: products of these types are none of tensor cores', or not with this algorithm, or not on this
// device. What is not named takes its full precision.
std::optional<TensorForm> TensorFormOf(ElementType a, ElementType b, ElementType result,
                                       PrecisionAlgorithm algorithm, const device::DeviceProperties& device);

// For `algorithm`s that allow partial sums of fewer bits: 8-bit floats as they are, by groups of warps, which
// take large products alone. Others are computed in the form above.
std::optional<TensorForm> ShortSumsFormOf(ElementType a, ElementType b, ElementType result,
                                          PrecisionAlgorithm algorithm,
                                          const device::DeviceProperties& device);

// The element type of a packed operand, and one step that packs. Integers keep the sign of `type`.
ElementType StoredType(PackedType packed, ElementType type);
LaunchShape ShapeOf(const PackArgs& args);

// Appends what computes the product in this form; false, and nothing, where its shape is not for tensor
// cores. Where elements may be missing, a search for infinities comes before (MayMeetNonFinite).
bool AddTensorProduct(const Product& product, ElementType compute, const TensorForm& form, StepList* list);

}  // namespace hlo::cuda
