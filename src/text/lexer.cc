#include "text/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/escaping.h"
#include "hlo_run/element_type.h"

namespace hlo::text {
namespace {

enum Class : uint8_t {
  kOther = 0,
  kBlankByte = 1,
  kWordStart = 2,
  kDigit = 4,
  kWordRest = 8,
  kPunctuation = 16
};

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> table{};
  for (char c : {' ', '\t', '\n', '\r'}) table[static_cast<uint8_t>(c)] = kBlankByte;
  for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = kWordStart | kWordRest;
  table['_'] = kWordStart | kWordRest;
  for (int c = '0'; c <= '9'; ++c) table[c] = kDigit | kWordRest;
  table['.'] = table['-'] = kWordRest;
  for (char c : {'=', ',', ':', '*', '#', '+', '~', '[', ']', '{', '}', '(', ')'}) {
    table[static_cast<uint8_t>(c)] = kPunctuation;
  }
  return table;
}();

constexpr std::array<Tok, 128> kPunctuationKinds = [] {
  std::array<Tok, 128> table{};
  table['='] = Tok::kEqual;
  table[','] = Tok::kComma;
  table[':'] = Tok::kColon;
  table['*'] = Tok::kStar;
  table['#'] = Tok::kHash;
  table['+'] = Tok::kPlus;
  table['~'] = Tok::kTilde;
  table['['] = Tok::kLSquare;
  table[']'] = Tok::kRSquare;
  table['{'] = Tok::kLBrace;
  table['}'] = Tok::kRBrace;
  table['('] = Tok::kLParen;
  table[')'] = Tok::kRParen;
  return table;
}();

bool Has(char c, uint8_t classes) { return (kClasses[static_cast<uint8_t>(c)] & classes) != 0; }

// A hash table with open addressing of the reserved words: keywords and element types.
struct Reserved {
  std::string_view word;
  Tok kind = Tok::kIdent;
  uint8_t detail = 0;
};
constexpr size_t kReservedSlots = 256;

constexpr size_t ReservedSlot(std::string_view word) {
  return (static_cast<uint8_t>(word.front()) * 7u + static_cast<uint8_t>(word.back()) * 31u +
          word.size() * 17u + static_cast<uint8_t>(word[word.size() / 2]) * 3u) %
         kReservedSlots;
}

constexpr Reserved kReservedWords[] = {
    {"true", Tok::kTrue},
    {"false", Tok::kFalse},
    {"inf", Tok::kInf},
    {"HloModule", Tok::kHloModule},
    {"ENTRY", Tok::kEntry},
    {"ROOT", Tok::kRoot},
    {"FileNames", Tok::kFileNames},
    {"FunctionNames", Tok::kFunctionNames},
    {"FileLocations", Tok::kFileLocations},
    {"StackFrames", Tok::kStackFrames},
    {"maximal", Tok::kMaximal},
    {"replicated", Tok::kReplicated},
    {"manual", Tok::kManual},
    {"last_tile_dim_replicate", Tok::kLastTileDimReplicate},
    {"shard_as", Tok::kShardAs},
    {"shard_like", Tok::kShardLike},
    {"unknown", Tok::kUnknown},
    {"unreduced", Tok::kUnreduced},
    {"token", Tok::kType, kTokenType},
    {"opaque", Tok::kType, kOpaqueType},
    {"nan", Tok::kDecimal},
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) \
  {text, Tok::kType, static_cast<uint8_t>(ElementType::k##name)},
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
};

constexpr std::array<Reserved, kReservedSlots> kReservedTable = [] {
  std::array<Reserved, kReservedSlots> table{};
  for (const Reserved& row : kReservedWords) {
    size_t slot = ReservedSlot(row.word);
    while (!table[slot].word.empty()) slot = (slot + 1) % kReservedSlots;
    table[slot] = row;
  }
  return table;
}();

// Bit n is set if a reserved word with this first letter has n letters, which rejects most other words.
constexpr std::array<uint32_t, 256> kReservedLengths = [] {
  std::array<uint32_t, 256> table{};
  for (const Reserved& row : kReservedWords)
    table[static_cast<unsigned char>(row.word[0])] |= 1u << row.word.size();
  return table;
}();

const Reserved* FindReserved(std::string_view word) {
  if (word.empty() || word.size() > 31 ||
      (kReservedLengths[static_cast<unsigned char>(word[0])] >> word.size() & 1) == 0)
    return nullptr;
  for (size_t slot = ReservedSlot(word);; slot = (slot + 1) % kReservedSlots) {
    const Reserved& row = kReservedTable[slot];
    if (row.word.empty()) return nullptr;
    if (row.word == word) return &row;
  }
}

size_t CountDigits(std::string_view text, size_t from) {
  size_t i = from;
  while (i < text.size() && IsDigit(text[i])) ++i;
  return i - from;
}

size_t MatchInteger(std::string_view text, size_t from) {
  const size_t sign = from < text.size() && text[from] == '-' ? 1 : 0;
  const size_t digits = CountDigits(text, from + sign);
  return digits == 0 ? 0 : sign + digits;
}

}  // namespace

bool IsTypeName(std::string_view word) {
  const Reserved* row = FindReserved(word);
  return row != nullptr && row->kind == Tok::kType;
}
bool IsWordByte(char c) { return Has(c, kWordRest); }
bool IsBlank(char c) { return Has(c, kBlankByte); }

size_t MatchDecimal(std::string_view text) {
  size_t i = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t whole = CountDigits(text, i);
  i += whole;
  bool point = i < text.size() && text[i] == '.';
  size_t fraction = 0;
  if (point) {
    fraction = CountDigits(text, i + 1);
    if (whole + fraction == 0) return 0;
    i += 1 + fraction;
  }
  if (whole + fraction == 0) return 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    const size_t exponent = CountDigits(text, j);
    if (exponent > 0) return j + exponent;
  }
  return point ? i : 0;
}

