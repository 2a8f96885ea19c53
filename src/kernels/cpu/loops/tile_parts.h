#pragma once
// This file defines the parts of a loop program that is compiled for tiles (tile_program.h), as plain data.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/chains/tile_chain.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/loops/edge_table.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/tile_accesses.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

// A value of the program: a virtual register that holds a tile.
using TileValue = loops::Value;

// A load or an operation.
struct TileInstruction {
  TileCall call;
  TileValue out;
  int32_t access = -1;  // The number of a load's access.
  int8_t operand_count = 0;
  std::array<TileValue, 3> in{};
  int32_t chain = -1;
};

struct TileStore {
  TileValue value;
  int32_t access;
  TileCall narrow = {};  // Converts from the compute type to the storage type.
  bool by_chain = false;
};

// This says where a value is, and in which form.
struct TileRegister {
  ComputeType compute_type;
  int32_t register_number = -1;
  int32_t access = -1;        // The access of a load.
  int32_t stored_as = -1;     // The only access that it is stored through.
  bool is_passed_on = false;  // True if it only passes between steps of a chain.
  // The form in which chains read the value. A load that only chains use is not converted or splat.
  ChainForm form = ChainForm::kLane;
  bool for_chains = false;
};

// The location of an operand or result of a chain step, in a program of which a tile only sets pointers and
// runs chains.
struct DirectPointer {
  // The kinds are memory, a row that begins anywhere, a scalar, an iota, and a register of a chain.
  enum class Kind : uint8_t { kMemory, kRow, kScalar, kIota, kRegister };
  Kind kind;
  bool is_second;  // True for the second operand of a select.
  TileAccesses::Pattern pattern;
  int32_t step;
  TileValue value;
  int32_t access;
  int64_t width = 0;  // Bytes of an element in memory.
  int32_t row = -1;   // Index of a row's access among the irregular ones.
  TileCall widen = {};
};

// Steps [first, last] whose values stay in vector registers.
struct TileChain {
  size_t first, last;
  size_t begin;  // Index among the steps of all chains.
  ChainLayout layout = ChainLayout::kInOrder;
  std::vector<ChainStep> steps;
  std::vector<ChainPointer> pointers;
  struct Operands {
    TileValue value = -1, second = -1;  // Read from or written to registers.
    int32_t access = -1;                // Written to memory.
  };
  std::vector<Operands> operands;
  std::vector<DirectPointer> direct;  // They exclude registers.
};

// How the accesses of a tile become the pointers of native code.
struct NativeTiles {
  struct Read {
    // An address that is constant or affine in a tile, an irregular row, the start of an iota, a gathered
    // tile.
    enum class Kind : uint8_t { kMemory, kRow, kIota, kTile };
    Kind kind;
    NativeLoop::Form form;
    int32_t access;
    TileValue value;
    int32_t argument = -1;  // The access's array and the bytes of its elements.
    int64_t width = 0;
    bool is_periodic = false;
    int32_t slot = -1, wide_slot = -1;  // Tiles for gathered and for widened elements.
    TileCall widen = {};
    DirectPointer row = {};
    int32_t transposed = -1, offsets = -1;  // The buffer of transposed rows, the table of offsets.
    int32_t edges = -1;                     // The table of elements between edges.
    int32_t interleaved = -1;
  };
  // Accesses to one array at a stride, whose offsets lie within the stride: together they read each row of an
  // array [positions, stride], or most of it. Their tiles are the columns, in slots from `slot` on.
  struct Interleaved {
    int32_t access;  // The one with the smallest offset.
    int64_t columns;
    int32_t slot;
    size_t first_read;  // The first of the reads, which fills all slots.
  };
  struct Write {
    TileValue value;
    int32_t access;         // -1 for a yielded value.
    int32_t argument = -1;  // The access's array and the bytes of its elements.
    int64_t width = 0;
    int32_t slot = -1, narrow_slot = -1;  // Tiles for elements that are scattered or narrowed.
    TileCall narrow = {};
  };
  std::vector<Read> reads;
  std::vector<Write> writes;
  std::vector<GatherOffsets> offsets;
  std::vector<EdgeTable> edges;
  std::vector<Interleaved> interleaved;
  int32_t slot_count = 0, transposed_count = 0;
  int64_t slot_bytes = 0, tile = 0;

  // The most rows that a load transposes at once, and the bytes of its buffer for them.
  static constexpr int64_t kMostTransposed = 16;
  int64_t TransposedBytes() const;
};

}  // namespace hlo::cpu
