#pragma once
// Element types as NumPy and DLPack know them, and how arrays lie in memory.

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

// nullopt for types narrower than a byte, which DLPack packs or lacks.
std::optional<nb::dlpack::dtype> DLPackType(ElementType type);
// The type that NumPy has for the elements' memory: the type itself, or unsigned (s1, s2, s4: signed)
// integers.
nb::dlpack::dtype StorageType(ElementType type);
// Whether integers of this type can stand for the bits of the other.
bool IsRawTypeOf(ElementType type, nb::dlpack::dtype raw);
std::string DescribeType(nb::dlpack::dtype dtype);

// Of one number: half of a complex.
int64_t ComponentByteCount(ElementType type);

// pred, and types narrower than a byte: not every byte is an element.
bool IsNarrow(ElementType type);
// Makes predicates 0 or 1, on a copy where the value shares its memory; InvalidArgument for numbers out of
// range.
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

// Copies an array of any strides (in elements) to row-major order.
void CopyStrided(const std::byte* from, absl::Span<const int64_t> strides, absl::Span<const int64_t> dims,
                 int64_t element_bytes, std::byte* to);

}  // namespace hlo::python
