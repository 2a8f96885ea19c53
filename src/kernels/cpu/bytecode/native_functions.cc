#include "kernels/cpu/bytecode/native_functions.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu::native {
namespace {

template <class T>
void SplatOf(std::byte* out, const std::byte* from, int64_t count) {
  const T value = Get<T>(from);
  for (int64_t k = 0; k < count; ++k) Put(out + k * static_cast<int64_t>(sizeof(T)), value);
}

template <class F>
const void* AddressOf() {
  if constexpr (std::is_invocable_v<F, float, float>)
    return reinterpret_cast<const void*>(+[](float x, float y) { return F()(x, y); });
  else
    return reinterpret_cast<const void*>(+[](float x) { return F()(x); });
}

}  // namespace

int64_t ClampedAddress(const Bytecode::Range& range, const std::byte* index) {
  const int64_t at = ReadInteger(range.type, index);
  return std::min(std::max<int64_t>(at, 0), range.max) * range.byte_stride;
}

bool IsInside(const Bytecode::Range& range, const std::byte* index) {
  const int64_t at = ReadInteger(range.type, index);
  return at >= 0 && at <= range.max;
}

void RunDot(const SmallDot& dot, const std::byte* a, const std::byte* b, std::byte* out) {
  dot.Run(a, b, out);
}

float DotF32(const std::byte* a, const std::byte* b, int64_t terms) {
  return DotOfLines(reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b), terms);
}
double DotF64(const std::byte* a, const std::byte* b, int64_t terms) {
  return DotOfLines(reinterpret_cast<const double*>(a), reinterpret_cast<const double*>(b), terms);
}

void Splat4(std::byte* out, const std::byte* value, int64_t count) { SplatOf<uint32_t>(out, value, count); }
void Splat8(std::byte* out, const std::byte* value, int64_t count) { SplatOf<uint64_t>(out, value, count); }

const void* FindFunction(uint16_t code) {
  switch (code) {
#define HLO_ROW(name, opcode, F, Kind, type) \
  case k##name##Kind:                        \
    return AddressOf<F>();
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
    default:
      return nullptr;
  }
}

}  // namespace hlo::cpu::native
