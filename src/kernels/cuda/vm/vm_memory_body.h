#pragma once
// Loads and stores of the interpreter of vm.h: elements in memory, and their offsets at positions of a loop.

#include "kernels/cuda/vm/vm_scalar.h"

namespace hlo::cuda {

template <class V>
HLO_DEVICE V VmRead(VmMemory memory, ElementType type, const void* data, int64_t at) {
  switch (memory) {
    case VmMemory::kU8:
      return V::template Of<uint32_t>(static_cast<const uint8_t*>(data)[at]);
    case VmMemory::kS8:
      return V::template Of<int32_t>(static_cast<const int8_t*>(data)[at]);
    case VmMemory::kU16:
      return V::template Of<uint32_t>(static_cast<const uint16_t*>(data)[at]);
    case VmMemory::kS16:
      return V::template Of<int32_t>(static_cast<const int16_t*>(data)[at]);
    case VmMemory::k4:
      return V::Of(static_cast<const uint32_t*>(data)[at]);
    case VmMemory::kBF16:
      return V::Of(BF16ToFloat(static_cast<const uint16_t*>(data)[at]));
    case VmMemory::kF16:
      return V::Of(F16ToFloat(static_cast<const uint16_t*>(data)[at]));
    case VmMemory::kSmallFloat:
      return V::Of(static_cast<float>(DecodeSmall(FormatOf(type), static_cast<const uint8_t*>(data)[at])));
    case VmMemory::k8:
      if constexpr (sizeof(V) >= 8) return V::Of(static_cast<const uint64_t*>(data)[at]);
      break;
    case VmMemory::k16:
      if constexpr (sizeof(V) >= 16) return static_cast<const V*>(data)[at];
      break;
  }
  return V{};
}

// Rounds to bf16. A NaN that bf16 represents keeps its payload, because moves must not change bits.
HLO_DEVICE uint16_t StoredBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits & 0xffffu) == 0 ? static_cast<uint16_t>(bits >> 16) : FloatToBF16(value);
}

template <class V>
HLO_DEVICE void VmWrite(VmMemory memory, ElementType type, void* data, int64_t at, V value) {
  switch (memory) {
    case VmMemory::kU8:
    case VmMemory::kS8:
      static_cast<uint8_t*>(data)[at] = static_cast<uint8_t>(value.words[0]);
      return;
    case VmMemory::kU16:
    case VmMemory::kS16:
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(value.words[0]);
      return;
    case VmMemory::k4:
      static_cast<uint32_t*>(data)[at] = value.words[0];
      return;
    case VmMemory::kBF16:
      static_cast<uint16_t*>(data)[at] = StoredBF16(value.template As<float>());
      return;
    case VmMemory::kF16:
      static_cast<uint16_t*>(data)[at] = FloatToF16(value.template As<float>());
      return;
    case VmMemory::kSmallFloat:
      static_cast<uint8_t*>(data)[at] =
          static_cast<uint8_t>(EncodeSmall(FormatOf(type), static_cast<double>(value.template As<float>())));
      return;
    case VmMemory::k8:
      if constexpr (sizeof(V) >= 8) static_cast<uint64_t*>(data)[at] = value.template As<uint64_t>();
      return;
    case VmMemory::k16:
      if constexpr (sizeof(V) >= 16) static_cast<V*>(data)[at] = value;
      return;
  }
}

