#pragma once
// The interpreter of core_vm.h.

#include <cmath>
#include <type_traits>

#include "kernels/cuda/vm/core_memory_body.h"
#include "kernels/cuda/vm/core_vm.h"
#include "kernels/cuda/vm/vm_body.h"

namespace hlo::cuda {

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
