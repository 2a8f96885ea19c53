#pragma once
// Bytecode for loops over a few elements: control flow, operations on scalars, and calls of tile operations.
// All operands are in one frame of memory. An instruction takes a nanosecond or two, where a tile program
// takes ten times that to set up.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo_run/element_type.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

// Bytes from the start of the frame, the machine's memory.
using FramePlace = int32_t;

class StepCode {
 public:
  using Label = int32_t;

  // --- Building.
  // Bytes of an element at each place of a call.
  struct CallWidths {
    static constexpr int32_t kWidest = 16;
    int32_t out = kWidest;
    std::array<int32_t, 3> in = {kWidest, kWidest, kWidest};
  };
  // What the call does to `count` elements; operations on one element are the machine's own where it has
  // them.
  void Call(const TileCall& call, int64_t count, const CallWidths& widths, FramePlace out,
            const FramePlace (&in)[3]);
  struct DotBytes {
    int64_t out, a, b;
  };
  // A product of the arrays at `a` and `b`; none of the three overlap.
  void Dot(const SmallDot& dot, const DotBytes& bytes, FramePlace out, FramePlace a, FramePlace b);
  // `byte_count` bytes; the two do not overlap, or are the same.
  void Copy(FramePlace to, FramePlace from, int64_t byte_count);
  // The 64-bit integer at `out`: (adds ? its value : 0) + clamp(integer at `index`, 0, max) * byte_stride.
  void Address(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
               int64_t byte_stride);
  // The same without clamping: jumps to `outside` where the integer lies outside [0, max].
  void CheckedAddress(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
                      int64_t byte_stride, Label outside);
  // Between the frame and byte `offset` + (the 64-bit integer at `address`) of what a pointer of the run
  // points at; kNoAddress: 0.
  static constexpr FramePlace kNoAddress = -1;
  void Load(FramePlace to, int32_t argument, int64_t offset, FramePlace address, int64_t byte_count);
  void Store(FramePlace from, int32_t argument, int64_t offset, FramePlace address, int64_t byte_count);
  // What the call does to `count` elements at `offset` + (the 64-bit integer at `address`) of what pointers
  // of the run point at.
  struct FarPlace {
    int32_t argument = -1;  // -1: there is no such operand.
    int64_t offset = 0;
    FramePlace address = kNoAddress;
    int32_t width = 0;  // Bytes of an element.
  };
  struct FarCall {
    TileCall call;
    int64_t count;
    FarPlace out;
    std::array<FarPlace, 3> in;
  };
  void CallFar(const FarCall& call);
  // Asks whoever runs the code to do something.
  void Escape(int32_t number);
  Label NewLabel();
  void Bind(Label label);
  void Jump(Label label);
  void JumpUnless(FramePlace predicate, Label label);
  // To one of the labels by an s32, the last one for all others.
  void JumpTo(FramePlace number, const std::vector<Label>& labels);
  // To the beginning of a loop; now and then, whoever runs the code may stop it. Numbered from 0 on.
  void Repeat(FramePlace predicate, Label label);
  // Whether operations from number `first` on load from or store to what this pointer of the run points at.
  bool UsesArgument(int64_t first, int32_t argument) const;
  // What operations from number `first` on leave at `from` they leave at `to` instead, if `from` is not
  // needed otherwise and nobody can tell the difference at `to`, later if need be; false if somebody could.
  // `extent`: where in the frame an argument may lie.
  struct Bytes {
    FramePlace begin;
    int64_t count;
  };
  using Extent = absl::FunctionRef<Bytes(int32_t argument)>;
  bool Retarget(int64_t first, FramePlace from, FramePlace to, int64_t byte_count, Extent extent);
  // Once, at the end.
  void Finish();

  // --- Running. False as soon as `escape` has returned false; kPolled instead of a number: a poll.
  static constexpr int32_t kPolled = -1;
  bool Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape) const;
  // The same code, which counts the iterations of each loop: by the number of Repeat, 0 while it does not
  // run.
  StepCode WithCounts() const;
  bool Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape,
           int64_t* iterations) const;

  int64_t op_count() const { return static_cast<int64_t>(ops_.size()); }

  struct Context;
  struct Op;
  // Does the operation; gives the next one, nullptr at the end.
  using Handler = const Op* (*)(const Op* op, std::byte* frame, Context& context);
  struct Op {
    uint16_t code;
    uint16_t count = 1;  // Elements, of the machine's own operations.
    FramePlace out = 0, a = 0, b = 0, c = 0;
    int64_t number = 0;  // A jump's label and then its distance, a row of a table, a count of bytes.
    Handler run = nullptr;
    // Loads and stores: between `out` and byte `number` + (the integer at `a`) behind a pointer.
    int32_t argument() const { return b; }
    int32_t byte_count() const { return c; }
    // Addresses by an s32: times `number`.
    int32_t max() const { return b; }
    int32_t outside() const { return c; }  // Likewise a label and then a distance.
  };

  // What an operation's number may be the number of.
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
  friend struct StepCodeParts;
  void Add(const Op& op) { ops_.push_back(op); }
  // Once all operations stand.
  void ChooseHandlers();
  // Whether operations from `first` on and before this one may jump past it.
  bool JumpsBeyond(int64_t first, int64_t number) const;
  // At most so many bytes are read or written at that place of the operation.
  int64_t Reach(const Op& op, FramePlace Op::*place) const;
  // Whether that place of the operation is among the bytes; whether it writes to them, and reads them.
  bool Touches(const Op& op, FramePlace Op::*place, const Bytes& bytes) const;
  bool Writes(const Op& op, const Bytes& bytes) const;
  bool Reads(const Op& op, const Bytes& bytes) const;
  // Puts an operation that is run once behind all others, if those between give the same without it before.
  bool Sink(int64_t number, Extent extent);

  std::vector<Op> ops_;
  std::vector<Tile> tiles_;
  std::vector<Product> products_;
  std::vector<Range> ranges_;
  std::vector<FarCall> far_calls_;
  std::vector<std::vector<Label>> tables_;
  std::vector<int64_t> targets_;  // By label: the number of an operation.
  int32_t repeats_ = 0;
  bool counts_ = false;
};

}  // namespace hlo::cpu
