// Converts shapes and literals of serialised modules.

#include <algorithm>
#include <cstring>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/proto_text.h"
#include "types/packing.h"
#include "types/physical_layout.h"

namespace hlo::io {
namespace {

absl::StatusOr<Layout> LayoutOf(const proto::LayoutProto& proto, int64_t rank) {
  Layout layout;
  layout.minor_to_major.assign(proto.minor_to_major().begin(), proto.minor_to_major().end());
  if (layout.minor_to_major.empty()) layout = Layout::Default(rank);
  absl::InlinedVector<int64_t, 6> sorted = layout.minor_to_major;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != static_cast<int64_t>(d)) sorted.clear();
  }
  if (static_cast<int64_t>(sorted.size()) != rank) {
    return absl::InvalidArgumentError(fmt::format("a layout orders the dimensions {{{}}}, but the rank is {}",
                                                  fmt::join(layout.minor_to_major, ","), rank));
  }
  for (const proto::TileProto& tile : proto.tiles())
    layout.tiles.push_back({{tile.dimensions().begin(), tile.dimensions().end()}});
  if (proto.padded_dimensions_size() > 0 && proto.padded_dimensions_size() == rank && layout.tiles.empty()) {
    const std::vector<int64_t> padded(proto.padded_dimensions().begin(), proto.padded_dimensions().end());
    layout.tiles.push_back(TileOfPaddedDimensions(layout.minor_to_major, padded));
  }
  const int64_t alignment = proto.tail_padding_alignment_in_elements();
  layout.tail_padding_alignment_in_elements = alignment == 0 ? 1 : alignment;
  layout.element_size_in_bits = proto.element_size_in_bits();
  layout.memory_space = proto.memory_space();
  layout.dynamic_shape_metadata_prefix_bytes = proto.dynamic_shape_metadata_prefix_bytes();
  for (const proto::SplitConfigProto& split : proto.split_configs()) {
    layout.split_configs.push_back(
        {split.dimension(), {split.split_indices().begin(), split.split_indices().end()}});
  }
  return layout;
}

absl::StatusOr<Shape> ArrayShape(const proto::ShapeProto& proto, ElementType type) {
  const int64_t rank = proto.dimensions_size();
  if (rank > Shape::kMaxRank) {
    return absl::InvalidArgumentError(
        fmt::format("a shape has {} dimensions, more than {}", rank, Shape::kMaxRank));
  }
  Shape shape = Shape::Array(type, {});
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = proto.dimensions(static_cast<int>(d));
    const bool dynamic =
        d < proto.is_dynamic_dimension_size() && proto.is_dynamic_dimension(static_cast<int>(d));
    if (size < 0 && !(dynamic && size == Shape::kUnbounded)) {
      return absl::InvalidArgumentError(fmt::format("a shape has the size {}", size));
    }
    shape.AppendDim(size, dynamic);
  }
  // A layout without an order and without a memory space counts as missing, except that of a scalar.
  if (proto.has_layout() &&
      (rank == 0 || proto.layout().minor_to_major_size() > 0 || proto.layout().memory_space() != 0)) {
    HLO_ASSIGN_OR_RETURN(Layout layout, LayoutOf(proto.layout(), rank));
    shape.set_layout(std::move(layout));
  }
  return shape;
}

// Copies elements in memory order.
template <class T, class Values>
bool CopyValues(const Values& values, Literal* out) {
  if (values.size() != out->element_count()) return false;
  std::copy(values.begin(), values.end(), out->mutable_span<T>().begin());
  return true;
}

template <class T, class Values>
bool CopyPairs(const Values& values, Literal* out) {
  if (values.size() != 2 * out->element_count()) return false;
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(out->mutable_data()));
  return true;
}

bool CopyBytes(const std::string& bytes, Literal* out) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  const auto byte_count = static_cast<int64_t>(bytes.size());
  if (IsSubByte(out->type()) && byte_count == out->element_count()) {  // One byte per element.
    for (int64_t i = 0; i < byte_count; ++i) Unpack(out->type(), data + i, 1, out->mutable_data() + i);
    return true;
  }
  if (byte_count != PackedByteCount(out->type(), out->element_count())) return false;
  Unpack(out->type(), data, out->element_count(), out->mutable_data());
  return true;
}