// Adjacent elements, which are loaded or stored as one aligned vector. The functions below return false,
// without access, if the address is not aligned.
template <class T, int kValues>
struct alignas(sizeof(T) * kValues) VmNeighbours {
  T x[kValues];
};
template <class T, int kValues, class Take>
HLO_DEVICE bool VmReadNeighbours(const void* data, int64_t at, Take&& take) {
  const T* from = static_cast<const T*>(data) + at;
  if (reinterpret_cast<uintptr_t>(from) % (sizeof(T) * kValues) != 0) return false;
  const auto all = *reinterpret_cast<const VmNeighbours<T, kValues>*>(from);
  HLO_UNROLL
  for (int j = 0; j < kValues; ++j) take(j, all.x[j]);
  return true;
}
template <class T, int kValues, class Give>
HLO_DEVICE bool VmWriteNeighbours(void* data, int64_t at, Give&& give) {
  T* to = static_cast<T*>(data) + at;
  if (reinterpret_cast<uintptr_t>(to) % (sizeof(T) * kValues) != 0) return false;
  VmNeighbours<T, kValues> all;
  HLO_UNROLL
  for (int j = 0; j < kValues; ++j) all.x[j] = give(j);
  *reinterpret_cast<VmNeighbours<T, kValues>*>(to) = all;
  return true;
}
template <class V, int kValues>
HLO_DEVICE bool VmReadAll(VmMemory memory, const void* data, int64_t at, V (&values)[kValues]) {
  switch (memory) {
    case VmMemory::k4:
      return VmReadNeighbours<uint32_t, kValues>(data, at, [&](int j, uint32_t x) { values[j] = V::Of(x); });
    case VmMemory::kBF16:
      return VmReadNeighbours<uint16_t, kValues>(
          data, at, [&](int j, uint16_t x) { values[j] = V::Of(BF16ToFloat(x)); });
    case VmMemory::kF16:
      return VmReadNeighbours<uint16_t, kValues>(
          data, at, [&](int j, uint16_t x) { values[j] = V::Of(F16ToFloat(x)); });
    case VmMemory::kU8:
      return VmReadNeighbours<uint8_t, kValues>(
          data, at, [&](int j, uint8_t x) { values[j] = V::template Of<uint32_t>(x); });
    case VmMemory::k8:
      if constexpr (sizeof(V) >= 8)
        return VmReadNeighbours<uint64_t, kValues>(data, at,
                                                   [&](int j, uint64_t x) { values[j] = V::Of(x); });
      return false;
    default:
      return false;
  }
}
template <class V, int kValues>
HLO_DEVICE bool VmWriteAll(VmMemory memory, void* data, int64_t at, const V (&values)[kValues]) {
  switch (memory) {
    case VmMemory::k4:
      return VmWriteNeighbours<uint32_t, kValues>(data, at, [&](int j) { return values[j].words[0]; });
    case VmMemory::kBF16:
      return VmWriteNeighbours<uint16_t, kValues>(
          data, at, [&](int j) { return StoredBF16(values[j].template As<float>()); });
    case VmMemory::kF16:
      return VmWriteNeighbours<uint16_t, kValues>(
          data, at, [&](int j) { return FloatToF16(values[j].template As<float>()); });
    case VmMemory::kU8:
      return VmWriteNeighbours<uint8_t, kValues>(
          data, at, [&](int j) { return static_cast<uint8_t>(values[j].words[0]); });
    case VmMemory::k8:
      if constexpr (sizeof(V) >= 8)
        return VmWriteNeighbours<uint64_t, kValues>(data, at,
                                                    [&](int j) { return values[j].template As<uint64_t>(); });
      return false;
    default:
      return false;
  }
}

HLO_DEVICE int64_t VmStartValue(const VmStart& start, int64_t at) {
  switch (start.byte_count) {
    case 1:
      return start.is_signed ? static_cast<const int8_t*>(start.data)[at]
                             : static_cast<int64_t>(static_cast<const uint8_t*>(start.data)[at]);
    case 2:
      return start.is_signed ? static_cast<const int16_t*>(start.data)[at]
                             : static_cast<int64_t>(static_cast<const uint16_t*>(start.data)[at]);
    case 4:
      return start.is_signed ? static_cast<const int32_t*>(start.data)[at]
                             : static_cast<int64_t>(static_cast<const uint32_t*>(start.data)[at]);
    default: {
      const auto value = static_cast<const uint64_t*>(start.data)[at];
      constexpr auto kHighest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      return !start.is_signed && value > kHighest ? static_cast<int64_t>(kHighest)
                                                  : static_cast<int64_t>(value);
    }
  }
}

