#include "kernels/cpu/bytecode/native_code.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/micro_ops.h"
#include "kernels/cpu/bytecode/native_functions.h"
#include "kernels/cpu/bytecode/opcodes.h"

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include "kernels/cpu/bytecode/vector_emitter.h"
#endif

namespace hlo::cpu {

#ifdef HLO_RUN_HAS_NATIVE_CODE
namespace {

constexpr int32_t kPollEvery = 1024;
constexpr size_t kMaxOps = 20000;

struct NativeContext {
  absl::FunctionRef<bool(int32_t)> escape;
};
bool CallHost(NativeContext* context, int32_t number) { return context->escape(number); }

using Entry = bool(std::byte* frame, void* const* arguments, NativeContext* context);

bool FitsS32(int64_t value) { return value == static_cast<int32_t>(value); }

// Loops whose values stay in registers: blocks [first, last].
struct Region {
  int32_t first, last;
  std::vector<Pin> pins;
};

class Compiler : public VectorEmitter {
 public:
  using VectorEmitter::VectorEmitter;

  // Returns null if there is an operation that cannot be compiled.
  std::unique_ptr<const MachineCode> Run() {
    FindRegions();
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
    if (unsupported_ || has_failed()) return nullptr;
    return Finish();
  }

 private:
  // A select by a comparison uses five other general registers.
  static constexpr int kMaxGeneralPins = 5, kMaxVectorPins = 10;
  using Block = MicroCode::Block;

  // Returns true if the operation is one on an array that calls no function.
  bool IsVector(const MicroOp& op) const {
    const Effects effects = code_.EffectsOf(op);
    const bool moves =
        op.code >= kLoad && op.code <= kStoreAt8 && effects.out.bytes + effects.in[1].bytes == 0;
    return !effects.calls &&
           (moves || op.code == kCopyBytes || op.code == kSplat4 || op.code == kSplat8 || op.code == kCall);
  }

  // --- Loops.
  void FindRegions() {
    const std::vector<Block>& blocks = code_.blocks();
    region_of_.assign(blocks.size(), -1);
    for (size_t k = 0; k < blocks.size(); ++k) {
      const MicroOp& last = code_.ops()[blocks[k].end - 1];
      if (last.code != kRepeat) continue;
      const auto end = static_cast<int32_t>(k);
      const int32_t begin = code_.BlockOf(code_.TargetsOf(last)[0]);
      if (begin > end) continue;
      const bool is_innermost =
          std::all_of(region_of_.begin() + begin, region_of_.begin() + end + 1, [](int r) { return r < 0; });
      if (!is_innermost) continue;
      Region region{begin, end, {}};
      if (!FindPins(region)) continue;
      for (int32_t b = begin; b <= end; ++b) region_of_[b] = static_cast<int32_t>(regions_.size());
      regions_.push_back(std::move(region));
    }
  }

