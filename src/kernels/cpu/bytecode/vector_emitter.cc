#include "kernels/cpu/bytecode/vector_emitter.h"

#include <array>

#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {

template <class F>
void VectorEmitter::ForEachPart(int64_t bytes, int32_t width, int32_t widest, F&& f) {
  for (int64_t done = 0; done < bytes;) {
    const int64_t left = bytes - done;
    int32_t size = widest;
    while (size > left && size > 8) size /= 2;
    if (size < 16) size = width;
    f(static_cast<FrameOffset>(done), size);
    done += size;
  }
}

void VectorEmitter::LoadPart(const Xbyak::Xmm& to, const Xbyak::RegExp& from, int32_t size) {
  switch (size) {
    case 4:
      return vmovss(to, dword[from]);
    case 8:
      return vmovsd(to, qword[from]);
    default:
      return vmovups(to, ptr[from]);
  }
}
void VectorEmitter::StorePart(const Xbyak::RegExp& to, const Xbyak::Xmm& from, int32_t size) {
  switch (size) {
    case 4:
      return vmovss(dword[to], from);
    case 8:
      return vmovsd(qword[to], from);
    default:
      return vmovups(ptr[to], from);
  }
}

void VectorEmitter::LoadFromFrame(int number, FrameOffset from, int32_t size) {
  if (const std::optional<int> kept = FindVector(from, size))
    vmovaps(Wide(number, size), Wide(*kept, size));
  else
    LoadPart(Wide(number, size), rbx + from, size);
}
void VectorEmitter::StoreToFrame(FrameOffset to, int number, int32_t size, int64_t bytes) {
  constexpr int64_t kMaxKept = 128;  // Longer arrays need too many registers.
  StorePart(rbx + to, Wide(number, size), size);
  if (bytes > kMaxKept) return ForgetVectors({to, size});
  if (const std::optional<int> kept = KeepVector(to, size)) vmovaps(Wide(*kept, size), Wide(number, size));
}

void VectorEmitter::CopyVector(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int64_t bytes) {
  size_t done = 0;
  for (const int32_t size : {32, 16, 8, 4}) {
    for (; done + static_cast<size_t>(size) <= static_cast<size_t>(bytes);
         done += static_cast<size_t>(size)) {
      LoadPart(Wide(15, size), from + done, size);
      StorePart(to + done, Wide(15, size), size);
    }
  }
  for (; done < static_cast<size_t>(bytes); ++done) {
    vpinsrb(xmm15, xmm15, byte[from + done], 0);
    vpextrb(byte[to + done], xmm15, 0);
  }
}

void VectorEmitter::SplatVector(FrameOffset to, FrameOffset from, int64_t bytes, int32_t width) {
  width == 8 ? vbroadcastsd(ymm15, qword[rbx + from]) : vbroadcastss(ymm15, dword[rbx + from]);
  ForEachPart(bytes, width, 32,
              [&](FrameOffset at, int32_t size) { StoreToFrame(to + at, 15, size, bytes); });
}

void VectorEmitter::EmitVector(const MicroOp& op) {
  const auto& [call, count, widths] = BytecodeParts::Tiles(code_.code())[op.number];
  const bool is_elementwise = VectorCodeOf(call.function, count).has_value();
  if (!is_elementwise) ForgetVectors({op.out, count * widths.out});
  if (IsConstantTile(call.function)) return EmitConstant(call, count, widths.out, op.out);
  if (const auto fold = CodeOfFold(call.function)) {
    const int32_t row_bytes = static_cast<int32_t>(call.parameter) * widths.in[0];
    for (int32_t row = 0; row < count; ++row)
      EmitFold(*fold, call.parameter, op.a + row * row_bytes, op.out + row * widths.out);
    return;
  }
  if (const auto rows = FindRowsOfTile(call)) return EmitRows(*rows, count, op.a, op.out);
  const uint16_t code = *VectorCodeOf(call.function, count);
  const bool changes_width = code == kConvertF32F64 || code == kConvertF64F32;
  if (changes_width || ComparisonOf(code).has_value()) ForgetVectors({op.out, count * widths.out});
  if (changes_width) return ConvertFloats(code == kConvertF32F64, count, op.a, op.out);
  const OperandKinds kinds = KindsOf(code);
  const int32_t width = kinds.in[1].bytes > 0 ? kinds.in[1].bytes : kinds.in[0].bytes;
  const auto comparison = ComparisonOf(code);
  const int32_t widest = IsInline(code) ? 64 : 32;
  const int64_t bytes = count * width;
  ForEachPart(bytes, width, widest, [&](FrameOffset at, int32_t size) {
    if (code == kSelect4 || code == kSelect8)
      return SelectPart(op.a + at / width, op.b + at, op.c + at, op.out + at, width, size, bytes);
    LoadFromFrame(14, op.a + at, size);
    if (kinds.in[1].bytes > 0) LoadFromFrame(15, op.b + at, size);
    if (comparison.has_value()) return ComparePart(*comparison, op.out + at / width, size);
    Combine(code, size);
    StoreToFrame(op.out + at, 14, size, bytes);
  });
}

