#pragma once
// The interpreter of core_vm.h.

#include <type_traits>

#include "kernels/cuda/intrinsics/halves.h"
#include "kernels/cuda/memory/walks.h"
#include "kernels/cuda/vm/core_vm.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

constexpr uint32_t kCoreThreads = 256;
// Adjacent values of a thread.
constexpr int kCoreWidth = 4;

struct alignas(16) CoreVector {
  uint32_t x[kCoreWidth];
};

HLO_DEVICE float CoreFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
HLO_DEVICE uint32_t CoreBits(float value) { return std::bit_cast<uint32_t>(value); }

// Rounds two values to bf16; the first becomes the low half of the word.
HLO_DEVICE uint32_t BF16PairOf(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return FloatToBF16(low) | static_cast<uint32_t>(FloatToBF16(high)) << 16;
#endif
}

// The larger or smaller value, or NaN if one of them is. Zeros of both signs count as -0 < +0.
template <bool kLarger>
HLO_DEVICE float CoreExtreme(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float extreme;
  if constexpr (kLarger)
    asm("max.NaN.f32 %0,%1,%2;" : "=f"(extreme) : "f"(a), "f"(b));
  else
    asm("min.NaN.f32 %0,%1,%2;" : "=f"(extreme) : "f"(a), "f"(b));
  return extreme;
#else
  return std::conditional_t<kLarger, scalar::Maximum, scalar::Minimum>()(a, b);
#endif
}
HLO_DEVICE float CoreMaximum(float a, float b) { return CoreExtreme<true>(a, b); }
HLO_DEVICE float CoreMinimum(float a, float b) { return CoreExtreme<false>(a, b); }
HLO_DEVICE int32_t CoreSignedOf(float value) {
#ifdef __CUDA_ARCH__
  return __float2int_rz(value);  // Saturates; NaN gives 0.
#else
  return static_cast<int32_t>(scalar::ToSigned(static_cast<double>(value), 32));
#endif
}
HLO_DEVICE uint32_t CoreUnsignedOf(float value) {
#ifdef __CUDA_ARCH__
  return __float2uint_rz(value);
#else
  return static_cast<uint32_t>(scalar::ToUnsigned(static_cast<double>(value), 32));
#endif
}

// Returns the offset that the run-time starts of an access add.
template <class Program>
HLO_DEVICE int64_t CoreStartOf(const Program& program, const CoreAccess& access) {
  int64_t sum = 0;
  HLO_ROLLED
  for (int s = access.start_first; s < access.start_first + access.start_count; ++s) {
    const CoreStart& start = program.starts[s];
    int64_t value = ReadIndex(start.data, start.byte_count, start.is_signed, 0);
    value = value < 0 ? 0 : value;
    sum += (value > start.max ? start.max : value) * start.stride;
  }
  return sum;
}
template <class Program>
HLO_DEVICE bool CoreDrops(const Program& program, const CoreAccess& access) {
  HLO_ROLLED
  for (int s = access.start_first; s < access.start_first + access.start_count; ++s) {
    const CoreStart& start = program.starts[s];
    const int64_t value = ReadIndex(start.data, start.byte_count, start.is_signed, 0);
    if (value < 0 || value > start.max) return true;
  }
  return false;
}

// Returns the sum of the position's indices times the strides of the access.
template <class Program>
HLO_DEVICE int64_t CoreOffset(const Program& program, const CoreAccess& access, uint32_t position) {
  int64_t at = 0;
  HLO_ROLLED
  for (int d = program.rank - 1; d >= 0; --d) {
    const FastDiv& dim = program.dims[d];
    const uint32_t quotient = dim.Quotient(position);
    at += static_cast<int64_t>(position - quotient * dim.divisor) * program.strides[access.strides + d];
    position = quotient;
  }
  return at;
}

