#include "kernels/cpu/bytecode/native_code.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <deque>
#include <limits>
#include <utility>

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/memory_emitter.h"
#include "kernels/cpu/bytecode/native_functions.h"
#include "kernels/cpu/bytecode/native_regions.h"
#include "kernels/cpu/bytecode/opcodes.h"
#endif

namespace hlo::cpu {

#ifdef HLO_RUN_HAS_NATIVE_CODE
namespace {

constexpr int32_t kPollEvery = 1024;
constexpr size_t kMaxOps = 20000;

struct NativeContext {
  absl::FunctionRef<bool(int32_t)> escape;
  int64_t* iterations;  // Indexed by loop number.
};
bool CallHost(NativeContext* context, int32_t number) { return context->escape(number); }

using Entry = bool(std::byte* frame, void* const* arguments, NativeContext* context);

class Compiler : public MemoryEmitter {
 public:
  Compiler(const MicroCode& code, bool counts) : MemoryEmitter(code), regions_(code), counts_(counts) {}

  // Returns null if there is an operation that cannot be compiled.
  std::unique_ptr<const MachineCode> Run() {
    labels_.resize(code_.blocks().size());
    if (std::any_of(code_.ops().begin(), code_.ops().end(), [&](const MicroOp& op) { return IsVector(op); }))
      UseWideVectors();
    Prologue();
    for (size_t k = 0; k < code_.blocks().size(); ++k) EmitBlock(static_cast<int32_t>(k));
    for (size_t k = 0; k < stubs_.size(); ++k) EmitStub(stubs_[k]);
    L(stopped_);
    xor_(eax, eax);
    jmp(return_, T_NEAR);
    EmitConstants();
    if (is_unsupported_ || has_failed()) return nullptr;
    return Finish();
  }

 private:
  using Block = MicroCode::Block;

  // True for operations on arrays that call no function.
  bool IsVector(const MicroOp& op) const {
    const Effects effects = code_.EffectsOf(op);
    const bool moves =
        op.code >= kLoad && op.code <= kStoreAt8 && effects.out.bytes + effects.in[1].bytes == 0;
    return !effects.calls &&
           (moves || op.code == kCopyBytes || op.code == kSplat4 || op.code == kSplat8 || op.code == kCall);
  }