void VectorEmitter::Combine(uint16_t code, int32_t size) {
  if (code == kCopy4 || code == kCopy8) return;
  if (CombineFloats(code, size) || RoundFloats(code, size) || CombineWords(code, size) ||
      CombineLongs(code, size) || CombineBits(code, size))
    return;
  EmitFunction(code, size);
}

bool VectorEmitter::CombineFloats(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size);
  switch (code) {
    case kAddF32:
      vaddps(a, a, b);
      return true;
    case kSubtractF32:
      vsubps(a, a, b);
      return true;
    case kMultiplyF32:
      vmulps(a, a, b);
      return true;
    case kDivideF32:
      vdivps(a, a, b);
      return true;
    case kSqrtF32:
      vsqrtps(a, a);
      return true;
    case kAddF64:
      vaddpd(a, a, b);
      return true;
    case kSubtractF64:
      vsubpd(a, a, b);
      return true;
    case kMultiplyF64:
      vmulpd(a, a, b);
      return true;
    case kDivideF64:
      vdivpd(a, a, b);
      return true;
    case kSqrtF64:
      vsqrtpd(a, a);
      return true;
    case kNegateF32:
      vpcmpeqd(b, b, b);
      vpslld(b, b, 31);
      vxorps(a, a, b);
      return true;
    case kNegateF64:
      vpcmpeqd(b, b, b);
      vpsllq(b, b, 63);
      vxorps(a, a, b);
      return true;
    case kAbsF32:
      vpcmpeqd(b, b, b);
      vpsrld(b, b, 1);
      vandps(a, a, b);
      return true;
    case kAbsF64:
      vpcmpeqd(b, b, b);
      vpsrlq(b, b, 1);
      vandps(a, a, b);
      return true;
    case kMaximumF32:
      LimitFloats(false, true, size);
      return true;
    case kMinimumF32:
      LimitFloats(false, false, size);
      return true;
    case kMaximumF64:
      LimitFloats(true, true, size);
      return true;
    case kMinimumF64:
      LimitFloats(true, false, size);
      return true;
    default:
      return false;
  }
}

bool VectorEmitter::RoundFloats(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size);
  switch (code) {
    case kFloorF32:
      vroundps(a, a, kDown);
      return true;
    case kFloorF64:
      vroundpd(a, a, kDown);
      return true;
    case kCeilF32:
      vroundps(a, a, kUp);
      return true;
    case kCeilF64:
      vroundpd(a, a, kUp);
      return true;
    case kRoundNearestEvenF32:
      vroundps(a, a, kNearest);
      return true;
    case kRoundNearestEvenF64:
      vroundpd(a, a, kNearest);
      return true;
    case kConvertS32F32:
      vcvtdq2ps(a, a);
      return true;
    default:
      return false;
  }
}