  // Returns false if the host runs in the loop.
  bool FindPins(Region& region) const {
    struct Candidate {
      Piece piece;
      int uses = 0, in_vectors = 0;
      bool is_written = false, is_excluded = false, is_live = false;
    };
    std::vector<Candidate> candidates;
    bool calls = false;
    std::vector<StepCode::Bytes> in_memory;
    const auto note = [&](const Piece& piece, const OperandKind& kind, bool writes) {
      if (piece.bytes == 0) return;
      auto found = std::find_if(candidates.begin(), candidates.end(),
                                [&](const Candidate& each) { return each.piece == piece; });
      if (found == candidates.end()) found = candidates.insert(found, {piece});
      ++found->uses;
      found->is_written |= writes;
      if (kind.bank.has_value()) found->in_vectors += *kind.bank == Bank::kVector ? 1 : -1;
    };
    const int64_t first = code_.blocks()[region.first].begin, end = code_.blocks()[region.last].end;
    for (int64_t k = first; k < end; ++k) {
      const MicroOp& op = code_.ops()[k];
      if (op.is_dead) continue;
      const Effects effects = code_.EffectsOf(op);
      if (effects.escapes) return false;
      const OperandKinds kinds = KindsOf(op.code);
      for (size_t in = 0; in < 3; ++in) note(effects.in[in], kinds.in[in], false);
      note(effects.out, kinds.out, true);
      calls = calls || effects.calls;
      for (const auto& range : effects.reads) {
        if (range.count > 0) in_memory.push_back(range);
      }
      if (effects.writes.count > 0) in_memory.push_back(effects.writes);
    }
    for (Candidate& each : candidates) {
      const auto overlaps = [&](int64_t begin, int64_t bytes) {
        return each.piece.at < begin + bytes && begin < int64_t{each.piece.at} + each.piece.bytes;
      };
      for (const StepCode::Bytes& range : in_memory) each.is_excluded |= overlaps(range.begin, range.count);
      for (const Candidate& other : candidates)
        each.is_excluded |= other.piece != each.piece && overlaps(other.piece.at, other.piece.bytes);
      for (int32_t b = region.first; b <= region.last; ++b)
        each.is_live = each.is_live || code_.IsLiveIn(b, each.piece);
    }
    std::erase_if(candidates, [](const Candidate& each) { return each.is_excluded || !each.is_live; });
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.is_written != b.is_written ? a.is_written : a.uses > b.uses;
    });
    int general = 0, vectors = 0;
    for (const Candidate& each : candidates) {
      const Bank bank = each.in_vectors > 0                           ? Bank::kVector
                        : each.in_vectors < 0 || each.piece.bytes < 4 ? Bank::kGeneral
                                                                      : code_.BankOf(each.piece);
      if (bank == Bank::kGeneral) {
        // Most constants are immediate operands.
        if (!each.is_written && code_.ConstantAt(each.piece).has_value()) continue;
        // Functions preserve the last two registers.
        const int last = static_cast<int>(kGeneral.size()) - 1;
        if (general >= (calls ? 2 : kMaxGeneralPins)) continue;
        region.pins.push_back({each.piece, {bank, kGeneral[last - general++]}, each.is_written});
      } else if (!calls && vectors < kMaxVectorPins) {
        region.pins.push_back({each.piece, {bank, vectors++}, each.is_written});
      }
    }
    return true;
  }

  const std::vector<Pin>& PinsOf(int32_t block) const {
    static const std::vector<Pin> none;
    return region_of_[block] < 0 ? none : regions_[region_of_[block]].pins;
  }

