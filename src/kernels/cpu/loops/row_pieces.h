#pragma once
// This file finds the elements of an operand with edges, such as a concatenation or a padded array, along the
// rows of a loop.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

// An access and those that its edges lead to. The pieces of a row between neighbouring cuts are contiguous,
// or one element.
class RowPieces {
 public:
  // Returns nullopt if the cuts differ from row to row, or if elements are neither contiguous nor the same.
  // Pieces that repeat one element may be among contiguous ones.
  static std::optional<RowPieces> Of(const loops::LoopProgram& program, int32_t access);

  // The stride of the elements of a piece: 0 or 1.
  int64_t stride() const { return stride_; }
  // Appends the positions inside a row at which another piece may begin.
  void AddCuts(std::vector<int64_t>* cuts) const;
  // Elements at the same position of neighbouring rows.
  struct Place {
    void* at;          // The first element, or null if one element is repeated.
    int64_t distance;  // The bytes between two elements.
    int64_t rows;      // The number of rows, at least 1.
    int32_t fill = 0;  // The number of the repeated element.
  };
  // Returns the elements from an index on, which consists of the outer and the inner one, in at most `rows`
  // rows.
  Place At(absl::Span<const int64_t> index, int64_t rows, void* const* arguments) const;
  // The repeated elements: 0 is the one beyond the edges, the others are those of pieces.
  int32_t fill_count() const { return fill_count_; }
  // Sets n elements to a repeated one.
  void Fill(int32_t fill, int64_t n, void* const* arguments, void* to) const;

 private:
  struct Piece {
    loops::Access access;
    int64_t stride;
    int32_t fill = 0;  // The number of the element that it repeats among contiguous pieces; otherwise 0.
  };
  RowPieces(const loops::LoopProgram& program, int32_t access);
  bool AddPiece(const loops::Access& access);
  bool NumberFills();

  std::vector<Piece> pieces_;
  int64_t row_, stride_ = 0, width_;
  int32_t fill_count_ = 1;
};

}  // namespace hlo::cpu