size_t MatchDimLabels(std::string_view text) {
  constexpr size_t kMaxLabels = 128;
  auto part = [&](size_t from, char a, char b) {
    // Limits the scan of long runs of `?`, since at most 64 dimensions exist.
    const size_t stop = std::min(text.size(), from + kMaxLabels);
    size_t i = from;
    while (i < stop && (IsDigit(text[i]) || text[i] == a || text[i] == b || text[i] == '?')) ++i;
    return i - from;
  };
  const size_t lhs = part(0, 'b', 'f');
  if (lhs < 2 || lhs >= text.size() || text[lhs] != '_') return 0;
  const size_t rhs = part(lhs + 1, 'i', 'o');
  const size_t arrow = lhs + 1 + rhs;
  if (rhs < 2 || text.substr(arrow, 2) != "->") return 0;
  const size_t out = part(arrow + 2, 'b', 'f');
  return out < 2 ? 0 : arrow + 2 + out;
}

size_t MatchDxd(std::string_view text) {
  size_t end = CountDigits(text, 0);
  if (end == 0) return 0;
  size_t parts = 1;
  while (end < text.size() && text[end] == 'x') {
    const size_t digits = CountDigits(text, end + 1);
    if (digits == 0) break;
    end += 1 + digits;
    ++parts;
  }
  return parts < 2 ? 0 : end;
}

size_t MatchPad(std::string_view text) {
  auto item = [&](size_t from) -> size_t {
    size_t i = from;
    size_t n = MatchInteger(text, i);
    if (n == 0 || text.substr(i + n, 1) != "_") return 0;
    i += n + 1;
    n = MatchInteger(text, i);
    if (n == 0) return 0;
    i += n;
    if (text.substr(i, 1) == "_") {
      n = CountDigits(text, i + 1);
      if (n > 0) i += 1 + n;
    }
    return i - from;
  };
  size_t end = item(0);
  if (end == 0) return 0;
  while (text.substr(end, 1) == "x") {
    const size_t n = item(end + 1);
    if (n == 0) break;
    end += 1 + n;
  }
  return end;
}

uint32_t Lexer::SkipBlanks(uint32_t offset) const {
  for (;;) {
    while (Has(base_[offset], kBlankByte)) ++offset;
    if (base_[offset] != '/') return offset;
    if (base_[offset + 1] == '/') {
      offset += 2;
      while (offset < size_ && base_[offset] != '\n' && base_[offset] != '\r') ++offset;
    } else if (base_[offset + 1] == '*') {
      const size_t close = text_.find("*/", offset + 2);
      if (close == std::string_view::npos) return offset;
      offset = static_cast<uint32_t>(close + 2);
    } else {
      return offset;
    }
  }
}

uint32_t Lexer::SkipHashComments(uint32_t offset) const {
  while (base_[offset] == '#' && (offset == 0 || IsBlank(base_[offset - 1]))) {
    const size_t line_end = text_.find_first_of("\r\n", offset);
    if (line_end == std::string_view::npos) return size_;
    offset = SkipBlanks(static_cast<uint32_t>(line_end));
  }
  return offset;
}

