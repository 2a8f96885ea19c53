#pragma once
// How do the elements of an array constant become bytes? A loop of its own over the text: constants can be
// most of it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hlo_run/shape.h"
#include "text/lexer.h"

namespace hlo::text {

class LiteralReader {
 public:
  // Elements of `shape`, an array, go to `data`; with nullptr they are only checked.
  LiteralReader(const Lexer& lexer, const Shape& shape, std::byte* data)
      : lexer_(lexer), base_(lexer.base()), shape_(shape), data_(data) {}

  // Reads from an offset of the text. False after an error.
  bool Read(uint32_t begin);
  uint32_t end() const { return at_; }
  // `{...}`: elements are left out.
  bool elided() const { return elided_; }
  // Rows of pred without commas, as until 2018; unknown when there are none.
  SourceRange old_row() const { return old_row_; }
  const std::string& error() const { return error_; }
  SourceRange error_range() const { return error_range_; }

 private:
  // One number as written.
  struct Number {
    enum class Kind : uint8_t { kInt, kDecimal, kInf, kNan, kBool };
    Kind kind = Kind::kInt;
    bool negative = false;
    bool truth = false;
    uint64_t magnitude = 0;  // kInt
    double value = 0;        // kDecimal
    uint64_t payload = 0;    // kNan; 0: none
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
  bool Take(char c, std::string_view what);
  bool Fail(SourceRange at, std::string message);
  bool FailHere(std::string_view expected);

  Lexer lexer_;
  const char* base_;
  const Shape& shape_;
  std::byte* data_;
  int64_t next_ = 0;  // Index of the next element.
  uint32_t at_ = 0;
  bool (LiteralReader::*read_row_)(int64_t) = nullptr;
  bool elided_ = false;
  SourceRange old_row_, error_range_;
  std::string error_;
};

}  // namespace hlo::text
