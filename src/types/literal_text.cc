// Prints literals (text-format 9.7).

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "absl/strings/charconv.h"
#include "base/append.h"
#include "fmt/format.h"
#include "hlo_run/literal.h"
#include "types/dispatch.h"

namespace hlo {
namespace {

// Number of printed digits of a float type: `short_digits` if they read back as the same value, otherwise
// `long_digits`. `payload_bits` is the width of a NaN payload; 0 means that none is printed.
struct FloatText {
  int short_digits;
  int long_digits;
  int payload_bits;
};

constexpr FloatText TextOf(const FloatFormat& format) {
  if (format.bits() == 16) return format.mantissa_bits == 10 ? FloatText{5, 5, 10} : FloatText{4, 4, 7};
  const bool wide = format.mantissa_bits >= 3;
  return {wide ? 3 : 2, wide ? 3 : 2, format.special == Special::kIeee ? format.mantissa_bits : 0};
}

void AppendNan(uint64_t payload, int payload_bits, bool negative, std::string* out) {
  out->append(negative ? "-nan" : "nan");
  const bool plain = payload_bits == 0 || payload == uint64_t{1} << (payload_bits - 1);
  if (!plain) Append(out, "(0x{:x})", payload);
}

template <class T>
void AppendFinite(T value, int short_digits, int long_digits, const LiteralPrintOptions& options,
                  std::string* out) {
  if (value == 0 && std::signbit(value)) {
    out->append(options.as_xla ? "-0" : "-0.0");
    return;
  }
  std::string text = fmt::format("{:.{}g}", value, short_digits);
  if (short_digits != long_digits) {
    double read = 0;
    const absl::from_chars_result result = absl::from_chars(text.data(), text.data() + text.size(), read);
    // from_chars clamps out-of-range values to the largest double, which may equal the value.
    if (result.ec != std::errc() || static_cast<T>(read) != value)
      text = fmt::format("{:.{}g}", value, long_digits);
  }
  out->append(text);
}

template <class T>  // T is float or double.
void AppendNativeFloat(T value, const LiteralPrintOptions& options, std::string* out) {
  constexpr bool kDouble = std::is_same_v<T, double>;
  if (std::isnan(value)) {
    if constexpr (kDouble) {
      const auto bits = std::bit_cast<uint64_t>(value);
      AppendNan(bits & ((uint64_t{1} << 52) - 1), 52, bits >> 63 != 0, out);
    } else {
      const auto bits = std::bit_cast<uint32_t>(value);
      AppendNan(bits & 0x7fffffu, 23, bits >> 31 != 0, out);
    }
  } else if (std::isinf(value)) {
    out->append(value > 0 ? "inf" : "-inf");
  } else {
    AppendFinite(value, kDouble ? 15 : 6, kDouble ? 17 : 9, options, out);
  }
}

template <class T>
void AppendSmallFloat(T value, const LiteralPrintOptions& options, std::string* out) {
  constexpr FloatFormat kFormat = T::format();
  constexpr FloatText kText = TextOf(kFormat);
  const float wide = value.ToFloat();
  if (std::isnan(wide)) {
    const bool negative = kFormat.special != Special::kScale && (value.bits >> (kFormat.bits() - 1) & 1) != 0;
    AppendNan(value.bits & ((1u << kFormat.mantissa_bits) - 1), kText.payload_bits, negative, out);
  } else if (std::isinf(wide)) {
    out->append(wide > 0 ? "inf" : "-inf");
  } else if (kFormat.special == Special::kScale && value.bits == 0 && !options.as_xla) {
    out->append("5.877e-39");  // 2^-127 rounded down; XLA's 5.9e-39 reads back as 2^-126.
  } else {
    AppendFinite(wide, kText.short_digits, kText.long_digits, options, out);
  }
}

template <ElementType kType>
void AppendTyped(const std::byte* data, int64_t index, bool in_array, const LiteralPrintOptions& options,
                 std::string* out) {
  using T = Native<kType>;
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    if (in_array)
      out->push_back(value ? '1' : '0');
    else
      out->append(value ? "true" : "false");
  } else if constexpr (std::is_integral_v<T>) {
    Append(out, "{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendNativeFloat(value, options, out);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    out->push_back('(');
    AppendNativeFloat(value.real(), options, out);
    out->append(", ");
    AppendNativeFloat(value.imag(), options, out);
    out->push_back(')');
  } else {
    AppendSmallFloat(value, options, out);
  }
}

using AppendFn = void (*)(const std::byte*, int64_t, bool, const LiteralPrintOptions&, std::string*);
AppendFn Appender(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> AppendFn { return &AppendTyped<kType>; });
}

// Appends the elements of dimension `dim`, the first of which has the linear index `begin`.
void AppendDim(const Literal& literal, int64_t dim, int64_t index_of_parent, int64_t begin, AppendFn append,
               const LiteralPrintOptions& options, std::string* out) {
  const int64_t rank = literal.rank();
  const int64_t size = literal.dynamic_size(dim);
  if (dim == rank - 1) {
    const bool spaced = rank > 1 && size > 1;
    out->append(spaced ? "{ " : "{");
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out->append(", ");
      append(literal.data(), begin + i, true, options, out);
    }
    out->append(spaced ? " }" : "}");
    return;
  }
  int64_t stride = 1;
  for (int64_t d = dim + 1; d < rank; ++d) stride *= literal.dim(d);
  out->push_back('{');
  if (options.i_comments && rank >= 4 && dim > 0) {
    Append(out, " /*i{}={}*/", dim - 1, index_of_parent);
    if (size > 0) out->push_back(' ');
  } else {
    out->push_back(' ');
  }
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) out->append(", ");
    AppendDim(literal, dim + 1, i, begin + i * stride, append, options, out);
  }
  out->append(" }");
}

// Appends the run-time sizes of an array with bounded dimensions, such as `(3,2)`.
void AppendSizes(const Literal& literal, std::string* out) {
  for (int64_t d = 0; d < literal.rank(); ++d)
    Append(out, "{}{}", d == 0 ? "(" : ",", literal.dynamic_size(d));
  out->push_back(')');
}

}  // namespace

void AppendElement(const Literal& literal, int64_t index, bool in_array, const LiteralPrintOptions& options,
                   std::string* out) {
  Appender(literal.type())(literal.data(), index, in_array, options, out);
}

void AppendLiteral(const Literal& literal, const LiteralPrintOptions& options, std::string* out) {
  const Shape& shape = literal.shape();
  if (shape.IsTuple()) {
    out->append("( ");
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      if (i > 0) out->append(", ");
      AppendLiteral(literal.element(i), options, out);
    }
    out->append(" )");
    return;
  }
  if (!shape.IsArray()) {
    AppendShape(shape, {}, out);
    return;
  }
  if (options.shapes) {
    AppendShape(shape, {.layouts = options.layouts}, out);
    if (shape.HasDynamicDim()) AppendSizes(literal, out);
    out->push_back(' ');
  }
  if (shape.rank() == 0) {
    AppendElement(literal, 0, /*in_array=*/false, options, out);
  } else if (options.max_elements >= 0 && literal.element_count() > options.max_elements) {
    out->append("{...}");
  } else {
    AppendDim(literal, 0, 0, 0, Appender(literal.type()), options, out);
  }
}

std::string ToString(const Literal& literal, const LiteralPrintOptions& options) {
  std::string out;
  AppendLiteral(literal, options, &out);
  return out;
}

}  // namespace hlo
