#pragma once
// This file compiles loop programs to one loop over tiles that stay in the L1 cache. Functions on tiles, and
// chains of operations in vector registers, are selected once.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/chains/tile_chain.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/loops/edge_table.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/row_pieces.h"
#include "kernels/cpu/loops/small_program.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

class ChainFold;

using loops::Access;
using loops::Affine;
using loops::RuntimeStart;
// A value of the program: a virtual register that holds a tile.
using TileValue = loops::Value;

class TileProgram {
 private:
  struct DirectPointer;
  struct Native;

 public:
  // Returns true if the memory of two arguments may overlap. A store may then overwrite elements of a load if
  // LoopProgram allows it.
  using MayAlias = absl::FunctionRef<bool(int32_t, int32_t)>;
  static bool IsSameArgument(int32_t a, int32_t b) { return a == b; }

  // Compiles a finished program.
  explicit TileProgram(loops::LoopProgram source, MayAlias may_alias = IsSameArgument);

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

  const loops::LoopProgram& source() const { return source_; }
  absl::Span<const int64_t> inner_dims() const { return source_.inner_dims(); }
  absl::Span<const int64_t> outer_dims() const { return source_.outer_dims(); }
  int64_t outer_count() const { return source_.outer_count(); }
  int64_t inner_count() const { return source_.inner_count(); }
  int64_t tile() const { return tile_; }
  // The number of contiguous inner positions in the reads; tiles within such a row are read in place.
  int64_t row() const { return by_rows_ ? inner_dims().back() : inner_count(); }
  ComputeType compute_type(TileValue value) const { return values_[value].compute_type; }
  double nanoseconds_per_element() const { return nanoseconds_; }
  // The expected time of a run over all positions.
  double nanoseconds() const {
    return nanoseconds_ * static_cast<double>(inner_count()) * static_cast<double>(outer_count());
  }

  // Returns the byte stride between outer indices of the elements that the program yields as they are stored
  // (YieldedAsStored), if it is constant.
  std::optional<int64_t> StoredStep() const;

  // Returns true if the elements of a load are neither contiguous nor the same.
  bool ReadsStrided() const;

  // The same program as a list of calls, if there is one.
  const std::optional<SmallProgram>& small() const { return small_; }

  // Returns true if the program yields one value of type bf16.
  bool YieldsBF16() const { return yields_bf16_; }
  // Returns true if the program yields one value and a chain can reduce it as it is computed (RunFolding).
  bool Folds() const { return is_direct_ && fold_step_ >= 0; }

  // An instruction of Run. Loads and operations run in order, then the stores.
  struct Step {
    TileCall call;
    TileValue out;
    int32_t access = -1;  // Index of a load's access.
    int8_t operand_count = 0;
    std::array<TileValue, 3> in{};
    int32_t chain = -1;
  };
  struct Stored {
    TileValue value;
    int32_t access;
    TileCall narrow = {};  // Converts from the compute type to the storage type.
    bool by_chain = false;
  };
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const Stored> stores() const { return stored_; }
  absl::Span<const TileValue> yields() const { return source_.yields(); }
  absl::Span<const Access> accesses() const { return source_.accesses(); }
  const Access& access(int32_t number) const { return source_.access(number); }

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

  // The state of one thread that runs tiles: resolved starts, scratch memory, splat scalars.
  class Runner {
   public:
    Runner(const TileProgram& program, void* const* arguments);
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
    // Allows SetRow to advance the pointers incrementally where their row stride is constant. After
    // BeginRows, only SetRow, RunTile, RunTiles and the functions that run rows or folds may be called, and
    // arguments must not change.
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
    const void* yielded(int64_t k) const { return pointers_[program_.yields()[k]]; }

    // Returns the address of the elements from inner position `begin` on, if the program only yields an array
    // that is contiguous in a row.
    const void* stored(int64_t begin) const;

   private:
    friend class TileProgram;
    void RunNative(int64_t begin, int64_t n);
    void BeginNativeRows();
    void SetNativeRow(int64_t row);
    bool IsNextOuter(int64_t outer);
    void FoldNative(int64_t begin, int64_t end, ChainFold& fold);
    const std::byte* NativePointer(size_t number, int64_t begin, int64_t n);
    std::byte* NativeSlot(int32_t slot) const;
    int64_t RowsAhead(int64_t begin) const;
    const std::byte* TransposedRow(size_t number, int64_t begin, int64_t n);
    int64_t TransposeRows(size_t number, int64_t begin, int64_t n, std::byte* to) const;
    const std::byte* Gather(size_t number, int64_t begin, int64_t n, std::byte* to) const;
    void RunDirect(int64_t begin, int64_t n);
    void RunOnRow(int64_t begin, int64_t n);
    void SwapFold();
    std::byte* RowOf(const DirectPointer& pointer, int64_t begin, int64_t n);
    void SetRegisters();
    void RunSteps(size_t count, int64_t begin, int64_t n);
    std::byte* RegisterOf(TileValue value) const {
      return scratch_ + program_.values_[value].register_number * program_.register_bytes_;
    }

