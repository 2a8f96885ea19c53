#pragma once
// This file emits the code of one loop: it assigns the values of a loop program to vector and mask registers
// and to slots on the stack.

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/loops/native_instructions.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/native/assembler.h"

namespace hlo::cpu {

class NativeEmitter : private Assembler {
 public:
  NativeEmitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
                const std::vector<NativeLoop::Output>& outputs);

  // Returns the function, or null if the program is not supported.
  std::unique_ptr<const MachineCode> Make();

 private:
  using Xmm = Xbyak::Xmm;
  using Opmask = Xbyak::Opmask;
  using Operand = Xbyak::Operand;
  using Reg64 = Xbyak::Reg64;
  using Address = Xbyak::Address;
  using Value = loops::Value;
  using Step = loops::LoopProgram::Step;

  struct Op;
  using Emitter = void (NativeEmitter::*)(const Op& op);
  // An operation on vectors. Operands and results that are complex are two vectors, their components.
  struct Op {
    const Step* step;
    const loops::Operation* operation;
    Value out, imaginary = -1;  // The result, or the components of a complex one.
    std::array<Value, 6> in{};
    int operand_count = 0;
    // One of these: code in place, a function on vectors, or a function on tiles.
    Emitter emitter = nullptr;
    native::Simple simple = nullptr;
    const void* function = nullptr;
    TileCall call = {};
  };
  struct Node {
    ComputeType compute_type;
    int width;              // Bytes of a compute type.
    Value root;             // The value with the same bits, or itself.
    int input = -1;         // The index of the input.
    int component = -1;     // 0 or 1 for components of a complex input.
    std::vector<int> uses;  // Positions in the code, ascending.
    // The register and the slot of the stack that hold the value, or -1.
    int reg = -1, slot = -1;
    bool is_pinned = false;  // A scalar that stays in its register throughout the loop.
    bool is_mask() const { return compute_type == ComputeType::kPred; }
  };
  // Registers that values may use; the others are temporary.
  static constexpr int kVectors = 29, kFirstMask = 3, kMasks = 7;
  // Registers for the operands of an operation, and for a quotient of complex numbers.
  static constexpr int kMostOperands = 3, kOfQuotient = 9;
  static constexpr int kNever = 1 << 30;

  // --- native_emitter.cc
  bool Analyse();
  bool AddOperation(size_t number);
  void FindUses();
  void LoadOutputs();
  void EmitBody(int parts, bool masked);
  void EmitLoop(int parts);
  void ChooseParts();
  void EmitConstants();
  void SplatInput(const NativeLoop::Input& input, Node& node);
  void SplatInputs();
  void StoreOutput(size_t output);
  void Emit(const Op& op);
  void EmitCall(const Op& op);
  void EmitFunction(const Op& op);
  // Calls a function on tiles in slots. Spills the values that are used later.
  void CallOnSlots(const TileCall& call, absl::Span<const int> operands, int result);
  // Store a mask to a slot as predicates of a byte each, and define it by them.
  void StoreMask(int slot, Value value);
  void LoadMask(Value value, int slot);
  void SpillAll();
  void SetTailMask();
  static Opmask TailMask() { return Opmask(7); }

  // Returns the register of a number for a value whose lanes have `width` bytes.
  Xmm Register(int number, int width) const;
  Xmm Temporary(int number, int width) const { return Register(kVectors + number, width); }
  Address Slot(int slot) { return ptr[rsp + 64 * slot]; }
  Address Memory(int pointer, int width, int displacement = 0);
  int NewSlot();
  int NextUse(const Node& node) const;
  int Allocate(std::vector<Value>& owners, int first);
  void Spill(Value value);
  void LoadNode(Node& node);
  Xmm Use(Value value);
  // Returns an operand in memory or in a register.
  const Operand& Any(Value value);
  Opmask UseMask(Value value);
  Xmm Define(Value value);
  Opmask DefineMask(Value value);
  void Release(Value value);
  void EndOperation(const Op& op);
  void LoadElements(const Xmm& to, const Address& from, int width);
  void StoreElements(const Address& to, const Xmm& from, int width);
  // Moves elements of `width` bytes; one of the operands has a mask.
  template <class To, class From>
  void MoveMasked(const To& to, const From& from, int width);
  ComputeType compute_type(Value value) const { return nodes_[value].compute_type; }
  // Complex values are two nodes. The number of the first is that of the value, which other values share.
  bool IsComplex(Value value) const { return program_.compute_type(value) == ComputeType::kC64; }
  Value Imaginary(Value value) const { return value + static_cast<Value>(program_.steps().size()); }
  absl::InlinedVector<Value, 2> Components(Value value) const;
  // Returns the index of the node that holds a value of the current part. Parts share scalars.
  Value IndexOf(Value value) const;
  Node& node(Value value) { return nodes_[IndexOf(value)]; }

