#pragma once
// The interpreter of vm.h: every thread runs the program on kValues elements at a time. Slots are in shared
// memory, interleaved by thread, so that warps access them without bank conflicts.

#include "kernels/cuda/vm/vm_memory_body.h"
#include "kernels/cuda/vm/vm_scalar.h"

namespace hlo::cuda {

// --- One element.
template <class V, class T>
HLO_DEVICE V VmOneInteger(VmExtra extra, V a, V b, V c) {
  const T x = a.template As<T>(), y = b.template As<T>(), z = c.template As<T>();
  if (extra.op >= VmOp::kEq && extra.op <= VmOp::kLt)
    return V::template Of<uint32_t>(VmCompare(extra.op, x, y));
  return V::Of(VmInteger<T>(extra, x, y, z));
}

template <class V, class T>
HLO_DEVICE V VmOneFloat(VmExtra extra, V a, V b, V c) {
  const T x = a.template As<T>(), y = b.template As<T>(), z = c.template As<T>();
  if (extra.op >= VmOp::kEq && extra.op <= VmOp::kLt)
    return V::template Of<uint32_t>(VmCompare(extra.op, x, y));
  switch (extra.op) {
    case VmOp::kTotalOrder:
      return V::Of(scalar::TotalOrderKey(x));
    case VmOp::kIsFinite:
      return V::template Of<uint32_t>(std::isfinite(x));
    case VmOp::kComplex:
      if constexpr (sizeof(V) >= 2 * sizeof(T)) return V::Of(VmComplex<T>{x, y});
      return a;
    case VmOp::kRound:
      return V::Of(VmRound(static_cast<ElementType>(extra.parameter), static_cast<double>(x)));
    case VmOp::kRoundFromF64:
      return V::Of(VmRound(static_cast<ElementType>(extra.parameter), static_cast<double>(x)));
    case VmOp::kBitsOfBF16:
      return V::template Of<uint32_t>(a.words[0] >> 16);
    case VmOp::kStochastic: {
      const int random_bits = extra.parameter & 0xff, bits = extra.parameter >> 8;
      uint64_t random = b.words[0];
      if constexpr (sizeof(V) >= 8) random = random_bits > 32 ? b.template As<uint64_t>() : random;
      const int64_t value = scalar::StochasticConvert(static_cast<double>(x), random, random_bits, bits);
      if constexpr (sizeof(V) >= 8) {
        if (bits > 32) return V::Of(value);
      }
      return V::Of(static_cast<int32_t>(value));
    }
    default:
      return V::Of(VmFloat<T>(extra, x, y, z));
  }
}

// Complex functions exist in the widest VM only, because they take long to compile.
template <class V, class R>
HLO_DEVICE V VmOneComplex(VmExtra extra, V a, V b) {
  using C = VmComplex<R>;
  const C x = a.template As<C>(), y = b.template As<C>();
  switch (extra.op) {
    case VmOp::kEq:
      return V::template Of<uint32_t>(x.re == y.re && x.im == y.im);
    case VmOp::kNe:
      return V::template Of<uint32_t>(x.re != y.re || x.im != y.im);
    case VmOp::kReal:
      return V::Of(x.re);
    case VmOp::kImag:
      return V::Of(x.im);
    case VmOp::kAdd:
      return V::Of(C{x.re + y.re, x.im + y.im});
    case VmOp::kSubtract:
      return V::Of(C{x.re - y.re, x.im - y.im});
    case VmOp::kMultiply:
      return V::Of(complex_functions::Multiply(x, y));
    case VmOp::kNegate:
      return V::Of(C{-x.re, -x.im});
    default:
      break;
  }
  if constexpr (sizeof(V) >= 16) {
    const VmComplex<double> p{static_cast<double>(x.re), static_cast<double>(x.im)},
        q{static_cast<double>(y.re), static_cast<double>(y.im)};
    if (extra.op == VmOp::kAbs) return V::Of(static_cast<R>(complex_functions::Abs(p)));
    const VmComplex<double> value = VmComplexFunction(extra.op, p, q);
    return V::Of(C{static_cast<R>(value.re), static_cast<R>(value.im)});
  }
  return a;
}

template <class V, class From>
HLO_DEVICE V VmOneConvert(From value, uint16_t parameter) {
  const int bits = parameter >> 8;
  switch (static_cast<VmType>(parameter & 0xff)) {
    case VmType::kI32:
      return V::Of(VmConvert<int32_t>(value, bits));
    case VmType::kU32:
      return V::Of(VmConvert<uint32_t>(value, bits));
    case VmType::kF32:
      return V::Of(VmConvert<float>(value, bits));
    default:
      break;
  }
  if constexpr (sizeof(V) >= 8) {
    switch (static_cast<VmType>(parameter & 0xff)) {
      case VmType::kI64:
        return V::Of(VmConvert<int64_t>(value, bits));
      case VmType::kU64:
        return V::Of(VmConvert<uint64_t>(value, bits));
      case VmType::kF64:
        return V::Of(VmConvert<double>(value, bits));
      case VmType::kC64:
        return V::Of(VmComplex<float>{VmConvert<float>(value, bits), 0});
      default:
        break;
    }
  }
  if constexpr (sizeof(V) >= 16) return V::Of(VmComplex<double>{VmConvert<double>(value, bits), 0});
  return V{};
}
template <class V, class R>
HLO_DEVICE V VmOneConvertComplex(VmComplex<R> value, uint16_t parameter) {
  if (static_cast<VmType>(parameter & 0xff) == VmType::kC64)
    return V::Of(VmComplex<float>{static_cast<float>(value.re), static_cast<float>(value.im)});
  if constexpr (sizeof(V) >= 16)
    return V::Of(VmComplex<double>{static_cast<double>(value.re), static_cast<double>(value.im)});
  return V{};
}

template <class V>
HLO_DEVICE_CALLED V VmConverted(VmType type, V a, uint16_t parameter) {
  switch (type) {
    case VmType::kI32:
      return VmOneConvert<V>(a.template As<int32_t>(), parameter);
    case VmType::kU32:
      return VmOneConvert<V>(a.template As<uint32_t>(), parameter);
    case VmType::kF32:
      return VmOneConvert<V>(a.template As<float>(), parameter);
    default:
      break;
  }
  if constexpr (sizeof(V) >= 8) {
    switch (type) {
      case VmType::kI64:
        return VmOneConvert<V>(a.template As<int64_t>(), parameter);
      case VmType::kU64:
        return VmOneConvert<V>(a.template As<uint64_t>(), parameter);
      case VmType::kF64:
        return VmOneConvert<V>(a.template As<double>(), parameter);
      case VmType::kC64:
        return VmOneConvertComplex<V>(a.template As<VmComplex<float>>(), parameter);
      default:
        break;
    }
  }
  if constexpr (sizeof(V) >= 16) return VmOneConvertComplex<V>(a.template As<VmComplex<double>>(), parameter);
  return a;
}

template <class V>
HLO_DEVICE_CALLED V VmOne(VmType type, VmExtra extra, V a, V b, V c) {
  switch (type) {
    case VmType::kI32:
      return VmOneInteger<V, int32_t>(extra, a, b, c);
    case VmType::kU32:
      if (extra.op == VmOp::kBF16OfBits) return V::template Of<uint32_t>(a.words[0] << 16);
      return VmOneInteger<V, uint32_t>(extra, a, b, c);
    case VmType::kF32:
      return VmOneFloat<V, float>(extra, a, b, c);
    default:
      break;
  }
  if constexpr (sizeof(V) >= 8) {
    switch (type) {
      case VmType::kI64:
        return VmOneInteger<V, int64_t>(extra, a, b, c);
      case VmType::kU64:
        return VmOneInteger<V, uint64_t>(extra, a, b, c);
      case VmType::kF64:
        return VmOneFloat<V, double>(extra, a, b, c);
      case VmType::kC64:
        return VmOneComplex<V, float>(extra, a, b);
      default:
        break;
    }
  }
  if constexpr (sizeof(V) >= 16) return VmOneComplex<V, double>(extra, a, b);
  return a;
}

// --- The values of one thread.
// Fast path for the most frequent instructions, f32 arithmetic.
template <class V, int kValues>
HLO_DEVICE bool VmQuick(VmOp op, V (&a)[kValues], const V (&b)[kValues]) {
  const auto each = [&](auto&& f) {
    HLO_UNROLL
    for (int j = 0; j < kValues; ++j) a[j] = V::Of(f(a[j].template As<float>(), b[j].template As<float>()));
    return true;
  };
  switch (op) {
    case VmOp::kAdd:
      return each([](float x, float y) { return x + y; });
    case VmOp::kSubtract:
      return each([](float x, float y) { return x - y; });
    case VmOp::kMultiply:
      return each([](float x, float y) { return x * y; });
    case VmOp::kMaximum:
      return each([](float x, float y) { return scalar::Maximum()(x, y); });
    case VmOp::kMinimum:
      return each([](float x, float y) { return scalar::Minimum()(x, y); });
    default:
      return false;
  }
}

// Runs instructions [begin, end) on the values of one thread. `slots` points to this thread's first slot,
// `positions` are loop positions. Values that are not `valid` neither load nor store.
template <class V, int kValues>
HLO_DEVICE void VmRun(const VmProgram& program, int begin, int end, V* slots, uint32_t threads,
                      const uint64_t (&positions)[kValues], const bool (&valid)[kValues]) {
  V last[kValues] = {};
  for (int i = begin; i < end; ++i) {
    const VmInstruction instruction = program.code[i];
    const auto slot = [&](uint8_t number, int j) -> V& { return slots[(number * kValues + j) * threads]; };
    const auto operand = [&](uint8_t number, V(&values)[kValues]) {
      HLO_UNROLL
      for (int j = 0; j < kValues; ++j)
        values[j] = number == VmInstruction::kLast ? last[j] : slot(number, j);
    };
    switch (instruction.op) {
      case VmOp::kLoad: {
        const VmAccess& access = program.accesses[instruction.parameter];
        if constexpr (kValues > 1) {
          if (access.IsRun() && valid[kValues - 1] &&
              VmReadAll<V, kValues>(access.memory, access.data,
                                    VmOffset(program, instruction.parameter, positions[0]), last))
            break;
        }
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) {
          if (valid[j]) last[j] = VmLoad<V>(program, instruction.parameter, positions[j]);
        }
        break;
      }
      case VmOp::kInside: {
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) {
          int64_t moved;
          last[j] = V::template Of<uint32_t>(
              VmIsInside(program, instruction.parameter, positions[j], &moved) ? 1 : 0);
        }
        break;
      }
      case VmOp::kStore: {
        const VmAccess& access = program.accesses[instruction.parameter];
        if (access.drops && VmDrops(program, instruction.parameter)) continue;
        V value[kValues];
        operand(instruction.a, value);
        if constexpr (kValues > 1) {
          if (access.IsRun() && valid[kValues - 1] &&
              VmWriteAll<V, kValues>(access.memory, access.data,
                                     VmOffset(program, instruction.parameter, positions[0]), value))
            continue;
        }
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) {
          if (valid[j])
            VmWrite(access.memory, access.type, access.data,
                    VmOffset(program, instruction.parameter, positions[j]), value[j]);
        }
        continue;  // `last` keeps its value.
      }
      case VmOp::kIota: {
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) {
          const int64_t offset = VmOffset(program, instruction.parameter, positions[j]);
          last[j] =
              VmOneConvert<V>(offset, static_cast<uint16_t>(static_cast<int>(instruction.type) | 64 << 8));
        }
        break;
      }
      case VmOp::kConstant: {
        V value;
        for (uint32_t w = 0; w < sizeof(V) / 4; ++w)
          value.words[w] = program.constants[instruction.parameter][w];
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) last[j] = value;
        break;
      }
      case VmOp::kJump:
      case VmOp::kJumpUnless: {
        if constexpr (kValues == 1) {
          V holds[kValues] = {};
          if (instruction.op == VmOp::kJumpUnless) operand(instruction.a, holds);
          if (holds[0].words[0] == 0) i = instruction.parameter - 1;
        }
        continue;
      }
      default: {
        V a[kValues], b[kValues], c[kValues];
        operand(instruction.a, a);
        operand(instruction.b, b);
        const VmExtra extra{instruction.op, instruction.parameter};
        if (instruction.type == VmType::kF32 && VmQuick<V, kValues>(instruction.op, a, b)) {
          HLO_UNROLL
          for (int j = 0; j < kValues; ++j) last[j] = a[j];
          break;
        }
        operand(instruction.c, c);
        HLO_UNROLL
        for (int j = 0; j < kValues; ++j) {
          if (instruction.op == VmOp::kSelect)
            last[j] = a[j].words[0] != 0 ? b[j] : c[j];
          else if (instruction.op == VmOp::kCopy)
            last[j] = a[j];
          else if (instruction.op == VmOp::kConvert)
            last[j] = VmConverted<V>(instruction.type, a[j], instruction.parameter);
          else
            last[j] = VmOne<V>(instruction.type, extra, a[j], b[j], c[j]);
        }
      }
    }
    if (instruction.out != VmInstruction::kNone) {
      HLO_UNROLL
      for (int j = 0; j < kValues; ++j) slot(instruction.out, j) = last[j];
    }
  }
}