    const TileProgram& program_;
    void* const* arguments_;
    absl::InlinedVector<const void*, 32> pointers_;  // The tile of each value.
    absl::InlinedVector<int64_t, 16> start_;         // The offset of each access, including run-time starts.
    absl::InlinedVector<int64_t, 16> base_;          // The same plus the outer index; the extras follow.
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
    absl::InlinedVector<Moving, 8> moving_;
    int64_t row_ = -1;  // -1 before BeginRows.
    // The two steps for a yielded value, of which one is inactive: `fold_` accumulates it, `leave_` stores it
    // in its register.
    ChainFn fold_, leave_;
    const Native* native_;  // Null if there is no native code.
    absl::InlinedVector<void*, 16> native_pointers_;
    // The pointers of the code after BeginRows: the address at the first position of the row, its byte
    // strides between neighbouring rows and positions, and the access, or -1 for a constant address.
    struct NativeMoving {
      std::byte* at;
      int64_t row, position;
      int32_t access;
    };
    absl::InlinedVector<NativeMoving, 8> native_moving_;
    int64_t native_phase_ = 0, native_periodic_count_ = 0;  // The periodic values that the tiles hold.
    bool reads_ahead_ = false;
    // The rows of a load that its buffer holds, and the offset of their first element.
    struct TransposedRows {
      int64_t place = 0, length = 0, rows = 0;
    };
    absl::InlinedVector<TransposedRows, 4> transposed_;
  };

 private:
  enum class Pattern : uint8_t { kDense, kScalar, kStrided };
  struct Value {
    ComputeType compute_type;
    int32_t register_number = -1;
    int32_t access = -1;        // The access of a load.
    int32_t stored_as = -1;     // The only access that it is stored through.
    bool is_passed_on = false;  // True if it only passes between steps of a chain.
    // The form in which chains read the value. A load that only chains use is not converted or splat.
    ChainForm form = ChainForm::kLane;
    bool for_chains = false;
  };
  // The location of an operand or result of a chain step, in a program that is_direct_.
  struct DirectPointer {
    // The kinds are memory, a row that begins anywhere, a scalar, an iota, and a register of a chain.
    enum class Kind : uint8_t { kMemory, kRow, kScalar, kIota, kRegister };
    Kind kind;
    bool is_second;  // True for the second operand of a select.
    Pattern pattern;
    int32_t step;
    TileValue value;
    int32_t access;
    int64_t width = 0;  // Bytes of an element in memory.
    int32_t row = -1;   // Index of a row's access among the irregular ones.
    TileCall widen = {};
  };
  // The accesses of a program whose rows are contiguous in memory, up to edges.
  struct DirectRows {
    struct Operand {
      TileValue value;
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
    std::vector<Operand> operands;  // Loads, then stores.
    size_t load_count = 0;
    std::vector<int64_t> dims;  // The dimensions of the rows.
    int64_t row = 0;            // The elements of a row.
    // If there are operands with edges: the positions at which their pieces begin, and the end of the row.
    std::vector<int64_t> cuts;
    int64_t fill_bytes = 0;
    int32_t fill_count = 0;
    // The addresses of a single row's operands are here if they are known: bytes behind an argument, or an
    // element of `numbers`.
    struct Address {
      int32_t argument = -1, number = -1;
      int64_t bytes = 0;
    };
    std::vector<Address> addresses;
    std::vector<std::array<std::byte, 16>> numbers;  // The first elements of iotas.
  };
  class RowsInPieces;
  // The native code of the program, and how a tile's accesses become its pointers.
  struct Native {
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
    };
    struct Write {
      TileValue value;
      int32_t access;         // -1 for a yielded value.
      int32_t argument = -1;  // The access's array and the bytes of its elements.
      int64_t width = 0;
      int32_t slot = -1, narrow_slot = -1;  // Tiles for elements that are scattered or narrowed.
      TileCall narrow = {};
    };
    std::vector<int32_t> overwritten;  // Loads of arguments that a store may overwrite.
    std::vector<bool> early;           // Stores that overwrite no loaded argument.
    std::vector<Read> reads;
    std::vector<Write> writes;
    // The offsets of consecutive positions of a load. They begin with a row of `period` positions, and span
    // rows along dimension `dim`.
    struct Offsets {
      size_t dim;
      int64_t period;
      std::vector<int32_t> each;
    };
    std::vector<Offsets> offsets;
    std::vector<EdgeTable> edges;
    int32_t slot_count = 0, transposed_count = 0;
    int64_t slot_bytes = 0, tile = 0;
    std::optional<DirectRows>
        rows;  // If present, all other members but `early` and `overwritten` are unused.
    LazyNativeLoop code;
  };
  // Steps [first, last] whose values stay in vector registers.
  struct Chain {
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

