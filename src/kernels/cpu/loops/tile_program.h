#pragma once
// Several elementwise operations as one loop over tiles that stay in the L1 cache. Reads go through strides,
// so that broadcast, transpose, slice and reverse cost nothing of their own.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/chains/tile_chain.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/loops/small_program.h"
#include "kernels/cpu/memory/access.h"

namespace hlo::cpu {

class ChainFold;

// A value of the program: a register that holds a tile.
using TileValue = int32_t;

class TileProgram {
 private:
  struct DirectPointer;

 public:
  // --- Building: operands before their users, then Finish once.
  TileProgram(absl::Span<const int64_t> outer_dims, absl::Span<const int64_t> inner_dims)
      : outer_dims_(outer_dims.begin(), outer_dims.end()),
        inner_dims_(inner_dims.begin(), inner_dims.end()) {}
  TileValue Load(Access access);
  // Where the edges of one access have no element, the next one has it.
  TileValue Load(std::vector<Access> pieces);
  TileValue Apply(TileCall call, Lane result, absl::Span<const TileValue> operands);
  void Store(TileValue value, Access access);
  // Values that Each hands out, one tile each.
  void Yield(TileValue value) { yielded_.push_back(value); }
  void Finish();

  // The same, finished, with rows of so many positions as inner index; nullopt where rows do not end with
  // dimensions, or the program has an outer index already.
  std::optional<TileProgram> ByRows(int64_t length) const;

  int64_t outer_count() const { return outer_count_; }
  int64_t inner_count() const { return inner_count_; }
  int64_t tile() const { return tile_; }
  // Inner positions that lie side by side in what is read: a tile within such a row is read where it is.
  int64_t row() const { return by_rows_ ? inner_dims_.back() : inner_count_; }
  Lane lane(TileValue value) const { return values_[value].lane; }
  double nanoseconds_per_element() const { return nanoseconds_; }
  int64_t op_count() const { return static_cast<int64_t>(steps_.size()); }
  absl::Span<const int64_t> inner_dims() const { return inner_dims_; }
  absl::Span<const int64_t> outer_dims() const { return outer_dims_; }

  // The type of the elements that the program yields as they lie in memory, side by side; nullopt where it
  // does more.
  std::optional<ElementType> YieldedAsStored() const;
  // Bytes from those of an outer index to those of the next, where that is the same for all.
  std::optional<int64_t> StoredStep() const;

  // The same as a list of calls, where it is one.
  const std::optional<SmallProgram>& small() const { return small_; }

  // Whether it yields one value, whose lanes are bf16.
  bool YieldsBF16() const { return yields_bf16_; }
  // Whether it yields one value that a chain can fold as it comes: RunFolding.
  bool Folds() const { return is_direct_ && fold_step_ >= 0; }

  // visit(access, is_store) for all; arguments may be renumbered. What VisitOthers visits is read like loads.
  void VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit);
  void VisitAccesses(absl::FunctionRef<void(const Access&, bool)> visit) const;

  // What Run does to every element: loads and operations in order, then the stores.
  struct Step {
    TileCall call;
    TileValue out;
    int32_t access = -1;  // A load.
    int8_t operand_count = 0;
    std::array<TileValue, 3> in{};
    int32_t chain = -1;
  };
  struct Stored {
    TileValue value;
    int32_t access;
    TileCall narrow = {};  // From its lane to its storage type.
    bool by_chain = false;
  };
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const Stored> stores() const { return stored_; }
  absl::Span<const TileValue> yields() const { return yielded_; }
  const Access& access(int32_t number) const { return accesses_[number]; }
  // When, within a tile, the last of those loads is read, and when a store begins to write: a load whose
  // places a store overwrites must not be read later than that. By number of step; behind all of them come
  // the stores.
  int64_t LastReadAt(absl::FunctionRef<bool(const Access&)> of) const;
  int64_t WrittenAt(size_t store) const;

  // --- Running. `arguments` are the pointers that accesses name.
  // All tiles, on several threads where it pays.
  void Run(void* const* arguments) const;

  // The inner positions [begin, end), on this thread; where there are no outer ones.
  void RunPositions(void* const* arguments, int64_t begin, int64_t end) const;
  // All inner positions of the outer ones [begin, end), on this thread.
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;

