// This file emits operations on complex numbers of native loops. Their real and imaginary parts are in two
// vectors; arrays, and operands of functions, have them in turn.

#include <cmath>
#include <complex>
#include <iterator>

#include "kernels/cpu/elementwise/complex_quotient.h"
#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {
namespace {

// Replaces quotients with a NaN by those of ComplexQuotient. `vectors` are the contents of all registers, of
// `lanes` floats each. `numbers` has the numbers of six of them: those of the operands, then the results.
void RecoverQuotients(float* vectors, uint32_t numbers, uint32_t lanes) {
  float* at[6];
  for (float*& vector : at) {
    vector = vectors + static_cast<size_t>(numbers % (1 << native::kRegisterBits)) * lanes;
    numbers >>= native::kRegisterBits;
  }
  for (uint32_t i = 0; i < lanes; ++i) {
    if (!std::isnan(at[4][i]) && !std::isnan(at[5][i])) continue;
    const std::complex<float> result =
        ComplexQuotient()(std::complex<float>(at[0][i], at[1][i]), std::complex<float>(at[2][i], at[3][i]));
    at[4][i] = result.real();
    at[5][i] = result.imag();
  }
}

}  // namespace

// Finds the type of the components of complex numbers. Returns false if some of them are not supported.
bool NativeEmitter::FindComponentType(const std::vector<bool>& needed) {
  bool has_c64 = false, has_c128 = false;
  for (size_t s = 0; s < needed.size(); ++s) {
    const ComputeType compute_type = program_.steps()[s].compute_type;
    has_complex_ |= IsComplex(static_cast<Value>(s));
    has_c64 |= compute_type == ComputeType::kC64;
    has_c128 |= compute_type == ComputeType::kC128;
  }
  if (!has_c128) return true;
  component_type_ = ComputeType::kF64;
  component_bytes_ = 8;
  return !has_c64;
}

// Adds the operations of a step with complex operands or results.
bool NativeEmitter::AddComplexOperation(Value value, const Step& step) {
  using Kind = loops::Operation::Kind;
  const bool is_scalar = step.operation.kind == Kind::kScalar;
  const Opcode opcode = step.operation.opcode;
  Op op{&step, &step.operation, value};
  if (step.operation.kind == Kind::kSelect) {
    op.emitter = &NativeEmitter::EmitSelect;
    AddToBoth(value, step, op);
    return true;
  }
  if (is_scalar && (opcode == Opcode::kAdd || opcode == Opcode::kSubtract || opcode == Opcode::kNegate)) {
    op.in[0] = step.in[0];
    if (!ChooseScalar(op)) return false;
    AddToBoth(value, step, op);
    return true;
  }
  if (is_scalar && (opcode == Opcode::kReal || opcode == Opcode::kImag)) {
    nodes_[value].root = nodes_[opcode == Opcode::kReal ? step.in[0] : Imaginary(step.in[0])].root;
    return true;
  }
  if (is_scalar && opcode == Opcode::kComplex) {
    nodes_[value].root = nodes_[step.in[0]].root;
    nodes_[Imaginary(value)].root = nodes_[step.in[1]].root;
    return true;
  }
  for (const Value operand : step.operands()) {
    for (const Value component : Components(operand)) op.in[op.operand_count++] = component;
  }
  if (IsComplex(value)) op.imaginary = Imaginary(value);
  if (is_scalar && opcode == Opcode::kMultiply) {
    op.emitter = &NativeEmitter::EmitProduct;
  } else if (is_scalar && opcode == Opcode::kDivide && component_type_ == ComputeType::kF32) {
    op.emitter = &NativeEmitter::EmitQuotient;
    op.is_quotient = true;
  } else {
    op.call = FindTileCall(step.operation);
    if (op.call.function == nullptr) return false;
    op.emitter = &NativeEmitter::EmitPairCall;
  }
  ops_.push_back(op);
  return true;
}