  // --- Blocks and jumps.
  void Prologue() {
    for (const Xbyak::Reg64& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
    sub(rsp, kStackBytes);
    mov(rbx, rdi);
    mov(r12, rsi);
    mov(r13, rdx);
    mov(r15d, kPollEvery);
    for (const Pin& pin : PinsOf(0)) {
      if (code_.IsLiveIn(0, pin.piece)) LoadScalar(pin.piece, pin.reg);
    }
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
    if (region_of_[number] >= 0 && regions_[region_of_[number]].first == number) align(16);
    L(labels_[number]);
    StartBlock(PinsOf(number), [&](const Piece& piece) { return code_.IsLiveIn(number, piece); });
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
  // Writes values that later blocks read, but pinned ones.
  void WriteLive() {
    EndBlock([&](const Piece& piece) { return code_.IsLiveOut(block_, piece); });
  }

  // Moves values between pins and memory where the loop changes.
  bool NeedsTransition(int32_t from, int32_t to) const {
    if (region_of_[from] == region_of_[to]) return false;
    const auto is_live = [&](const Pin& pin) { return code_.IsLiveIn(to, pin.piece); };
    return std::any_of(PinsOf(from).begin(), PinsOf(from).end(),
                       [&](const Pin& pin) { return pin.is_written && is_live(pin); }) ||
           std::any_of(PinsOf(to).begin(), PinsOf(to).end(), is_live);
  }
  void Transition(int32_t from, int32_t to) {
    if (region_of_[from] == region_of_[to]) return;
    for (const Pin& pin : PinsOf(from)) {
      if (pin.is_written && code_.IsLiveIn(to, pin.piece)) StoreScalar(pin.piece, pin.reg);
    }
    for (const Pin& pin : PinsOf(to)) {
      if (code_.IsLiveIn(to, pin.piece)) LoadScalar(pin.piece, pin.reg);
    }
  }

  // Code out of line: a transition to a block, a poll, a fix of an index, or a function.
  struct Stub {
    enum class Kind : uint8_t { kTransition, kPoll, kClamp, kFunction } kind;
    Xbyak::Label begin, end;
    int32_t from = 0, to = 0;
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
      if (each.is_dirty && each.is_valid) StoreScalar(each.piece, each.reg);
    }
    LeaveWideVectors();
  }
  void LoadAll(const Stub& stub) {
    for (const auto& each : stub.entries) {
      if (each.is_valid) LoadScalar(each.piece, each.reg);
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
        mov(rdi, r13);
        mov(esi, StepCode::kPolled);
        CallFunction(&CallHost);
        test(al, al);
        jz(stopped_, T_NEAR);
        mov(r15d, kPollEvery);
        LoadAll(stub);
        jmp(stub.end, T_NEAR);
        break;
      case Stub::Kind::kFunction:
        // The argument and the result are in xmm14.
        StoreAll(stub);
        vmovaps(xmm0, xmm14);
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
    vmovaps(xmm14, Vector(Use(effects.in[0], Bank::kVector)));
    ReleaseDying(op, effects);
    EndOperation();
    if (!effects.calls) {
      const bool is_periodic = op.code == kSineF32 || op.code == kCosineF32;
      if (is_periodic) {
        stubs_.push_back({.kind = Stub::Kind::kFunction, .entries = entries(), .code = op.code});
        JumpIfLargeAngle(stubs_.back().begin);
      }
      Xbyak::Label* end = is_periodic ? &stubs_.back().end : nullptr;
      EmitFunction(op.code, 16);
      if (end != nullptr) L(*end);
    } else {
      BeforeCall();
      vmovaps(xmm0, xmm14);
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
        return effects.out.bytes > 0 ? Load(op, effects) : MoveMany(op, effects, true);
      case kStore:
      case kStoreAt:
        return effects.in[1].bytes > 0 ? Store(op, effects) : MoveMany(op, effects, false);
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
      case kEnd:
        Flush({0, std::numeric_limits<FramePlace>::max()});
        return Epilogue();
      default:
        if (!EmitScalar(op, effects)) InMemory(op, effects);
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
        return Select(user, code_.EffectsOf(user), std::pair(op, effects));
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
      unsupported_ = true;
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

  // Returns the address of a scalar of an argument.
  Xbyak::RegExp ArgumentAddress(const MicroOp& op, const Effects& effects) {
    if (!FitsS32(op.number) || op.b > (1 << 24)) unsupported_ = true;
    const auto offset = static_cast<size_t>(op.number);
    if (effects.in[0].bytes == 0) {
      mov(rax, ptr[r12 + 8 * op.b]);
      return rax + offset;
    }
    const Register address = Use(effects.in[0], Bank::kGeneral);
    mov(rax, ptr[r12 + 8 * op.b]);
    return rax + Long(address) + offset;
  }
  void Load(const MicroOp& op, const Effects& effects) {
    Flush(effects.reads[1]);
    const Xbyak::RegExp from = ArgumentAddress(op, effects);
    ReleaseDying(op, effects);
    const Register out = Define(effects.out, PreferredBank(effects.out));
    if (out.bank == Bank::kVector) {
      op.c == 8 ? vmovsd(Vector(out), ptr[from]) : vmovss(Vector(out), ptr[from]);
    } else if (op.c >= 4) {
      mov(General(out, op.c), ptr[from]);
    } else {
      op.c == 1 ? movzx(Word(out), byte[from]) : movzx(Word(out), word[from]);
    }
  }
  void Store(const MicroOp& op, const Effects& effects) {
    const Piece& piece = effects.in[1];
    const Register value = Use(piece, IsCached(piece) ? BankOfCached(piece) : PreferredBank(piece));
    const Xbyak::RegExp to = ArgumentAddress(op, effects);
    ReleaseDying(op, effects);
    BeforeWrite(effects.writes);
    if (value.bank == Bank::kVector) {
      op.c == 8 ? vmovsd(ptr[to], Vector(value)) : vmovss(ptr[to], Vector(value));
    } else if (op.c >= 4) {
      mov(ptr[to], General(value, op.c));
    } else {
      op.c == 1 ? mov(ptr[to], Long(value).cvt8()) : mov(ptr[to], Long(value).cvt16());
    }
    AfterWrite(effects.writes);
  }

  // --- Control.
  void Poll(const MicroOp& op) {
    if (op.code != kRepeat) return;
    stubs_.push_back({.kind = Stub::Kind::kPoll, .entries = entries()});
    sub(r15d, 1);
    jz(stubs_.back().begin, T_NEAR);
    L(stubs_.back().end);
  }
  // Emits the jump of a back edge or a conditional jump.
  void Branch(const MicroOp& op, Condition condition) {
    const Xbyak::Label& to = LabelOf(op.op + op.number);
    JumpIf(op.code == kRepeat ? condition : Negated(condition), to);
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

  // --- Operations in memory.
  // Loads the address of an operand on an argument into rax.
  void LoadAddress(int32_t argument, int64_t offset, FramePlace address) {
    if (!FitsS32(offset) || argument > (1 << 24)) unsupported_ = true;
    mov(rax, ptr[r12 + 8 * argument]);
    if (address != StepCode::kNoAddress) add(rax, InFrame(address));
    if (offset != 0) add(rax, static_cast<uint32_t>(offset));
  }
  void SetInteger(const Xbyak::Reg64& reg, int64_t value) { mov(reg, static_cast<uint64_t>(value)); }

  void FlushOperands(const Effects& effects) {
    for (const StepCode::Bytes& range : effects.reads) {
      if (range.count > 0) Flush(range);
    }
    for (const Piece& piece : effects.in) {
      if (piece.bytes > 0) Flush({piece.at, piece.bytes});
    }
  }

  // Moves many bytes between the frame and an argument.
  void MoveMany(const MicroOp& op, const Effects& effects, bool loads) {
    FlushOperands(effects);
    BeforeWrite(effects.writes);
    if (!effects.calls) {
      LoadAddress(op.b, op.number, effects.in[0].bytes > 0 ? op.a : StepCode::kNoAddress);
      const Xbyak::RegExp place = rbx + op.out;
      loads ? CopyVector(place, rax, op.c) : CopyVector(rax, place, op.c);
      return AfterWrite(effects.writes);
    }
    BeforeCall();
    LoadAddress(op.b, op.number, effects.in[0].bytes > 0 ? op.a : StepCode::kNoAddress);
    mov(loads ? rsi : rdi, rax);
    lea(loads ? rdi : rsi, InFrame(op.out));
    SetInteger(rdx, op.c);
    CallFunction(&std::memcpy);
    AfterCall();
    AfterWrite(effects.writes);
  }

  void InMemory(const MicroOp& op, const Effects& effects) {
    FlushOperands(effects);
    if (effects.writes.count > 0) BeforeWrite(effects.writes);
    if (!effects.calls) {
      switch (op.code) {
        case kCopyBytes:
          CopyVector(rbx + op.out, rbx + op.a, op.number);
          break;
        case kSplat4:
          SplatVector(op.out, op.a, 4 * op.number, 4);
          break;
        case kSplat8:
          SplatVector(op.out, op.a, 8 * op.number, 8);
          break;
        case kCall:
          EmitVector(op);
          break;
        case kDot:
          EmitDot(StepCodeParts::Products(code_.code())[op.number].dot, op.out, op.a, op.b);
          break;
        case kDotF32:
        case kDotF64:
          EmitLine(op.code == kDotF32 ? ElementType::kF32 : ElementType::kF64, op.number, op.a, op.b);
          return vmovaps(Vector(Define(effects.out, Bank::kVector)), xmm14);
        default:
          unsupported_ = true;
      }
      return AfterWrite(effects.writes);
    }
    const bool jumps = op.code == kCheckedAddress || op.code == kAddCheckedAddress;
    if (jumps) WriteLive();
    BeforeCall();
    switch (op.code) {
      case kCopyBytes:
        lea(rdi, InFrame(op.out));
        lea(rsi, InFrame(op.a));
        SetInteger(rdx, op.number);
        CallFunction(&std::memcpy);
        break;
      case kSplat4:
      case kSplat8:
        lea(rdi, InFrame(op.out));
        lea(rsi, InFrame(op.a));
        SetInteger(rdx, op.number);
        CallFunction(op.code == kSplat4 ? &native::Splat4 : &native::Splat8);
        break;
      case kDotF32:
      case kDotF64:
        lea(rdi, InFrame(op.a));
        lea(rsi, InFrame(op.b));
        SetInteger(rdx, op.number);
        if (op.code == kDotF32)
          CallFunction(&native::DotF32);
        else
          CallFunction(&native::DotF64);
        vmovaps(xmm15, xmm0);
        break;
      case kDot:
        SetInteger(rdi, reinterpret_cast<int64_t>(&StepCodeParts::Products(code_.code())[op.number].dot));
        lea(rsi, InFrame(op.a));
        lea(rdx, InFrame(op.b));
        lea(rcx, InFrame(op.out));
        CallFunction(&native::RunDot);
        break;
      case kCall: {
        const auto& [call, count, widths] = StepCodeParts::Tiles(code_.code())[op.number];
        const FramePlace in[] = {op.a, op.b, op.c};
        for (int k = 0; k < 3; ++k) {
          lea(rax, InFrame(in[k]));
          mov(ptr[rsp + 8 * k], rax);
        }
        lea(rsi, InFrame(op.out));
        CallTile(call, count);
        break;
      }
      case kCallOnMemory: {
        const StepCode::MemoryCall& call = StepCodeParts::MemoryCalls(code_.code())[op.number];
        const auto load = [&](const StepCode::MemoryPlace& place) {
          place.argument < 0 ? mov(rax, rbx) : LoadAddress(place.argument, place.offset, place.address);
        };
        for (int k = 0; k < 3; ++k) {
          load(call.in[k]);
          mov(ptr[rsp + 8 * k], rax);
        }
        load(call.out);
        mov(rsi, rax);
        CallTile(call.call, call.count);
        break;
      }
      case kAddress:
      case kAddAddress:
      case kCheckedAddress:
      case kAddCheckedAddress:
        SetInteger(rdi, reinterpret_cast<int64_t>(&StepCodeParts::Ranges(code_.code())[op.number]));
        lea(rsi, InFrame(op.a));
        if (jumps)
          CallFunction(&native::IsInside);
        else
          CallFunction(&native::ClampedAddress);
        break;
      case kEscape:
        mov(rdi, r13);
        mov(esi, static_cast<uint32_t>(op.number));
        CallFunction(&CallHost);
        test(al, al);
        jz(stopped_, T_NEAR);
        break;
      default:
        unsupported_ = true;
    }
    AfterCall();
    if (effects.writes.count > 0) AfterWrite(effects.writes);
    switch (op.code) {
      case kDotF32:
      case kDotF64:
        return vmovaps(Vector(Define(effects.out, Bank::kVector)), xmm15);
      case kAddress:
        return mov(Long(Define(effects.out, Bank::kGeneral)), rax);
      case kAddAddress: {
        const Register base = Use(effects.in[1], Bank::kGeneral);
        ReleaseDying(op, effects);
        return lea(Long(Define(effects.out, Bank::kGeneral)), ptr[Long(base) + rax]);
      }
      case kCheckedAddress:
      case kAddCheckedAddress:
        test(al, al);
        return jz(LabelOf(code_.TargetsOf(op)[0]), T_NEAR);
      default:
        return;
    }
  }
  // Calls a tile function with operands on the stack and the result at rsi.
  void CallTile(const TileCall& call, int64_t count) {
    SetInteger(rdi, count);
    mov(rdx, rsp);
    SetInteger(rcx, call.parameter);
    CallFunction(call.function);
  }

  static constexpr int kStackBytes = 40;  // The operands of a tile function; calls keep the stack aligned.

  std::vector<Region> regions_;
  std::vector<int32_t> region_of_;  // Indexed by block; -1: none.
  std::vector<Xbyak::Label> labels_;
  std::deque<Stub> stubs_;
  Xbyak::Label stopped_, return_;
  int32_t block_ = 0;
  int64_t next_ = 0;  // The next operation.
  bool unsupported_ = false;
};

}  // namespace

std::unique_ptr<const NativeCode> NativeCode::Make(const StepCode& code, const FrameUse& frame) {
  if (FindNativeIsa() == NativeIsa::kNone) return nullptr;
  const std::vector<StepCode::Op>& ops = StepCodeParts::Ops(code);
  const bool loops = std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op.code == kRepeat; });
  if (!loops || ops.size() > kMaxOps) return nullptr;
  const MicroCode micro(code, frame);
  std::unique_ptr<const MachineCode> machine = Compiler(micro).Run();
  if (machine == nullptr) return nullptr;
  return std::unique_ptr<const NativeCode>(new NativeCode(std::move(machine)));
}

bool NativeCode::Run(std::byte* frame, void* const* arguments,
                     absl::FunctionRef<bool(int32_t)> escape) const {
  NativeContext context{escape};
  return code_->At<Entry>()(frame, arguments, &context);
}

#else

std::unique_ptr<const NativeCode> NativeCode::Make(const StepCode& /*code*/, const FrameUse& /*frame*/) {
  return nullptr;
}
bool NativeCode::Run(std::byte* /*frame*/, void* const* /*arguments*/,
                     absl::FunctionRef<bool(int32_t)> /*escape*/) const {
  return false;
}

#endif

}  // namespace hlo::cpu