  // What one thread needs to run tiles: resolved starts, scratch, splat scalars.
  class Runner {
   public:
    Runner(const TileProgram& program, void* const* arguments);
    // Moves to the outer index with this row-major number.
    void SetOuter(int64_t outer);
    // Computes inner positions [begin, begin + n), n <= tile(); stores what is stored.
    void RunTile(int64_t begin, int64_t n);
    // Inner positions [begin, end), tile by tile.
    void RunTiles(int64_t begin, int64_t end);
    // Calls for what n positions from inner position `begin` on read, and write if wanted, so many outer ones
    // further on; not for what argument `at_hand` stands for.
    void CallFor(int64_t begin, int64_t n, int64_t ahead, int32_t at_hand, bool stores) const;
    // From BeginRows on, nothing but SetRow, RunTile, RunTiles and what runs rows or folds may follow, and
    // arguments stay: where pointers move by the same bytes from each row to the next, SetRow is SetOuter in
    // fewer steps.
    void BeginRows();
    void SetRow(int64_t row);
    // All inner positions of the rows [begin, end).
    void RunRows(int64_t begin, int64_t end);
    // As RunTiles; what is yielded goes to the fold, from its beginning on.
    void RunFolding(int64_t begin, int64_t end, ChainFold& fold);
    // The same for whole rows, one for each fold, from row `first` on.
    void RunFoldingRows(int64_t first, absl::Span<ChainFold> folds);
    // As far as the first yielded value needs it; of what stores nothing.
    void RunFirst(int64_t begin, int64_t n);
    // After RunTile: the tile of the k-th yielded value.
    const void* yielded(int64_t k) const { return pointers_[program_.yielded_[k]]; }

    // The first of those elements, from inner position `begin` on, where YieldedAsStored.
    const void* stored(int64_t begin) const;

   private:
    friend class TileProgram;
    void RunDirect(int64_t begin, int64_t n);
    void RunOnRow(int64_t begin, int64_t n);
    void SwapFold();
    std::byte* RowOf(const DirectPointer& pointer, int64_t begin, int64_t n);
    void SetRegisters();
    std::byte* RegisterOf(TileValue value) const {
      return scratch_ + program_.values_[value].register_number * program_.register_bytes_;
    }

    const TileProgram& program_;
    void* const* arguments_;
    absl::InlinedVector<const void*, 32> pointers_;  // Of each value's tile.
    absl::InlinedVector<int64_t, 16> start_;         // Of each access: offset and run-time starts.
    absl::InlinedVector<int64_t, 16> base_;          // And the outer index; behind all, the extras.
    std::byte* scratch_;
    // Of each irregular access that is read as rows, where the next tile's row is.
    struct Ahead {
      int64_t position = -1;
      std::byte* at = nullptr;
    };
    absl::InlinedVector<Ahead, 2> ahead_;
    absl::InlinedVector<ChainStep, 16> chain_steps_;  // Of all chains.
    bool fresh_ = true;
    // Where steps find their operands: at the first position of the row, bytes from row to row and from one
    // position to the next.
    struct Moving {
      std::byte* at;
      int64_t row, position;
      void** operand;
      const void** value;           // Where to note it too, or null.
      const DirectPointer* scalar;  // One that is widened, or null.
    };
    absl::InlinedVector<Moving, 8> moving_;
    int64_t row_ = -1;  // None: BeginRows has not been called.
    // What is not in use of two ways for a yielded value: to a fold, or to its register.
    ChainFn fold_, leave_;
  };

 private:
  enum class Pattern : uint8_t { kDense, kScalar, kStrided };
  struct Value {
    Lane lane;
    int32_t register_number = -1;
    int32_t access = -1;        // Of a load.
    int32_t stored_as = -1;     // The one access that it is stored through.
    bool is_passed_on = false;  // From one step of a chain to the next, and nowhere else.
    // How chains read it; a load that only they use stays as it is in memory, one element where it is a
    // scalar.
    ChainForm form = ChainForm::kLane;
    bool for_chains = false;
  };
  // Where a step of a chain finds an operand, or leaves its result, in a program that is_direct_.
  struct DirectPointer {
    // Elements in memory, those of a row that begins anywhere, one of them for all, a number that counts; a
    // register that a chain writes.
    enum class Kind : uint8_t { kMemory, kRow, kScalar, kIota, kRegister };
    Kind kind;
    bool is_second;  // Of a choice.
    Pattern pattern;
    int32_t step;
    TileValue value;
    int32_t access;
    int64_t width = 0;  // Of an element in memory, in bytes.
    int32_t row = -1;   // Of a row's access: its number among the irregular ones.
    TileCall widen = {};
  };
  // Steps [first, last] whose values stay in the processor's registers.
  struct Chain {
    size_t first, last;
    size_t begin;  // Among the steps of all chains.
    ChainLayout layout = ChainLayout::kInOrder;
    std::vector<ChainStep> steps;
    std::vector<ChainPointer> pointers;
    struct Operands {
      TileValue value = -1, second = -1;  // Read, or written to their registers.
      int32_t access = -1;                // Written to memory.
    };
    std::vector<Operands> operands;
    std::vector<DirectPointer> direct;  // But for registers.
  };