// The fields of the types whose elements are a string of bytes.
struct ElementField {
  ElementType type;
  const std::string& (proto::LiteralProto::*get)() const;
};

constexpr ElementField kElementFields[] = {
    {ElementType::kS1, &proto::LiteralProto::s1s},
    {ElementType::kS2, &proto::LiteralProto::s2s},
    {ElementType::kS4, &proto::LiteralProto::s4s},
    {ElementType::kS8, &proto::LiteralProto::s8s},
    {ElementType::kS16, &proto::LiteralProto::s16s},
    {ElementType::kU1, &proto::LiteralProto::u1s},
    {ElementType::kU2, &proto::LiteralProto::u2s},
    {ElementType::kU4, &proto::LiteralProto::u4s},
    {ElementType::kU8, &proto::LiteralProto::u8s},
    {ElementType::kU16, &proto::LiteralProto::u16s},
    {ElementType::kF16, &proto::LiteralProto::f16s},
    {ElementType::kBF16, &proto::LiteralProto::bf16s},
    {ElementType::kF4E2M1FN, &proto::LiteralProto::f4e2m1fns},
    {ElementType::kF6E2M3FN, &proto::LiteralProto::f6e2m3fns},
    {ElementType::kF6E3M2FN, &proto::LiteralProto::f6e3m2fns},
    {ElementType::kF8E3M4, &proto::LiteralProto::f8e3m4s},
    {ElementType::kF8E4M3, &proto::LiteralProto::f8e4m3s},
    {ElementType::kF8E4M3FN, &proto::LiteralProto::f8e4m3fns},
    {ElementType::kF8E4M3FNUZ, &proto::LiteralProto::f8e4m3fnuzs},
    {ElementType::kF8E4M3B11FNUZ, &proto::LiteralProto::f8e4m3b11fnuzs},
    {ElementType::kF8E5M2, &proto::LiteralProto::f8e5m2s},
    {ElementType::kF8E5M2FNUZ, &proto::LiteralProto::f8e5m2fnuzs},
    {ElementType::kF8E8M0FNU, &proto::LiteralProto::f8e8m0fnus},
};

// Copies the elements if the type's field has as many values as the array has elements; otherwise returns
// false.
bool CopyElements(const proto::LiteralProto& proto, Literal* out) {
  switch (out->type()) {
    case ElementType::kPred:
      return CopyValues<bool>(proto.preds(), out);
    case ElementType::kS32:
      return CopyValues<int32_t>(proto.s32s(), out);
    case ElementType::kS64:
      return CopyValues<int64_t>(proto.s64s(), out);
    case ElementType::kU32:
      return CopyValues<uint32_t>(proto.u32s(), out);
    case ElementType::kU64:
      return CopyValues<uint64_t>(proto.u64s(), out);
    case ElementType::kF32:
      return CopyValues<float>(proto.f32s(), out);
    case ElementType::kF64:
      return CopyValues<double>(proto.f64s(), out);
    case ElementType::kC64:
      return CopyPairs<float>(proto.c64s(), out);
    case ElementType::kC128:
      return CopyPairs<double>(proto.c128s(), out);
    default:
      break;
  }
  const auto* const field = std::find_if(std::begin(kElementFields), std::end(kElementFields),
                                         [&](const ElementField& row) { return row.type == out->type(); });
  return field != std::end(kElementFields) && CopyBytes((proto.*field->get)(), out);
}

absl::StatusOr<Literal> ArrayLiteral(const proto::LiteralProto& proto, const Shape& shape) {
  const std::optional<int64_t> count = shape.ElementCount();
  const size_t data_bytes = proto.ByteSizeLong();
  proto::LiteralProto bare;
  *bare.mutable_shape() = proto.shape();
  if (count != 0 && bare.ByteSizeLong() == data_bytes) return Literal::Elided(shape);
  if (!count) return absl::InvalidArgumentError(fmt::format("a literal of {} is too large", ToString(shape)));
  // A pred takes one byte in the message and a packed element at least an eighth, which limits the
  // allocation.
  if (*count / 8 > static_cast<int64_t>(std::min<size_t>(data_bytes, size_t{1} << 62))) {
    return absl::InvalidArgumentError(fmt::format("a literal of {} has too few elements", ToString(shape)));
  }
  HLO_ASSIGN_OR_RETURN(Literal in_memory, Literal::Create(shape));
  if (!CopyElements(proto, &in_memory)) {
    return absl::InvalidArgumentError(
        fmt::format("a literal of {} must have {} of its type, but has another number", ToString(shape),
                    Counted(*count, "element")));
  }
  for (int64_t d = 0; d < std::min<int64_t>(shape.rank(), proto.dynamic_sizes_size()); ++d) {
    const int64_t size = proto.dynamic_sizes(static_cast<int>(d));
    if (shape.IsDynamic(d) && size >= 0 && size < shape.dim(d)) in_memory.set_dynamic_size(d, size);
  }
  return InRowMajorOrder(in_memory);
}

