// This file emits machine code for operations on arrays that are not elementwise, and for conversions.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/bytecode/vector_emitter.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kWordsOfRegister = 16;

std::vector<std::byte> BytesOf(absl::Span<const int32_t> numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace

Xbyak::Label& VectorEmitter::ConstantOf(std::vector<std::byte> bytes) {
  auto found =
      std::find_if(arrays_.begin(), arrays_.end(), [&](const auto& each) { return each.first == bytes; });
  if (found == arrays_.end()) {
    arrays_.emplace_back(std::move(bytes), Xbyak::Label());
    found = std::prev(arrays_.end());
  }
  return found->second;
}

void VectorEmitter::SetMask(const Xbyak::Opmask& mask, int64_t lanes) {
  mov(eax, static_cast<uint32_t>((int64_t{1} << lanes) - 1));
  kmovw(mask, eax);
}

void VectorEmitter::EmitConstant(const TileCall& call, int64_t count, int32_t width, FrameOffset to) {
  std::vector<std::byte> bytes(count * width);
  call.function(count, bytes.data(), nullptr, call.parameter);
  lea(rax, ptr[rip + ConstantOf(bytes)]);
  CopyVector(rbx + to, rax, count * width);
}

// Returns the word of the array for each word of the result.
std::vector<int64_t> VectorEmitter::WordsOfRows(const RowsOfTile& tile, int64_t count) {
  const int64_t words_of_element = tile.width / 4;
  std::vector<int64_t> words;
  for (int64_t k = 0; k < count * words_of_element; ++k)
    words.push_back(tile.rows.At(k / words_of_element) * words_of_element + k % words_of_element);
  return words;
}

void VectorEmitter::EmitRows(const RowsOfTile& tile, int64_t count, FrameOffset from, FrameOffset to) {
  const std::vector<int64_t> words = WordsOfRows(tile, count);
  const absl::Span<const int64_t> all = words;
  if (FindNativeIsa() != NativeIsa::kAvx512) return CollectWords(all, rbx + from, rbx + to);
  for (size_t begin = 0; begin < all.size();) {
    const auto extent = [&](size_t size) {
      const auto [least, most] = std::minmax_element(all.begin() + begin, all.begin() + begin + size);
      return *most - *least + 1;
    };
    const size_t longest = std::min<size_t>(kWordsOfRegister, all.size() - begin);
    size_t size = longest;
    while (size > 4 && extent(size) > 2 * kWordsOfRegister) size = size > 8 ? 8 : 4;
    if (extent(size) > 2 * kWordsOfRegister) size = longest;
    PermuteWords(all.subspan(begin, size), from, static_cast<FrameOffset>(to + 4 * begin));
    begin += size;
  }
}

void VectorEmitter::CollectWords(absl::Span<const int64_t> words, const Xbyak::RegExp& from,
                                 const Xbyak::RegExp& to) {
  const auto at = [&](int64_t word) { return from + static_cast<size_t>(4 * word); };
  for (size_t done = 0; done < words.size();) {
    // The longest part, of 8, 4 or 1 words, that a few instructions copy.
    const auto moves = [&](size_t size, int64_t stride) {
      for (size_t k = 1; k < size; ++k) {
        if (words[done + k] != words[done] + static_cast<int64_t>(k) * stride) return false;
      }
      return true;
    };
    const size_t left = words.size() - done;
    const bool is_pair = left >= 8 && (moves(8, 0) || moves(8, 1));
    const size_t size = is_pair ? 8 : left >= 4 ? 4 : 1;
    const auto bytes = static_cast<int32_t>(4 * size);
    const Xbyak::Xmm part = Wide(14, bytes);
    if (size > 1 && moves(size, 0)) {
      vbroadcastss(part, dword[at(words[done])]);
    } else if (moves(size, 1)) {
      LoadPart(part, at(words[done]), bytes);
    } else {
      vmovss(xmm14, dword[at(words[done])]);
      for (int k = 1; k < 4; ++k)
        vinsertps(xmm14, xmm14, dword[at(words[done + k])], static_cast<uint8_t>(k << 4));
    }
    StorePart(to + 4 * done, part, bytes);
    done += size;
  }
}

void VectorEmitter::EmitFold(uint16_t code, int64_t count, FrameOffset from, FrameOffset to) {
  constexpr int64_t kMaxScalars = 8;
  const int32_t width = KindsOf(code).out.bytes;
  // Sums of floats are in f64.
  const uint16_t combine = code == kAddF32 ? static_cast<uint16_t>(kAddF64) : code;
  count <= kMaxScalars ? FoldScalars(combine, width, count, from) : FoldVectors(combine, width, count, from);
  if (combine != code) vcvtsd2ss(xmm14, xmm14, xmm14);
  StorePart(rbx + to, xmm14, width);
}

void VectorEmitter::CombineInFold(uint16_t code, int32_t size) {
  const Xbyak::Xmm a = Wide(14, size), b = Wide(15, size), t = Wide(16, size);
  constexpr uint8_t kOrAndOfSigns = 0xd4;
  // The instructions return the second operand for NaNs and for zeros of either sign.
  switch (code) {
    case kMaximumF32:
      vmaxps(t, a, b);
      vmaxps(a, b, a);
      return vpternlogd(a, t, All(0x80000000u), kOrAndOfSigns);
    case kMaximumF64:
      vmaxpd(t, a, b);
      vmaxpd(a, b, a);
      return vpternlogq(a, t, Doubles(uint64_t{1} << 63), kOrAndOfSigns);
    case kMinimumF32:
      vminps(t, a, b);
      vminps(a, b, a);
      return vorps(a, a, t);
    case kMinimumF64:
      vminpd(t, a, b);
      vminpd(a, b, a);
      return vorps(a, a, t);
    default:
      return Combine(code, size);
  }
}

void VectorEmitter::FoldScalars(uint16_t code, int32_t width, int64_t count, FrameOffset from) {
  constexpr int kFirst = 18;
  const auto partial = [](int64_t k) { return Xbyak::Xmm(kFirst + static_cast<int>(k)); };
  for (int64_t k = 0; k < count; ++k) {
    const auto at = static_cast<FrameOffset>(from + k * width);
    width < KindsOf(code).out.bytes ? LoadDouble(partial(k), at, false)
                                    : LoadPart(partial(k), rbx + at, width);
  }
  for (int64_t left = count; left > 1; left = (left + 1) / 2) {
    const int64_t half = (left + 1) / 2;
    for (int64_t k = 0; k < left - half; ++k) {
      vmovaps(xmm14, partial(k));
      vmovaps(xmm15, partial(half + k));
      CombineInFold(code, 16);
      vmovaps(partial(k), xmm14);
    }
  }
}

void VectorEmitter::CombineFirst(uint16_t code, int64_t changed, int64_t count) {
  if (changed >= count) return CombineInFold(code, 64);
  vmovaps(zmm22, zmm14);
  CombineInFold(code, 64);
  SetMask(k2, changed);
  KindsOf(code).out.bytes == 8 ? vmovapd(zmm22 | k2, zmm14) : vmovaps(zmm22 | k2, zmm14);
  vmovaps(zmm14, zmm22);
}

void VectorEmitter::FoldVectors(uint16_t code, int32_t width, int64_t count, FrameOffset from) {
  const int32_t partial_width = KindsOf(code).out.bytes;
  const int64_t lanes = 64 / partial_width;
  const auto load = [&](const Xbyak::Zmm& to, int64_t first, int64_t size) {
    const Xbyak::Address source = ptr[rbx + static_cast<FrameOffset>(from + first * width)];
    SetMask(k2, size);
    if (width < partial_width)
      vcvtps2pd(to | k2 | T_z, source);
    else if (width == 8)
      vmovupd(to | k2 | T_z, source);
    else
      vmovups(to | k2 | T_z, source);
  };
  // Combines the halves, of which the first may need two registers, the second one in zmm23.
  int64_t left = (count + 1) / 2;
  for (int64_t first = left > lanes ? lanes : 0; first >= 0; first -= lanes) {
    const int64_t size = std::min(left - first, lanes), others = std::min(count - left - first, lanes);
    load(zmm14, first, size);
    if (others > 0) {
      load(zmm15, left + first, others);
      CombineFirst(code, others, size);
    }
    if (first > 0) vmovaps(zmm23, zmm14);
  }
  while (left > 1) {
    const int64_t half = (left + 1) / 2;
    const Xbyak::Zmm upper = left > lanes ? zmm23 : zmm14;
    if (half == lanes)
      vmovaps(zmm15, upper);
    else if (partial_width == 8)
      valignq(zmm15, upper, zmm14, static_cast<uint8_t>(half));
    else
      valignd(zmm15, upper, zmm14, static_cast<uint8_t>(half));
    CombineFirst(code, left - half, half);
    left = half;
  }
}

// Reads only the words from the first to the last one.
void VectorEmitter::PermuteWords(absl::Span<const int64_t> words, FrameOffset from, FrameOffset to) {
  const auto [least, most] = std::minmax_element(words.begin(), words.end());
  const int64_t first = *least, extent = *most - first + 1, rest = extent - kWordsOfRegister;
  const auto at = static_cast<FrameOffset>(from + 4 * first);
  std::array<int32_t, kWordsOfRegister> positions = {};
  for (size_t k = 0; k < words.size(); ++k) positions[k] = static_cast<int32_t>(words[k] - first);
  const Xbyak::Zmm index = zmm15, low = zmm14, high = zmm16;
  vmovdqu32(index, ptr[rip + ConstantOf(BytesOf(positions))]);
  if (rest > kWordsOfRegister) {
    SetMask(k1, static_cast<int64_t>(words.size()));
    vpgatherdd(low | k1, ptr[rbx + index * 4 + at]);
  } else if (rest > 0) {
    SetMask(k1, rest);
    vmovdqu32(low, ptr[rbx + at]);
    vmovdqu32(high | k1 | T_z, ptr[rbx + (at + 64)]);
    vpermt2d(low, index, high);
  } else {
    if (extent <= 4) {
      // A wide load of scalars that were stored one by one would wait for these stores.
      vmovss(xmm14, dword[rbx + at]);
      for (int k = 1; k < extent; ++k)
        vinsertps(xmm14, xmm14, dword[rbx + (at + 4 * k)], static_cast<uint8_t>(k << 4));
    } else {
      SetMask(k1, extent);
      vmovdqu32(low | k1 | T_z, ptr[rbx + at]);
    }
    vpermd(low, index, low);
  }
  // A load after a masked store would wait for it.
  const auto size = static_cast<int32_t>(4 * words.size());
  if (size == 64 || size == 32 || size == 16) return StorePart(rbx + to, Wide(14, size), size);
  SetMask(k1, static_cast<int64_t>(words.size()));
  vmovdqu32(ptr[rbx + to] | k1, low);
}

// The sums of even and odd terms are those of SumOfTerms.
void VectorEmitter::EmitVectorSum(const DotOfVectors& dot, bool is_double, FrameOffset factors,
                                  FrameOffset vectors, FrameOffset out) {
  constexpr int kFirstSum = 16;
  const int32_t width = is_double ? 8 : 4;
  std::vector<std::pair<int32_t, int32_t>> parts;  // The offsets and lengths of the vectors of doubles.
  for (int32_t done = 0; done < dot.length;) {
    const int64_t left = dot.length - done;
    const int32_t lanes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    parts.emplace_back(done, lanes);
    done += lanes;
  }
  const auto sum = [&](size_t part, size_t parity) {
    return Wide(kFirstSum + static_cast<int>(2 * part + parity), std::max(16, 8 * parts[part].second));
  };
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const size_t parity : {0, 1}) vpxord(sum(part, parity), sum(part, parity), sum(part, parity));
  }
  for (size_t k = 0; k < dot.factor_terms.size(); ++k) {
    const FrameOffset factor = factors + width * dot.factor_terms[k];
    if (is_double) {
      vbroadcastsd(zmm15, qword[rbx + factor]);
    } else {
      vbroadcastss(ymm15, dword[rbx + factor]);
      vcvtps2pd(zmm15, ymm15);
    }
    for (size_t part = 0; part < parts.size(); ++part) {
      const auto [first, lanes] = parts[part];
      const Xbyak::Xmm to = sum(part, k % 2), term = Wide(14, to.getBit() / 8);
      LoadPart(Wide(14, width * lanes), rbx + (vectors + width * (dot.vector_terms[k] + first)),
               width * lanes);
      if (is_double) {
        vmulpd(term, term, Wide(15, to.getBit() / 8));
        vaddpd(to, to, term);
      } else {  // The products are exact.
        vcvtps2pd(term, Wide(14, width * std::min(lanes, 8)).changeBit(lanes == 8 ? 256 : 128));
        vfmadd231pd(to, term, Wide(15, to.getBit() / 8));
      }
    }
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    const auto [first, lanes] = parts[part];
    const Xbyak::Xmm even = sum(part, 0);
    vaddpd(even, even, sum(part, 1));
    if (is_double) {
      vmovaps(Wide(14, even.getBit() / 8), even);
    } else {
      vcvtpd2ps(Wide(14, lanes == 8 ? 32 : 16), even);
    }
    StorePart(rbx + (out + width * first), Wide(14, width * lanes), width * lanes);
  }
}

void VectorEmitter::ConvertFloats(bool to_double, int64_t count, FrameOffset from, FrameOffset to) {
  const int64_t most = FindNativeIsa() == NativeIsa::kAvx512 ? 8 : 4;
  for (int64_t done = 0; done < count;) {
    int64_t lanes = most;
    while (lanes > count - done) lanes /= 2;
    const auto read = static_cast<FrameOffset>(from + done * (to_double ? 4 : 8)),
               write = static_cast<FrameOffset>(to + done * (to_double ? 8 : 4));
    const auto floats = static_cast<int32_t>(lanes * 4), doubles = static_cast<int32_t>(lanes * 8);
    LoadPart(Wide(14, to_double ? floats : doubles), rbx + read, to_double ? floats : doubles);
    if (to_double) {
      vcvtps2pd(Wide(14, doubles), Wide(14, floats).changeBit(lanes == 8 ? 256 : 128));
    } else {
      vcvtpd2ps(Wide(14, floats), Wide(14, doubles));
    }
    StorePart(rbx + write, Wide(14, to_double ? doubles : floats), to_double ? doubles : floats);
    done += lanes;
  }
}

}  // namespace hlo::cpu
