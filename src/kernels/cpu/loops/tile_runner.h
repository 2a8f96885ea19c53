#pragma once
// This file runs the tiles of a program on one thread.

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "kernels/cpu/loops/tile_parts.h"

namespace hlo::cpu {

class ChainFold;
class TileProgram;

// The state of one thread that runs tiles: resolved starts, scratch memory, splat scalars.
class TileRunner {
 public:
  // The program and `arguments`, the pointers that its accesses name, outlive the object.
  TileRunner(const TileProgram& program, void* const* arguments);
  // Moves to the outer position with this row-major index.
  void SetOuter(int64_t outer);
  // Returns the longest tile without yields.
  int64_t tile() const;
  // Computes inner positions [begin, begin + n), n <= tile(), and performs the stores.
  void RunTile(int64_t begin, int64_t n);
  // Runs inner positions [begin, end), tile by tile.
  void RunTiles(int64_t begin, int64_t end);
  // Prefetches the reads, and the writes if `stores`, of inner positions [begin, begin + n), `ahead` outer
  // positions ahead, except for argument `at_hand`.
  void Prefetch(int64_t begin, int64_t n, int64_t ahead, int32_t at_hand, bool stores) const;
  // Allows SetRow to advance the pointers incrementally where their row stride is constant. After BeginRows,
  // only SetRow, RunTile, RunTiles and the functions that run rows or folds may be called, and arguments must
  // not change.
  void BeginRows();
  void SetRow(int64_t row);
  // Allows loads to read rows before their turn. Stores of other programs must not change them meanwhile.
  void ReadAhead() { reads_ahead_ = native_ != nullptr; }
  // Runs all inner positions of rows [begin, end).
  void RunRows(int64_t begin, int64_t end);
  // Performs RunTiles; resets the fold and accumulates the yielded value in it.
  void RunFolding(int64_t begin, int64_t end, ChainFold& fold);
  // Does the same for whole rows from `first` on, with one fold per row.
  void RunFoldingRows(int64_t first, absl::Span<ChainFold> folds);
  // Runs only the steps that the first yielded value needs, without stores.
  void RunFirst(int64_t begin, int64_t n);
  // Returns the tile of the k-th yielded value after RunTile.
  const void* yielded(int64_t k) const;
  // Returns the address of the elements from inner position `begin` on, if the program only yields an array
  // that is contiguous in a row.
  const void* stored(int64_t begin) const;

 private:
  const Access& AccessOf(int32_t number) const;
  std::byte* ArrayOf(const Access& access) const {
    return static_cast<std::byte*>(arguments_[access.argument]);
  }
  bool IsNextOuter(int64_t outer);

  // Steps, one after the other, with registers in scratch memory.
  void RunSteps(size_t count, int64_t begin, int64_t n);
  void RunStores(int64_t begin, int64_t n);
  // Broadcasts one element to the n positions of a tile.
  void Splat(const TileInstruction& step, int64_t n, std::byte* to) const;
  void RunChainOf(const TileChain& chain, int64_t begin, int64_t n);
  // Reads a value that only chains use: in its storage type, or as one element.
  void ReadForChains(const TileInstruction& step, int64_t begin, int64_t n, std::byte* to);
  std::byte* RegisterOf(TileValue value) const;
  // Returns the register that holds elements of the storage type beside a conversion.
  std::byte* ExtraRegister() const;

  // Programs that only set pointers and run chains.
  void RunDirect(int64_t begin, int64_t n);
  void RunOnRow(int64_t begin, int64_t n);
  void SwapFold();
  std::byte* RowOf(const DirectPointer& pointer, int64_t begin, int64_t n);
  void SetRegisters();

  // Native code.
  void RunNative(int64_t begin, int64_t n);
  void BeginNativeRows();
  void SetNativeRow(int64_t row);
  void FoldNative(int64_t begin, int64_t end, ChainFold& fold);
  const std::byte* NativePointer(size_t number, int64_t begin, int64_t n);
  std::byte* NativeSlot(int32_t slot) const;
  int64_t RowsAhead(int64_t begin) const;
  const std::byte* TransposedRow(size_t number, int64_t begin, int64_t n);
  int64_t TransposeRows(size_t number, int64_t begin, int64_t n, std::byte* to) const;
  const std::byte* Gather(size_t number, int64_t begin, int64_t n, std::byte* to) const;
  bool IsInOneRow(int64_t begin, int64_t n) const;
  void ReadInterleaved(const NativeTiles::Interleaved& all, int64_t begin, int64_t n) const;

  const TileProgram& program_;
  void* const* arguments_;
  absl::InlinedVector<const void*, 64> pointers_;  // The tile of each value.
  absl::InlinedVector<int64_t, 32> start_;         // The offset of each access, including run-time starts.
  absl::InlinedVector<int64_t, 32> base_;          // The same plus the outer index; the extras follow.
  std::byte* scratch_;
  // The address of the next tile's row, for each irregular access that is read as rows.
  struct Ahead {
    int64_t position = -1;
    std::byte* at = nullptr;
  };
  absl::InlinedVector<Ahead, 2> ahead_;
  absl::InlinedVector<ChainStep, 16> chain_steps_;  // The steps of all chains.
  // The outer position, and the number of positions up to the last one of its last dimension.
  int64_t outer_ = -1, outer_left_ = 0;
  bool fresh_ = true;
  // Periodic values in registers: the position in the period at which they begin, and their number.
  int64_t phase_ = 0, periodic_count_ = 0;
  // An operand's address at the first position of a row, with its byte strides between rows and positions.
  struct Moving {
    std::byte* at;
    int64_t row, position;
    void** operand;
    const void** value;           // A second pointer to update, or null.
    const DirectPointer* scalar;  // The pointer of a scalar that is widened, or null.
  };
  absl::InlinedVector<Moving, 32> moving_;
  int64_t row_ = -1;  // -1 before BeginRows.
  // The two steps for a yielded value, of which one is inactive: `fold_` accumulates it, `leave_` stores it
  // in its register.
  ChainFn fold_, leave_;
  const NativeTiles* native_ = nullptr;  // Null if there is no native code.
  const NativeLoop* code_ = nullptr;
  absl::InlinedVector<void*, 32> native_pointers_;
  // The pointers of the code after BeginRows: the address at the first position of the row, its byte strides
  // between neighbouring rows and positions, and the access, or -1 for a constant address.
  struct NativeMoving {
    std::byte* at;
    int64_t row, position;
    int32_t access;
  };
  absl::InlinedVector<NativeMoving, 32> native_moving_;
  int64_t native_phase_ = 0, native_periodic_count_ = 0;  // The periodic values that the tiles hold.
  bool reads_ahead_ = false;
  // The rows of a load that its buffer holds, and the offset of their first element.
  struct TransposedRows {
    int64_t place = 0, length = 0, rows = 0;
  };
  absl::InlinedVector<TransposedRows, 4> transposed_;
};

}  // namespace hlo::cpu
