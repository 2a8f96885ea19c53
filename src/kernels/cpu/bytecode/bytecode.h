#pragma once
// This file defines bytecode for loops over a few elements: control flow, scalar operations, and calls of
// tile operations. All operands are in one frame. An instruction takes one or two nanoseconds, a tenth of the
// setup of a tile program.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo_run/element_type.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

// A byte offset in the frame.
using FrameOffset = int32_t;

class Bytecode {
 public:
  using Label = int32_t;

  // --- Building.
  // Element sizes of a call's operands.
  struct CallWidths {
    static constexpr int32_t kMaxElementBytes = 16;
    int32_t out = kMaxElementBytes;
    std::array<int32_t, 3> in = {kMaxElementBytes, kMaxElementBytes, kMaxElementBytes};
    // The elements of the first operand, if it has not as many as the call. The call must not be in place.
    int64_t reads = kAll;
    static constexpr int64_t kAll = -1;
    // Returns the bytes of the operand in a call on `count` elements.
    int64_t BytesOf(size_t operand, int64_t count) const {
      return (operand == 0 && reads != kAll ? reads : count) * in[operand];
    }
  };
  // Emits a tile operation on `count` elements, as native instructions if there are some for a small count.
  void Call(const TileCall& call, int64_t count, const CallWidths& widths, FrameOffset out,
            const FrameOffset (&in)[3]);
  struct DotBytes {
    int64_t out, a, b;
  };
  // Emits a product of the arrays at `a` and `b`. None of the three may overlap.
  void Dot(const SmallDot& dot, const DotBytes& bytes, FrameOffset out, FrameOffset a, FrameOffset b);
  // Emits a copy of `byte_count` bytes, which must not overlap partially.
  void Copy(FrameOffset to, FrameOffset from, int64_t byte_count);
  // Emits out = (adds ? out : 0) + clamp(index, 0, max) * byte_stride; `out` is a 64-bit integer.
  void Address(FrameOffset out, bool adds, FrameOffset index, ElementType type, int64_t max,
               int64_t byte_stride);
  // Emits an Address that jumps to `outside` instead of clamping if the index is outside [0, max].
  void CheckedAddress(FrameOffset out, bool adds, FrameOffset index, ElementType type, int64_t max,
                      int64_t byte_stride, Label outside);
  // Emit moves between the frame and byte `offset` + (the 64-bit integer at `address`, or 0 for kNoAddress)
  // of an argument.
  static constexpr FrameOffset kNoAddress = -1;
  void Load(FrameOffset to, int32_t argument, int64_t offset, FrameOffset address, int64_t byte_count);
  void Store(FrameOffset from, int32_t argument, int64_t offset, FrameOffset address, int64_t byte_count);
  // A tile operation on operands at byte `offset` + (the 64-bit integer at `address`) of arguments.
  struct MemoryOperand {
    int32_t argument = -1;  // -1 if there is no operand.
    int64_t offset = 0;
    FrameOffset address = kNoAddress;
    int32_t width = 0;  // Element size in bytes.
  };
  struct MemoryCall {
    TileCall call;
    int64_t count;
    MemoryOperand out;
    std::array<MemoryOperand, 3> in;
  };
  void CallOnMemory(const MemoryCall& call);
  // Emits a call of the host's callback with this number.
  void Escape(int32_t number);
  Label NewLabel();
  void Bind(Label label);
  void Jump(Label label);
  void JumpUnless(FrameOffset predicate, Label label);
  // Emits a jump table on an s32. Out-of-range values select the last label.
  void JumpTo(FrameOffset number, const std::vector<Label>& labels);
  // Emits the back edge of a loop, at which the host may interrupt the code. Loops are numbered from 0.
  void Repeat(FrameOffset predicate, Label label);
  // Returns true if operations from `first` on load from or store to this argument.
  bool UsesArgument(int64_t first, int32_t argument) const;
  // Redirects results that operations from `first` on write to `from` to `to` instead, possibly sinking the
  // definition. Returns false if `from` is used otherwise or the change would be observable. `extent` returns
  // the bytes of the frame that an argument may alias.
  struct Bytes {
    FrameOffset begin;
    int64_t count;
  };
  using Extent = absl::FunctionRef<Bytes(int32_t argument)>;
  bool Retarget(int64_t first, FrameOffset from, FrameOffset to, int64_t byte_count, Extent extent);
  // Completes the code; must be called once, at the end.
  void Finish();

  // --- Running. Returns false once `escape` has returned false. A poll passes kPolled as the number.
  static constexpr int32_t kPolled = -1;
  bool Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape) const;
  // Returns the same code with iteration counters, indexed by the number of the loop; a counter is 0 while
  // its loop is not running.
  Bytecode WithCounts() const;
  bool Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape,
           int64_t* iterations) const;

  int64_t op_count() const { return static_cast<int64_t>(ops_.size()); }

  struct Context;
  struct Op;
  // Executes an instruction and returns the next one, or nullptr at the end.
  using Handler = const Op* (*)(const Op* op, std::byte* frame, Context& context);
  struct Op {
    uint16_t code;
    uint16_t count = 1;  // Elements of a native operation.
    FrameOffset out = 0, a = 0, b = 0, c = 0;
    int64_t number = 0;  // A label (later a jump distance), an index into a table, or a byte count.
    Handler run = nullptr;
    // Loads and stores move between `out` and byte `number` + (the integer at `a`) of the argument.
    int32_t argument() const { return b; }
    int32_t byte_count() const { return c; }
    // The operands of s32 addresses; `number` is the stride.
    int32_t max() const { return b; }
    int32_t outside() const { return c; }  // A label, later a jump distance.
  };

  // The tables that an instruction's `number` indexes.
  struct Tile {
    TileCall call;
    int64_t count;
    CallWidths widths;
  };
  struct Product {
    SmallDot dot;
    DotBytes bytes;
  };
  struct Range {
    ElementType type;
    int64_t max, byte_stride;
    Label outside;
  };

 private:
  friend struct BytecodeParts;
  void Add(const Op& op) { ops_.push_back(op); }
  // Selects the handlers once all operations are final.
  void ChooseHandlers();
  // Returns true if operations in [first, number) may jump past operation `number`.
  bool JumpsBeyond(int64_t first, int64_t number) const;
  // Returns an upper bound for the bytes that the operation accesses at this operand.
  int64_t Reach(const Op& op, FrameOffset Op::*field) const;
  // Return true if the operand overlaps, or the operation writes or reads, these bytes.
  bool Touches(const Op& op, FrameOffset Op::*field, const Bytes& bytes) const;
  bool Writes(const Op& op, const Bytes& bytes) const;
  bool Reads(const Op& op, const Bytes& bytes) const;
  // Moves an operation that runs once to the end, if the operations in between do not depend on it.
  bool Sink(int64_t number, Extent extent);

  std::vector<Op> ops_;
  std::vector<Tile> tiles_;
  std::vector<Product> products_;
  std::vector<Range> ranges_;
  std::vector<MemoryCall> memory_calls_;
  std::vector<std::vector<Label>> tables_;
  std::vector<int64_t> targets_;  // Index of an operation, by label.
  int32_t repeats_ = 0;
  bool counts_ = false;
};

}  // namespace hlo::cpu