// The element of the first value of a vector.
template <class Program>
HLO_DEVICE int64_t CoreVectorOffset(const Program& program, const CoreAccess& access, uint32_t position) {
  switch (access.kind) {
    case CoreKind::kDense:
      return position;
    case CoreKind::kScalar:
      return 0;
    case CoreKind::kLast: {
      const FastDiv& dim = program.dims[program.rank - 1];
      return position - dim.Quotient(position) * dim.divisor;
    }
    default:
      return CoreOffset(program, access, position);
  }
}
HLO_DEVICE bool IsSplat(CoreKind kind) { return kind == CoreKind::kScalar || kind == CoreKind::kRows; }

// The positions of a thread: vector u begins at first + u * step. Positions from `count` on do not exist.
struct CorePositions {
  uint32_t first, count, step;

  HLO_DEVICE uint32_t Of(int u) const { return first + static_cast<uint32_t>(u) * step; }
  // The number of values of a vector that are positions of the loop; may exceed the width.
  HLO_DEVICE int Left(int u) const { return static_cast<int>(count - Of(u)); }
};

template <class T, int kVectors>
HLO_DEVICE void CoreRead(const CoreAccess& access, bool vectors, const int64_t (&at)[kVectors],
                         CorePositions positions, CoreVector (&values)[kVectors]) {
  const bool splat = IsSplat(access.kind);
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    const T* from = static_cast<const T*>(access.data) + at[u];
    const int left = positions.Left(u);
    if (splat) {
      if (left <= 0) continue;
      const uint32_t value = *from;
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) values[u].x[j] = value;
    } else if (vectors && left >= kCoreWidth) {
      const auto all = *reinterpret_cast<const VmNeighbours<T, kCoreWidth>*>(from);
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) values[u].x[j] = all.x[j];
    } else {
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) {
        if (j < left) values[u].x[j] = from[j];
      }
    }
  }
}

template <class T, int kVectors>
HLO_DEVICE void CoreWrite(const CoreAccess& access, bool vectors, const int64_t (&at)[kVectors],
                          CorePositions positions, const CoreVector (&values)[kVectors]) {
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    T* to = static_cast<T*>(access.data) + at[u];
    const int left = positions.Left(u);
    if (vectors && left >= kCoreWidth) {
      VmNeighbours<T, kCoreWidth> all;
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) all.x[j] = static_cast<T>(values[u].x[j]);
      *reinterpret_cast<VmNeighbours<T, kCoreWidth>*>(to) = all;
    } else {
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) {
        if (j < left) to[j] = static_cast<T>(values[u].x[j]);
      }
    }
  }
}

template <int kVectors, class F>
HLO_DEVICE void CoreMap(CoreVector (&values)[kVectors], F&& f) {
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    HLO_UNROLL
    for (int j = 0; j < kCoreWidth; ++j) values[u].x[j] = f(values[u].x[j]);
  }
}

// Converts elements, zero-extended to words, to values.
template <int kVectors>
HLO_DEVICE void CoreDecode(VmMemory memory, CoreVector (&values)[kVectors]) {
  switch (memory) {
    case VmMemory::kS8:
      return CoreMap(values, [](uint32_t x) { return static_cast<uint32_t>(static_cast<int8_t>(x)); });
    case VmMemory::kS16:
      return CoreMap(values, [](uint32_t x) { return static_cast<uint32_t>(static_cast<int16_t>(x)); });
    case VmMemory::kBF16:
      return CoreMap(values, [](uint32_t x) { return x << 16; });
    case VmMemory::kF16:
      return CoreMap(values, [](uint32_t x) { return CoreBits(FloatOfF16(static_cast<uint16_t>(x))); });
    default:
      return;
  }
}

HLO_DEVICE uint32_t CoreSize(VmMemory memory) {
  switch (memory) {
    case VmMemory::kU8:
    case VmMemory::kS8:
      return 1;
    case VmMemory::k4:
      return 4;
    default:
      return 2;
  }
}

