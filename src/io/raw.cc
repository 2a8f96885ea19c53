#include "io/raw.h"

#include <cstring>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "io/file.h"
#include "types/physical_layout.h"

namespace hlo::io {
namespace {

// Offsets of the parts of an array.
struct RawArray {
  PhysicalLayout layout;
  int64_t sizes_at = 0;  // The offset of the run-time sizes; unused without dynamic dimensions.
  int64_t byte_count = 0;
};

absl::StatusOr<RawArray> Measure(const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(PhysicalLayout layout, PhysicalLayout::Of(shape));
  RawArray raw{std::move(layout)};
  raw.byte_count = raw.layout.byte_count();
  if (!shape.HasDynamicDim()) return raw;
  const int64_t size_bytes = shape.rank() * static_cast<int64_t>(sizeof(int32_t));
  const int64_t prefix = raw.layout.prefix_byte_count();
  if (prefix >= size_bytes) return raw;
  if (prefix > 0) {
    return absl::InvalidArgumentError(fmt::format("{}: M({}) has no room for {} sizes of 4 bytes",
                                                  ToString(shape, {.layouts = true}), prefix, shape.rank()));
  }
  raw.sizes_at = raw.byte_count;
  if (__builtin_add_overflow(raw.byte_count, size_bytes, &raw.byte_count)) {
    return absl::ResourceExhaustedError(fmt::format("{} is too large", ToString(shape)));
  }
  return raw;
}

void CollectArrays(const Shape& shape, std::vector<Shape>* out) {
  if (shape.IsArray()) out->push_back(shape);
  if (shape.IsBuffer()) out->push_back(shape.element(0));
  if (!shape.IsTuple()) return;
  for (const Shape& element : shape.elements()) CollectArrays(element, out);
}

std::string Explained(const Shape& shape, const RawArray& raw) {
  const int64_t padding = raw.layout.slot_count() - *shape.ElementCount();
  std::string text = fmt::format("{} takes {}: {}", ToString(shape, {.layouts = true}), raw.byte_count,
                                 Counted(*shape.ElementCount(), "element"));
  if (padding > 0) text += fmt::format(" and {} of padding", padding);
  text += fmt::format(", {} each", Counted(raw.layout.slot_bits(), "bit"));
  const int64_t sizes = raw.byte_count - raw.layout.byte_count();
  if (sizes > 0) text += fmt::format(", and {} of run-time sizes", Counted(sizes, "byte"));
  if (raw.layout.prefix_byte_count() > 0)
    text += fmt::format(", behind {} of metadata", Counted(raw.layout.prefix_byte_count(), "byte"));
  return text;
}

// Checks the total size; the error lists the sizes of the arrays.
absl::Status CheckByteCount(const InputFile& file, const Shape& expected) {
  std::vector<Shape> arrays;
  CollectArrays(expected, &arrays);
  int64_t total = 0;
  std::string list;
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < arrays.size(); ++i) {
    HLO_ASSIGN_OR_RETURN(const RawArray raw, Measure(arrays[i]));
    if (__builtin_add_overflow(total, raw.byte_count, &total)) {
      return absl::ResourceExhaustedError(fmt::format("{} is too large", ToString(expected)));
    }
    if (i < kShown && arrays[i].ElementCount()) list += "\n  " + Explained(arrays[i], raw);
  }
  if (arrays.size() > kShown)
    list += fmt::format("\n  and {} more", Counted(arrays.size() - kShown, "array"));
  if (file.byte_count() == total) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("has {}, expected {}{}", Counted(file.byte_count(), "byte"), total, list));
}

absl::Status ReadSizes(const std::byte* from, const Shape& shape, Literal* literal) {
  for (int64_t d = 0; d < shape.rank(); ++d) {
    int32_t size = 0;
    std::memcpy(&size, from + d * static_cast<int64_t>(sizeof size), sizeof size);
    if (size < 0 || size > shape.dim(d) || (!shape.IsDynamic(d) && size != shape.dim(d))) {
      return absl::FailedPreconditionError(fmt::format(
          "the run-time size of dimension {} is {}, which does not fit {}", d, size, ToString(shape)));
    }
    if (size != shape.dim(d)) literal->set_dynamic_size(d, size);
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> ReadArray(ByteStream& stream, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(const RawArray raw, Measure(shape));
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::Create(shape));
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> bytes, Buffer::Allocate(raw.byte_count));
  HLO_RETURN_IF_ERROR(stream.Read(bytes->data(), raw.byte_count));
  raw.layout.Load(bytes->data() + raw.layout.prefix_byte_count(), literal.mutable_data());
  if (shape.HasDynamicDim()) HLO_RETURN_IF_ERROR(ReadSizes(bytes->data() + raw.sizes_at, shape, &literal));
  return literal;
}

absl::StatusOr<Literal> ReadLeaves(ByteStream& stream, const Shape& shape) {
  if (shape.IsArray()) return ReadArray(stream, shape);
  if (shape.IsBuffer()) return ReadArray(stream, shape.element(0));
  if (!shape.IsTuple()) return Literal::Create(shape);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal value, ReadLeaves(stream, element));
    elements.push_back(std::move(value));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> ReadOpened(const InputFile& file, const Shape& expected) {
  HLO_RETURN_IF_ERROR(CheckByteCount(file, expected));
  const std::unique_ptr<ByteStream> stream = StreamOf(file);
  return ReadLeaves(*stream, expected);
}

absl::Status WriteArray(OutputFile& file, const Literal& value) {
  const Shape& shape = value.shape();
  HLO_ASSIGN_OR_RETURN(const RawArray raw, Measure(shape));
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> bytes, Buffer::Allocate(raw.byte_count));
  std::memset(bytes->data(), 0, static_cast<size_t>(raw.byte_count));
  raw.layout.Store(value.data(), bytes->data() + raw.layout.prefix_byte_count());
  for (int64_t d = 0; d < shape.rank() && shape.HasDynamicDim(); ++d) {
    const auto size = static_cast<int32_t>(value.dynamic_size(d));
    std::memcpy(bytes->data() + raw.sizes_at + d * static_cast<int64_t>(sizeof size), &size, sizeof size);
  }
  return file.Write(bytes->data(), raw.byte_count);
}

}  // namespace

absl::StatusOr<Literal> ReadRaw(const std::string& path, const Shape& expected) {
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, InputFile::Open(path));
  absl::StatusOr<Literal> value = ReadOpened(*file, expected);
  if (value.ok()) return value;
  return absl::Status(value.status().code(), fmt::format("{}: {}", path, Message(value.status())));
}

absl::Status WriteRaw(const std::string& path, const Literal& value) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  for (const LiteralLeaf& leaf : ArrayLeaves(value)) {
    const absl::Status written = WriteArray(*file, *leaf.value);
    if (!written.ok()) return absl::Status(written.code(), fmt::format("{}: {}", path, Message(written)));
  }
  return file->Commit();
}

}  // namespace hlo::io
