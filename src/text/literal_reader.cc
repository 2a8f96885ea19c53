#include "text/literal_reader.h"

#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "base/counted.h"
#include "fmt/format.h"
#include "types/dispatch.h"

namespace hlo::text {
namespace {

// True if the byte may follow a number immediately.
bool EndsNumber(char c) { return c == ',' || c == '}' || c == ')' || IsBlank(c); }

// Returns the number of payload bits of a NaN; 0 if the type's NaN has none.
int PayloadBits(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return 52;
    case ElementType::kF32:
      return 23;
    case ElementType::kF16:
      return 10;
    case ElementType::kBF16:
      return 7;
    case ElementType::kF8E3M4:
      return 4;
    case ElementType::kF8E4M3:
      return 3;
    case ElementType::kF8E5M2:
      return 2;
    default:
      return 0;
  }
}

// Returns an IEEE NaN with this sign and payload; payload 0 gives the quiet NaN.
template <class Bits>
Bits NanBits(bool negative, int payload_bits, uint64_t payload) {
  constexpr int kBits = sizeof(Bits) * 8;
  if (payload == 0) payload = uint64_t{1} << (payload_bits - 1);
  const uint64_t exponent = ((uint64_t{1} << (kBits - 1 - payload_bits)) - 1) << payload_bits;
  return static_cast<Bits>(uint64_t{negative} << (kBits - 1) | exponent | payload);
}

template <class T>
constexpr Special kSpecialOf = Special::kIeee;
template <class Bits, const FloatFormat& kFormat>
constexpr Special kSpecialOf<SmallFloat<Bits, kFormat>> = kFormat.special;

template <class T>
T MakeNan(ElementType type, bool negative, uint64_t payload) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(NanBits<uint64_t>(negative, 52, payload));
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(NanBits<uint32_t>(negative, 23, payload));
  else {
    using Bits = decltype(T::bits);
    switch (kSpecialOf<T>) {
      case Special::kIeee:
        return T::FromBits(NanBits<Bits>(negative, PayloadBits(type), payload));
      case Special::kFn:
        return T::FromBits(static_cast<Bits>(negative ? 0xff : 0x7f));
      case Special::kFnuz:
        return T::FromBits(static_cast<Bits>(0x80));
      default:
        return T::FromBits(static_cast<Bits>(0xff));
    }
  }
}

template <class T>
T FromDouble(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return T::FromDouble(value);
}

template <class T>
bool IsFinite(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isfinite(value);
  else
    return std::isfinite(value.ToFloat());
}

}  // namespace

bool LiteralReader::Fail(SourceRange at, std::string message) {
  error_range_ = at;
  error_ = std::move(message);
  return false;
}

bool LiteralReader::FailHere(std::string_view expected) {
  lexer_.Restart(at_);
  const Token& t = lexer_.token();
  if (t.Is(Tok::kError)) return Fail(t.range(), lexer_.error());
  const std::string_view found = t.Is(Tok::kEnd) ? "the end of the text" : lexer_.Bytes(t).substr(0, 40);
  return Fail(t.range(), fmt::format("expected {}, found {}", expected, found));
}

void LiteralReader::Skip(bool commas) {
  for (;;) {
    while (IsBlank(base_[at_]) || (commas && base_[at_] == ',')) ++at_;
    if (base_[at_] != '/') return;
    const uint32_t next = lexer_.SkipBlanks(at_);
    if (next == at_) return;
    at_ = next;
  }
}

bool LiteralReader::Expect(char c, std::string_view what) {
  if (base_[at_] != c) return FailHere(what);
  ++at_;
  return true;
}

bool LiteralReader::Read(uint32_t begin) {
  at_ = begin;
  read_row_ = DispatchType(shape_.type(), []<ElementType kType>() { return &LiteralReader::ReadRow<kType>; });
  if (shape_.rank() > 0) return ReadLevel(0);
  Skip(/*commas=*/false);
  if (base_[at_] == '{') return FailHere(fmt::format("one value of {} without braces", ToString(shape_)));
  return (this->*read_row_)(1);
}

// Reads the braces of dimension `dim` and their contents.
bool LiteralReader::ReadLevel(int64_t dim) {
  Skip(/*commas=*/false);
  const uint32_t open = at_;
  if (!Expect('{', fmt::format("'{{' for dimension {} of {}", dim, ToString(shape_)))) return false;
  const int64_t count = shape_.dim(dim);
  const bool innermost = dim + 1 == shape_.rank();
  const int64_t first = next_;
  for (int64_t i = 0; i < count; ++i) {
    Skip(/*commas=*/true);
    if (base_[at_] == '}') {
      return Fail({open, at_ + 1}, fmt::format("{}, but dimension {} of {} has {}", Counted(i, "item"), dim,
                                               ToString(shape_), count));
    }
    if (dim == 0 && base_[at_] == '.') return ReadElided();
    if (innermost) {
      if (!(this->*read_row_)(count)) return false;
      if (elided_) return true;
      if (next_ - first == count) break;
      return Fail({open, at_ + 1}, fmt::format("{}, but dimension {} of {} has {}",
                                               Counted(next_ - first, "item"), dim, ToString(shape_), count));
    }
    if (!ReadLevel(dim + 1)) return false;
  }
  Skip(/*commas=*/true);
  if (dim == 0 && base_[at_] == '.') return ReadElided();
  if (base_[at_] == '}') {
    ++at_;
    return true;
  }
  return FailHere(
      fmt::format("'}}' after the {} of dimension {} of {}", Counted(count, "item"), dim, ToString(shape_)));
}