bool VectorEmitter::CombineWords(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size);
  switch (code) {
    case kAddS32:
    case kAddU32:
      vpaddd(a, a, b);
      return true;
    case kSubtractS32:
    case kSubtractU32:
      vpsubd(a, a, b);
      return true;
    case kMultiplyS32:
    case kMultiplyU32:
      vpmulld(a, a, b);
      return true;
    case kMaximumS32:
      vpmaxsd(a, a, b);
      return true;
    case kMinimumS32:
      vpminsd(a, a, b);
      return true;
    case kMaximumU32:
      vpmaxud(a, a, b);
      return true;
    case kMinimumU32:
      vpminud(a, a, b);
      return true;
    // Counts of the width and more give 0.
    case kShiftLeftS32:
    case kShiftLeftU32:
      vpsllvd(a, a, b);
      return true;
    case kShiftRightLogicalS32:
    case kShiftRightLogicalU32:
      vpsrlvd(a, a, b);
      return true;
    case kAbsS32:
      vpabsd(a, a);
      return true;
    case kNegateS32:
      vpxor(b, b, b);
      vpsubd(a, b, a);
      return true;
    case kSignS32:
      vpcmpeqd(b, b, b);
      vpabsd(b, b);
      vpsignd(a, b, a);
      return true;
    case kShiftRightArithmeticS32:
      vpsravd(a, a, b);
      return true;
    case kNotS32:
    case kNotU32:
      vpcmpeqd(b, b, b);
      vpxor(a, a, b);
      return true;
    default:
      return false;
  }
}

bool VectorEmitter::CombineLongs(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size);
  switch (code) {
    case kAddS64:
    case kAddU64:
      vpaddq(a, a, b);
      return true;
    case kSubtractS64:
    case kSubtractU64:
      vpsubq(a, a, b);
      return true;
    case kShiftLeftS64:
    case kShiftLeftU64:
      vpsllvq(a, a, b);
      return true;
    case kShiftRightLogicalS64:
    case kShiftRightLogicalU64:
      vpsrlvq(a, a, b);
      return true;
    default:
      return false;
  }
}

bool VectorEmitter::CombineBits(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size);
  switch (code) {
    case kAndS32:
    case kAndU32:
    case kAndS64:
    case kAndU64:
      vandps(a, a, b);
      return true;
    case kOrS32:
    case kOrU32:
    case kOrS64:
    case kOrU64:
      vorps(a, a, b);
      return true;
    case kXorS32:
    case kXorU32:
    case kXorS64:
    case kXorU64:
      vxorps(a, a, b);
      return true;
    default:
      return false;
  }
}

void VectorEmitter::LimitFloats(bool is_double, bool is_max, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size), t = Wide(12, size), u = Wide(13, size);
  // As for scalars: the instructions return the second operand for NaNs and for zeros of either sign.
  if (is_double) {
    is_max ? vmaxpd(t, b, a) : vminpd(t, b, a);
    is_max ? vmaxpd(u, a, b) : vminpd(u, a, b);
  } else {
    is_max ? vmaxps(t, b, a) : vminps(t, b, a);
    is_max ? vmaxps(u, a, b) : vminps(u, a, b);
  }
  is_max ? vandps(t, t, u) : vorps(t, t, u);
  // The first NaN of the two.
  for (const Xbyak::Xmm& operand : {b, a}) {
    constexpr uint8_t kUnordered = 3;
    if (FindNativeIsa() == NativeIsa::kAvx512) {
      is_double ? vcmppd(k1, operand, operand, kUnordered) : vcmpps(k1, operand, operand, kUnordered);
      is_double ? vmovapd(t | k1, operand) : vmovaps(t | k1, operand);
    } else {
      is_double ? vcmppd(u, operand, operand, kUnordered) : vcmpps(u, operand, operand, kUnordered);
      is_double ? vblendvpd(t, t, operand, u) : vblendvps(t, t, operand, u);
    }
  }
  vmovaps(a, t);
}