  // Return constants in memory. Those of 4 and 8 bytes are operands that the instruction broadcasts.
  Address Constant(int width, uint64_t bits);
  Address Constant(float value) { return Constant(4, std::bit_cast<uint32_t>(value)); }
  // Sets all elements of 4 or 8 bytes to a constant.
  void Splat(const Xmm& to, int width, uint64_t bits);
  void Splat(const Xmm& to, float value) { Splat(to, 4, std::bit_cast<uint32_t>(value)); }
  // The blocks of 64 bytes among the constants: ones in bytes, iotas of 32 and 64 bits, and the sources of
  // even and odd elements of two vectors, and of their lower and upper elements in turn.
  enum Block : uint64_t { kOnes = 0, kEven = 1, kOdd = 2, kLower = 3, kIota32 = 4, kUpper = 5, kIota64 = 8 };
  Address BlockAddress(Block block) { return Constant(64, block); }
  Address OnesInBytes() { return BlockAddress(kOnes); }

  // --- native_complex.cc
  bool AddComplexOperation(Value value, const Step& step);
  void AddToBoth(Value value, const Step& step, const Op& op);
  void SetPairMasks();
  void LoadComponent(const Xmm& to, const Node& node);
  void StorePair(int pointer, Value value);
  void Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper);
  void EmitProduct(const Op& op);
  void EmitQuotient(const Op& op);
  void DivideHalf(const Op& op, const Xmm (&scratch)[3], bool upper);
  void EmitPairCall(const Op& op);
  void EmitRecoveries();

  // --- native_choice.cc
  bool Choose(Op& op);
  bool ChooseScalar(Op& op);
  bool ChooseConvert(Op& op);

  // --- native_arithmetic.cc
  void EmitSimple(const Op& op);
  void EmitMask(const Op& op);
  void EmitCompare(const Op& op);
  void EmitSelect(const Op& op);
  void EmitExtreme(const Op& op);
  void EmitDivide(const Op& op);
  void EmitSigns(const Op& op);
  void EmitIntegral(const Op& op);
  void EmitIsFinite(const Op& op);
  void Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum, ComputeType compute_type);
  void DivideNarrow(const Xmm& out, const Xmm& a, const Xmm& b, int width, bool is_signed, bool is_remainder);
  void DivideWords(const Xmm& out, const Xmm& a, const Xmm& b, bool is_signed);

  // --- native_conversion.cc
  void EmitRound(const Op& op);
  void EmitBitsOfBF16(const Op& op);
  void EmitConvert(const Op& op);
  void EmitFloatToInteger(const Op& op);
  void EmitToPred(const Op& op);
  void EmitFromPred(const Op& op);
  void Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed);
  void RoundToBF16(const Xmm& value, bool keeps_nans);

  // --- native_exponential.cc
  void EmitExponential(const Op& op);
  void ReduceExponent(const Xmm& x, const Xmm& square);

  const loops::LoopProgram& program_;
  const std::vector<NativeLoop::Input>& inputs_;
  const std::vector<NativeLoop::Output>& outputs_;
  std::vector<Node> nodes_;
  std::vector<Op> ops_;
  std::vector<Value> vectors_, masks_;  // The value in each register, or -1.
  std::vector<int> free_slots_;
  std::vector<Reg64> pointer_registers_;
  std::map<std::pair<int, uint64_t>, Xbyak::Label> constants_;
  // Code that is rarely needed: it computes special values of quotients of complex numbers.
  struct Recovery {
    Xbyak::Label begin, end;
    uint32_t registers;
    int RegisterOf(int operand) const {
      return static_cast<int>(registers >> (native::kRegisterBits * operand)) % (1 << native::kRegisterBits);
    }
  };
  void AddRecovery(const Op& op);
  std::deque<Recovery> recoveries_;
  std::vector<int> ready_;  // The operation that completes each output, or -1.
  Value part_stride_ = 0;   // The number of nodes of a part.
  int lanes_ = 0;           // Elements of a vector iteration.
  // Iterations that are interleaved, so that they run in parallel, and the one that is being emitted.
  int parts_ = 1, part_ = 0;
  int slot_count_ = 0;
  int position_ = 0;
  uint32_t locked_ = 0, locked_masks_ = 0;
  bool has_calls_ = false, masked_ = false;
  bool has_failed_ = false;                    // True if the registers did not suffice for an operation.
  int arguments_ = -1;                         // The slot of a call's operand pointers.
  int pairs_ = -1;                             // The slots of complex operands and results of calls.
  Address memory_{0, false, Xbyak::RegExp()};  // The results of Any.
  Xmm register_;
};

}  // namespace hlo::cpu
