#pragma once
// This file prepares bytecode for the generator of machine code: operations on single elements, basic blocks,
// and the liveness of the frame's bytes.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/cpu/bytecode/native_code.h"

namespace hlo::cpu {

// The kind of register that holds a value.
enum class Bank : uint8_t { kGeneral, kVector };

// A scalar in the frame. Its size is zero if there is none.
struct FrameScalar {
  FrameOffset at = 0;
  int32_t bytes = 0;
  bool operator==(const FrameScalar&) const = default;
};

// An operation on one element, or an operation in memory. The fields have the meanings of Bytecode::Op, with
// two differences. Moves of a scalar between the frame and an argument are kLoad, kLoadAt, kStore and
// kStoreAt. Checked addresses only jump; an address follows them.
struct MicroOp {
  uint16_t code;
  FrameOffset out = 0, a = 0, b = 0, c = 0;
  int64_t number = 0;
  int64_t op = 0;                 // The operation of the bytecode.
  std::array<bool, 3> dies = {};  // The operands whose values are not read later.
  bool is_dead = false;           // The result is not read later.
};

// The accesses of an operation.
struct Effects {
  using Range = Bytecode::Bytes;
  std::array<FrameScalar, 3> in = {};
  FrameScalar out = {};
  std::array<Range, 4> reads = {};  // Bytes that are read from memory.
  Range writes = {};                // Bytes that may be written in memory.
  bool is_removable = false;        // Has no effect but `out`.
  bool escapes = false;             // The host runs.
  bool calls = false;               // A function runs.
};

// The size of an element of each operand of an operation on scalars, and its kind of register; nullopt: any.
struct OperandKind {
  int32_t bytes = 0;
  std::optional<Bank> bank = std::nullopt;
};
struct OperandKinds {
  OperandKind out = {};
  std::array<OperandKind, 3> in = {};
};
OperandKinds KindsOf(uint16_t code);

// Returns the opcode of a tile operation if vector instructions compute it for this many elements.
std::optional<uint16_t> VectorCodeOf(TileFn function, int64_t count);
// Returns true if the call, whose results have `width` bytes, calls no function.
bool IsInline(const TileCall& call, int64_t count, int64_t width);
// Returns true if the function of floats does not call a function, except for large angles and for special
// values of powers.
bool IsInline(uint16_t code);
// Returns true if a product of so many terms is computed without a call.
bool IsInline(const SmallDot& dot);
// A product whose results are contiguous vectors: each is the sum over terms of a factor times a contiguous
// vector. The factors are elements of one operand, the vectors of the other one.
struct DotOfVectors {
  bool has_factors_in_b;
  int64_t length;
  struct Result {
    int32_t factor, vector, out;  // The offsets of the first factor, the first vector and the result.
  };
  std::vector<Result> results;
  absl::Span<const int32_t> factor_terms, vector_terms;  // The offsets of the terms.
};
// Returns nullopt for other products and for those that are too large for code without loops.
std::optional<DotOfVectors> FindVectors(const SmallDot& dot);
inline constexpr int64_t kMaxInlineTerms = 8;
// Moves of up to this many bytes do not call a function.
inline constexpr int64_t kMaxVectorBytes = 512;

class MicroCode {
 public:
  struct Block {
    int64_t begin = 0, end = 0;
    std::vector<int32_t> successors;
  };

  MicroCode(const Bytecode& code, const FrameUse& frame);

  const Bytecode& code() const { return code_; }
  const std::vector<MicroOp>& ops() const { return ops_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  Effects EffectsOf(const MicroOp& op) const;
  // Returns the operations of the bytecode to which the operation may jump.
  std::vector<int64_t> TargetsOf(const MicroOp& op) const;
  // Returns the block that starts with this operation of the bytecode.
  int32_t BlockOf(int64_t op) const { return block_of_.at(first_[op]); }
  // Return true if the bytes may be read after the start or the end of a block.
  bool IsLiveIn(int32_t block, const FrameScalar& scalar) const { return IsLive(live_in_[block], scalar); }
  bool IsLiveOut(int32_t block, const FrameScalar& scalar) const { return IsLive(live_out_[block], scalar); }
  // Returns the kind of register in which most operations use the scalar.
  Bank BankOf(const FrameScalar& scalar) const;
  // Returns the value of a scalar that is the same in all runs, with sign extension.
  std::optional<int64_t> ConstantAt(const FrameScalar& scalar) const;

 private:
  using Bits = std::vector<uint64_t>;
  using Range = Bytecode::Bytes;
  static constexpr Range kWholeFrame = {0, std::numeric_limits<FrameOffset>::max()};

  // Appends the micro-operations of an operation.
  void Expand(int64_t number);
  // Returns the most bytes of a move that is expanded to moves of scalars.
  int64_t MaxMovedBytes(const Bytecode::Op& op) const;
  void ExpandMove(const Bytecode::Op& op, int64_t number, int64_t bytes);
  void FindBlocks();
  // Splits the frame at the boundaries of all accesses, so that each part is live as a whole.
  void FindBounds();
  void FindLiveness();
  // Counts the uses of each scalar by kind of register.
  void CountBanks();
  // Returns the bytes of the frame that an argument overlaps; kWholeFrame if they are unknown.
  Range ExtentOf(int32_t argument) const;
  // Set the effects of copies and splats; of products and of operations on tiles; of loads and stores; and of
  // calls of functions on arguments.
  static void FindEffectsOfCopy(const MicroOp& op, Effects& effects);
  void FindEffectsOnArrays(const MicroOp& op, Effects& effects) const;
  void FindEffectsOfTransfer(const MicroOp& op, Effects& effects) const;
  void FindEffectsOfMemoryCall(const MicroOp& op, Effects& effects) const;
  void Mark(Bits& bits, const Range& range, bool value) const;
  bool IsLive(const Bits& bits, const FrameScalar& scalar) const;
  // Changes the bytes that are live after an operation to those before it.
  void StepBack(const MicroOp& op, const Effects& effects, Bits& live) const;

  const Bytecode& code_;
  const FrameUse& frame_;
  std::vector<MicroOp> ops_;
  std::vector<int64_t> first_;  // The first micro-operation of each operation.
  std::vector<Block> blocks_;
  absl::flat_hash_map<int64_t, int32_t> block_of_;   // Keyed by the first micro-operation.
  absl::flat_hash_set<FrameOffset> wide_, narrow_;   // The offsets of 8-byte and of 4-byte scalars.
  absl::flat_hash_map<FrameOffset, int32_t> banks_;  // The uses in vector registers less those in others.
  std::vector<int64_t> bounds_;                      // The boundaries of all accesses, sorted.
  std::vector<Bits> live_in_, live_out_;             // Bits for the ranges between boundaries.
};

}  // namespace hlo::cpu
