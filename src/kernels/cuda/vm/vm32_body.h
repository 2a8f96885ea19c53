#pragma once
// The interpreter of vm32.h.

#include <cmath>
#include <type_traits>

#include "kernels/cuda/vm/vm32.h"
#include "kernels/cuda/vm/vm32_memory_body.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

// The values of a thread's row that stay in shared memory between ranges of the code.
struct Vm32Row {
  Vm32Vector* vectors;  // The vectors of value n begin at n * step.
  uint32_t step;
  uint32_t* scalars;           // One per value of the warp.
  bool stores, keeps_scalars;  // Whether this thread performs stores, and keeps scalars.
};
// Stands for Vm32Row in programs without rows.
struct Vm32NoRow {};

// Runs the program at all positions, kVectors * kVm32Width per thread. `kAll`: all instructions and accesses;
// otherwise those that need no call and no address per value, with functions of f32 if `kFunctions`.
template <int kVectors, bool kAll, bool kFunctions = kAll, uint32_t kThreadCount = kVm32Threads>
struct Vm32Kernel {
  using Args = Vm32Program;
  using V = VmValue<1>;
  static constexpr uint32_t kThreads = kThreadCount, kMinBlocks = kAll ? 2 : 4;
  static constexpr uint32_t kPerBlock = kThreads * kVm32Width * kVectors;
  static constexpr size_t kSlotBytes = size_t{16} * kThreads * kVectors;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& program) {
    Vm32Vector* slots = reinterpret_cast<Vm32Vector*>(env.shared()) + env.thread();
    const Vm32Positions positions{env.block().x * kPerBlock + env.thread() * kVm32Width,
                                  program.position_count, kThreads * kVm32Width};
    Vm32Vector last[kVectors] = {};
    RunCode(program, positions, slots, last);
  }

  // Runs the program at the positions of a thread, whose slots begin at `slots`. The accumulator keeps the
  // last result.
  template <class Program>
  static HLO_DEVICE void RunCode(const Program& program, Vm32Positions positions, Vm32Vector* slots,
                                 Vm32Vector (&last)[kVectors]) {
    RunRange(program, 0, program.code_count, positions, slots, last, Vm32NoRow());
  }

  // Runs instructions [begin, end).
  template <class Program, class Row>
  static HLO_DEVICE void RunRange(const Program& program, int begin, int end, Vm32Positions positions,
                                  Vm32Vector* slots, Vm32Vector (&last)[kVectors], const Row& row) {
    constexpr bool kHasRow = std::is_same_v<Row, Vm32Row>;
    for (int i = begin; i < end; ++i) {
      const Vm32Instruction in = program.code[i];
      if (in.op == Vm32Op::kStore) {
        if constexpr (kHasRow) {
          if (!row.stores) continue;
        }
        Vm32Store<kVectors, kAll>(program, program.accesses[in.parameter], positions, last);
        continue;
      }
      if constexpr (kHasRow) {
        if (in.op == Vm32Op::kRowKeep || in.op == Vm32Op::kScalarKeep) {
          Keep(in, last, row);
          continue;
        }
        if (in.op == Vm32Op::kRowLoad) {
          HLO_UNROLL
          for (int u = 0; u < kVectors; ++u)
            last[u] = row.vectors[in.parameter * row.step + static_cast<uint32_t>(u) * kThreads];
        } else if (in.op == Vm32Op::kScalarLoad) {
          const uint32_t scalar = row.scalars[in.parameter];
          Vm32Map(last, [scalar](uint32_t) { return scalar; });
        }
      }
      Step(program, in, positions, slots, last);
      if (in.rounding != Vm32Rounding::kNone) Vm32Round(in.rounding, last);
      if (in.out == Vm32Instruction::kNone) continue;
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) Slot(slots, in.out, u) = last[u];
    }
  }

 private:
  static HLO_DEVICE void Keep(const Vm32Instruction& in, const Vm32Vector (&last)[kVectors],
                              const Vm32Row& row) {
    Vm32Vector kept[kVectors];
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) kept[u] = last[u];
    Vm32Round(in.rounding, kept);
    if (in.op == Vm32Op::kScalarKeep) {
      if (row.keeps_scalars) row.scalars[in.parameter] = kept[0].x[0];
      return;
    }
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u)
      row.vectors[in.parameter * row.step + static_cast<uint32_t>(u) * kThreads] = kept[u];
  }
  static HLO_DEVICE Vm32Vector& Slot(Vm32Vector* slots, uint8_t number, int u) {
    return slots[(number * kVectors + u) * static_cast<int>(kThreads)];
  }
  // Combines the accumulator with a slot.
  template <class F>
  static HLO_DEVICE void Combine(Vm32Vector* slots, uint8_t slot, Vm32Vector (&last)[kVectors], F&& f) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      const Vm32Vector y = Slot(slots, slot, u);
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) last[u].x[j] = f(last[u].x[j], y.x[j]);
    }
  }
  template <class F>
  static HLO_DEVICE void Combine3(Vm32Vector* slots, const Vm32Instruction& in, Vm32Vector (&last)[kVectors],
                                  F&& f) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      const Vm32Vector a = in.a == Vm32Instruction::kAccumulator ? last[u] : Slot(slots, in.a, u);
      const Vm32Vector b = in.b == Vm32Instruction::kAccumulator ? last[u] : Slot(slots, in.b, u);
      const Vm32Vector c = in.c == Vm32Instruction::kAccumulator ? last[u] : Slot(slots, in.c, u);
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) last[u].x[j] = f(a.x[j], b.x[j], c.x[j]);
    }
  }
  // One call computes all values at positions of the loop, so that only pointers are live across it.
  template <class Program>
  static HLO_DEVICE void Other(const Program& program, const Vm32Instruction& in, Vm32Positions positions,
                               Vm32Vector* slots, Vm32Vector (&last)[kVectors]) {
    const Vm32Other other = program.others[in.parameter];
    HLO_ROLLED
    for (int k = 0; k < kVectors * kVm32Width; ++k) {
      if (k % kVm32Width >= positions.Left(k / kVm32Width)) continue;
      const auto value = [&](uint8_t slot) -> uint32_t& {
        return Slot(slots, slot, k / kVm32Width).x[k % kVm32Width];
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
  static HLO_DEVICE void Step(const Program& program, const Vm32Instruction& in, Vm32Positions positions,
                              Vm32Vector* slots, Vm32Vector (&last)[kVectors]) {
    const auto floats = [&](auto&& f) {
      Combine(slots, in.b, last,
              [&](uint32_t x, uint32_t y) { return BitsOfF32(f(F32OfBits(x), F32OfBits(y))); });
    };
    const auto tests = [&](auto&& f) {
      Combine(slots, in.b, last,
              [&](uint32_t x, uint32_t y) { return f(F32OfBits(x), F32OfBits(y)) ? 1u : 0u; });
    };
    const auto words = [&](auto&& f) { Combine(slots, in.b, last, f); };
    const auto integers = [&](auto&& f) {
      Combine(slots, in.b, last, [&](uint32_t x, uint32_t y) {
        return static_cast<uint32_t>(f(static_cast<int32_t>(x), static_cast<int32_t>(y)));
      });
    };
    const auto map = [&](auto&& f) { Vm32Map(last, f); };
    const auto map_float = [&](auto&& f) {
      Vm32Map(last, [&](uint32_t x) { return BitsOfF32(f(F32OfBits(x))); });
    };
    switch (in.op) {
      case Vm32Op::kLoad:
        return Vm32Load<kVectors, kAll>(program, program.accesses[in.parameter], positions, last);
      case Vm32Op::kIota:
        return Vm32Iota<kVectors, kAll>(program, program.accesses[in.parameter], static_cast<VmType>(in.b),
                                        positions, last);
      case Vm32Op::kStore:
      case Vm32Op::kKeep:
      case Vm32Op::kRowLoad:
      case Vm32Op::kRowKeep:
      case Vm32Op::kScalarLoad:
      case Vm32Op::kScalarKeep:
        return;
      case Vm32Op::kConstant: {
        const uint32_t constant = program.constants[in.parameter];
        return map([constant](uint32_t) { return constant; });
      }
      case Vm32Op::kFetch:
        return words([](uint32_t, uint32_t y) { return y; });
      case Vm32Op::kAddF:
        return floats([](float x, float y) { return x + y; });
      case Vm32Op::kSubtractF:
        return floats([](float x, float y) { return x - y; });
      case Vm32Op::kSubtractReversedF:
        return floats([](float x, float y) { return y - x; });
      case Vm32Op::kMultiplyF:
        return floats([](float x, float y) { return x * y; });
      case Vm32Op::kDivideF:
        return floats([](float x, float y) { return x / y; });
      case Vm32Op::kDivideReversedF:
        return floats([](float x, float y) { return y / x; });
      case Vm32Op::kMaximumF:
        return floats([](float x, float y) { return Vm32Maximum(x, y); });
      case Vm32Op::kMinimumF:
        return floats([](float x, float y) { return Vm32Minimum(x, y); });
      case Vm32Op::kEqF:
        return tests([](float x, float y) { return x == y; });
      case Vm32Op::kNeF:
        return tests([](float x, float y) { return x != y; });
      case Vm32Op::kGeF:
        return tests([](float x, float y) { return x >= y; });
      case Vm32Op::kGtF:
        return tests([](float x, float y) { return x > y; });
      case Vm32Op::kLeF:
        return tests([](float x, float y) { return x <= y; });
      case Vm32Op::kLtF:
        return tests([](float x, float y) { return x < y; });
      case Vm32Op::kAddI:
        return words([](uint32_t x, uint32_t y) { return x + y; });
      case Vm32Op::kSubtractI:
        return words([](uint32_t x, uint32_t y) { return x - y; });
      case Vm32Op::kSubtractReversedI:
        return words([](uint32_t x, uint32_t y) { return y - x; });
      case Vm32Op::kMultiplyI:
        return words([](uint32_t x, uint32_t y) { return x * y; });
      case Vm32Op::kAnd:
        return words([](uint32_t x, uint32_t y) { return x & y; });
      case Vm32Op::kOr:
        return words([](uint32_t x, uint32_t y) { return x | y; });
      case Vm32Op::kXor:
        return words([](uint32_t x, uint32_t y) { return x ^ y; });
      case Vm32Op::kMaximumS:
        return integers([](int32_t x, int32_t y) { return x < y ? y : x; });
      case Vm32Op::kMinimumS:
        return integers([](int32_t x, int32_t y) { return y < x ? y : x; });
      case Vm32Op::kMaximumU:
        return words([](uint32_t x, uint32_t y) { return x < y ? y : x; });
      case Vm32Op::kMinimumU:
        return words([](uint32_t x, uint32_t y) { return y < x ? y : x; });
      case Vm32Op::kEqI:
        return words([](uint32_t x, uint32_t y) { return x == y ? 1u : 0u; });
      case Vm32Op::kNeI:
        return words([](uint32_t x, uint32_t y) { return x != y ? 1u : 0u; });
      case Vm32Op::kGeS:
        return integers([](int32_t x, int32_t y) { return x >= y ? 1 : 0; });
      case Vm32Op::kGtS:
        return integers([](int32_t x, int32_t y) { return x > y ? 1 : 0; });
      case Vm32Op::kLeS:
        return integers([](int32_t x, int32_t y) { return x <= y ? 1 : 0; });
      case Vm32Op::kLtS:
        return integers([](int32_t x, int32_t y) { return x < y ? 1 : 0; });
      case Vm32Op::kGeU:
        return words([](uint32_t x, uint32_t y) { return x >= y ? 1u : 0u; });
      case Vm32Op::kGtU:
        return words([](uint32_t x, uint32_t y) { return x > y ? 1u : 0u; });
      case Vm32Op::kLeU:
        return words([](uint32_t x, uint32_t y) { return x <= y ? 1u : 0u; });
      case Vm32Op::kLtU:
        return words([](uint32_t x, uint32_t y) { return x < y ? 1u : 0u; });
      case Vm32Op::kShiftLeft:
        return words([](uint32_t x, uint32_t y) { return y >= 32 ? 0 : x << y; });
      case Vm32Op::kShiftRightLogical:
        return words([](uint32_t x, uint32_t y) { return y >= 32 ? 0 : x >> y; });
      case Vm32Op::kShiftRightArithmetic:
        return words([](uint32_t x, uint32_t y) {
          return static_cast<uint32_t>(static_cast<int32_t>(x) >> (y >= 32 ? 31 : y));
        });
      case Vm32Op::kNegateF:
        return map([](uint32_t x) { return x ^ 0x80000000u; });
      case Vm32Op::kAbsF:
        return map([](uint32_t x) { return x & 0x7fffffffu; });
      case Vm32Op::kSqrtF:
        return map_float([](float x) { return std::sqrt(x); });
      case Vm32Op::kNegateI:
        return map([](uint32_t x) { return 0u - x; });
      case Vm32Op::kNot:
        return map([](uint32_t x) { return ~x; });
      case Vm32Op::kNotPred:
        return map([](uint32_t x) { return x == 0 ? 1u : 0u; });
      case Vm32Op::kSignExtend:
        return map([&](uint32_t x) {
          return static_cast<uint32_t>(static_cast<int32_t>(x << in.parameter) >> in.parameter);
        });
      case Vm32Op::kZeroExtend:
        return map([&](uint32_t x) { return x << in.parameter >> in.parameter; });
      case Vm32Op::kFloatOfS:
        return map([](uint32_t x) { return BitsOfF32(static_cast<float>(static_cast<int32_t>(x))); });
      case Vm32Op::kFloatOfU:
        return map([](uint32_t x) { return BitsOfF32(static_cast<float>(x)); });
      case Vm32Op::kSignedOfF:
        return map([](uint32_t x) { return static_cast<uint32_t>(Vm32SignedOf(F32OfBits(x))); });
      case Vm32Op::kUnsignedOfF:
        return map([](uint32_t x) { return Vm32UnsignedOf(F32OfBits(x)); });
      case Vm32Op::kExponentialF:
        if constexpr (kFunctions) map_float(scalar::Exponential());
        return;
      case Vm32Op::kLogF:
        if constexpr (kFunctions) map_float(scalar::Log());
        return;
      case Vm32Op::kLogisticF:
        if constexpr (kFunctions) map_float(scalar::Logistic{32});
        return;
      case Vm32Op::kRsqrtF:
        if constexpr (kFunctions) map_float(scalar::Rsqrt());
        return;
      case Vm32Op::kTanhF:
        if constexpr (kFunctions) map_float(scalar::Tanh());
        return;
      case Vm32Op::kSelect:
        return Combine3(slots, in, last, [](uint32_t p, uint32_t x, uint32_t y) { return p != 0 ? x : y; });
      case Vm32Op::kClampF:
        return Combine3(slots, in, last, [](uint32_t low, uint32_t x, uint32_t high) {
          return BitsOfF32(Vm32Minimum(Vm32Maximum(F32OfBits(low), F32OfBits(x)), F32OfBits(high)));
        });
      case Vm32Op::kOther:
        if constexpr (kAll) Other(program, in, positions, slots, last);
        return;
    }
  }
};

using Vm32Kernel4 = Vm32Kernel<1, false>;
using Vm32Kernel8 = Vm32Kernel<2, false>;
using Vm32Kernel16 = Vm32Kernel<4, false>;
using WideVm32Kernel4 = Vm32Kernel<1, true>;
using WideVm32Kernel8 = Vm32Kernel<2, true>;

}  // namespace hlo::cuda