// Adds the operation for both components.
void NativeEmitter::AddToBoth(Value value, const Step& step, const Op& op) {
  for (const bool is_imaginary : {false, true}) {
    Op each = op;
    each.out = is_imaginary ? Imaginary(value) : value;
    each.operand_count = step.operand_count;
    for (int k = 0; k < step.operand_count; ++k)
      each.in[k] = is_imaginary && IsComplex(step.in[k]) ? Imaginary(step.in[k]) : step.in[k];
    ops_.push_back(each);
  }
}

// Sums and products are rounded individually.
void NativeEmitter::EmitProduct(const Op& op) {
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]), c = Use(op.in[2]), d = Use(op.in[3]);
  const Xmm real = Define(op.out), imaginary = Define(op.imaginary), product = Temporary(0, component_bytes_);
  const auto instruction = [&](Opcode opcode) { return InstructionOf(opcode, component_type_); };
  const native::Simple multiply = instruction(Opcode::kMultiply);
  multiply(*this, product, b, d);
  multiply(*this, real, a, c);
  instruction(Opcode::kSubtract)(*this, real, real, product);
  multiply(*this, product, b, c);
  multiply(*this, imaginary, a, d);
  instruction(Opcode::kAdd)(*this, imaginary, imaginary, product);
}

// The products of numbers that are exact in f32 are exact, also without fusing.
void NativeEmitter::DividePairs(const PairRegisters& in, const Xmm& real, const Xmm& norm) {
  const auto& [a, b, c, d] = in;
  vmulpd(norm, c, c);
  vfmadd231pd(norm, d, d);
  vmulpd(real, a, c);
  vfmadd231pd(real, b, d);
  vmulpd(b, b, c);
  vfnmadd231pd(b, a, d);
  vdivpd(real, real, norm);
  vdivpd(b, b, norm);
}

NativeEmitter::Recovery& NativeEmitter::NewRecovery(const Op& op) {
  Recovery& recovery = recoveries_.emplace_back();
  recovery.registers = 0;
  for (const Value value : {op.imaginary, op.out, op.in[3], op.in[2], op.in[1], op.in[0]})
    recovery.registers = recovery.registers << native::kRegisterBits | static_cast<uint32_t>(node(value).reg);
  return recovery;
}

void NativeEmitter::EmitRecoveries() {
  constexpr int kMaskCount = 8, kMaskBytes = 8;
  const Reg64 others[] = {rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11};
  const int registers = vector_count_ + kTemporaries, masks_at = registers * vector_bytes_;
  const int others_at = masks_at + (has_masks_ ? kMaskCount * kMaskBytes : 0);
  const int frame_bytes = others_at + 2 * kSlotBytes;
  const auto vector_slot = [&](int k) { return ptr[rsp + k * vector_bytes_]; };
  const auto mask_slot = [&](int k) { return ptr[rsp + (masks_at + kMaskBytes * k)]; };
  const auto other_slot = [&](size_t k) { return ptr[rsp + (others_at + 8 * static_cast<int>(k))]; };
  for (Recovery& recovery : recoveries_) {
    L(recovery.begin);
    JumpUnlessRecoverable(recovery);
    sub(rsp, frame_bytes);
    for (int k = 0; k < registers; ++k) vmovups(vector_slot(k), FullRegister(k));
    for (int k = 1; has_masks_ && k < kMaskCount; ++k) kmovq(mask_slot(k), Opmask(k));
    for (size_t k = 0; k < std::size(others); ++k) mov(other_slot(k), others[k]);
    CallRecovery(recovery);
    for (size_t k = 0; k < std::size(others); ++k) mov(others[k], other_slot(k));
    for (int k = 1; has_masks_ && k < kMaskCount; ++k) kmovq(Opmask(k), mask_slot(k));
    for (int k = 0; k < registers; ++k) vmovups(FullRegister(k), vector_slot(k));
    add(rsp, frame_bytes);
    jmp(recovery.end, T_NEAR);
  }
}

void NativeEmitter::CallRecovery(const Recovery& recovery) {
  mov(rdi, rsp);
  mov(esi, recovery.registers);
  mov(edx, vector_bytes_ / static_cast<int>(sizeof(float)));
  vzeroupper();
  CallFunction(&RecoverQuotients);
}

}  // namespace hlo::cpu
