#pragma once
// This file runs loop programs as native code on rows that are contiguous in memory: each run of the code
// gets pointers into the arrays themselves, so there are neither tiles nor scratch memory nor gathers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/row_pieces.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

// The stores of a program that may overwrite elements of its loads.
struct Overwrites {
  std::vector<int32_t> loads;  // Accesses of arguments that a store may overwrite.
  std::vector<bool> early;     // For each store: true if it overwrites no loaded argument.
};

// The rows of a program and the addresses of their operands. Rows are all inner positions, or those of the
// last dimension. All functions take the program from which the rows were made, and `arguments`, the pointers
// that its accesses name.
class NativeRows {
 public:
  // Returns nullopt if an access is not contiguous in a row up to its edges, or if tiles are faster.
  static std::optional<NativeRows> Of(const loops::LoopProgram& program);

  // Returns the code of a row; nullptr if the machine or an operation is not supported.
  std::unique_ptr<const NativeLoop> Compile(const loops::LoopProgram& program,
                                            const Overwrites& overwrites) const;

  // Runs all rows, with several threads if the expected time is long enough.
  void Run(const loops::LoopProgram& program, const NativeLoop& code, void* const* arguments,
           double nanoseconds) const;
  // Runs all rows on this thread, in order.
  void RunInOrder(const loops::LoopProgram& program, const NativeLoop& code, void* const* arguments) const;

 private:
  class InPieces;
  struct Operand {
    loops::Value value;
    int32_t access;
    NativeLoop::Form form;
    bool is_iota;
    int64_t width;           // Bytes of an element in memory; 1 for an iota.
    loops::Strides strides;  // Between rows, by dimension, in bytes; of an iota, in elements.
    std::optional<RowPieces> pieces = std::nullopt;  // For operands with edges, instead of the strides.
    // The offset of their repeated elements, in bytes, and the number of the first one.
    int64_t fills = 0;
    int32_t first_fill = 0;
  };
  // The address of a single row's operand: bytes behind an argument, or an element of `numbers_`.
  struct Address {
    int32_t argument = -1, number = -1;
    int64_t bytes = 0;
  };

  NativeRows(const loops::LoopProgram& program, bool is_one_row);
  static std::optional<NativeRows> Make(const loops::LoopProgram& program, bool is_one_row);
  bool AddOperand(const loops::LoopProgram& program, loops::Value value, int32_t number, bool is_load,
                  bool is_one_row);
  int64_t FilledCount(const Operand& operand) const;
  bool FindCuts();
  void FindAddresses(const loops::LoopProgram& program);
  // Runs elements [begin, end) of a single row whose addresses are known; all of them if there are iotas.
  void RunOneRow(const NativeLoop& code, void* const* arguments, int64_t begin, int64_t end) const;
  void RunNeighbours(const loops::LoopProgram& program, const NativeLoop& code, void* const* first,
                     const int64_t* numbers, int64_t rows) const;
  void RunRange(const loops::LoopProgram& program, const NativeLoop& code, void* const* arguments,
                int64_t begin, int64_t end) const;

  std::vector<Operand> operands_;  // Loads, then stores.
  size_t load_count_ = 0;
  std::vector<int64_t> dims_;  // The dimensions of the rows.
  int64_t row_;                // The elements of a row.
  // If there are operands with edges: the positions at which their pieces begin, and the end of the row.
  std::vector<int64_t> cuts_;
  int64_t fill_bytes_ = 0;
  int32_t fill_count_ = 0;
  std::vector<Address> addresses_;  // Of all operands, if there is one row and they are known.
  std::vector<std::array<std::byte, 16>> numbers_;  // The first elements of iotas.
};

}  // namespace hlo::cpu
