#include "io/stored_type.h"

#include <algorithm>
#include <cstring>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/convert.h"
#include "types/bounds.h"
#include "types/index.h"
#include "types/wide.h"

namespace hlo::io {
namespace {

Index ColumnMajorStrides(absl::Span<const int64_t> dims) {
  Index strides(dims.size(), 1);
  for (size_t d = 1; d < dims.size(); ++d) strides[d] = strides[d - 1] * dims[d - 1];
  return strides;
}

// Assigns to[i · to_strides] = from[i · from_strides] for every index i within dims.
void CopyStrided(const std::byte* from, absl::Span<const int64_t> from_strides, std::byte* to,
                 absl::Span<const int64_t> to_strides, absl::Span<const int64_t> dims,
                 int64_t element_bytes) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  std::vector<int64_t> index(dims.size(), 0);
  int64_t from_offset = 0, to_offset = 0;
  for (;;) {
    std::memcpy(to + to_offset * element_bytes, from + from_offset * element_bytes, element_bytes);
    int64_t d = static_cast<int64_t>(dims.size()) - 1;
    for (; d >= 0; --d) {
      from_offset += from_strides[d];
      to_offset += to_strides[d];
      if (++index[d] < dims[d]) break;
      from_offset -= from_strides[d] * dims[d];
      to_offset -= to_strides[d] * dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void SwapBytes(std::byte* data, int64_t byte_count, int64_t part_bytes) {
  for (int64_t i = 0; i + part_bytes <= byte_count; i += part_bytes)
    std::reverse(data + i, data + i + part_bytes);
}

// Normalises elements narrower than a byte: 0 or 1 for pred, the zero- or sign-extended low bits of narrow
// integers.
absl::Status NormalizeNarrow(Literal* literal) {
  const ElementType type = literal->type();
  const int64_t bits = BitWidth(type);
  if (bits >= 8) return absl::OkStatus();
  auto* bytes = reinterpret_cast<uint8_t*>(literal->mutable_data());
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    const uint8_t low = static_cast<uint8_t>(ZeroExtend(bytes[i], bits));
    const auto extended = static_cast<uint8_t>(SignExtend(bytes[i], bits));
    if (bytes[i] != low && !(IsSigned(type) && bytes[i] == extended)) {
      return absl::FailedPreconditionError(
          fmt::format("element {} is the byte {:#04x}, which is not a value of {}", i, bytes[i], Name(type)));
    }
    bytes[i] = IsSigned(type) ? extended : low;
  }
  return absl::OkStatus();
}

}  // namespace

bool DimsFit(absl::Span<const int64_t> dims, const Shape& expected) {
  if (static_cast<int64_t>(dims.size()) != expected.rank()) return false;
  for (int64_t d = 0; d < expected.rank(); ++d) {
    const bool fits = expected.IsDynamic(d) ? dims[d] <= expected.dim(d) || expected.IsUnbounded(d)
                                            : dims[d] == expected.dim(d);
    if (!fits) return false;
  }
  return true;
}

bool IsNumpyType(ElementType type) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kS8:
    case ElementType::kS16:
    case ElementType::kS32:
    case ElementType::kS64:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
    case ElementType::kF16:
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kC64:
    case ElementType::kC128:
      return true;
    default:
      return false;
  }
}

bool Fits(const StoredType& stored, ElementType expected) {
  if (stored.type == expected) return true;
  if (IsNumpyType(expected) || stored.byte_count != ByteCount(expected)) return false;
  const bool narrow_signed = stored.type == ElementType::kS8 && IsSigned(expected);
  return stored.is_bits || narrow_signed;
}

std::string ToString(const StoredArray& array) {
  const std::string type =
      array.type.type ? std::string(Name(*array.type.type)) : fmt::format("'{}' ", array.type.text);
  return fmt::format("{}[{}]", type, fmt::join(array.dims, ","));
}

absl::StatusOr<Literal> ReadElements(const StoredArray& array, const Shape& expected, ByteStream& stream,
                                     const ReadOptions& options) {
  const bool dims_fit = DimsFit(array.dims, expected), can_convert = array.type.type.has_value() && dims_fit;
  if (!dims_fit || (!Fits(array.type, expected.type()) && !(can_convert && options.convert))) {
    return absl::FailedPreconditionError(fmt::format("found {}, expected {}{}", ToString(array),
                                                     ToString(expected), can_convert ? kConvertHint : ""));
  }
  if (!Fits(array.type, expected.type())) {
    Shape own = expected;
    own.set_type(*array.type.type);
    own.clear_layout();
    HLO_ASSIGN_OR_RETURN(const Literal value, ReadElements(array, own, stream, options));
    return ConvertElements(value, expected.type());
  }
  const Shape dense = Shape::Array(expected.type(), array.dims);
  const std::optional<int64_t> byte_count = DenseByteCount(dense);
  if (!byte_count || *byte_count != stream.remaining()) {
    return absl::FailedPreconditionError(
        fmt::format("{} has {} of elements, but the file holds {}", ToString(array),
                    Counted(byte_count.value_or(-1), "byte"), stream.remaining()));
  }
  HLO_ASSIGN_OR_RETURN(Literal literal, Literal::Create(dense));
  HLO_RETURN_IF_ERROR(stream.Read(literal.mutable_data(), *byte_count));
  if (array.type.big_endian) {
    SwapBytes(literal.mutable_data(), *byte_count, ByteCount(ComponentType(expected.type())));
  }
  HLO_RETURN_IF_ERROR(NormalizeNarrow(&literal));
  if (array.fortran_order && dense.rank() > 1) {
    HLO_ASSIGN_OR_RETURN(Literal row_major, Literal::Create(dense));
    CopyStrided(literal.data(), ColumnMajorStrides(dense.dims()), row_major.mutable_data(),
                RowMajorStrides(dense.dims()), dense.dims(), ByteCount(expected.type()));
    literal = std::move(row_major);
  }
  return expected.HasUnboundedDim() ? literal : PaddedToBounds(literal, expected);
}

absl::StatusOr<Literal> WithoutPadding(const Literal& literal) {
  if (!literal.has_dynamic_sizes()) return literal;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < literal.rank(); ++d) dims.push_back(literal.dynamic_size(d));
  HLO_ASSIGN_OR_RETURN(Literal dense, Literal::Create(Shape::Array(literal.type(), dims)));
  CopyStrided(literal.data(), RowMajorStrides(literal.dims()), dense.mutable_data(), RowMajorStrides(dims),
              dims, ByteCount(literal.type()));
  return dense;
}

absl::StatusOr<Literal> ForStorage(const Literal& literal) {
  HLO_ASSIGN_OR_RETURN(Literal dense, WithoutPadding(literal));
  const int64_t bits = BitWidth(literal.type());
  if (IsSigned(literal.type()) && bits < 8) {
    HLO_RETURN_IF_ERROR(dense.MakeUnique());
    for (uint8_t& byte : dense.mutable_span<uint8_t>()) byte = static_cast<uint8_t>(ZeroExtend(byte, bits));
  }
  return dense;
}

}  // namespace hlo::io
