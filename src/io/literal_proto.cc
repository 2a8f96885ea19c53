#include "io/literal_proto.h"

#include <cstring>
#include <limits>

#include "base/status.h"
#include "fmt/format.h"
#include "google/protobuf/text_format.h"
#include "hlo_run/io.h"
#include "hlo_run/source_text.h"
#include "io/file.h"
#include "io/proto_text.h"
#include "io/text_format.h"
#include "types/packing.h"
#include "types/physical_layout.h"

namespace hlo::io {
namespace {

void LayoutToProto(const Layout& layout, proto::LayoutProto* out) {
  for (int64_t d : layout.minor_to_major) out->add_minor_to_major(d);
  for (const Tile& tile : layout.tiles) {
    proto::TileProto* added = out->add_tiles();
    for (int64_t size : tile.dimensions) added->add_dimensions(size);
  }
  out->set_tail_padding_alignment_in_elements(layout.tail_padding_alignment_in_elements);
  const auto type_of = [](ElementType type) {
    return static_cast<proto::PrimitiveType>(Info(type).proto_number);
  };
  if (layout.index_type) out->set_index_primitive_type(type_of(*layout.index_type));
  if (layout.pointer_type) out->set_pointer_primitive_type(type_of(*layout.pointer_type));
  out->set_element_size_in_bits(layout.element_size_in_bits);
  out->set_memory_space(layout.memory_space);
  out->set_dynamic_shape_metadata_prefix_bytes(layout.dynamic_shape_metadata_prefix_bytes);
  for (const SplitConfig& split : layout.split_configs) {
    proto::SplitConfigProto* added = out->add_split_configs();
    added->set_dimension(split.dimension);
    for (int64_t index : split.split_indices) added->add_split_indices(index);
  }
}

template <class T, class Field>
void AddValues(const Literal& value, Field* field) {
  for (T element : value.span<T>()) field->Add(element);
}

template <class T, class Field>
void AddPairs(const Literal& value, Field* field) {
  const auto* parts = reinterpret_cast<const T*>(value.data());
  for (int64_t i = 0; i < 2 * value.element_count(); ++i) field->Add(parts[i]);
}

std::string* BytesField(ElementType type, proto::LiteralProto* out) {
  switch (type) {
    case ElementType::kS1:
      return out->mutable_s1s();
    case ElementType::kS2:
      return out->mutable_s2s();
    case ElementType::kS4:
      return out->mutable_s4s();
    case ElementType::kS8:
      return out->mutable_s8s();
    case ElementType::kS16:
      return out->mutable_s16s();
    case ElementType::kU1:
      return out->mutable_u1s();
    case ElementType::kU2:
      return out->mutable_u2s();
    case ElementType::kU4:
      return out->mutable_u4s();
    case ElementType::kU8:
      return out->mutable_u8s();
    case ElementType::kU16:
      return out->mutable_u16s();
    case ElementType::kF16:
      return out->mutable_f16s();
    case ElementType::kBF16:
      return out->mutable_bf16s();
    case ElementType::kF4E2M1FN:
      return out->mutable_f4e2m1fns();
    case ElementType::kF6E2M3FN:
      return out->mutable_f6e2m3fns();
    case ElementType::kF6E3M2FN:
      return out->mutable_f6e3m2fns();
    case ElementType::kF8E3M4:
      return out->mutable_f8e3m4s();
    case ElementType::kF8E4M3:
      return out->mutable_f8e4m3s();
    case ElementType::kF8E4M3FN:
      return out->mutable_f8e4m3fns();
    case ElementType::kF8E4M3FNUZ:
      return out->mutable_f8e4m3fnuzs();
    case ElementType::kF8E4M3B11FNUZ:
      return out->mutable_f8e4m3b11fnuzs();
    case ElementType::kF8E5M2:
      return out->mutable_f8e5m2s();
    case ElementType::kF8E5M2FNUZ:
      return out->mutable_f8e5m2fnuzs();
    case ElementType::kF8E8M0FNU:
      return out->mutable_f8e8m0fnus();
    default:
      return nullptr;
  }
}

// Adds the elements in the order given.
void AddElements(const Literal& value, proto::LiteralProto* out) {
  switch (value.type()) {
    case ElementType::kPred:
      return AddValues<bool>(value, out->mutable_preds());
    case ElementType::kS32:
      return AddValues<int32_t>(value, out->mutable_s32s());
    case ElementType::kS64:
      return AddValues<int64_t>(value, out->mutable_s64s());
    case ElementType::kU32:
      return AddValues<uint32_t>(value, out->mutable_u32s());
    case ElementType::kU64:
      return AddValues<uint64_t>(value, out->mutable_u64s());
    case ElementType::kF32:
      return AddValues<float>(value, out->mutable_f32s());
    case ElementType::kF64:
      return AddValues<double>(value, out->mutable_f64s());
    case ElementType::kC64:
      return AddPairs<float>(value, out->mutable_c64s());
    case ElementType::kC128:
      return AddPairs<double>(value, out->mutable_c128s());
    default:
      break;
  }
  std::string* bytes = BytesField(value.type(), out);
  bytes->resize(static_cast<size_t>(PackedByteCount(value.type(), value.element_count())));
  Pack(value.type(), value.data(), value.element_count(), reinterpret_cast<std::byte*>(bytes->data()));
}

// Returns the array with its elements in the order of its layout.
absl::StatusOr<Literal> InLayoutOrder(const Literal& value) {
  if (value.shape().layout() == nullptr) return value;
  Shape ordered = value.shape();
  ordered.set_layout(Layout{.minor_to_major = value.shape().layout()->minor_to_major});
  HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(ordered));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(value.shape()));
  const int64_t width = ByteCount(value.type());
  const std::byte* from = value.data();
  for (int64_t slot : layout.Slots()) {
    std::memcpy(result.mutable_data() + slot * width, from, static_cast<size_t>(width));
    from += width;
  }
  return result;
}

}  // namespace