template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void CoreLoad(const Program& program, const CoreAccess& access, CorePositions positions,
                         CoreVector (&values)[kVectors]) {
  const int64_t start = access.offset + CoreStartOf(program, access);
  const bool vectors = access.vectors && (access.start_count == 0 || start % kCoreWidth == 0);
  const uint32_t size = CoreSize(access.memory);
  if constexpr (kStridedAccesses) {
    if (access.kind == CoreKind::kStrided) {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kCoreWidth; ++j) {
          if (j >= positions.Left(u)) continue;
          const int64_t at = start + CoreOffset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
          values[u].x[j] = size == 4   ? static_cast<const uint32_t*>(access.data)[at]
                           : size == 2 ? static_cast<const uint16_t*>(access.data)[at]
                                       : static_cast<const uint8_t*>(access.data)[at];
        }
      }
      return CoreDecode(access.memory, values);
    }
  }
  int64_t at[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) at[u] = start + CoreVectorOffset(program, access, positions.Of(u));
  switch (size) {
    case 1:
      CoreRead<uint8_t>(access, vectors, at, positions, values);
      break;
    case 2:
      CoreRead<uint16_t>(access, vectors, at, positions, values);
      break;
    default:
      return CoreRead<uint32_t>(access, vectors, at, positions, values);
  }
  CoreDecode(access.memory, values);
}

template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void CoreStore(const Program& program, const CoreAccess& access, CorePositions positions,
                          const CoreVector (&values)[kVectors]) {
  if (access.drops && CoreDrops(program, access)) return;
  const int64_t start = access.offset + CoreStartOf(program, access);
  const bool vectors = access.vectors && (access.start_count == 0 || start % kCoreWidth == 0);
  const uint32_t size = CoreSize(access.memory);
  CoreVector coded[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) coded[u] = values[u];
  if (access.memory == VmMemory::kBF16) {
    if (access.rounded) {
      CoreMap(coded, [](uint32_t x) { return x >> 16; });
    } else {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kCoreWidth; j += 2) {
          const uint32_t pair = BF16PairOf(CoreFloat(coded[u].x[j]), CoreFloat(coded[u].x[j + 1]));
          coded[u].x[j] = pair & 0xffffu;
          coded[u].x[j + 1] = pair >> 16;
        }
      }
    }
  } else if (access.memory == VmMemory::kF16) {
    CoreMap(coded, [](uint32_t x) { return static_cast<uint32_t>(F16Of(CoreFloat(x))); });
  }
  if constexpr (kStridedAccesses) {
    if (access.kind == CoreKind::kStrided) {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kCoreWidth; ++j) {
          if (j >= positions.Left(u)) continue;
          const int64_t at = start + CoreOffset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
          if (size == 4)
            static_cast<uint32_t*>(access.data)[at] = coded[u].x[j];
          else if (size == 2)
            static_cast<uint16_t*>(access.data)[at] = static_cast<uint16_t>(coded[u].x[j]);
          else
            static_cast<uint8_t*>(access.data)[at] = static_cast<uint8_t>(coded[u].x[j]);
        }
      }
      return;
    }
  }
  int64_t at[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) at[u] = start + CoreVectorOffset(program, access, positions.Of(u));
  switch (size) {
    case 1:
      return CoreWrite<uint8_t>(access, vectors, at, positions, coded);
    case 2:
      return CoreWrite<uint16_t>(access, vectors, at, positions, coded);
    default:
      return CoreWrite<uint32_t>(access, vectors, at, positions, coded);
  }
}

// Integers that depend on the position.
template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void CoreIota(const Program& program, const CoreAccess& access, VmType type,
                         CorePositions positions, CoreVector (&values)[kVectors]) {
  const int64_t start = access.offset + CoreStartOf(program, access);
  const int step = IsSplat(access.kind) ? 0 : 1;
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    const int64_t first = start + CoreVectorOffset(program, access, positions.Of(u));
    HLO_UNROLL
    for (int j = 0; j < kCoreWidth; ++j) {
      int64_t at = first + step * j;
      if constexpr (kStridedAccesses) {
        if (access.kind == CoreKind::kStrided)
          at = start + CoreOffset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
      }
      values[u].x[j] = type == VmType::kF32 ? CoreBits(static_cast<float>(at)) : static_cast<uint32_t>(at);
    }
  }
}