  // --- Blocks and jumps.
  void Prologue() {
    for (const Xbyak::Reg64& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
    sub(rsp, kStackBytes);
    mov(rbx, rdi);
    mov(r12, rsi);
    mov(r13, rdx);
    mov(r15d, kPollEvery);
    EnterRegion(0);
  }
  void Epilogue() {
    mov(eax, 1);
    L(return_);
    LeaveWideVectors();
    add(rsp, kStackBytes);
    for (const Xbyak::Reg64& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
    ret();
  }

  void EmitBlock(int32_t number) {
    block_ = number;
    const Block& block = code_.blocks()[number];
    if (regions_.StartsAt(number)) align(16);
    L(labels_[number]);
    StartBlock(regions_.PinsOf(number),
               [&](const FrameScalar& scalar) { return code_.IsLiveIn(number, scalar); });
    for (next_ = block.begin; next_ < block.end;) {
      const MicroOp& op = code_.ops()[next_++];
      if (op.is_dead) continue;
      Emit(op);
      EndOperation();
    }
    const uint16_t last = code_.ops()[block.end - 1].code;
    const bool has_ended = last >= kRepeat || last == kCheckedAddressS32 || last == kCheckedAddress ||
                           last == kAddCheckedAddress;
    if (!has_ended) WriteLive();
    if (last != kJump && last != kJumpTo && last != kEnd) Transition(number, number + 1);
  }
  // Writes the values that later blocks read, except pinned ones.
  void WriteLive() {
    EndBlock([&](const FrameScalar& scalar) { return code_.IsLiveOut(block_, scalar); });
  }

  // Moves values between pins and memory where the loop changes.
  bool NeedsTransition(int32_t from, int32_t to) const {
    if (regions_.AreInOneRegion(from, to)) return false;
    if (counts_ && regions_.LoopOf(to) >= 0) return true;
    const auto is_live = [&](const Pin& pin) { return code_.IsLiveIn(to, pin.scalar); };
    return std::any_of(regions_.PinsOf(from).begin(), regions_.PinsOf(from).end(),
                       [&](const Pin& pin) { return pin.is_written && is_live(pin); }) ||
           std::any_of(regions_.PinsOf(to).begin(), regions_.PinsOf(to).end(), is_live);
  }
  void Transition(int32_t from, int32_t to) {
    if (regions_.AreInOneRegion(from, to)) return;
    for (const Pin& pin : regions_.PinsOf(from)) {
      if (pin.is_written && code_.IsLiveIn(to, pin.scalar)) StoreScalar(pin.scalar, pin.reg);
    }
    EnterRegion(to);
  }
  void EnterRegion(int32_t block) {
    for (const Pin& pin : regions_.PinsOf(block)) {
      if (code_.IsLiveIn(block, pin.scalar)) LoadScalar(pin.scalar, pin.reg);
    }
    if (counts_ && regions_.LoopOf(block) >= 0) StartCounting(regions_.LoopOf(block));
  }

  // --- Iteration counters. The host sees those of regions only in polls, so their iterations are the
  // decrements of r15d, which a poll adds.
  Xbyak::Address Iterations(int32_t loop) {
    mov(rax, ptr[r13 + offsetof(NativeContext, iterations)]);
    return qword[rax + 8 * loop];
  }
  void StartCounting(int32_t loop) {
    const Xbyak::Address iterations = Iterations(loop);
    mov(iterations, r15);
    sub(iterations, kPollEvery);
  }

  // Code out of line: a transition to a block, a poll, the clamping of an index, or a function.
  struct Stub {
    enum class Kind : uint8_t { kTransition, kPoll, kClamp, kFunction } kind;
    Xbyak::Label begin, end;
    int32_t from = 0, to = 0;
    int32_t loop = -1;  // kPoll: the loop whose iterations are counted here.
    std::vector<FrameCache::Entry> entries;
    int32_t max = 0;
    uint16_t code = 0;
  };
  // Returns the label for a jump from this block to the operation of the bytecode.
  const Xbyak::Label& LabelOf(int64_t target) {
    const int32_t to = code_.BlockOf(target);
    if (!NeedsTransition(block_, to)) return labels_[to];
    stubs_.push_back({.kind = Stub::Kind::kTransition, .from = block_, .to = to});
    return stubs_.back().begin;
  }
  // Keep all scalars in memory while a function runs.
  void StoreAll(const Stub& stub) {
    for (const auto& each : stub.entries) {
      if (each.is_dirty && each.is_valid) StoreScalar(each.scalar, each.reg);
    }
    LeaveWideVectors();
  }
  void LoadAll(const Stub& stub) {
    for (const auto& each : stub.entries) {
      if (each.is_valid) LoadScalar(each.scalar, each.reg);
    }
  }
  void EmitStub(Stub& stub) {
    L(stub.begin);
    switch (stub.kind) {
      case Stub::Kind::kTransition:
        Transition(stub.from, stub.to);
        jmp(labels_[stub.to], T_NEAR);
        break;
      case Stub::Kind::kPoll:
        StoreAll(stub);
        if (stub.loop >= 0) add(Iterations(stub.loop), kPollEvery);
        mov(rdi, r13);
        mov(esi, Bytecode::kPolled);
        CallFunction(&CallHost);
        test(al, al);
        jz(stopped_, T_NEAR);
        mov(r15d, kPollEvery);
        LoadAll(stub);
        jmp(stub.end, T_NEAR);
        break;
      case Stub::Kind::kFunction:
        // The arguments are in xmm14 and xmm15, the result is in xmm14.
        StoreAll(stub);
        vmovaps(xmm0, xmm14);
        vmovaps(xmm1, xmm15);
        CallFunction(native::FindFunction(stub.code));
        vmovaps(xmm14, xmm0);
        LoadAll(stub);
        jmp(stub.end, T_NEAR);
        break;
      case Stub::Kind::kClamp:
        // eax is an index outside [0, max].
        sar(eax, 31);
        not_(eax);
        and_(eax, stub.max);
        jmp(stub.end, T_NEAR);
        break;
    }
  }

  void Function(const MicroOp& op, const Effects& effects) {
    const bool is_power = op.code == kPowerF32;
    const Xbyak::Xmm a = Vector(Use(effects.in[0], Bank::kVector));
    if (is_power) vmovaps(xmm15, Vector(Use(effects.in[1], Bank::kVector)));
    vmovaps(xmm14, a);
    ReleaseDying(op, effects);
    EndOperation();
    if (!effects.calls) {
      const bool may_call = is_power || op.code == kSineF32 || op.code == kCosineF32;
      if (may_call) {
        stubs_.push_back({.kind = Stub::Kind::kFunction, .entries = entries(), .code = op.code});
        ForgetVectors();
        is_power ? JumpIfSpecialPower(stubs_.back().begin) : JumpIfLargeAngle(stubs_.back().begin);
      }
      Xbyak::Label* end = may_call ? &stubs_.back().end : nullptr;
      is_power ? EmitPower() : EmitFunction(op.code, 16);
      if (end != nullptr) L(*end);
    } else {
      BeforeCall();
      vmovaps(xmm0, xmm14);
      vmovaps(xmm1, xmm15);
      CallFunction(native::FindFunction(op.code));
      vmovaps(xmm14, xmm0);
      AfterCall();
    }
    vmovaps(Vector(Define(effects.out, Bank::kVector)), xmm14);
  }

  // --- Operations.
  void Emit(const MicroOp& op) {
    const Effects effects = code_.EffectsOf(op);
    if (ComparisonOf(op.code).has_value()) return Compare(op, effects);
    if (native::FindFunction(op.code) != nullptr) return Function(op, effects);
    switch (op.code) {
      case kAddressS32:
      case kAddAddressS32:
        return Address(op, effects);
      case kLoad:
      case kLoadAt:
        return EmitLoad(op, effects);
      case kStore:
      case kStoreAt:
        return EmitStore(op, effects);
      case kRepeat:
      case kJumpUnless: {
        Poll(op);
        const Register flag = Use(effects.in[0], Bank::kGeneral);
        if (op.dies[0]) Release(effects.in[0]);
        WriteLive();
        test(Word(flag), Word(flag));
        return Branch(op, Condition::kNotEqual);
      }
      case kJump:
        WriteLive();
        Transition(block_, code_.BlockOf(op.op + op.number));
        return jmp(labels_[code_.BlockOf(op.op + op.number)], T_NEAR);
      case kJumpTo:
        return JumpTo(op, effects);
      case kCheckedAddressS32:
        return CheckIndex(op, effects);
      case kCheckedAddress:
      case kAddCheckedAddress:
        return CheckIndexInMemory(op, effects);
      case kEscape:
        return Escape(op, effects);
      case kEnd:
        Flush({0, std::numeric_limits<FrameOffset>::max()});
        return Epilogue();
      default:
        if (!EmitScalar(op, effects)) EmitInMemory(op, effects);
    }
  }

  void Compare(const MicroOp& op, const Effects& effects) {
    // A jump or select that alone uses the result reads the flags.
    if (next_ < code_.blocks()[block_].end) {
      const MicroOp& user = code_.ops()[next_];
      const bool is_only_use = user.a == op.out && user.dies[0] && !user.is_dead;
      if (is_only_use && (user.code == kRepeat || user.code == kJumpUnless)) {
        ++next_;
        Poll(user);
        const Condition condition = CompareFlags(op, effects);
        WriteLive();
        return Branch(user, condition);
      }
      if (is_only_use && (user.code == kSelect4 || user.code == kSelect8)) {
        ++next_;
        return EmitSelect(user, code_.EffectsOf(user), std::pair(op, effects));
      }
    }
    const Condition condition = CompareFlags(op, effects);
    const Register out = Define(effects.out, Bank::kGeneral);
    SetIf(condition, Long(out).cvt8());
    movzx(Word(out), Long(out).cvt8());
  }

  // Multiplies rax by the stride.
  void Scale(int64_t stride) {
    if (!FitsS32(stride)) {
      is_unsupported_ = true;
    } else if (stride > 0 && std::has_single_bit(static_cast<uint64_t>(stride))) {
      if (stride > 1) shl(rax, std::countr_zero(static_cast<uint64_t>(stride)));
    } else {
      imul(rax, rax, static_cast<int32_t>(stride));
    }
  }
  void Address(const MicroOp& op, const Effects& effects) {
    const int32_t max = op.b;
    const bool adds = op.code == kAddAddressS32;
    const Register base = adds ? Use(effects.in[1], Bank::kGeneral) : Register{};
    if (const auto constant = code_.ConstantAt(effects.in[0]); constant.has_value() || max < 0) {
      const int64_t index = std::min<int64_t>(std::max<int64_t>(constant.value_or(0), 0), max);
      mov(rax, static_cast<uint64_t>(index * op.number));
    } else {
      mov(eax, Word(Use(effects.in[0], Bank::kGeneral)));
      stubs_.push_back({.kind = Stub::Kind::kClamp, .max = max});
      Stub& stub = stubs_.back();
      cmp(eax, max);
      ja(stub.begin, T_NEAR);
      L(stub.end);
      Scale(op.number);
    }
    ReleaseDying(op, effects);
    const Register out = Define(effects.out, Bank::kGeneral);
    adds ? lea(Long(out), ptr[Long(base) + rax]) : mov(Long(out), rax);
  }
  // Jumps if the index is out of range.
  void CheckIndex(const MicroOp& op, const Effects& effects) {
    const Register index = Use(effects.in[0], Bank::kGeneral);
    WriteLive();
    const Xbyak::Label& outside = LabelOf(op.op + op.c);
    if (op.b < 0) return jmp(outside, T_NEAR);
    cmp(Word(index), op.b);
    ja(outside, T_NEAR);
  }
  // Jumps if the index, which is not a 32-bit scalar, is out of range.
  void CheckIndexInMemory(const MicroOp& op, const Effects& effects) {
    FlushOperands(effects);
    WriteLive();
    BeforeCall();
    CallOnRange(op, &native::IsInside);
    AfterCall();
    test(al, al);
    jz(LabelOf(code_.TargetsOf(op)[0]), T_NEAR);
  }

  // --- Control.
  void Poll(const MicroOp& op) {
    if (op.code != kRepeat) return;
    const int32_t loop = counts_ ? regions_.LoopOf(block_) : -1;
    if (counts_ && loop < 0) inc(Iterations(op.c));
    stubs_.push_back({.kind = Stub::Kind::kPoll, .loop = loop, .entries = entries()});
    ForgetVectors();
    sub(r15d, 1);
    jz(stubs_.back().begin, T_NEAR);
    L(stubs_.back().end);
  }
  // Emits the jump of a back edge or a conditional jump.
  void Branch(const MicroOp& op, Condition condition) {
    const Xbyak::Label& to = LabelOf(op.op + op.number);
    JumpIf(op.code == kRepeat ? condition : Negated(condition), to);
    if (op.code == kRepeat && counts_) mov(Iterations(op.c), 0);
  }
  void JumpTo(const MicroOp& op, const Effects& effects) {
    const Register number = Use(effects.in[0], Bank::kGeneral);
    WriteLive();
    const std::vector<int64_t> targets = code_.TargetsOf(op);
    for (size_t k = 0; k + 1 < targets.size(); ++k) {
      cmp(Word(number), static_cast<uint32_t>(k));
      je(LabelOf(targets[k]), T_NEAR);
    }
    jmp(LabelOf(targets.back()), T_NEAR);
  }
  void Escape(const MicroOp& op, const Effects& effects) {
    FlushOperands(effects);
    BeforeWrite(effects.writes);
    BeforeCall();
    mov(rdi, r13);
    mov(esi, static_cast<uint32_t>(op.number));
    CallFunction(&CallHost);
    test(al, al);
    jz(stopped_, T_NEAR);
    AfterCall();
    AfterWrite(effects.writes);
  }

  const NativeRegions regions_;
  std::vector<Xbyak::Label> labels_;
  std::deque<Stub> stubs_;
  Xbyak::Label stopped_, return_;
  int32_t block_ = 0;
  int64_t next_ = 0;   // The next operation.
  const bool counts_;  // Loops count their iterations.
};

}  // namespace

std::unique_ptr<const NativeCode> NativeCode::Make(const Bytecode& code, const FrameUse& frame, bool counts) {
  if (FindNativeIsa() == NativeIsa::kNone) return nullptr;
  const std::vector<Bytecode::Op>& ops = BytecodeParts::Ops(code);
  const bool loops = std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op.code == kRepeat; });
  if (!loops || ops.size() > kMaxOps) return nullptr;
  const MicroCode micro(code, frame);
  std::unique_ptr<const MachineCode> machine = Compiler(micro, counts).Run();
  if (machine == nullptr) return nullptr;
  return std::unique_ptr<const NativeCode>(new NativeCode(std::move(machine)));
}

bool NativeCode::Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape,
                     int64_t* iterations) const {
  NativeContext context{escape, iterations};
  return code_->At<Entry>()(frame, arguments, &context);
}

#else

std::unique_ptr<const NativeCode> NativeCode::Make(const Bytecode& /*code*/, const FrameUse& /*frame*/,
                                                   bool /*counts*/) {
  return nullptr;
}
bool NativeCode::Run(std::byte* /*frame*/, void* const* /*arguments*/,
                     absl::FunctionRef<bool(int32_t)> /*escape*/, int64_t* /*iterations*/) const {
  return false;
}

#endif

}  // namespace hlo::cpu