void VectorEmitter::CompareToBits(const Comparison& comparison, int32_t size) {
  using Direction = Comparison::Direction;
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size), signs = Wide(12, size);
  const Direction direction = comparison.direction;
  const bool is_long = comparison.bytes == 8;
  const bool is_equality = direction == Direction::kEq || direction == Direction::kNe;
  // The other comparisons are negations.
  const bool negates =
      direction == Direction::kNe || direction == Direction::kGe || direction == Direction::kLe;
  if (!comparison.is_signed && !is_equality) {
    vpcmpeqd(signs, signs, signs);
    is_long ? vpsllq(signs, signs, 63) : vpslld(signs, signs, 31);
    vpxor(a, a, signs);
    vpxor(b, b, signs);
  }
  const bool swaps = direction == Direction::kLt || direction == Direction::kGe;
  const Xbyak::Xmm &first = swaps ? b : a, &second = swaps ? a : b;
  if (is_equality)
    is_long ? vpcmpeqq(a, first, second) : vpcmpeqd(a, first, second);
  else
    is_long ? vpcmpgtq(a, first, second) : vpcmpgtd(a, first, second);
  is_long ? vmovmskpd(eax, a) : vmovmskps(eax, a);
  if (negates) xor_(eax, (1 << size / comparison.bytes) - 1);
}

void VectorEmitter::ComparePart(const Comparison& comparison, FrameOffset to, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size);
  const auto direction = static_cast<size_t>(comparison.direction);
  const bool is_long = comparison.bytes == 8, has_masks = FindNativeIsa() == NativeIsa::kAvx512;
  constexpr std::array<uint8_t, 6> kOfFloats = {0, 4, 0x1d, 0x1e, 0x12, 0x11};  // By direction.
  if (!has_masks && comparison.is_float) {
    is_long ? vcmppd(a, a, b, kOfFloats[direction]) : vcmpps(a, a, b, kOfFloats[direction]);
    is_long ? vmovmskpd(eax, a) : vmovmskps(eax, a);
  } else if (!has_masks) {
    CompareToBits(comparison, size);
  } else if (comparison.is_float) {
    is_long ? vcmppd(k1, a, b, kOfFloats[direction]) : vcmpps(k1, a, b, kOfFloats[direction]);
  } else {
    constexpr std::array<uint8_t, 6> kPredicates = {0, 4, 5, 6, 2, 1};
    const uint8_t predicate = kPredicates[direction];
    if (comparison.is_signed)
      is_long ? vpcmpq(k1, a, b, predicate) : vpcmpd(k1, a, b, predicate);
    else
      is_long ? vpcmpuq(k1, a, b, predicate) : vpcmpud(k1, a, b, predicate);
  }
  if (has_masks) kmovd(eax, k1);
  if (size == comparison.bytes) {
    and_(eax, 1);
    return mov(byte[rbx + to], al);
  }
  // Each bit becomes a byte.
  pdep(rax, rax, ptr[rip + ones_]);
  switch (size / comparison.bytes) {
    case 8:
      return mov(qword[rbx + to], rax);
    case 4:
      return mov(dword[rbx + to], eax);
    default:
      return mov(word[rbx + to], ax);
  }
}

void VectorEmitter::SelectInMemory(FrameOffset predicates, FrameOffset on_true, FrameOffset on_false,
                                   int32_t width, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), flags = Wide(15, size);
  LoadPart(a, rbx + on_false, size);
  if (size == width) {
    Xbyak::Label end;
    cmp(byte[rbx + predicates], 0);
    je(end);
    LoadPart(a, rbx + on_true, size);
    return L(end);
  }
  // The sign of an element selects.
  if (width == 8) {
    vpmovzxbq(flags, ptr[rbx + predicates]);
    vpsllq(flags, flags, 63);
    vblendvpd(a, a, ptr[rbx + on_true], flags);
  } else {
    vpmovzxbd(flags, ptr[rbx + predicates]);
    vpslld(flags, flags, 31);
    vblendvps(a, a, ptr[rbx + on_true], flags);
  }
}

void VectorEmitter::SelectPart(FrameOffset predicates, FrameOffset on_true, FrameOffset on_false,
                               FrameOffset to, int32_t width, int32_t size, int64_t bytes) {
  if (FindNativeIsa() != NativeIsa::kAvx512) {
    SelectInMemory(predicates, on_true, on_false, width, size);
    return StoreToFrame(to, 14, size, bytes);
  }
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size), flags = Wide(16, size);
  LoadFromFrame(14, on_false, size);
  LoadFromFrame(15, on_true, size);
  if (size == width) {
    movzx(eax, byte[rbx + predicates]);
    vmovd(flags, eax);
  } else {
    width == 8 ? vpmovzxbq(flags, ptr[rbx + predicates]) : vpmovzxbd(flags, ptr[rbx + predicates]);
  }
  if (width == 8) {
    vptestmq(k1, flags, flags);
    vmovdqa64(a | k1, b);
  } else {
    vptestmd(k1, flags, flags);
    vmovdqa32(a | k1, b);
  }
  StoreToFrame(to, 14, size, bytes);
}