  bool SkipsStore(void* const* arguments) const;
  void PrepareCopy();
  void RunCopy(void* const* arguments) const;
  bool MayStoreEarly(const Stored& stored, MayAlias may_alias) const;
  const std::byte* Read(int32_t number, void* const* arguments, const int64_t* bases, int64_t begin,
                        int64_t n, std::byte* scratch) const;
  void Write(const Access& access, bool contiguous, void* const* arguments, int64_t base, int64_t begin,
             int64_t n, const std::byte* from) const;
  void Splat(const Step& step, void* const* arguments, int64_t base, int64_t n, std::byte* to) const;
  void RunSteps(size_t count, void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                std::byte* registers, int64_t stride, int64_t splat_count, bool keeps_periodic,
                ChainStep* chain_steps, const void** values) const;
  void RunStores(void* const* arguments, const int64_t* bases, int64_t begin, int64_t n, std::byte* registers,
                 int64_t stride, const void* const* values) const;
  void AssignRegisters();
  void FormChains(MayAlias may_alias);
  bool IsScalarInRow(int32_t access) const;
  bool IsScalarOfRow(int32_t access) const;
  bool IsIotaInRow(int32_t access) const;
  bool GrowChain(std::vector<size_t>& members) const;
  bool MayFollow(const std::vector<size_t>& members, size_t next) const;
  bool IsWorthwhile(const std::vector<size_t>& members) const;
  void MakeConsecutive(const std::vector<size_t>& members);
  void ChooseForms(MayAlias may_alias);
  ChainLayout LayoutOf(const Chain& chain) const;
  void BuildChain(Chain& chain);
  void AddOperation(const Step& step, TileValue before, Chain& chain) const;
  void AddStores(TileValue value, Chain& chain) const;
  bool RoundsAsStored(TileValue value, const Chain& chain) const;
  void RunChainOf(const Chain& chain, void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                  std::byte* registers, int64_t stride, ChainStep* steps, const void** values) const;
  void ReadForChains(const Step& step, void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                     std::byte* to, const void** value) const;
  bool IsDenseInTile(int32_t access) const;
  static bool HasStartsPerRow(const Access& access);
  void FindDirectPointers();
  void FindFold();
  Native::Read NativeReadOf(const Step& step, Native& native) const;
  std::unique_ptr<const NativeLoop> CompileNative(Native& native) const;
  static constexpr int64_t kMostTransposed = 16;
  bool IsTransposed(int32_t access) const;
  static int64_t TransposedBytes(const Native& native);
  std::optional<Native::Offsets> OffsetsOf(int32_t access) const;
  std::optional<DirectRows> FindDirectRows() const;
  std::optional<DirectRows> DirectRowsOf(bool is_one_row) const;
  bool AddDirectOperand(TileValue value, int32_t number, bool is_load, bool is_one_row,
                        DirectRows& rows) const;
  static int64_t FilledCount(const DirectRows::Operand& operand, int64_t row);
  static bool FindCuts(DirectRows& rows);
  void FindAddresses(DirectRows& rows) const;
  static void RunRow(const NativeLoop& code, const DirectRows& rows, void* const* arguments);
  std::unique_ptr<const NativeLoop> CompileRows(const Native& native) const;
  void RunNeighbours(const NativeLoop& code, void* const* first, const int64_t* numbers, int64_t rows) const;
  bool RunDirectRows(void* const* arguments) const;
  void RunDirectRows(const NativeLoop& code, void* const* arguments, int64_t begin, int64_t end) const;
  bool IsBestAsChains() const;
  const Native* ReadyNative() const;
  bool FindsBF16() const;
  DirectPointer DirectStore(TileValue number) const;
  DirectPointer DirectRead(TileValue number) const;
  DirectPointer InMemory(int32_t access) const;
  int64_t Width(int32_t access) const { return ByteCount(source_.access(access).type); }
  int64_t OffsetAt(int32_t number, const int64_t* bases, int64_t position) const;
  int64_t RowOffsetAt(int32_t number, void* const* arguments, const int64_t* bases, const int64_t* extras,
                      int64_t position) const;
  static std::byte* ReadScalar(ElementType type, const TileCall& widen, std::byte* from, std::byte* to);
  Pattern PatternOf(const Access& access) const;
  bool IsPeriodic(int32_t access) const;

  loops::LoopProgram source_;
  std::vector<Pattern> patterns_;
  // Irregular accesses, with the index of their extras among the bases.
  std::vector<std::pair<int32_t, int32_t>> irregular_;
  // The offsets of the accesses and of their extras at the first position, without starts at run time, and
  // the accesses that have such starts.
  std::vector<int64_t> offsets_;
  std::vector<int32_t> started_;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<Stored> stored_;
  size_t first_steps_ = 0;  // The number of steps that compute the first yielded value.
  std::vector<Chain> chains_;
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
  bool scalars_vary_ = false;          // True if scalars depend on the outer index.
  int64_t period_ = 1;                 // The length of a row if there are periodic values.
  bool periodics_vary_ = false;        // True if periodic values depend on the outer index.
  bool by_rows_ = false;               // True if tiles end with the innermost dimension.
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
