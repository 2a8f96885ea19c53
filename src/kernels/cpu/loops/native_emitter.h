#pragma once
// This file emits the code of one loop: it assigns the values of a loop program to vector and mask registers
// and to slots on the stack. Derived classes emit the instructions of an instruction set.

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

class NativeEmitter : protected Assembler {
 public:
  // Returns the function, or null if the program is not supported.
  std::unique_ptr<const MachineCode> Make();

 protected:
  // Vectors have `vector_bytes` bytes. Values may use `vectors` registers; kTemporaries more are
  // temporary.
  NativeEmitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
                const std::vector<NativeLoop::Output>& outputs, int vector_bytes, int vectors);
  ~NativeEmitter() override = default;

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
    bool is_quotient = false;  // A quotient of complex numbers, in place.
  };
  struct Node {
    ComputeType compute_type;
    int width;              // Bytes of a lane.
    Value root;             // The value with the same bits, or itself.
    int input = -1;         // The index of the input.
    int component = -1;     // 0 or 1 for components of a complex input.
    std::vector<int> uses;  // Positions in the code, ascending.
    // The register and the slot of the stack that hold the value, or -1.
    int reg = -1, slot = -1;
    bool is_pinned = false;  // A scalar that stays in its register throughout the loop.
    bool is_mask = false;    // A predicate in a mask register.
  };
  // Registers that masks may use; the others are temporary.
  static constexpr int kFirstMask = 3, kMasks = 7;
  // Registers for the operands of an operation, and for a quotient of complex numbers.
  static constexpr int kMostOperands = 3, kOfQuotient = 10;
  static constexpr int kTemporaries = 3;
  static constexpr int kNever = 1 << 30;
  static constexpr int kSlotBytes = 64;

  // --- native_emitter.cc
  bool Analyse();
  void AddNodes();
  bool AddOperation(size_t number);
  bool CallsOften() const;
  void FindUses();
  void LoadOutputs();
  void EmitBody(int parts, bool masked);
  void EmitLoop(int parts);
  void FindLive(std::vector<int>& vectors, std::vector<int>& masks, std::vector<Value>& scalars) const;
  void ChooseParts();
  void LoadPointers();
  void CountTail();
  void MovePointers();
  void EmitConstants();
  void SplatInput(const NativeLoop::Input& input, Node& node);
  void SplatInputs();
  void StoreOutput(size_t output);
  void Emit(const Op& op);
  // Registers of the table of pointers, of the index of an iteration's first element, and of the count.
  Reg64 Table() const { return has_calls_ ? rbx : rdi; }
  Reg64 Index() const { return has_calls_ ? r12 : rcx; }
  Reg64 Count() const { return has_calls_ ? r13 : rsi; }
  // The number of rows that are left, and the pointer to the distances between them.
  Address RowsLeft() { return qword[rbp - 48]; }
  Address Distances() { return qword[rbp - 56]; }

  // --- native_calls.cc
  void EmitCall(const Op& op);
  void EmitFunction(const Op& op);
  void EmitPairCall(const Op& op);
  // Calls a function on tiles in slots. Spills the values that are used later.
  void CallOnSlots(const TileCall& call, absl::Span<const int> operands, int result);
  void SpillAll();

  // --- native_registers.cc
  // Returns the register of a number for a value whose lanes have `width` bytes.
  Xmm Register(int number, int width) const;
  Xmm FullRegister(int number) const { return Register(number, vector_bytes_ / lanes_); }
  Xmm Temporary(int number, int width) const { return Register(vector_count_ + number, width); }
  Address Slot(int slot, int displacement = 0) { return ptr[rsp + (kSlotBytes * slot + displacement)]; }
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
  ComputeType compute_type(Value value) const { return nodes_[value].compute_type; }
  bool IsPredicate(Value value) const { return compute_type(value) == ComputeType::kPred; }
  // Complex values are two nodes. The number of the first is that of the value, which other values share.
  bool IsComplex(Value value) const {
    const ComputeType compute_type = program_.compute_type(value);
    return compute_type == ComputeType::kC64 || compute_type == ComputeType::kC128;
  }
  Value Imaginary(Value value) const { return value + static_cast<Value>(program_.steps().size()); }
  absl::InlinedVector<Value, 2> Components(Value value) const;
  // Returns the index of the node that holds a value of the current part. Parts share scalars.
  Value IndexOf(Value value) const;
  Node& node(Value value) { return nodes_[IndexOf(value)]; }

  // Return constants in memory, which are operands of instructions on all lanes, of 4 or 8 bytes.
  Address Constant(int width, uint64_t bits);
  Address Constant(float value) { return Constant(4, std::bit_cast<uint32_t>(value)); }
  Address Constant(double value) { return Constant(8, std::bit_cast<uint64_t>(value)); }
  // Sets all elements of 4 or 8 bytes to a constant.
  void Splat(const Xmm& to, int width, uint64_t bits);
  void Splat(const Xmm& to, float value) { Splat(to, 4, std::bit_cast<uint32_t>(value)); }
  // The blocks of 64 bytes among the constants: ones in bytes, iotas of 32 and 64 bits, the sources of even
  // and odd elements of two vectors, and of their lower and upper elements in turn. The sources are those of
  // elements of 4 bytes; with kWide, of 8 bytes.
  enum Block : uint64_t {
    kOnes = 0,
    kEven = 1,
    kOdd = 2,
    kLower = 3,
    kIota32 = 4,
    kUpper = 5,
    kIota64 = 8,
    kWide = 16,
  };
  Address BlockAddress(uint64_t block) { return Constant(kSlotBytes, block); }

  // --- native_complex.cc
  bool FindComponentType(const std::vector<bool>& needed);
  bool AddComplexOperation(Value value, const Step& step);
  void AddToBoth(Value value, const Step& step, const Op& op);
  void EmitProduct(const Op& op);
  // Divides (a + b i) by (c + d i) in f64; the components are exact in f32. Sets `real` to the real part and
  // b to the imaginary one, and changes `norm`.
  struct PairRegisters {
    Xmm a, b, c, d;
  };
  void DividePairs(const PairRegisters& in, const Xmm& real, const Xmm& norm);
  // Code that computes special values of quotients, and the registers of the operands and results.
  struct Recovery {
    Xbyak::Label begin, end;
    uint32_t registers;
    int RegisterOf(int operand) const {
      return static_cast<int>(registers >> (native::kRegisterBits * operand)) % (1 << native::kRegisterBits);
    }
  };
  Recovery& NewRecovery(const Op& op);
  // Emits the code of all recoveries, after the function. It preserves all registers but the results.
  void EmitRecoveries();
  // Calls RecoverQuotients for the vectors at rsp. It may change all registers.
  void CallRecovery(const Recovery& recovery);

  // --- native_choice.cc
  bool Choose(Op& op);
  bool ChooseScalar(Op& op);
  bool ChooseConvert(Op& op);
  void EmitSimple(const Op& op);
  void EmitExtreme(const Op& op);
  void EmitRsqrt(const Op& op);

  // --- Functions of an instruction set.
  // Returns the instruction of an operation; null if it has none.
  virtual native::Simple InstructionOf(Opcode opcode, ComputeType compute_type) const = 0;
  // Load an array, and set a register to a predicate in all lanes.
  virtual void LoadArray(const Xmm& to, const Node& node) = 0;
  virtual void LoadMaskArray(const Node& node) = 0;
  virtual void SplatPredicate(const Node& node, int reg) = 0;
  virtual void StoreArray(int pointer, ElementType type, Value value) = 0;
  // Load and store components of complex elements, and move them to vectors of pairs and back.
  virtual void LoadComponent(const Xmm& to, const Node& node) = 0;
  virtual void StorePair(int pointer, Value value) = 0;
  virtual void Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper) = 0;
  virtual void Deinterleave(const Xmm& to, const Address& lower, const Address& upper, bool imaginary) = 0;
  // Store a predicate to a slot as bytes, and define it by them.
  virtual void StoreMask(int slot, Value value) = 0;
  virtual void LoadMask(Value value, int slot) = 0;
  // Prepare the masks of the elements of the last iteration, which is not full: those in memory, once and
  // from the number of elements in rax, and those in registers, before the iteration and after calls of
  // functions.
  virtual void PrepareTail() = 0;
  virtual void BeginTail() = 0;
  // Sets a register to a function's operand, with ones in lanes beyond the elements.
  virtual void PadOperand(int to, int from, ComputeType compute_type) = 0;
  // Jumps to the end of the recovery if all lanes whose quotient is a NaN have an operand that is NaN in both
  // components: the quotient of such operands is a NaN. EmitQuotient has left the lanes with NaNs in a
  // temporary register or mask.
  virtual void JumpUnlessRecoverable(Recovery& recovery) = 0;

  // Rounds in place. A NaN whose lower half is zero stays as it is if `keeps_nans`.
  virtual void RoundToBF16(const Xmm& value, bool keeps_nans) = 0;
  // Extends or truncates integers. `out` may be `from`.
  virtual void Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) = 0;
  // Emits the maximum or minimum. `out` differs from the operands.
  virtual void Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum,
                       ComputeType compute_type) = 0;
  virtual void EmitMask(const Op& op) = 0;
  virtual void EmitCompare(const Op& op) = 0;
  virtual void EmitSelect(const Op& op) = 0;
  virtual void EmitMultiply(const Op& op) = 0;  // Integers of 64 bits.
  virtual void EmitShift(const Op& op) = 0;     // Arithmetic right shifts of integers of 64 bits.
  virtual void EmitDivide(const Op& op) = 0;
  virtual void EmitSigns(const Op& op) = 0;
  virtual void EmitIntegral(const Op& op) = 0;
  virtual void EmitIsFinite(const Op& op) = 0;
  virtual void EmitConvert(const Op& op) = 0;
  virtual void EmitFloatToInteger(const Op& op) = 0;
  virtual void EmitToPred(const Op& op) = 0;
  virtual void EmitFromPred(const Op& op) = 0;
  virtual void EmitExponential(const Op& op) = 0;
  virtual void EmitQuotient(const Op& op) = 0;  // Complex numbers.
  // Sets temporary register 0 to m and register 1 to -n, for x = m * 2^n. m is near 1. May use `spare`.
  virtual void SplitFloat(const Xmm& spare, const Xmm& x) = 0;
  // Replaces the results for special values of x by those of log(x). x may be temporary register 0.
  virtual void FinishLogarithm(const Xmm& result, const Xmm& x) = 0;

  // --- native_exponential.cc
  void ReduceExponent(const Xmm& x, const Xmm& square);
  void NegatedTanh(const Xmm& x);

  // --- native_logarithm.cc
  void EmitLogarithm(const Op& op);
  void SplitSumWithOne(const Xmm& spare, const Xmm& x);

  // --- native_conversion.cc
  void EmitRound(const Op& op);
  void EmitBitsOfBF16(const Op& op);
  // Extends integers to wider lanes.
  void Extend(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed);

  const int vector_bytes_, vector_count_;
  const bool has_masks_ = vector_bytes_ == kSlotBytes;  // Predicates are in mask registers.
  const loops::LoopProgram& program_;
  const std::vector<NativeLoop::Input>& inputs_;
  const std::vector<NativeLoop::Output>& outputs_;
  std::vector<Node> nodes_;
  std::vector<Op> ops_;
  std::vector<Value> vectors_, masks_;  // The value in each register, or -1.
  std::vector<int> free_slots_;
  std::vector<Reg64> pointer_registers_;
  std::map<std::pair<int, uint64_t>, Xbyak::Label> constants_;
  std::deque<Recovery> recoveries_;
  std::vector<int> ready_;  // The operation that completes each output, or -1.
  Value part_stride_ = 0;   // The number of nodes of a part.
  int lanes_ = 0;           // Elements of a vector iteration.
  bool has_complex_ = false;
  ComputeType component_type_ = ComputeType::kF32;  // Of complex numbers.
  int component_bytes_ = 4;
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