// Reads `...`, which stands for the remaining elements.
bool LiteralReader::ReadElided() {
  do {
    if (base_[at_ + 1] != '.' || base_[at_ + 2] != '.') return FailHere("a value");
    at_ += 3;
    Skip(/*commas=*/true);
  } while (base_[at_] == '.');
  elided_ = true;
  return Expect('}', "'}' after '...'");
}

// Reads up to `count` elements, or up to `}` or `...`.
template <ElementType kType>
bool LiteralReader::ReadRow(int64_t count) {
  if constexpr (kType == ElementType::kPred) {
    bool done = false;
    if (!ReadOldRow(count, &done)) return false;
    if (done) return true;
  }
  for (int64_t i = 0; i < count; ++i) {
    Skip(shape_.rank() > 0);
    if (shape_.rank() > 0 && base_[at_] == '}') return true;
    if (shape_.rank() == 1 && base_[at_] == '.') return ReadElided();
    if (!ReadElement<kType>()) return false;
    ++next_;
  }
  return true;
}

// Reads a row of pred without commas, as written until 2018: { 010 }.
bool LiteralReader::ReadOldRow(int64_t count, bool* done) {
  uint32_t p = at_;
  while (base_[p] == '0' || base_[p] == '1') ++p;
  if (count < 2 || p - at_ != count || base_[lexer_.SkipBlanks(p)] != '}') return true;
  old_row_ = {at_, p};
  for (; at_ < p; ++at_, ++next_) {
    if (data_ != nullptr) reinterpret_cast<bool*>(data_)[next_] = base_[at_] == '1';
  }
  *done = true;
  return true;
}

template <ElementType kType>
bool LiteralReader::ReadElement() {
  using T = Native<kType>;
  T value{};
  if constexpr (kType == ElementType::kC64 || kType == ElementType::kC128) {
    using Part = typename T::value_type;
    constexpr ElementType kPart = kType == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64;
    Part parts[2];
    if (!Expect('(', "a complex value such as (1, 2)")) return false;
    for (int k = 0; k < 2; ++k) {
      Number number;
      Skip(/*commas=*/false);
      if (!ReadNumber(&number) || !ToFloat(number, kPart, &parts[k])) return false;
      Skip(/*commas=*/false);
      if (!Expect(k == 0 ? ',' : ')',
                  k == 0 ? "',' between the parts of a complex value" : "')' after a complex value")) {
        return false;
      }
    }
    value = T(parts[0], parts[1]);
  } else {
    Number number;
    if (!ReadNumber(&number)) return false;
    if constexpr (kType == ElementType::kPred) {
      if (number.kind == Number::Kind::kBool)
        value = number.truth;
      else if (number.kind == Number::Kind::kInt)
        value = number.magnitude != 0;
      else
        return Fail(number.range, "a pred is true, false or an integer");
    } else if constexpr (std::is_integral_v<T>) {
      if (!ToInteger(number, BitWidth(kType), std::is_signed_v<T>, &value)) return false;
    } else {
      if (!ToFloat(number, kType, &value)) return false;
    }
  }
  if (data_ != nullptr) reinterpret_cast<T*>(data_)[next_] = value;
  return true;
}

// Reads a number. The common forms are handled here, all others by the lexer.
bool LiteralReader::ReadNumber(Number* number) {
  constexpr int kSafeDigits = 18;
  const uint32_t begin = at_;
  uint32_t p = begin;
  number->negative = base_[p] == '-';
  if (number->negative) ++p;
  const uint32_t first = p;
  uint64_t magnitude = 0;
  for (; IsDigit(base_[p]) && p - first < kSafeDigits; ++p)
    magnitude = magnitude * 10 + static_cast<uint64_t>(base_[p] - '0');
  if (p > first && EndsNumber(base_[p])) {
    number->kind = Number::Kind::kInt;
    number->magnitude = magnitude;
    number->range = {begin, at_ = p};
    return true;
  }
  const size_t n = MatchDecimal({base_ + begin, std::min<size_t>(lexer_.size() - begin, 64)});
  if (n > 0 && n < 64 && base_[begin] != '.' && EndsNumber(base_[begin + n])) {
    const auto [end, error] = absl::from_chars(base_ + begin, base_ + begin + n, number->value);
    if (error == std::errc()) {
      number->kind = Number::Kind::kDecimal;
      number->range = {begin, at_ = begin + static_cast<uint32_t>(n)};
      return true;
    }
  }
  return ReadToken(number);
}

