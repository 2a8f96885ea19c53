#pragma once
// Reads the elements of array constants into memory. It does not use the lexer, because constants can be the
// largest part of a text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hlo_run/shape.h"
#include "text/lexer.h"

namespace hlo::text {

class LiteralReader {
 public:
  // Stores the elements of the array `shape` to `data`; nullptr only checks them.
  LiteralReader(const Lexer& lexer, const Shape& shape, std::byte* data)
      : lexer_(lexer), base_(lexer.base()), shape_(shape), data_(data) {}

  // Reads from an offset of the text. Returns false after an error.
  bool Read(uint32_t begin);
  uint32_t end() const { return at_; }
  // True for `{...}`.
  bool elided() const { return elided_; }
  // Returns the range of a row of pred without commas (until 2018); unknown if there is none.
  SourceRange old_row() const { return old_row_; }
  // Returns the range of the first float that is written as the integer -0, which has no sign; unknown if
  // there is none.
  SourceRange lost_sign() const { return lost_sign_; }
  const std::string& error() const { return error_; }
  SourceRange error_range() const { return error_range_; }

 private:
  // A number in the text.
  struct Number {
    enum class Kind : uint8_t { kInt, kDecimal, kInf, kNan, kBool };
    Kind kind = Kind::kInt;
    bool negative = false;
    bool truth = false;
    uint64_t magnitude = 0;  // Set for kInt.
    double value = 0;        // Set for kDecimal.
    uint64_t payload = 0;    // Set for kNan; 0 means no payload.
    SourceRange range;
  };

  bool ReadLevel(int64_t dim);
  bool ReadElided();
  template <ElementType kType>
  bool ReadRow(int64_t count);
  bool ReadOldRow(int64_t count, bool* done);
  template <ElementType kType>
  bool ReadElement();
  bool ReadNumber(Number* number);
  bool ReadToken(Number* number);
  template <class T>
  bool ToInteger(const Number& number, int64_t bits, bool is_signed, T* value);
  template <class T>
  bool ToFloat(const Number& number, ElementType type, T* value);
  void Skip(bool commas);
  bool Expect(char c, std::string_view what);
  bool Fail(SourceRange at, std::string message);
  bool FailHere(std::string_view expected);

  Lexer lexer_;
  const char* base_;
  const Shape& shape_;
  std::byte* data_;
  int64_t next_ = 0;  // The index of the next element.
  uint32_t at_ = 0;
  bool (LiteralReader::*read_row_)(int64_t) = nullptr;
  bool elided_ = false;
  SourceRange old_row_, lost_sign_, error_range_;
  std::string error_;
};

}  // namespace hlo::text