void VectorEmitter::LoadDouble(const Xbyak::Xmm& to, FrameOffset at, bool is_double) {
  if (is_double) return vmovsd(to, qword[rbx + at]);
  vxorps(to, to, to);  // The conversion keeps the upper part of its first operand.
  vcvtss2sd(to, to, dword[rbx + at]);
}

template <class OffsetOf>
void VectorEmitter::SumTerms(int64_t terms, bool is_double, OffsetOf&& offset_of) {
  const Xbyak::Xmm sums[] = {xmm14, xmm15}, term = xmm16;  // The sums are those of even and odd terms.
  vxorps(sums[0], sums[0], sums[0]);
  vxorps(sums[1], sums[1], sums[1]);
  for (int64_t k = 0; k < terms; ++k) {
    const Xbyak::Xmm factor(18 + static_cast<int>(k));
    if (is_double) {
      vmulsd(term, factor, qword[rbx + offset_of(k)]);
    } else {
      LoadDouble(term, offset_of(k), false);
      vmulsd(term, factor, term);
    }
    vaddsd(sums[k % 2], sums[k % 2], term);
  }
  vaddsd(xmm14, xmm14, xmm15);
  if (!is_double) vcvtsd2ss(xmm14, xmm14, xmm14);
}

void VectorEmitter::EmitDot(const SmallDot& dot, FrameOffset out, FrameOffset a, FrameOffset b) {
  const bool is_double = dot.type() == ElementType::kF64;
  const int32_t width = is_double ? 8 : 4;
  if (const std::optional<DotOfVectors> vectors = FindVectors(dot)) {
    const FrameOffset factors = vectors->has_factors_in_b ? b : a, others = vectors->has_factors_in_b ? a : b;
    for (const DotOfVectors::Result& result : vectors->results)
      EmitVectorSum(*vectors, is_double, factors + width * result.factor, others + width * result.vector,
                    out + width * result.out);
    return;
  }
  const auto [rows, row_terms, columns, column_terms, m, n] = dot.offsets();
  const auto terms = static_cast<int64_t>(row_terms.size());
  for (size_t matrix = 0; matrix * m < rows.size(); ++matrix) {
    for (int64_t j = 0; j < n; ++j) {
      const int32_t column = columns[matrix * n + j];
      for (int64_t k = 0; k < terms; ++k)
        LoadDouble(Xbyak::Xmm(18 + static_cast<int>(k)), b + width * (column + column_terms[k]), is_double);
      for (int64_t i = 0; i < m; ++i) {
        const int32_t row = rows[matrix * m + i];
        SumTerms(terms, is_double,
                 [&, &row_terms = row_terms](int64_t k) { return a + width * (row + row_terms[k]); });
        const auto to = static_cast<FrameOffset>(out + width * ((matrix * m + i) * n + j));
        is_double ? vmovsd(qword[rbx + to], xmm14) : vmovss(dword[rbx + to], xmm14);
      }
    }
  }
}

void VectorEmitter::EmitLine(ElementType type, int64_t terms, FrameOffset a, FrameOffset b) {
  const bool is_double = type == ElementType::kF64;
  const int32_t width = is_double ? 8 : 4;
  for (int32_t k = 0; k < terms; ++k) LoadDouble(Xbyak::Xmm(18 + k), b + width * k, is_double);
  SumTerms(terms, is_double, [&](int64_t k) { return static_cast<FrameOffset>(a + width * k); });
}

void VectorEmitter::EmitConstants() {
  FunctionEmitter::EmitConstants();
  align(8);
  L(ones_);
  dq(0x0101010101010101);
  for (auto& [bytes, label] : arrays_) {
    align(64);
    L(label);
    for (const std::byte byte : bytes) db(static_cast<uint8_t>(byte));
  }
}

}  // namespace hlo::cpu
