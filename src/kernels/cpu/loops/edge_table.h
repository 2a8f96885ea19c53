#pragma once
// This file reads operands with edges, such as padded arrays and concatenations, by a table of the elements
// at each position. If rows are short, finding the edges of each row would take longer than reading its
// elements.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "loops/loop_program.h"

namespace hlo::cpu {

class EdgeTable {
 public:
  // Returns nullopt if rows are long, if edges depend on more positions than a table holds, or if starts are
  // known only at run time for each position.
  static std::optional<EdgeTable> Of(const loops::LoopProgram& program, int32_t access);

  // Reads the elements at inner positions [begin, begin + n). `bases` are the offsets of all accesses at
  // inner position 0.
  void Read(void* const* arguments, const int64_t* bases, int64_t begin, int64_t n, std::byte* to) const;

 private:
  // One of the accesses of the load, with the offsets of its elements at the positions of the table.
  struct Piece {
    int32_t access, argument;
    loops::Strides strides;  // Of the dimensions before those of the table.
    std::vector<int32_t> offsets;
  };
  static constexpr int32_t kNone = INT32_MIN;  // The piece has no element there.

  EdgeTable() = default;
  bool FindDims(const loops::LoopProgram& program, int32_t access);
  bool AddPiece(const loops::LoopProgram& program, int32_t access, std::vector<bool>* is_found);
  template <class T>
  void ReadPart(void* const* arguments, const int64_t* places, int64_t phase, int64_t n, T* to) const;

  std::vector<Piece> pieces_;
  std::vector<int64_t> dims_;  // The inner dimensions before those of the table.
  // The inner dimensions of the table, and the number of their positions. The table has them for several
  // neighbouring indices of the dimension before.
  std::vector<int64_t> table_dims_;
  int64_t period_ = 1, size_ = 1, width_ = 0;
  bool has_outside_ = false;  // True if no piece has an element at some position.
  int32_t outside_ = 0;       // The argument whose first element is used there.
};

}  // namespace hlo::cpu