bool IsElided(const Literal& value) {
  const Shape& shape = value.shape();
  if (shape.IsTuple()) {
    return value.elements().size() != shape.elements().size() ||
           std::any_of(value.elements().begin(), value.elements().end(), IsElided);
  }
  return shape.IsArray() && shape.ElementCount() != 0 && value.data() == nullptr;
}

}  // namespace

absl::StatusOr<Literal> InRowMajorOrder(const Literal& in_memory) {
  const Shape& shape = in_memory.shape();
  if (shape.layout() == nullptr) return in_memory;
  Shape ordered = shape;
  ordered.set_layout(Layout{.minor_to_major = shape.layout()->minor_to_major});
  HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(ordered));
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::Create(shape));
  const int64_t width = ByteCount(shape.type());
  std::byte* to = literal.mutable_data();
  for (int64_t slot : layout.Slots()) {
    std::memcpy(to, in_memory.data() + slot * width, static_cast<size_t>(width));
    to += width;
  }
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) literal.set_dynamic_size(d, in_memory.dynamic_size(d));
  }
  return literal;
}

absl::StatusOr<Shape> ShapeOf(const proto::ShapeProto& proto) {
  switch (proto.element_type()) {
    case proto::TUPLE: {
      std::vector<Shape> elements;
      for (const proto::ShapeProto& element : proto.tuple_shapes()) {
        HLO_ASSIGN_OR_RETURN(Shape shape, ShapeOf(element));
        elements.push_back(std::move(shape));
      }
      return Shape::Tuple(std::move(elements));
    }
    case proto::TOKEN:
      return Shape::Token();
    case proto::OPAQUE_TYPE:
      return Shape::Opaque();
    case proto::BUFFER: {
      if (proto.tuple_shapes_size() != 1) return absl::InvalidArgumentError("a buffer should wrap one array");
      HLO_ASSIGN_OR_RETURN(Shape array, ShapeOf(proto.tuple_shapes(0)));
      if (!array.IsArray()) return absl::InvalidArgumentError("a buffer should wrap an array");
      return Shape::Buffer(std::move(array));
    }
    default:
      break;
  }
  const std::optional<ElementType> type = ElementTypeFromProto(proto.element_type());
  if (!type) {
    return absl::InvalidArgumentError(fmt::format("a shape has element type number {}, which is unknown",
                                                  static_cast<int>(proto.element_type())));
  }
  return ArrayShape(proto, *type);
}

absl::StatusOr<Literal> LiteralOf(const proto::LiteralProto& proto) {
  HLO_ASSIGN_OR_RETURN(Shape shape, ShapeOf(proto.shape()));
  if (shape.IsArray()) return ArrayLiteral(proto, shape);
  if (shape.IsBuffer()) return ArrayLiteral(proto, shape.element(0));
  if (!shape.IsTuple()) return Literal::Create(shape);
  if (proto.tuple_literals_size() == 0 && !shape.elements().empty()) return Literal::Elided(shape);
  std::vector<Literal> elements;
  for (int i = 0; i < proto.tuple_literals_size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal element, LiteralOf(proto.tuple_literals(i)));
    elements.push_back(std::move(element));
  }
  if (elements.size() != shape.elements().size()) {
    return absl::InvalidArgumentError(
        fmt::format("a literal of {} has {}", ToString(shape), Counted(elements.size(), "element")));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> ValueOf(const proto::LiteralProto& proto) {
  HLO_ASSIGN_OR_RETURN(Literal value, LiteralOf(proto));
  if (!IsElided(value)) return value;
  return absl::InvalidArgumentError(fmt::format("a value of {} has no elements", ToString(value.shape())));
}

}  // namespace hlo::io
