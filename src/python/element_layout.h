#pragma once
// Maps element types to NumPy and DLPack types, and checks the memory layout of arrays.

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"

namespace hlo::python {

namespace nb = nanobind;

// Returns nullopt for types narrower than a byte, which DLPack packs or lacks.
std::optional<nb::dlpack::dtype> DLPackType(ElementType type);
// Returns NumPy's type for the elements in memory: the type itself, or integers, which are signed for s1, s2
// and s4 and otherwise unsigned.
nb::dlpack::dtype StorageType(ElementType type);
// True if integers of type `raw` can contain the bits of `type`.
bool IsRawTypeOf(ElementType type, nb::dlpack::dtype raw);
std::string DescribeType(nb::dlpack::dtype dtype);

// Returns the size of a real number of this type, which is half of a complex element.
int64_t ComponentByteCount(ElementType type);

// True for pred and types narrower than a byte, for which not every byte value is valid.
bool IsNarrow(ElementType type);
// Normalises predicates to 0 or 1 in a copy if the memory is shared. Returns InvalidArgument for values out
// of range.
absl::Status CheckNarrow(Literal* value);

template <class Array>
std::vector<int64_t> StridesOf(const Array& array) {  // In elements.
  std::vector<int64_t> strides(array.ndim());
  for (size_t i = 0; i < strides.size(); ++i) strides[i] = array.stride(i);
  return strides;
}
template <class Array>
bool HasDims(const Array& array, const Shape& shape) {
  if (static_cast<int64_t>(array.ndim()) != shape.rank()) return false;
  for (size_t i = 0; i < array.ndim(); ++i) {
    if (static_cast<int64_t>(array.shape(i)) != shape.dim(static_cast<int64_t>(i))) return false;
  }
  return true;
}
template <class Array>
bool IsRowMajor(const Array& array) {
  int64_t stride = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride) return false;
    stride *= static_cast<int64_t>(array.shape(i));
  }
  return true;
}

// Copies an array with any strides (in elements) to row-major order.
void CopyStrided(const std::byte* from, absl::Span<const int64_t> strides, absl::Span<const int64_t> dims,
                 int64_t element_bytes, std::byte* to);

}  // namespace hlo::python