// Returns the dot product of the position's indices and the strides.
HLO_DEVICE int64_t VmSum(const VmProgram& program, const int64_t* stride, uint64_t position) {
  int64_t sum = 0;
  if (program.position_count < (uint64_t{1} << 31)) {
    auto rest = static_cast<uint32_t>(position);
    for (int d = program.rank - 1; d >= 0; --d) {
      const uint32_t quotient = program.dims[d].Quotient(rest);
      sum += static_cast<int64_t>(rest - quotient * program.dims[d].divisor) * stride[d];
      rest = quotient;
    }
  } else {
    for (int d = program.rank - 1; d >= 0; --d) {
      const uint64_t quotient = position / program.wide_dims[d];
      sum += static_cast<int64_t>(position - quotient * program.wide_dims[d]) * stride[d];
      position = quotient;
    }
  }
  return sum;
}

HLO_DEVICE_CALLED int64_t VmStarts(const VmProgram& program, int number, uint64_t position) {
  int64_t sum = 0;
  for (int s = 0; s < program.start_count; ++s) {
    const VmStart& start = program.starts[s];
    if (start.access != number) continue;
    int64_t at = start.offset;
    if (start.moves) at += VmSum(program, start.position_stride, position);
    int64_t clamped = VmStartValue(start, at);
    clamped = clamped < 0 ? 0 : clamped;
    clamped = clamped > start.max ? start.max : clamped;
    sum += clamped * start.stride;
  }
  return sum;
}

// True if a store must be skipped because a start index is out of bounds.
HLO_DEVICE_CALLED bool VmDrops(const VmProgram& program, int number) {
  for (int s = 0; s < program.start_count; ++s) {
    const VmStart& start = program.starts[s];
    if (start.access != number) continue;
    const int64_t value = VmStartValue(start, start.offset);
    if (value < 0 || value > start.max) return true;
  }
  return false;
}

// Returns the element index of an access at a position of the loop.
HLO_DEVICE int64_t VmOffset(const VmProgram& program, int number, uint64_t position) {
  const VmAccess& access = program.accesses[number];
  int64_t at = access.offset;
  if (access.has_starts) at += VmStarts(program, number, position);
  if (access.is_dense) return at + static_cast<int64_t>(position);
  return at + VmSum(program, access.stride, position);
}

// True if all edges of an access are in bounds at a position; `moved` receives the offset that they add.
HLO_DEVICE_CALLED bool VmIsInside(const VmProgram& program, int number, uint64_t position, int64_t* moved) {
  *moved = 0;
  for (int e = 0; e < program.edge_count; ++e) {
    const VmEdge& edge = program.edges[e];
    if (edge.access != number) continue;
    const int64_t at = edge.offset + VmSum(program, edge.position_stride, position);
    if (at < 0 || at % edge.spacing != 0 || at / edge.spacing >= edge.size) return false;
    *moved += at / edge.spacing * edge.stride;
  }
  return true;
}

template <class V>
HLO_DEVICE V VmLoad(const VmProgram& program, int number, uint64_t position) {
  int64_t moved = 0;
  while (program.accesses[number].has_edges && !VmIsInside(program, number, position, &moved)) {
    const VmAccess& left = program.accesses[number];
    moved = 0;
    if (left.next >= 0) {
      number = left.next;
      continue;
    }
    if (left.outside == nullptr) return V{};
    return VmRead<V>(left.memory, left.type, left.outside, 0);
  }
  const VmAccess& access = program.accesses[number];
  return VmRead<V>(access.memory, access.type, access.data, VmOffset(program, number, position) + moved);
}

}  // namespace hlo::cuda