bool LiteralReader::ReadToken(Number* number) {
  lexer_.Restart(at_);
  const Token t = lexer_.token();
  const std::string_view bytes = lexer_.Bytes(t);
  number->range = t.range();
  number->negative = t.end > t.begin && bytes[0] == '-';
  switch (t.kind) {
    case Tok::kTrue:
    case Tok::kFalse:
      number->kind = Number::Kind::kBool;
      number->truth = t.kind == Tok::kTrue;
      break;
    case Tok::kInf:
    case Tok::kNegInf:
      number->kind = Number::Kind::kInf;
      break;
    case Tok::kInt: {
      const std::string_view digits = bytes.substr(number->negative ? 1 : 0);
      number->kind = Number::Kind::kInt;
      if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number->magnitude) ||
          (number->negative && number->magnitude > uint64_t{1} << 63)) {
        return Fail(t.range(), "this integer does not fit 64 bits");
      }
      break;
    }
    case Tok::kDecimal: {
      const std::string_view unsigned_part = bytes.substr(number->negative ? 1 : 0);
      if (unsigned_part[0] == 'n') {
        number->kind = Number::Kind::kNan;
        number->payload = 0;
        for (char c : unsigned_part.substr(std::min<size_t>(unsigned_part.size(), 6))) {
          if (c != ')')
            number->payload =
                number->payload * 16 + static_cast<uint64_t>(IsDigit(c) ? c - '0' : (c | 32) - 'a' + 10);
        }
        break;
      }
      number->kind = Number::Kind::kDecimal;
      const auto [end, error] = absl::from_chars(bytes.data(), bytes.data() + bytes.size(), number->value);
      if (error == std::errc::result_out_of_range && std::abs(number->value) > 1) {
        return Fail(t.range(), "this number is too large for a double");
      }
      break;
    }
    default:
      return FailHere("a value");
  }
  at_ = t.end;
  return true;
}

template <class T>
bool LiteralReader::ToInteger(const Number& number, int64_t bits, bool is_signed, T* value) {
  if (number.kind != Number::Kind::kInt)
    return Fail(number.range, fmt::format("{} takes integers alone", Name(shape_.type())));
  const uint64_t limit = is_signed    ? (uint64_t{1} << (bits - 1)) - (number.negative ? 0 : 1)
                         : bits == 64 ? ~uint64_t{0}
                                      : (uint64_t{1} << bits) - 1;
  // 64-bit types wrap (text-format 5.5).
  const bool fits =
      bits == 64 || (number.magnitude <= limit && (is_signed || !number.negative || number.magnitude == 0));
  if (!fits) return Fail(number.range, fmt::format("this value does not fit {}", Name(shape_.type())));
  const uint64_t wrapped = number.negative ? 0 - number.magnitude : number.magnitude;
  *value = static_cast<T>(wrapped);
  return true;
}

template <class T>
bool LiteralReader::ToFloat(const Number& number, ElementType type, T* value) {
  constexpr Special kSpecial = kSpecialOf<T>;
  switch (number.kind) {
    case Number::Kind::kBool:
      return Fail(number.range, fmt::format("{} takes numbers, not true or false", Name(type)));
    case Number::Kind::kInf:
      if (kSpecial != Special::kIeee)
        return Fail(number.range, fmt::format("{} has no infinity", Name(type)));
      *value = FromDouble<T>(number.negative ? -std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::infinity());
      return true;
    case Number::Kind::kNan:
      if (kSpecial == Special::kFinite) return Fail(number.range, fmt::format("{} has no NaN", Name(type)));
      if (number.payload != 0 && (PayloadBits(type) == 0 || number.payload >> PayloadBits(type) != 0)) {
        return Fail(number.range, fmt::format("the payload of this NaN does not fit {}", Name(type)));
      }
      *value = MakeNan<T>(type, number.negative, number.payload);
      return true;
    default:
      break;
  }
  double wide = number.value;
  if (number.kind == Number::Kind::kInt) {
    wide = static_cast<double>(number.magnitude);
    // `-0` is an integer and has no sign (text-format, trap 18).
    if (number.negative && number.magnitude != 0) wide = -wide;
    if (number.negative && number.magnitude == 0 && !lost_sign_.known()) lost_sign_ = number.range;
  }
  *value = FromDouble<T>(wide);
  if (kSpecial == Special::kFinite || IsFinite(*value)) return true;
  return Fail(number.range, fmt::format("this value is out of range for {}", Name(type)));
}

}  // namespace hlo::text