void ToProto(const Shape& shape, proto::ShapeProto* out) {
  if (shape.IsTuple() || shape.IsBuffer()) {
    out->set_element_type(shape.IsTuple() ? proto::TUPLE : proto::BUFFER);
    for (const Shape& element : shape.elements()) ToProto(element, out->add_tuple_shapes());
  } else if (shape.IsToken() || shape.IsOpaque()) {
    out->set_element_type(shape.IsToken() ? proto::TOKEN : proto::OPAQUE_TYPE);
  } else if (shape.IsArray()) {
    out->set_element_type(static_cast<proto::PrimitiveType>(Info(shape.type()).proto_number));
    for (int64_t d = 0; d < shape.rank(); ++d) {
      out->add_dimensions(shape.dim(d));
      out->add_is_dynamic_dimension(shape.IsDynamic(d));
    }
    LayoutToProto(shape.LayoutOrDefault(), out->mutable_layout());
  }
}

absl::Status ToProto(const Literal& value, proto::LiteralProto* out) {
  ToProto(value.shape(), out->mutable_shape());
  if (value.shape().IsTuple()) {
    for (const Literal& element : value.elements())
      HLO_RETURN_IF_ERROR(ToProto(element, out->add_tuple_literals()));
    return absl::OkStatus();
  }
  if (!value.shape().IsArray() || value.data() == nullptr) return absl::OkStatus();
  if (value.shape().HasDynamicDim()) {
    for (int64_t d = 0; d < value.rank(); ++d)
      out->add_dynamic_sizes(static_cast<int32_t>(value.dynamic_size(d)));
  }
  HLO_ASSIGN_OR_RETURN(const Literal ordered, InLayoutOrder(value));
  AddElements(ordered, out);
  return absl::OkStatus();
}

absl::StatusOr<Literal> ReadLiteralProto(const std::string& path) {
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<const SourceText> bytes, SourceText::Read(path));
  if (bytes->content().size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return absl::ResourceExhaustedError(
        fmt::format("{}: is larger than 2 GiB, the most a message may have", path));
  const std::string content(bytes->content());
  proto::LiteralProto message;
  std::string error;
  const bool read = FileFormatOf(path) == FileFormat::kProto ? message.ParseFromString(content)
                                                             : ParseTextFormat(content, &message, &error);
  if (!read || !message.has_shape()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: is not a LiteralProto{}", path, error.empty() ? "" : "; first error: " + error));
  }
  absl::StatusOr<Literal> value = ValueOf(message);
  if (value.ok()) return value;
  return absl::Status(value.status().code(), fmt::format("{}: {}", path, Message(value.status())));
}

absl::Status WriteLiteralProto(const std::string& path, const Literal& value) {
  proto::LiteralProto message;
  HLO_RETURN_IF_ERROR(ToProto(value, &message));
  std::string text;
  const bool written = FileFormatOf(path) == FileFormat::kProto
                           ? message.SerializeToString(&text)
                           : google::protobuf::TextFormat::PrintToString(message, &text);
  if (!written) return absl::ResourceExhaustedError(fmt::format("{}: a message has at most 2 GiB", path));
  return WriteText(path, text);
}

}  // namespace hlo::io