  void MoveBits();
  bool Drops(void* const* arguments) const;
  void RunCopy(void* const* arguments) const;
  std::optional<SmallProgram> MakeSmall() const;
  const std::byte* Read(int32_t number, void* const* arguments, const int64_t* bases, int64_t begin,
                        int64_t n, std::byte* scratch) const;
  void Write(const Access& access, bool contiguous, void* const* arguments, int64_t base, int64_t begin,
             int64_t n, const std::byte* from) const;
  void Splat(const Step& step, void* const* arguments, int64_t base, int64_t n, std::byte* to) const;
  void RunSteps(size_t count, void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                std::byte* registers, int64_t stride, int64_t splat_count, ChainStep* chain_steps,
                const void** values) const;
  void RunStores(void* const* arguments, const int64_t* bases, int64_t begin, int64_t n, std::byte* registers,
                 int64_t stride, const void* const* values) const;
  void Collapse(std::vector<int64_t>& dims, bool outer);
  void AssignRegisters();
  void FormChains();
  bool IsScalarInRow(int32_t access) const;
  bool IsScalarOfRow(int32_t access) const;
  bool CountsInRow(int32_t access) const;
  bool GrowChain(std::vector<size_t>& members) const;
  bool MayFollow(const std::vector<size_t>& members, size_t next) const;
  bool IsWorthwhile(const std::vector<size_t>& members) const;
  void MoveTogether(const std::vector<size_t>& members);
  void ChooseForms();
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
  static bool StartsWithRows(const Access& access);
  void FindDirectPointers();
  void FindFold();
  bool FindsBF16() const;
  DirectPointer DirectStore(TileValue number) const;
  DirectPointer DirectRead(TileValue number) const;
  DirectPointer InMemory(int32_t access) const;
  int64_t Width(int32_t access) const { return ByteCount(accesses_[access].type); }
  int64_t PlaceOf(int32_t number, const int64_t* bases, int64_t position) const;
  int64_t PlaceOfRow(int32_t number, void* const* arguments, const int64_t* bases, const int64_t* extras,
                     int64_t position) const;
  static std::byte* ReadScalar(ElementType type, const TileCall& widen, std::byte* from, std::byte* to);
  Pattern PatternOf(const Access& access) const;

  std::vector<int64_t> outer_dims_, inner_dims_;
  std::vector<Access> accesses_;
  std::vector<Pattern> patterns_;
  // Those that are not regular, and where their extras begin among the bases.
  std::vector<std::pair<int32_t, int32_t>> irregular_;
  int32_t base_count_ = 0;
  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<Stored> stored_;
  std::vector<TileValue> yielded_;
  size_t first_steps_ = 0;  // As many as it takes to have the first yielded value.
  std::vector<Chain> chains_;
  int64_t outer_count_ = 1, inner_count_ = 1, tile_ = 0, register_bytes_ = 0, register_count_ = 0;
  double nanoseconds_ = 0;
  bool is_copy_ = false;    // One load and one store.
  bool is_direct_ = false;  // Chains and pointers, nothing else.
  bool moves_by_rows_ = false;
  bool yields_bf16_ = false;
  std::vector<DirectPointer> registers_;  // Of all chains, where is_direct_.
  // Among the steps of all chains, where the yielded value passes, last of its chain: one that does nothing,
  // and the one that leaves it in a register if nothing else reads it there.
  int64_t fold_step_ = -1, yield_step_ = -1;
  std::optional<SmallProgram> small_;  // The same, where it is one.
  bool scalars_vary_ = false;          // From one outer index to the next.
  bool by_rows_ = false;               // Tiles end with the innermost dimension.
};

// Programs that are finished from here on, and yield nothing, take so many elements at a time at most, 1024
// by default. For tests: results never depend on it.
void SetLargestTile(int64_t elements);

}  // namespace hlo::cpu