// The same for one position, not inlined: most kernels run several program sections.
template <class V>
HLO_DEVICE_CALLED void VmRunOne(const VmProgram& program, int begin, int end, V* slots, uint32_t threads,
                                uint64_t position) {
  const uint64_t positions[1] = {position};
  const bool valid[1] = {true};
  VmRun<V, 1>(program, begin, end, slots, threads, positions, valid);
}

// --- Kernels.
constexpr uint32_t kVmThreads = 128;

// Runs the program at all positions, kValues per thread.
template <int kWords, int kVmValues>
struct TileVm {
  using Args = VmProgram;
  using V = VmValue<kWords>;
  static constexpr uint32_t kThreads = kVmThreads, kMinBlocks = 4;
  static constexpr int kValues = kVmValues;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& program) {
    const uint32_t threads = env.threads();
    V* slots = reinterpret_cast<V*>(env.shared()) + env.thread();
    // Positions of a thread are adjacent, so contiguous accesses can be vectorised.
    const uint64_t first = (uint64_t{env.block().x} * threads + env.thread()) * kValues;
    uint64_t positions[kValues];
    bool valid[kValues];
    HLO_UNROLL
    for (int j = 0; j < kValues; ++j) {
      positions[j] = first + static_cast<uint64_t>(j);
      valid[j] = positions[j] < program.position_count;
    }
    VmRun<V, kValues>(program, 0, program.code_count, slots, threads, positions, valid);
  }
};

}  // namespace hlo::cuda
