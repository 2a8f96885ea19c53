#include "spmd/wire.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/parse.h"
#include "hlo_run/source_text.h"

namespace hlo::spmd {
namespace {

// A message reserves memory for larger arrays, instead of growing step by step.
constexpr size_t kMinReservedElements = 4096;

}  // namespace

MessageWriter& MessageWriter::Add(std::string_view text) {
  Add(static_cast<int64_t>(text.size()));
  bytes_.append(text);
  return *this;
}

MessageWriter& MessageWriter::Add(const absl::Status& status) {
  return Add(static_cast<int32_t>(status.code())).Add(Message(status));
}

MessageWriter& MessageWriter::Add(const Shape& shape) {
  Add(shape.kind());
  if (shape.IsArray()) {
    Add(shape.type()).Add(shape.rank());
    for (int64_t d = 0; d < shape.rank(); ++d) Add(shape.dim(d)).Add(shape.IsDynamic(d));
    // Few values have a layout, which can have many parts.
    Add(shape.layout() == nullptr ? std::string() : ToString(shape, {.layouts = true}));
  } else if (shape.IsTuple() || shape.IsBuffer()) {
    Add(static_cast<int64_t>(shape.elements().size()));
    for (const Shape& element : shape.elements()) Add(element);
  }
  return *this;
}

MessageWriter& MessageWriter::Add(const Literal& literal) {
  Add(literal.shape());
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) Add(element);
  } else if (literal.shape().IsArray()) {
    Add(literal.has_dynamic_sizes());
    for (int64_t d = 0; literal.has_dynamic_sizes() && d < literal.rank(); ++d) Add(literal.dynamic_size(d));
    Add(literal.data() != nullptr);
    if (literal.data() == nullptr) return *this;
    const auto count = static_cast<size_t>(literal.byte_count());
    if (count > kMinReservedElements && bytes_.capacity() - bytes_.size() < count)
      bytes_.reserve(bytes_.size() + count + kMinReservedElements);
    bytes_.append(reinterpret_cast<const char*>(literal.data()), count);
  }
  return *this;
}

std::string_view MessageReader::Bytes(size_t count) {
  HLO_CHECK(count <= bytes_.size());
  const std::string_view read = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return read;
}

std::string_view MessageReader::ReadText() { return Bytes(static_cast<size_t>(Read<int64_t>())); }

absl::Status MessageReader::ReadStatus() {
  const auto code = static_cast<absl::StatusCode>(Read<int32_t>());
  const std::string_view message = ReadText();
  return {code, absl::string_view(message.data(), message.size())};
}

Shape MessageReader::ReadShape() {
  const auto kind = Read<Shape::Kind>();
  switch (kind) {
    case Shape::Kind::kArray: {
      const auto type = Read<ElementType>();
      Shape shape = Shape::Array(type, {});
      for (auto left = Read<int64_t>(); left > 0; --left) {
        const auto size = Read<int64_t>();
        shape.AppendDim(size, Read<bool>());
      }
      if (const std::string_view text = ReadText(); !text.empty()) {
        Diagnostics diagnostics;
        shape = ParseShape(SourceText("", std::string(text)), diagnostics);
        HLO_CHECK(shape.IsValid());
      }
      return shape;
    }
    case Shape::Kind::kTuple:
    case Shape::Kind::kBuffer: {
      std::vector<Shape> elements;
      for (auto left = Read<int64_t>(); left > 0; --left) elements.push_back(ReadShape());
      return kind == Shape::Kind::kTuple ? Shape::Tuple(std::move(elements))
                                         : Shape::Buffer(std::move(elements[0]));
    }
    case Shape::Kind::kToken:
      return Shape::Token();
    case Shape::Kind::kOpaque:
      return Shape::Opaque();
    case Shape::Kind::kInvalid:
      break;
  }
  return {};
}

absl::StatusOr<Literal> MessageReader::ReadLiteral() {
  const Shape shape = ReadShape();
  if (!shape.IsValid()) return Literal();
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      HLO_ASSIGN_OR_RETURN(Literal element, ReadLiteral());
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return Literal::Create(shape);
  std::vector<int64_t> sizes;
  if (Read<bool>()) {
    for (int64_t d = 0; d < shape.rank(); ++d) sizes.push_back(Read<int64_t>());
  }
  if (!Read<bool>()) return Literal::Elided(shape);
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::Create(shape));
  const std::string_view bytes = Bytes(static_cast<size_t>(literal.byte_count()));
  if (!bytes.empty()) std::memcpy(literal.mutable_data(), bytes.data(), bytes.size());
  for (size_t d = 0; d < sizes.size(); ++d) literal.set_dynamic_size(static_cast<int64_t>(d), sizes[d]);
  return literal;
}

absl::StatusOr<std::vector<Literal>> MessageReader::ReadLiterals() {
  std::vector<Literal> literals;
  for (auto left = Read<int64_t>(); left > 0; --left) {
    HLO_ASSIGN_OR_RETURN(Literal literal, ReadLiteral());
    literals.push_back(std::move(literal));
  }
  return literals;
}

}  // namespace hlo::spmd
