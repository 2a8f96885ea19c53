// Binds values, which share their elements with NumPy arrays and DLPack objects.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "python/bindings.h"
#include "python/element_layout.h"
#include "python/errors.h"

namespace hlo::python {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using NumpyArray = nb::ndarray<nb::numpy>;
using ReadOnlyNumpyArray = nb::ndarray<nb::numpy, nb::ro>;
using ReadOnlyArray = nb::ndarray<nb::ro>;

std::vector<size_t> DimsOf(const Literal& value) { return {value.dims().begin(), value.dims().end()}; }

// Keeps the array alive until the last literal releases its memory, on any thread.
std::shared_ptr<Buffer> Share(const AnyArray& array, int64_t byte_count) {
  auto* keep = new AnyArray(array);
  return Buffer::Wrap(array.data(), byte_count, [keep] {
    nb::gil_scoped_acquire gil;
    delete keep;
  });
}

absl::StatusOr<Literal> Copy(const AnyArray& array, const Shape& shape) {
  absl::StatusOr<Literal> copy = Literal::Create(shape);
  if (!copy.ok()) return copy;
  CopyStrided(static_cast<const std::byte*>(array.data()), StridesOf(array), copy->dims(),
              ByteCount(shape.type()), copy->mutable_data());
  return copy;
}

// `raw` means that unsigned integers contain the bits of a type that NumPy lacks.
Literal FromArray(const AnyArray& array, const Shape& shape, bool raw) {
  const ElementType type = shape.type();
  const bool has_type = DLPackType(type) == array.dtype() || (raw && IsRawTypeOf(type, array.dtype()));
  if (!shape.IsArray() || !has_type || !HasDims(array, shape)) {
    Raise(absl::InvalidArgumentError(
        fmt::format("an array of {} does not fit {}", DescribeType(array.dtype()), ToString(shape))));
  }
  const std::optional<int64_t> bytes = DenseByteCount(shape);
  const bool is_aligned = reinterpret_cast<uintptr_t>(array.data()) % ComponentByteCount(type) == 0;
  Literal value;
  if (bytes.has_value() && *bytes > 0 && is_aligned && IsRowMajor(array)) {
    value = Literal::FromBuffer(shape, Share(array, *bytes));
  } else {
    value = ValueOrRaise(Copy(array, shape));
  }
  if (IsNarrow(type)) RaiseUnlessOk(CheckNarrow(&value));
  return value;
}

template <class Array>
Array ToArray(const Literal& value, nb::dlpack::dtype dtype) {
  if (!value.shape().IsArray() || value.buffer() == nullptr)
    Raise(absl::InvalidArgumentError(ToString(value.shape()) + " is not an array with elements"));
  auto* keep = new std::shared_ptr<Buffer>(value.buffer());
  const nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<Buffer>*>(p); });
  const std::vector<size_t> dims = DimsOf(value);
  return Array(value.buffer()->data(), dims.size(), dims.data(), owner, nullptr, dtype,
               nb::device::cpu::value, 0);
}

std::vector<Literal> TakeElements(Literal& value) { return std::exchange(value.mutable_elements(), {}); }

// Takes ownership of the elements, which are copied only if they are shared.
NumpyArray Take(Literal& value) {
  if (value.shape().IsArray()) RaiseUnlessOk(value.MakeUnique());
  NumpyArray array = ToArray<NumpyArray>(value, StorageType(value.type()));
  value = Literal();
  return array;
}

ReadOnlyArray ToDLPack(const Literal& value) {
  const std::optional<nb::dlpack::dtype> dtype =
      value.shape().IsArray() ? DLPackType(value.type()) : std::nullopt;
  if (!dtype) Raise(absl::UnimplementedError("DLPack has no type for " + ToString(value.shape())));
  return ToArray<ReadOnlyArray>(value, *dtype);
}

nb::tuple Sizes(const Literal& value) {
  nb::list sizes;
  for (int64_t i = 0; i < value.rank(); ++i) sizes.append(value.dynamic_size(i));
  return nb::tuple(sizes);
}

Literal WithSizes(const Literal& value, const std::vector<int64_t>& sizes) {
  Literal result = value;
  for (size_t i = 0; i < sizes.size(); ++i) result.set_dynamic_size(static_cast<int64_t>(i), sizes[i]);
  return result;
}

}  // namespace

void AddValues(nb::module_& m) {
  nb::class_<Literal>(m, "Value", "An array with its elements, or a tuple of values. Values do not change.")
      .def_static(
          "from_array", &FromArray, nb::arg("array"), nb::arg("shape"), nb::arg("raw") = false,
          "The value of an array, which it shares the elements with if they are in row-major order. raw: "
          "unsigned integers stand for the bits of another type.")
      .def_static(
          "tuple", [](std::vector<Literal> elements) { return Literal::Tuple(std::move(elements)); },
          nb::arg("elements"), "A tuple of values.")
      .def_static("token", &Literal::Token, "A token.")
      .def_prop_ro("shape", [](const Literal& value) { return value.shape(); })
      .def_prop_ro(
          "elements",
          [](const Literal& value) {
            nb::list elements;
            for (const Literal& element : value.elements()) elements.append(element);
            return nb::tuple(elements);
          },
          "The values inside a tuple.")
      .def_prop_ro("sizes", &Sizes, "The sizes of an array's dimensions, those of dynamic ones at run time.")
      .def("with_sizes", &WithSizes, nb::arg("sizes"), "The value with these sizes of dynamic dimensions.")
      .def(
          "view",
          [](const Literal& value) { return ToArray<ReadOnlyNumpyArray>(value, StorageType(value.type())); },
          "The elements as a NumPy array that cannot be written to; of a type that NumPy lacks, their bits.")
      .def("take", &Take, "As view(), but writable: the value is empty afterwards.")
      .def("take_elements", &TakeElements, "The values inside a tuple, which has none afterwards.")
      .def("__dlpack__", [](const Literal& value, const nb::kwargs&) { return ToDLPack(value); })
      .def("__dlpack_device__", [](const Literal&) { return nb::make_tuple(1, 0); })
      .def("__str__",
           [](const Literal& value) { return ToString(value, {.shapes = true, .layouts = false}); })
      .def("__repr__", [](const Literal& value) { return "<Value " + ToString(value.shape()) + ">"; });
}

}  // namespace hlo::python
