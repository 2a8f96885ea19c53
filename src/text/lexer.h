#pragma once
// The lexer of HLO text (text-format 1). It has one token of lookahead and can restart at any token.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/token.h"

namespace hlo::text {

class Lexer {
 public:
  // The byte after the text must be NUL, as in SourceText.
  explicit Lexer(std::string_view text)
      : text_(text), base_(text.data()), size_(static_cast<uint32_t>(text.size())) {
    Lex(0);
  }

  const Token& token() const { return token_; }
  bool At(Tok kind) const { return token_.kind == kind; }
  // Returns the end of the previous token.
  uint32_t last_end() const { return last_end_; }
  // Returns the byte after the current token; NUL at the end of the text.
  char next_byte() const { return base_[token_.end]; }

  void Next() {
    last_end_ = token_.end;
    Lex(token_.end);
  }
  // Like Next, but lexes a number as an integer: in lists of integers, 1x2 is 1 and x2.
  void NextInteger();
  // Continues with the token at or after an offset.
  void Restart(uint32_t offset) {
    last_end_ = offset;
    Lex(offset);
  }
  // From now on, `#` after white space starts a comment that extends to the end of the line.
  void TakeHashComments() {
    hash_comments_ = true;
    Restart(token_.begin);
  }
  // Returns to an earlier token.
  void Rewind(const Token& token, uint32_t last_end) {
    token_ = token;
    last_end_ = last_end;
  }
  // Takes the bytes from the current `{` to the matching `}` as raw text (text-format 1.8) and moves past it.
  // Returns nullopt if there is no match.
  std::optional<std::string_view> TakeJson();

  std::string_view Bytes(const Token& token) const { return {base_ + token.begin, token.end - token.begin}; }
  // Returns the word of a name, attribute or identifier without `%`, `:` or `=`.
  std::string_view Word(const Token& token) const;
  // Returns the text between the quotes, with escapes as written.
  std::string_view StringBody(const Token& token) const {
    return {base_ + token.begin + 1, token.end - token.begin - 2};
  }
  // Describes the problem of an error token.
  const char* error() const { return error_; }
  const char* base() const { return base_; }
  uint32_t size() const { return size_; }
  std::string_view text() const { return text_; }

  // Returns the first offset from `offset` on that is neither white space nor comment. An unterminated
  // comment is not skipped.
  uint32_t SkipBlanks(uint32_t offset) const;

 private:
  void Lex(uint32_t offset);
  uint32_t SkipHashComments(uint32_t offset) const;
  void LexWord(uint32_t begin);
  void LexPercent(uint32_t begin);
  void LexNumber(uint32_t begin);
  void LexInteger(uint32_t begin);
  void LexNan(uint32_t begin, uint32_t end);
  void LexString(uint32_t begin);
  void LexPunctuation(uint32_t begin);
  void Set(Tok kind, uint32_t begin, uint32_t end, uint8_t detail = 0) {
    token_ = {kind, detail, begin, end};
  }
  void SetError(uint32_t begin, uint32_t end, const char* message);
  void SetUnterminated(uint32_t begin, uint32_t end, const char* message);

  std::string_view text_;
  const char* base_;
  uint32_t size_;
  Token token_;
  uint32_t last_end_ = 0;
  const char* error_ = "";
  bool hash_comments_ = false;
};

// Return the length of the longest prefix that is a token of this kind; 0 if none is.
size_t MatchDecimal(std::string_view text);
size_t MatchDimLabels(std::string_view text);
size_t MatchDxd(std::string_view text);
size_t MatchPad(std::string_view text);

// True for f32, token and the like, which cannot name instructions.
bool IsTypeName(std::string_view word);
// Byte classes.
bool IsWordByte(char c);
bool IsBlank(char c);
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace hlo::text
