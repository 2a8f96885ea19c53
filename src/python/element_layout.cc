#include "python/element_layout.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "fmt/format.h"

namespace hlo::python {
namespace {

// The type codes of DLPack; older headers lack the last.
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

nb::dlpack::dtype Of(uint8_t code, int64_t bits) { return {code, static_cast<uint8_t>(bits), 1}; }

std::optional<uint8_t> CodeOf(ElementType type) {
  static const std::map<ElementType, uint8_t> kSmall = {
      {ElementType::kF8E3M4, 7},      {ElementType::kF8E4M3, 8},      {ElementType::kF8E4M3B11FNUZ, 9},
      {ElementType::kF8E4M3FN, 10},   {ElementType::kF8E4M3FNUZ, 11}, {ElementType::kF8E5M2, 12},
      {ElementType::kF8E5M2FNUZ, 13}, {ElementType::kF8E8M0FNU, 14},  {ElementType::kBF16, kBfloat}};
  if (IsPred(type)) return kBool;
  if (IsNarrow(type)) return std::nullopt;
  if (IsSigned(type)) return kInt;
  if (IsUnsigned(type)) return kUInt;
  if (IsComplex(type)) return kComplex;
  const auto small = kSmall.find(type);
  return small == kSmall.end() ? uint8_t{kFloat} : small->second;
}

}  // namespace

std::optional<nb::dlpack::dtype> DLPackType(ElementType type) {
  const std::optional<uint8_t> code = CodeOf(type);
  return code ? std::optional(Of(*code, 8 * ByteCount(type))) : std::nullopt;
}

nb::dlpack::dtype StorageType(ElementType type) {
  const std::optional<uint8_t> code = CodeOf(type);
  const int64_t bits = 8 * ByteCount(type);
  if (code && (*code <= kFloat || *code == kComplex || *code == kBool)) return Of(*code, bits);
  return Of(IsSigned(type) ? kInt : kUInt, bits);
}

bool IsRawTypeOf(ElementType type, nb::dlpack::dtype raw) {
  return raw == Of(kUInt, 8 * ByteCount(type)) || raw == Of(kInt, 8 * ByteCount(type));
}

std::string DescribeType(nb::dlpack::dtype dtype) {
  static constexpr const char* kNames[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const char* name = dtype.code < std::size(kNames) ? kNames[dtype.code] : "float8 ";
  return fmt::format("{}{}", name, static_cast<int>(dtype.bits));
}

int64_t ComponentByteCount(ElementType type) { return ByteCount(type) / (IsComplex(type) ? 2 : 1); }

bool IsNarrow(ElementType type) { return BitWidth(type) < 8; }

absl::Status CheckNarrow(Literal* value) {
  const ElementType type = value->type();
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(value->data()),
                                        value->element_count());
  if (IsPred(type)) {
    if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b <= 1; })) return absl::OkStatus();
    absl::StatusOr<Literal> copy = Literal::Create(value->shape());
    if (!copy.ok()) return copy.status();
    std::transform(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(copy->mutable_data()),
                   [](uint8_t b) { return b != 0; });
    *value = *std::move(copy);
    return absl::OkStatus();
  }
  const int64_t bits = BitWidth(type);
  const int low = IsSigned(type) ? -(1 << (bits - 1)) : 0;
  const int high = IsSigned(type) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  for (const uint8_t byte : bytes) {
    const int number = IsSigned(type) ? static_cast<int8_t>(byte) : byte;
    if (number < low || number > high)
      return absl::InvalidArgumentError(
          fmt::format("{} is not a value of {}: bytes must be from {} to {}", number, Name(type), low, high));
  }
  return absl::OkStatus();
}

void CopyStrided(const std::byte* from, absl::Span<const int64_t> strides, absl::Span<const int64_t> dims,
                 int64_t element_bytes, std::byte* to) {
  if (dims.empty()) {
    std::memcpy(to, from, element_bytes);
    return;
  }
  int64_t inner = element_bytes;
  for (const int64_t dim : dims.subspan(1)) inner *= dim;
  if (inner == 0) return;
  for (int64_t i = 0; i < dims[0]; ++i) {
    CopyStrided(from + i * strides[0] * element_bytes, strides.subspan(1), dims.subspan(1), element_bytes,
                to + i * inner);
  }
}

}  // namespace hlo::python
