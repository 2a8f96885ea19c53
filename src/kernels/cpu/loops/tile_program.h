#pragma once
// This file compiles loop programs to one loop over tiles that stay in the L1 cache. Functions on tiles, and
// chains of operations in vector registers, are selected once.
//
// TileAccesses resolves the accesses, ChainSelector selects the chains, and a TileRunner runs tiles on a
// thread. A program may also be compiled to native code: by tiles, or by NativeRows if its rows are
// contiguous.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/loops/native_rows.h"
#include "kernels/cpu/loops/small_program.h"
#include "kernels/cpu/loops/tile_accesses.h"
#include "kernels/cpu/loops/tile_parts.h"
#include "kernels/cpu/loops/tile_runner.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

class TileProgram {
 public:
  // Returns true if the memory of two arguments may overlap. A store may then overwrite elements of a load if
  // LoopProgram allows it.
  using MayAlias = absl::FunctionRef<bool(int32_t, int32_t)>;
  static bool IsSameArgument(int32_t a, int32_t b) { return a == b; }

  // Compiles a finished program.
  explicit TileProgram(loops::LoopProgram program, MayAlias may_alias = IsSameArgument);

  // Lets runs compile the program to native code once that is worthwhile. `may_alias` as above. After
  // AllowNativeCodeOfRuns, the program may only be run by Run.
  void AllowNativeCode(MayAlias may_alias = IsSameArgument);
  void AllowNativeCodeOfRuns(MayAlias may_alias = IsSameArgument);
  // Returns true if runs use, or will use, native code on rows in memory.
  bool RunsOnRows() const { return native_ != nullptr && native_->rows.has_value(); }
  // Compiles the program if native code is allowed, and if it saves more time than compilation takes. The
  // next computations are expected to take `nanoseconds`.
  void PrepareNativeCode(double nanoseconds) const;
  // Does so before a run over all positions.
  void PrepareNativeCode() const { PrepareNativeCode(nanoseconds()); }

  const loops::LoopProgram& source() const { return accesses_.program(); }
  absl::Span<const int64_t> inner_dims() const { return source().inner_dims(); }
  absl::Span<const int64_t> outer_dims() const { return source().outer_dims(); }
  int64_t outer_count() const { return source().outer_count(); }
  int64_t inner_count() const { return source().inner_count(); }
  int64_t tile() const { return tile_; }
  // The number of contiguous inner positions in the reads; tiles within such a row are read in place.
  int64_t row() const { return accesses_.by_rows() ? inner_dims().back() : inner_count(); }
  ComputeType compute_type(TileValue value) const { return values_[value].compute_type; }
  double nanoseconds_per_element() const { return nanoseconds_; }
  // The expected time of a run over all positions.
  double nanoseconds() const {
    return nanoseconds_ * static_cast<double>(inner_count()) * static_cast<double>(outer_count());
  }

  // Returns the byte stride between outer indices of the elements that the program yields as they are stored
  // (YieldedAsStored), if it is constant.
  std::optional<int64_t> StoredStep() const;

  // Returns the longest distance, in bytes, of the elements of a load that are neither contiguous nor the
  // same. Returns nothing if there is no such load.
  std::optional<int64_t> LongestDistance() const;

  // The same program as a list of calls, if there is one.
  const std::optional<SmallProgram>& small() const { return small_; }

  // Returns true if the program yields one value of type bf16.
  bool YieldsBF16() const { return yields_bf16_; }
  // Returns true if the program yields one value and a chain can reduce it as it is computed (RunFolding).
  bool Folds() const { return is_direct_ && fold_step_ >= 0; }

  // Loads and operations run in order, then the stores.
  absl::Span<const TileInstruction> steps() const { return steps_; }
  absl::Span<const TileStore> stores() const { return stored_; }
  absl::Span<const TileValue> yields() const { return source().yields(); }
  absl::Span<const Access> accesses() const { return source().accesses(); }
  const Access& access(int32_t number) const { return source().access(number); }

  // --- Running. `arguments` are the pointers that accesses name.
  // Runs all tiles, with several threads if worthwhile.
  void Run(void* const* arguments) const;

  // Runs inner positions [begin, end) on this thread, without outer dimensions.
  void RunPositions(void* const* arguments, int64_t begin, int64_t end) const;
  // Runs all inner positions of outer positions [begin, end) on this thread.
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;
  // Runs all rows on this thread, which may read what earlier ones stored, if RunsOnRows. Returns false if
  // there is no native code, or none yet.
  bool RunDirectRowsInOrder(void* const* arguments) const;

 private:
  friend class TileRunner;
  // The native code of the program. Runs in several threads may compile it, once.
  struct Native {
    Overwrites overwrites;
    NativeTiles tiles;
    std::optional<NativeRows> rows;  // If present, the code is of rows, and `tiles` is unused.
    LazyNativeLoop code;
  };

  void AssignRegisters();
  bool MayStoreEarly(const TileStore& stored, MayAlias may_alias) const;
  bool FindsBF16() const;
  // Programs that are copies.
  void PrepareCopy();
  void RunCopy(void* const* arguments) const;
  bool SkipsStore(void* const* arguments) const;
  // Programs that only set pointers and run chains.
  void FindDirectPointers();
  void FindFold();
  DirectPointer DirectStore(TileValue number) const;
  DirectPointer DirectRead(TileValue number) const;
  DirectPointer InMemory(int32_t access) const;
  // Native code.
  bool IsBestAsChains() const;
  int32_t InterleavedOf(int32_t number, NativeTiles& tiles) const;
  NativeTiles::Read NativeReadOf(const TileInstruction& step, NativeTiles& tiles) const;
  std::unique_ptr<const NativeLoop> CompileNative(Native& native) const;
  // Returns null unless there is native code of tiles already.
  const Native* ReadyNative() const;
  // Returns false if there is no native code of rows, or none yet.
  bool RunNativeRows(void* const* arguments) const;

  TileAccesses accesses_;
  std::vector<TileRegister> values_;
  std::vector<TileInstruction> steps_;
  std::vector<TileStore> stored_;
  std::vector<TileChain> chains_;
  size_t first_steps_ = 0;  // The number of steps that compute the first yielded value.
  int64_t tile_ = 0, register_bytes_ = 0, register_count_ = 0;
  double nanoseconds_ = 0;
  std::optional<ArrayCopy> copy_;  // For one load and one store.
  bool is_direct_ = false;         // Only chains with pointers.
  bool moves_by_rows_ = false;
  bool yields_bf16_ = false;
  std::vector<DirectPointer> registers_;  // Register pointers of all chains, if is_direct_.
  // These indices among the steps of all chains are for a yielded value that ends its chain. They refer to a
  // no-op, and to the step that stores the value in a register if the register is not read elsewhere.
  int64_t fold_step_ = -1, yield_step_ = -1;
  std::optional<SmallProgram> small_;  // The equivalent list of calls, if any.
  int64_t period_ = 1;                 // The length of a row if there are periodic values.
  bool drops_ = false;                 // True if a store may be skipped.
  std::shared_ptr<Native> native_;     // Null if native code is not allowed.
};

// Sets the maximum tile size of programs without yields that are finished from now on; the default is 1024.
// This is for tests: results never depend on it.
void SetLargestTile(int64_t elements);
int64_t LargestTile();

// Returns the length of tiles whose registers take `byte_count` bytes per element: `largest`, halved until
// they fit the L1 cache.
int64_t TileLength(int64_t largest, int64_t byte_count);

}  // namespace hlo::cpu