void Lexer::SetError(uint32_t begin, uint32_t end, const char* message) {
  error_ = message;
  Set(Tok::kError, begin, end);
}

void Lexer::SetUnterminated(uint32_t begin, uint32_t end, const char* message) {
  error_ = message;
  Set(Tok::kError, begin, end, 1);
}

void Lexer::Lex(uint32_t offset) {
  // Most tokens follow no white space or a single space.
  uint32_t begin = offset + (base_[offset] == ' ' ? 1 : 0);
  if (Has(base_[begin], kBlankByte) || base_[begin] == '/') begin = SkipBlanks(begin);
  if (hash_comments_) begin = SkipHashComments(begin);
  const char c = base_[begin];
  const uint8_t byte_class = kClasses[static_cast<uint8_t>(c)];
  if (byte_class & kWordStart) return LexWord(begin);
  if (byte_class & kPunctuation) return Set(kPunctuationKinds[static_cast<uint8_t>(c)], begin, begin + 1);
  if (c == '%') return LexPercent(begin);
  if (IsDigit(c) || c == '-' || c == '?') return LexNumber(begin);
  if (c == '"' || c == '\'') return LexString(begin);
  LexPunctuation(begin);
}

void Lexer::NextInteger() {
  last_end_ = token_.end;
  const uint32_t begin = SkipBlanks(token_.end);
  const char c = base_[begin];
  if (IsDigit(c) || c == '-') return LexInteger(begin);
  Lex(begin);
}

void Lexer::LexPunctuation(uint32_t begin) {
  const std::string_view rest(base_ + begin, size_ - begin);
  if (rest.empty()) return Set(Tok::kEnd, begin, begin);
  if (rest.substr(0, 2) == "<=") return Set(Tok::kLessEqual, begin, begin + 2);
  if (rest.substr(0, 3) == "...") return Set(Tok::kDots, begin, begin + 3);
  if (rest.substr(0, 2) == "/*")
    return SetUnterminated(begin, begin + 2, "this comment has no end: `*/` is missing");
  if (rest[0] == '\0') return SetError(begin, begin + 1, "a NUL byte cannot stand here");
  if (static_cast<uint8_t>(rest[0]) >= 0x80) {
    return SetError(begin, begin + 1, "bytes outside ASCII can stand only in strings and comments");
  }
  SetError(begin, begin + 1, "this character starts no word of HLO");
}

void Lexer::LexWord(uint32_t begin) {
  uint32_t end = begin + 1;
  while (Has(base_[end], kWordRest)) ++end;
  const char next = base_[end];
  if (next == ':') return Set(Tok::kName, begin, end + 1);
  if (next == '=') return Set(Tok::kAttr, begin, end + 1);
  const std::string_view word(base_ + begin, end - begin);
  if (const Reserved* reserved = FindReserved(word)) {
    if (reserved->kind == Tok::kDecimal) return LexNan(begin, end);
    return Set(reserved->kind, begin, end, reserved->detail);
  }
  if (word[0] == 'b' || word[0] == 'f') {
    if (const size_t n = MatchDimLabels({base_ + begin, size_ - begin})) {
      return Set(Tok::kDimLabels, begin, begin + static_cast<uint32_t>(n));
    }
  }
  Set(Tok::kIdent, begin, end);
}

void Lexer::LexPercent(uint32_t begin) {
  uint32_t end = begin + 1;
  if (!Has(base_[end], kWordStart)) return SetError(begin, end, "`%` must be followed by a letter or `_`");
  while (Has(base_[end], kWordRest)) ++end;
  Set(Tok::kName, begin, end);
}

// Lexes `nan`, which ends at `end`, and its payload `(0x...)`, which must follow immediately.
void Lexer::LexNan(uint32_t begin, uint32_t end) {
  if (base_[end] != '(') return Set(Tok::kDecimal, begin, end);
  uint32_t p = end + 1;
  if (base_[p] != '0' || base_[p + 1] != 'x')
    return SetError(begin, p, "a NaN payload has the form nan(0x7f)");
  p += 2;
  const uint32_t first = p;
  uint64_t payload = 0;
  for (;; ++p) {
    const char c = base_[p];
    const int digit = IsDigit(c)             ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    if (payload >> 56 == 0) payload = payload * 16 + static_cast<uint64_t>(digit);
  }
  if (p == first || base_[p] != ')') return SetError(begin, p, "a NaN payload has the form nan(0x7f)");
  if (payload == 0 || payload >= uint64_t{1} << 52) {
    return SetError(begin, p + 1, "a NaN payload must be between 0x1 and 0xfffffffffffff");
  }
  Set(Tok::kDecimal, begin, p + 1);
}

