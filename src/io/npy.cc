#include "io/npy.h"

#include <cstring>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/stored_type.h"

namespace hlo::io {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr int64_t kMaxNpyHeaderBytes = 1 << 20;
constexpr int64_t kAlignment = 64;

absl::Status Malformed(std::string_view what) {
  return absl::FailedPreconditionError(fmt::format("is not a well-formed .npy array: {}", what));
}

std::optional<StoredType> ParseDescr(std::string_view text) {
  StoredType type{.text = std::string(text)};
  if (text.empty()) return std::nullopt;
  if (std::string_view("<>|=").find(text[0]) != std::string_view::npos) {
    type.big_endian = text[0] == '>';
    text.remove_prefix(1);
  }
  int64_t width = 0;
  if (text.size() < 2 || !absl::SimpleAtoi({text.data() + 1, text.size() - 1}, &width) || width < 1 ||
      width > 16) {
    return std::nullopt;
  }
  type.byte_count = width;
  const auto named = [&](std::string_view name) {
    type.type = ParseElementType(name);
    return type;
  };
  const int64_t bits = 8 * width;
  const bool is_power = (width & (width - 1)) == 0;
  switch (text[0]) {
    case 'b':
      return width == 1 ? std::optional(named("pred")) : std::nullopt;
    case 'i':
      return is_power && width <= 8 ? std::optional(named(fmt::format("s{}", bits))) : std::nullopt;
    case 'u':
      type.is_bits = true;
      return is_power && width <= 8 ? std::optional(named(fmt::format("u{}", bits))) : std::nullopt;
    case 'f':
      if (width == 1) {  // An 8-bit float of ml_dtypes.
        type.is_bits = true;
        return type;
      }
      return is_power && width <= 8 ? std::optional(named(fmt::format("f{}", bits))) : std::nullopt;
    case 'c':
      return width == 8 || width == 16 ? std::optional(named(fmt::format("c{}", bits))) : std::nullopt;
    case 'V':
      type.is_bits = true;
      return width <= 2 ? std::optional(type) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Parses the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }` with keys in any order.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  absl::StatusOr<StoredArray> Read() {
    StoredArray array;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Consume('{')) return Malformed("its header is not a dictionary");
    while (!Consume('}')) {
      std::string key;
      if (!ReadString(&key) || !Consume(':')) return Malformed("its header is not a dictionary");
      absl::Status status;
      if (key == "descr")
        status = ReadDescr(&array), has_descr = true;
      else if (key == "fortran_order")
        status = ReadOrder(&array), has_order = true;
      else if (key == "shape")
        status = ReadShape(&array), has_shape = true;
      else
        return Malformed(fmt::format("its header has the unknown key '{}'", key));
      HLO_RETURN_IF_ERROR(status);
      if (!Consume(',') && Peek() != '}') return Malformed("its header is not a dictionary");
    }
    if (!has_descr || !has_order || !has_shape) {
      return Malformed("its header lacks one of 'descr', 'fortran_order', 'shape'");
    }
    return array;
  }

 private:
  char Peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }
  bool Consume(char c) {
    if (Peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool ConsumeWord(std::string_view word) {
    Peek();
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool ReadString(std::string* out) {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  absl::Status ReadDescr(StoredArray* array) {
    std::string descr;
    if (!ReadString(&descr)) return Malformed("its elements are records; expected a plain type");
    std::optional<StoredType> type = ParseDescr(descr);
    if (!type) {
      return absl::FailedPreconditionError(
          fmt::format("has elements of the NumPy type '{}', which no HLO type corresponds to", descr));
    }
    array->type = *std::move(type);
    return absl::OkStatus();
  }
  absl::Status ReadOrder(StoredArray* array) {
    array->fortran_order = ConsumeWord("True");
    if (array->fortran_order || ConsumeWord("False")) return absl::OkStatus();
    return Malformed("'fortran_order' is neither True nor False");
  }
  absl::Status ReadShape(StoredArray* array) {
    if (!Consume('(')) return Malformed("'shape' is not a tuple");
    while (!Consume(')')) {
      Peek();
      const size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
      int64_t size = 0;
      if (!absl::SimpleAtoi({text_.data(), digits}, &size))
        return Malformed("'shape' is not a tuple of sizes");
      array->dims.push_back(size);
      text_.remove_prefix(digits);
      ConsumeWord("L");  // Python 2 wrote 3L.
      if (!Consume(',') && Peek() != ')') return Malformed("'shape' is not a tuple of sizes");
    }
    return absl::OkStatus();
  }

  std::string_view text_;
};

absl::StatusOr<StoredArray> ReadHeader(ByteStream& stream) {
  uint8_t start[8];
  if (stream.remaining() < 10) return Malformed("it is too short");
  HLO_RETURN_IF_ERROR(stream.Read(start, sizeof start));
  if (std::memcmp(start, kMagic, 6) != 0) return Malformed("it does not begin with \\x93NUMPY");
  const int major = start[6];
  if (major < 1 || major > 3) return Malformed(fmt::format("version {}.{} is unknown", major, start[7]));
  uint8_t length[4] = {};
  HLO_RETURN_IF_ERROR(stream.Read(length, major == 1 ? 2 : 4));
  const int64_t header_bytes = length[0] | length[1] << 8 | length[2] << 16 | int64_t{length[3]} << 24;
  if (header_bytes > kMaxNpyHeaderBytes || header_bytes > stream.remaining()) {
    return Malformed(fmt::format("its header claims {} bytes", header_bytes));
  }
  std::string text(header_bytes, '\0');
  HLO_RETURN_IF_ERROR(stream.Read(text.data(), header_bytes));
  return HeaderReader(text).Read();
}

std::string DescrOf(ElementType type) {
  const int64_t width = ByteCount(type);
  const char order = width == 1 ? '|' : '<';
  char kind = 'u';
  if (IsPred(type))
    kind = 'b';
  else if (!IsNumpyType(type) || IsUnsigned(type))
    kind = 'u';
  else if (IsSigned(type))
    kind = 'i';
  else if (IsFloat(type))
    kind = 'f';
  else
    kind = 'c';
  return fmt::format("{}{}{}", order, kind, width);
}

}  // namespace

absl::StatusOr<Literal> ReadNpy(ByteStream& stream, const Shape& expected, const ReadOptions& options) {
  HLO_ASSIGN_OR_RETURN(StoredArray array, ReadHeader(stream));
  return ReadElements(array, expected, stream, options);
}

std::string NpyHeader(const Shape& shape) {
  const std::string dims = shape.rank() == 1 ? fmt::format("({},)", shape.dim(0))
                                             : fmt::format("({})", fmt::join(shape.dims(), ", "));
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", DescrOf(shape.type()), dims);
  const int64_t before = 10;  // Magic, version and length.
  const int64_t unpadded = before + static_cast<int64_t>(text.size()) + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text.push_back('\n');
  std::string header(kMagic, 6);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace hlo::io