template <int kVectors>
HLO_DEVICE void CoreRound(CoreRounding rounding, CoreVector (&values)[kVectors]) {
  if (rounding == CoreRounding::kBF16) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; j += 2) {
        const uint32_t pair = BF16PairOf(CoreFloat(values[u].x[j]), CoreFloat(values[u].x[j + 1]));
        values[u].x[j] = pair << 16;
        values[u].x[j + 1] = pair & 0xffff0000u;
      }
    }
  } else if (rounding == CoreRounding::kF16) {
    CoreMap(values, [](uint32_t x) { return CoreBits(FloatOfF16(F16Of(CoreFloat(x)))); });
  }
}

// The values of a thread's row that stay in shared memory between ranges of the code.
struct CoreRow {
  CoreVector* vectors;  // The vectors of value n begin at n * step.
  uint32_t step;
  uint32_t* scalars;           // One per value of the warp.
  bool stores, keeps_scalars;  // Whether this thread performs stores, and keeps scalars.
};
// Stands for CoreRow in programs without rows.
struct CoreNoRow {};

// Runs the program at all positions, kVectors * kCoreWidth per thread. `kAll`: all instructions and accesses;
// otherwise those that need no call and no address per value, with functions of f32 if `kFunctions`.
template <int kVectors, bool kAll, bool kFunctions = kAll, uint32_t kThreadCount = kCoreThreads>
struct CoreVm {
  using Args = CoreProgram;
  using V = VmValue<1>;
  static constexpr uint32_t kThreads = kThreadCount, kMinBlocks = kAll ? 2 : 4;
  static constexpr uint32_t kPerBlock = kThreads * kCoreWidth * kVectors;
  static constexpr size_t kSlotBytes = size_t{16} * kThreads * kVectors;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& program) {
    CoreVector* slots = reinterpret_cast<CoreVector*>(env.shared()) + env.thread();
    const CorePositions positions{env.block().x * kPerBlock + env.thread() * kCoreWidth,
                                  program.position_count, kThreads * kCoreWidth};
    CoreVector last[kVectors] = {};
    RunCode(program, positions, slots, last);
  }

  // Runs the program at the positions of a thread, whose slots begin at `slots`. The accumulator keeps the
  // last result.
  template <class Program>
  static HLO_DEVICE void RunCode(const Program& program, CorePositions positions, CoreVector* slots,
                                 CoreVector (&last)[kVectors]) {
    RunRange(program, 0, program.code_count, positions, slots, last, CoreNoRow());
  }

  // Runs instructions [begin, end).
  template <class Program, class Row>
  static HLO_DEVICE void RunRange(const Program& program, int begin, int end, CorePositions positions,
                                  CoreVector* slots, CoreVector (&last)[kVectors], const Row& row) {
    constexpr bool kHasRow = std::is_same_v<Row, CoreRow>;
    for (int i = begin; i < end; ++i) {
      const CoreInstruction in = program.code[i];
      if (in.op == CoreOp::kStore) {
        if constexpr (kHasRow) {
          if (!row.stores) continue;
        }
        CoreStore<kVectors, kAll>(program, program.accesses[in.parameter], positions, last);
        continue;
      }
      if constexpr (kHasRow) {
        if (in.op == CoreOp::kRowKeep || in.op == CoreOp::kScalarKeep) {
          Keep(in, last, row);
          continue;
        }
        if (in.op == CoreOp::kRowLoad) {
          HLO_UNROLL
          for (int u = 0; u < kVectors; ++u)
            last[u] = row.vectors[in.parameter * row.step + static_cast<uint32_t>(u) * kThreads];
        } else if (in.op == CoreOp::kScalarLoad) {
          const uint32_t scalar = row.scalars[in.parameter];
          CoreMap(last, [scalar](uint32_t) { return scalar; });
        }
      }
      Step(program, in, positions, slots, last);
      if (in.rounding != CoreRounding::kNone) CoreRound(in.rounding, last);
      if (in.out == CoreInstruction::kNone) continue;
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) Slot(slots, in.out, u) = last[u];
    }
  }

 private:
  static HLO_DEVICE void Keep(const CoreInstruction& in, const CoreVector (&last)[kVectors],
                              const CoreRow& row) {
    CoreVector kept[kVectors];
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) kept[u] = last[u];
    CoreRound(in.rounding, kept);
    if (in.op == CoreOp::kScalarKeep) {
      if (row.keeps_scalars) row.scalars[in.parameter] = kept[0].x[0];
      return;
    }
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u)
      row.vectors[in.parameter * row.step + static_cast<uint32_t>(u) * kThreads] = kept[u];
  }
  static HLO_DEVICE CoreVector& Slot(CoreVector* slots, uint8_t number, int u) {
    return slots[(number * kVectors + u) * static_cast<int>(kThreads)];
  }
  // Combines the accumulator with a slot.
  template <class F>
  static HLO_DEVICE void Combine(CoreVector* slots, uint8_t slot, CoreVector (&last)[kVectors], F&& f) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      const CoreVector y = Slot(slots, slot, u);
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) last[u].x[j] = f(last[u].x[j], y.x[j]);
    }
  }
  template <class F>
  static HLO_DEVICE void Combine3(CoreVector* slots, const CoreInstruction& in, CoreVector (&last)[kVectors],
                                  F&& f) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      const CoreVector a = in.a == CoreInstruction::kAccumulator ? last[u] : Slot(slots, in.a, u);
      const CoreVector b = in.b == CoreInstruction::kAccumulator ? last[u] : Slot(slots, in.b, u);
      const CoreVector c = in.c == CoreInstruction::kAccumulator ? last[u] : Slot(slots, in.c, u);
      HLO_UNROLL
      for (int j = 0; j < kCoreWidth; ++j) last[u].x[j] = f(a.x[j], b.x[j], c.x[j]);
    }
  }
  // One call computes all values at positions of the loop, so that only pointers are live across it.
  template <class Program>
  static HLO_DEVICE void Other(const Program& program, const CoreInstruction& in, CorePositions positions,
                               CoreVector* slots, CoreVector (&last)[kVectors]) {
    const CoreOther other = program.others[in.parameter];
    HLO_ROLLED
    for (int k = 0; k < kVectors * kCoreWidth; ++k) {
      if (k % kCoreWidth >= positions.Left(k / kCoreWidth)) continue;
      const auto value = [&](uint8_t slot) -> uint32_t& {
        return Slot(slots, slot, k / kCoreWidth).x[k % kCoreWidth];
      };
      const V a = V::Of(value(in.a)), b = V::Of(value(in.b)), c = V::Of(value(in.c));
      const V result = other.op == VmOp::kConvert
                           ? VmConverted<V>(other.type, a, other.parameter)
                           : VmOne<V>(other.type, {other.op, other.parameter}, a, b, c);
      value(in.out) = result.words[0];
    }
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) last[u] = Slot(slots, in.out, u);
  }

  template <class Program>
  static HLO_DEVICE void Step(const Program& program, const CoreInstruction& in, CorePositions positions,
                              CoreVector* slots, CoreVector (&last)[kVectors]) {
    const auto floats = [&](auto&& f) {
      Combine(slots, in.b, last,
              [&](uint32_t x, uint32_t y) { return CoreBits(f(CoreFloat(x), CoreFloat(y))); });
    };
    const auto tests = [&](auto&& f) {
      Combine(slots, in.b, last,
              [&](uint32_t x, uint32_t y) { return f(CoreFloat(x), CoreFloat(y)) ? 1u : 0u; });
    };
    const auto words = [&](auto&& f) { Combine(slots, in.b, last, f); };
    const auto integers = [&](auto&& f) {
      Combine(slots, in.b, last, [&](uint32_t x, uint32_t y) {
        return static_cast<uint32_t>(f(static_cast<int32_t>(x), static_cast<int32_t>(y)));
      });
    };
    const auto map = [&](auto&& f) { CoreMap(last, f); };
    const auto map_float = [&](auto&& f) {
      CoreMap(last, [&](uint32_t x) { return CoreBits(f(CoreFloat(x))); });
    };
    switch (in.op) {
      case CoreOp::kLoad:
        return CoreLoad<kVectors, kAll>(program, program.accesses[in.parameter], positions, last);
      case CoreOp::kIota:
        return CoreIota<kVectors, kAll>(program, program.accesses[in.parameter], static_cast<VmType>(in.b),
                                        positions, last);
      case CoreOp::kStore:
      case CoreOp::kKeep:
      case CoreOp::kRowLoad:
      case CoreOp::kRowKeep:
      case CoreOp::kScalarLoad:
      case CoreOp::kScalarKeep:
        return;
      case CoreOp::kConstant: {
        const uint32_t constant = program.constants[in.parameter];
        return map([constant](uint32_t) { return constant; });
      }
      case CoreOp::kFetch:
        return words([](uint32_t, uint32_t y) { return y; });
      case CoreOp::kAddF:
        return floats([](float x, float y) { return x + y; });
      case CoreOp::kSubtractF:
        return floats([](float x, float y) { return x - y; });
      case CoreOp::kSubtractReversedF:
        return floats([](float x, float y) { return y - x; });
      case CoreOp::kMultiplyF:
        return floats([](float x, float y) { return x * y; });
      case CoreOp::kDivideF:
        return floats([](float x, float y) { return x / y; });
      case CoreOp::kDivideReversedF:
        return floats([](float x, float y) { return y / x; });
      case CoreOp::kMaximumF:
        return floats([](float x, float y) { return CoreMaximum(x, y); });
      case CoreOp::kMinimumF:
        return floats([](float x, float y) { return CoreMinimum(x, y); });
      case CoreOp::kEqF:
        return tests([](float x, float y) { return x == y; });
      case CoreOp::kNeF:
        return tests([](float x, float y) { return x != y; });
      case CoreOp::kGeF:
        return tests([](float x, float y) { return x >= y; });
      case CoreOp::kGtF:
        return tests([](float x, float y) { return x > y; });
      case CoreOp::kLeF:
        return tests([](float x, float y) { return x <= y; });
      case CoreOp::kLtF:
        return tests([](float x, float y) { return x < y; });
      case CoreOp::kAddI:
        return words([](uint32_t x, uint32_t y) { return x + y; });
      case CoreOp::kSubtractI:
        return words([](uint32_t x, uint32_t y) { return x - y; });
      case CoreOp::kSubtractReversedI:
        return words([](uint32_t x, uint32_t y) { return y - x; });
      case CoreOp::kMultiplyI:
        return words([](uint32_t x, uint32_t y) { return x * y; });
      case CoreOp::kAnd:
        return words([](uint32_t x, uint32_t y) { return x & y; });
      case CoreOp::kOr:
        return words([](uint32_t x, uint32_t y) { return x | y; });
      case CoreOp::kXor:
        return words([](uint32_t x, uint32_t y) { return x ^ y; });
      case CoreOp::kMaximumS:
        return integers([](int32_t x, int32_t y) { return x < y ? y : x; });
      case CoreOp::kMinimumS:
        return integers([](int32_t x, int32_t y) { return y < x ? y : x; });
      case CoreOp::kMaximumU:
        return words([](uint32_t x, uint32_t y) { return x < y ? y : x; });
      case CoreOp::kMinimumU:
        return words([](uint32_t x, uint32_t y) { return y < x ? y : x; });
      case CoreOp::kEqI:
        return words([](uint32_t x, uint32_t y) { return x == y ? 1u : 0u; });
      case CoreOp::kNeI:
        return words([](uint32_t x, uint32_t y) { return x != y ? 1u : 0u; });
      case CoreOp::kGeS:
        return integers([](int32_t x, int32_t y) { return x >= y ? 1 : 0; });
      case CoreOp::kGtS:
        return integers([](int32_t x, int32_t y) { return x > y ? 1 : 0; });
      case CoreOp::kLeS:
        return integers([](int32_t x, int32_t y) { return x <= y ? 1 : 0; });
      case CoreOp::kLtS:
        return integers([](int32_t x, int32_t y) { return x < y ? 1 : 0; });
      case CoreOp::kGeU:
        return words([](uint32_t x, uint32_t y) { return x >= y ? 1u : 0u; });
      case CoreOp::kGtU:
        return words([](uint32_t x, uint32_t y) { return x > y ? 1u : 0u; });
      case CoreOp::kLeU:
        return words([](uint32_t x, uint32_t y) { return x <= y ? 1u : 0u; });
      case CoreOp::kLtU:
        return words([](uint32_t x, uint32_t y) { return x < y ? 1u : 0u; });
      case CoreOp::kShiftLeft:
        return words([](uint32_t x, uint32_t y) { return y >= 32 ? 0 : x << y; });
      case CoreOp::kShiftRightLogical:
        return words([](uint32_t x, uint32_t y) { return y >= 32 ? 0 : x >> y; });
      case CoreOp::kShiftRightArithmetic:
        return words([](uint32_t x, uint32_t y) {
          return static_cast<uint32_t>(static_cast<int32_t>(x) >> (y >= 32 ? 31 : y));
        });
      case CoreOp::kNegateF:
        return map([](uint32_t x) { return x ^ 0x80000000u; });
      case CoreOp::kAbsF:
        return map([](uint32_t x) { return x & 0x7fffffffu; });
      case CoreOp::kSqrtF:
        return map_float([](float x) { return std::sqrt(x); });
      case CoreOp::kNegateI:
        return map([](uint32_t x) { return 0u - x; });
      case CoreOp::kNot:
        return map([](uint32_t x) { return ~x; });
      case CoreOp::kNotPred:
        return map([](uint32_t x) { return x == 0 ? 1u : 0u; });
      case CoreOp::kSignExtend:
        return map([&](uint32_t x) {
          return static_cast<uint32_t>(static_cast<int32_t>(x << in.parameter) >> in.parameter);
        });
      case CoreOp::kZeroExtend:
        return map([&](uint32_t x) { return x << in.parameter >> in.parameter; });
      case CoreOp::kFloatOfS:
        return map([](uint32_t x) { return CoreBits(static_cast<float>(static_cast<int32_t>(x))); });
      case CoreOp::kFloatOfU:
        return map([](uint32_t x) { return CoreBits(static_cast<float>(x)); });
      case CoreOp::kSignedOfF:
        return map([](uint32_t x) { return static_cast<uint32_t>(CoreSignedOf(CoreFloat(x))); });
      case CoreOp::kUnsignedOfF:
        return map([](uint32_t x) { return CoreUnsignedOf(CoreFloat(x)); });
      case CoreOp::kExponentialF:
        if constexpr (kFunctions) map_float(scalar::Exponential());
        return;
      case CoreOp::kLogF:
        if constexpr (kFunctions) map_float(scalar::Log());
        return;
      case CoreOp::kLogisticF:
        if constexpr (kFunctions) map_float(scalar::Logistic{32});
        return;
      case CoreOp::kRsqrtF:
        if constexpr (kFunctions) map_float(scalar::Rsqrt());
        return;
      case CoreOp::kTanhF:
        if constexpr (kFunctions) map_float(scalar::Tanh());
        return;
      case CoreOp::kSelect:
        return Combine3(slots, in, last, [](uint32_t p, uint32_t x, uint32_t y) { return p != 0 ? x : y; });
      case CoreOp::kClampF:
        return Combine3(slots, in, last, [](uint32_t low, uint32_t x, uint32_t high) {
          return CoreBits(CoreMinimum(CoreMaximum(CoreFloat(low), CoreFloat(x)), CoreFloat(high)));
        });
      case CoreOp::kOther:
        if constexpr (kAll) Other(program, in, positions, slots, last);
        return;
    }
  }
};

using CoreVm4 = CoreVm<1, false>;
using CoreVm8 = CoreVm<2, false>;
using CoreVm16 = CoreVm<4, false>;
using WideCoreVm4 = CoreVm<1, true>;
using WideCoreVm8 = CoreVm<2, true>;

}  // namespace hlo::cuda
