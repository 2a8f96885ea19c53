// This file emits complex numbers of native loops with AVX-512.

#include "kernels/cpu/loops/avx512_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {
namespace {

using Xbyak::Zmm;

const Xbyak::Opmask kLowerMask(1), kUpperMask(2);

constexpr size_t kFloats = native::kRegisterBytes / sizeof(float);

}  // namespace

// Sets the masks of the two vectors of the last iteration's complex elements.
void Avx512Emitter::SetPairMasks() {
  mov(rax, Count());
  sub(rax, Index());
  add(rax, rax);
  bzhi(rax, qword[rip + constants_[{8, ~uint64_t{0}}]], rax);
  kmovd(kLowerMask, eax);
  kshiftrd(kUpperMask, kLowerMask, native::kRegisterBytes / component_bytes_);
}

void Avx512Emitter::Permute(const Xmm& sources, const Xmm& first, const Operand& second) {
  component_bytes_ == 8 ? vpermi2pd(sources, first, second) : vpermi2ps(sources, first, second);
}

void Avx512Emitter::LoadComponent(const Xmm& to, const Node& node) {
  const Zmm lower(Temporary(0, component_bytes_).getIdx()), upper(Temporary(1, component_bytes_).getIdx());
  const auto at = [&](int displacement) { return Memory(node.input, 2 * component_bytes_, displacement); };
  vmovdqu32(to, SourcesOf(node.component == 0 ? kEven : kOdd));
  if (masked_) {
    SetPairMasks();
    MoveMasked(lower | kLowerMask | T_z, at(0), component_bytes_);
    MoveMasked(upper | kUpperMask | T_z, at(native::kRegisterBytes), component_bytes_);
    return Permute(to, lower, upper);
  }
  vmovups(lower, at(0));
  Permute(to, lower, at(native::kRegisterBytes));
}

void Avx512Emitter::Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper) {
  vmovdqu32(to, SourcesOf(upper ? kUpper : kLower));
  Permute(to, real, imaginary);
}

void Avx512Emitter::StorePair(int pointer, Value value) {
  const Xmm real = Use(value), imaginary = Use(Imaginary(value));
  if (masked_) SetPairMasks();
  for (const bool upper : {false, true}) {
    const Xmm vector = Temporary(0, component_bytes_);
    Interleave(vector, real, imaginary, upper);
    const Address to = Memory(pointer, 2 * component_bytes_, upper ? native::kRegisterBytes : 0);
    masked_ ? MoveMasked(to | (upper ? kUpperMask : kLowerMask), vector, component_bytes_)
            : vmovups(to, vector);
  }
}

void Avx512Emitter::Deinterleave(const Xmm& to, const Address& lower, const Address& upper, bool imaginary) {
  const Xmm vector = Temporary(0, component_bytes_);
  vmovups(vector, lower);
  vmovdqu32(to, SourcesOf(imaginary ? kOdd : kEven));
  Permute(to, vector, upper);
}

// Emits a jump to code that calls RecoverQuotients if a bit of k1 is set.
void Avx512Emitter::AddRecovery(const Op& op) {
  Recovery& recovery = NewRecovery(op);
  kortestw(k1, k1);
  jnz(recovery.begin, T_NEAR);
  L(recovery.end);
}

// Emits ComplexQuotient. The two halves of the vectors are divided in f64.
void Avx512Emitter::EmitQuotient(const Op& op) {
  Use(op.in[0]), Use(op.in[1]);
  const Xmm c = Use(op.in[2]), d = Use(op.in[3]);
  const Xmm real = Define(op.out), imaginary = Define(op.imaginary);
  const uint32_t locked = locked_;
  Xmm scratch[3];
  for (Xmm& each : scratch) {
    const int reg = Allocate(vectors_, 0);
    locked_ |= 1u << reg;
    each = Zmm(reg);
  }
  const Xmm size_of_c = Temporary(0, 4), size_of_d = Temporary(1, 4), larger = size_of_c;
  vpandd(size_of_c, c, Constant(4, 0x7fffffff));
  vpandd(size_of_d, d, Constant(4, 0x7fffffff));
  vcmpps(k1, size_of_c, size_of_d, native::kLess);
  vblendmps(larger | k1, c, d);
  vpmovd2m(k1, larger);
  DivideHalf(op, scratch, false);
  DivideHalf(op, scratch, true);
  locked_ = locked;
  for (const Xmm& part : {real, imaginary}) vpxord(part | k1, part, Constant(4, 0x80000000u));
  masked_ ? vcmpps(k1 | TailMask(), real, imaginary, native::kUnordered)
          : vcmpps(k1, real, imaginary, native::kUnordered);
  AddRecovery(op);
}

// Computes the lower or upper half of the results. Operands and results of lanes in k1 have the other sign.
void Avx512Emitter::DivideHalf(const Op& op, const Xmm (&scratch)[3], bool upper) {
  const Xmm c = Zmm(kVectors), d = Zmm(kVectors + 1), norm = Zmm(kVectors + 2);
  const auto& [a, b, quotient] = scratch;
  const auto widen = [&](const Xmm& to, Value value) {
    const int reg = Use(value).getIdx(), half = to.getIdx();
    if (upper) vextractf64x4(Xbyak::Ymm(half), Zmm(reg), 1);
    vcvtps2pd(to, Xbyak::Ymm(upper ? half : reg));
  };
  const auto put = [&](const Xmm& out, const Xmm& wide) {
    const Xbyak::Ymm narrow(upper ? wide.getIdx() : out.getIdx());
    vcvtpd2ps(narrow, wide);
    if (upper) vinsertf64x4(Zmm(out.getIdx()), Zmm(out.getIdx()), narrow, 1);
  };
  widen(a, op.in[0]);
  widen(b, op.in[1]);
  widen(c, op.in[2]);
  widen(d, op.in[3]);
  kshiftrw(k2, k1, upper ? kFloats / 2 : 0);
  for (const Xmm& part : {a, b}) vpxorq(part | k2, part, Constant(8, uint64_t{1} << 63));
  DividePairs({a, b, c, d}, quotient, norm);
  put(Register(node(op.out).reg, 4), quotient);
  put(Register(node(op.imaginary).reg, 4), b);
}

void Avx512Emitter::JumpUnlessRecoverable(Recovery& recovery) {
  for (int k = 0; k < 2; ++k) {
    const Zmm real(recovery.RegisterOf(2 * k)), imaginary(recovery.RegisterOf(2 * k + 1));
    vcmpps(k2 | k1, real, real, native::kUnordered);
    vcmpps(k2 | k2, imaginary, imaginary, native::kUnordered);
    kandnw(k1, k2, k1);
  }
  kortestw(k1, k1);
  jz(recovery.end, T_NEAR);
}

}  // namespace hlo::cpu
