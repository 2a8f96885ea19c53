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
  static std::optional<RowPieces> Of(const loops::LoopProgram& program, int32_t access);

  // The stride of the elements of a piece: 0 or 1.
  int64_t stride() const { return stride_; }
  // Appends the positions inside a row at which another piece may begin.
  void AddCuts(std::vector<int64_t>* cuts) const;
  // Elements at the same position of neighbouring rows.
  struct Place {
    void* at;          // The first element, or null if it is the one beyond the edges.
    int64_t distance;  // The bytes between two elements.
    int64_t rows;      // The number of rows, at least 1.
  };
  // Returns the elements from an index on, which consists of the outer and the inner one, in at most `rows`
  // rows.
  Place At(absl::Span<const int64_t> index, int64_t rows, void* const* arguments) const;
  // Sets n elements to the one beyond the edges.
  void FillOutside(int64_t n, void* const* arguments, void* to) const;

 private:
  RowPieces(const loops::LoopProgram& program, int32_t access);
  bool AddPiece(const loops::Access& access);

  std::vector<loops::Access> pieces_;
  int64_t row_, stride_ = -1, width_;
};

}  // namespace hlo::cpu
