// Binds shapes.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "hlo_run/shape.h"
#include "python/bindings.h"

namespace hlo::python {
namespace {

const char* KindName(const Shape& shape) {
  switch (shape.kind()) {
    case Shape::Kind::kArray:
      return "array";
    case Shape::Kind::kTuple:
      return "tuple";
    case Shape::Kind::kToken:
      return "token";
    case Shape::Kind::kOpaque:
      return "opaque";
    case Shape::Kind::kBuffer:
      return "buffer";
    case Shape::Kind::kInvalid:
      break;
  }
  return "unknown";
}

nb::tuple Dims(const Shape& shape) {
  nb::list dims;
  for (const int64_t dim : shape.dims())
    dims.append(dim == Shape::kUnbounded ? nb::none() : nb::object(nb::int_(dim)));
  return nb::tuple(dims);
}

nb::tuple DynamicDims(const Shape& shape) {
  nb::list dynamic;
  for (int64_t i = 0; i < shape.rank(); ++i) dynamic.append(shape.IsDynamic(i));
  return nb::tuple(dynamic);
}

nb::tuple Elements(const Shape& shape) {
  nb::list elements;
  for (const Shape& element : shape.elements()) elements.append(element);
  return nb::tuple(elements);
}

std::optional<nb::tuple> Layout(const Shape& shape) {
  if (!shape.IsArray()) return std::nullopt;
  nb::list order;
  for (const int64_t dim : shape.LayoutOrDefault().minor_to_major) order.append(dim);
  return nb::tuple(order);
}

}  // namespace

void AddShapes(nb::module_& m) {
  nb::class_<Shape>(m, "Shape",
                    "The type of a value: an array's element type and sizes, or a tuple of shapes.")
      .def_prop_ro("kind", &KindName, "'array', 'tuple', 'token', 'opaque' or 'buffer'.")
      .def_prop_ro(
          "element_type",
          [](const Shape& s) -> std::optional<std::string> {
            if (!s.IsArray()) return std::nullopt;
            return std::string(Name(s.type()));
          },
          "HLO's name of an array's element type, such as 'f32' or 'bf16'; None for other shapes.")
      .def_prop_ro("dims", &Dims,
                   "Sizes of an array; the bound of a dynamic dimension, None for an unbounded one.")
      .def_prop_ro("dynamic_dims", &DynamicDims, "Whether each dimension's size is known at run time only.")
      .def_prop_ro("rank", &Shape::rank)
      .def_prop_ro("elements", &Elements, "The shapes inside a tuple.")
      .def_prop_ro("minor_to_major", &Layout,
                   "The order of an array's dimensions in memory, the fastest first.")
      .def_prop_ro("byte_count", &DenseByteCount,
                   "Bytes of a value in dense storage; None where they are not known.")
      .def("__eq__", [](const Shape& a,
                        const nb::object& b) { return nb::isinstance<Shape>(b) && a == nb::cast<Shape>(b); })
      .def("__hash__", [](const Shape& s) { return nb::hash(nb::cast(ToString(s))); })
      .def("__str__", [](const Shape& s) { return ToString(s); })
      .def("__repr__", [](const Shape& s) { return "<Shape " + ToString(s) + ">"; });
}

}  // namespace hlo::python