void Lexer::LexInteger(uint32_t begin) {
  if (base_[begin] == '-' && base_[begin + 1] == '>') return Set(Tok::kArrow, begin, begin + 2);
  const size_t n = MatchInteger({base_ + begin, size_ - begin}, 0);
  if (n > 0) return Set(Tok::kInt, begin, begin + static_cast<uint32_t>(n));
  const std::string_view rest(base_ + begin, size_ - begin);
  if (rest.substr(0, 4) == "-inf") return Set(Tok::kNegInf, begin, begin + 4);
  if (rest.substr(0, 4) == "-nan") return LexNan(begin, begin + 4);
  SetError(begin, begin + 1, "a number must follow `-`");
}

void Lexer::LexNumber(uint32_t begin) {
  // Fast path for plain integers, the most frequent numbers.
  uint32_t p = begin;
  while (IsDigit(base_[p])) ++p;
  if (p > begin && !Has(base_[p], kWordRest | kWordStart) && base_[p] != '?') return Set(Tok::kInt, begin, p);
  if (base_[begin] == '-' && base_[begin + 1] == '>') return Set(Tok::kArrow, begin, begin + 2);
  const std::string_view rest(base_ + begin, size_ - begin);
  if (const size_t n = MatchDecimal(rest)) return Set(Tok::kDecimal, begin, begin + static_cast<uint32_t>(n));
  if (const size_t n = MatchDimLabels(rest))
    return Set(Tok::kDimLabels, begin, begin + static_cast<uint32_t>(n));
  if (const size_t n = MatchDxd(rest)) return Set(Tok::kDxd, begin, begin + static_cast<uint32_t>(n));
  if (const size_t n = MatchPad(rest)) return Set(Tok::kPad, begin, begin + static_cast<uint32_t>(n));
  if (rest[0] == '?') return Set(Tok::kQuestion, begin, begin + 1);
  LexInteger(begin);
}

void Lexer::LexString(uint32_t begin) {
  const char quote = base_[begin];
  const char* const stop = base_ + size_;
  const char* p = base_ + begin + 1;
  const char* close = static_cast<const char*>(std::memchr(p, quote, stop - p));
  if (close == nullptr)
    return SetUnterminated(begin, begin + 1, "this string has no end: its closing quote is missing");
  if (std::memchr(p, '\\', close - p) == nullptr) {
    return Set(Tok::kString, begin, static_cast<uint32_t>(close - base_) + 1);
  }
  for (; p < stop && *p != quote; ++p) {
    if (*p == '\\') ++p;
  }
  if (p >= stop)
    return SetUnterminated(begin, begin + 1, "this string has no end: its closing quote is missing");
  std::string unescaped, error;
  if (!absl::CUnescape({base_ + begin + 1, static_cast<size_t>(p - base_ - begin - 1)}, &unescaped, &error)) {
    return SetError(begin, static_cast<uint32_t>(p - base_) + 1,
                    "this string has an escape that does not exist");
  }
  Set(Tok::kString, begin, static_cast<uint32_t>(p - base_) + 1, 1);
}

std::optional<std::string_view> Lexer::TakeJson() {
  const uint32_t begin = token_.begin;
  int64_t open = 0;
  for (uint32_t p = begin; p < size_; ++p) {
    const char c = base_[p];
    if (c == '{') {
      ++open;
    } else if (c == '}') {
      if (--open == 0) {
        Restart(p + 1);
        return std::string_view(base_ + begin, p + 1 - begin);
      }
    } else if (c == '"') {
      for (++p; p < size_ && base_[p] != '"'; ++p) {
        if (base_[p] == '\\') ++p;
      }
    }
  }
  return std::nullopt;
}

std::string_view Lexer::Word(const Token& token) const {
  std::string_view bytes = Bytes(token);
  if (token.kind == Tok::kName && bytes.front() == '%') return bytes.substr(1);
  if (token.kind == Tok::kName || token.kind == Tok::kAttr) bytes.remove_suffix(1);
  return bytes;
}

}  // namespace hlo::text
