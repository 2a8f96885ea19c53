#pragma once
// The epilogue of a product: a few f32 operations on each result element, each rounded as the fused
// instruction would round it.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/halves.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/vm/vm_scalar.h"

namespace hlo::cuda {

struct EpilogueOp {
  enum class Kind : uint8_t { kRound, kAdd, kSubtract, kSubtractFrom, kMultiply, kMaximum, kMinimum };
  Kind kind = Kind::kRound;
  uint8_t array = 0;                           // The second operand; unused by kRound.
  ElementType rounded_to = ElementType::kF32;  // Type that the result is rounded to: kF32, kBF16 or kF16.
};

// A (broadcast) operand: the result's element at `offset` uses element offset / inner % size.
struct EpilogueArray {
  const void* data = nullptr;
  ElementType type = ElementType::kF32;  // kF32, kBF16 or kF16.
  bool is_whole = false;                 // The array has the result's shape: element `offset` is used.
  FastDiv inner, size;
};

// An epilogue for results of fewer than 2^31 elements.
struct Epilogue {
  static constexpr int kMaxOps = 6, kMaxArrays = 3;
  int32_t op_count = 0, array_count = 0;
  EpilogueOp ops[kMaxOps];
  EpilogueArray arrays[kMaxArrays];
  ElementType stored = ElementType::kF32;  // kF32, kBF16 or kF16.
};

HLO_DEVICE float RoundedTo(ElementType type, float x) {
  if (type == ElementType::kBF16) return BF16ToFloat(FloatToBF16(x));
  if (type == ElementType::kF16) return FloatOfF16(F16Of(x));
  return x;
}

HLO_DEVICE float Find(const EpilogueArray& array, uint32_t offset) {
  if (!array.is_whole) {
    offset = array.inner.Quotient(offset);
    offset -= array.size.Quotient(offset) * array.size.divisor;
  }
  if (array.type == ElementType::kF32) return static_cast<const float*>(array.data)[offset];
  const uint16_t bits = static_cast<const uint16_t*>(array.data)[offset];
  return array.type == ElementType::kBF16 ? BF16ToFloat(bits) : FloatOfF16(bits);
}

HLO_DEVICE float Combined(EpilogueOp::Kind kind, float x, float y) {
  switch (kind) {
    case EpilogueOp::Kind::kAdd:
      return x + y;
    case EpilogueOp::Kind::kSubtract:
      return x - y;
    case EpilogueOp::Kind::kSubtractFrom:
      return y - x;
    case EpilogueOp::Kind::kMultiply:
      return x * y;
    case EpilogueOp::Kind::kMaximum:
      return scalar::Maximum()(x, y);
    case EpilogueOp::Kind::kMinimum:
      return scalar::Minimum()(x, y);
    case EpilogueOp::Kind::kRound:
      break;
  }
  return x;
}

// Applies the epilogue to the element at `offset` of the result and stores it. Not inlined, to keep the
// register pressure of the GEMM main loop low.
HLO_DEVICE_CALLED void StoreFinished(const Epilogue& epilogue, void* result, int64_t offset, float x) {
  const auto at = static_cast<uint32_t>(offset);
  HLO_ROLLED
  for (int32_t k = 0; k < epilogue.op_count; ++k) {
    const EpilogueOp op = epilogue.ops[k];
    const float y = op.kind == EpilogueOp::Kind::kRound ? 0 : Find(epilogue.arrays[op.array], at);
    x = RoundedTo(op.rounded_to, Combined(op.kind, x, y));
  }
  if (epilogue.stored == ElementType::kF32)
    static_cast<float*>(result)[at] = x;
  else
    static_cast<uint16_t*>(result)[at] = epilogue.stored == ElementType::kBF16 ? FloatToBF16(x) : F16Of(x);
}

// Eight adjacent elements of an array.
struct alignas(16) EightHalves {
  uint16_t x[8];
};
struct alignas(16) FourFloats {
  float x[4];
};
HLO_DEVICE bool IsAligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// Finds the operands of the elements at `offset`, a multiple of eight, and the seven after it.
HLO_DEVICE void FindEight(const EpilogueArray& array, uint32_t offset, float (&y)[8]) {
  if (!array.is_whole && array.inner.divisor % 8 == 0) {
    const float value = Find(array, offset);
    HLO_UNROLL
    for (int j = 0; j < 8; ++j) y[j] = value;
    return;
  }
  const bool neighbours = array.is_whole || (array.inner.divisor == 1 && array.size.divisor % 8 == 0);
  const uint32_t at = array.is_whole ? offset : offset - array.size.Quotient(offset) * array.size.divisor;
  const bool is_f32 = array.type == ElementType::kF32;
  const void* from = is_f32 ? static_cast<const void*>(static_cast<const float*>(array.data) + at)
                            : static_cast<const uint16_t*>(array.data) + at;
  if (!neighbours || !IsAligned16(from)) {
    HLO_UNROLL
    for (int j = 0; j < 8; ++j) y[j] = Find(array, offset + static_cast<uint32_t>(j));
  } else if (is_f32) {
    const FourFloats low = static_cast<const FourFloats*>(from)[0],
                     high = static_cast<const FourFloats*>(from)[1];
    HLO_UNROLL
    for (int j = 0; j < 8; ++j) y[j] = j < 4 ? low.x[j] : high.x[j - 4];
  } else {
    const EightHalves all = *static_cast<const EightHalves*>(from);
    HLO_UNROLL
    for (int j = 0; j < 8; ++j)
      y[j] = array.type == ElementType::kBF16 ? BF16ToFloat(all.x[j]) : FloatOfF16(all.x[j]);
  }
}

// Stores eight adjacent elements in f32, bf16 or f16.
HLO_DEVICE void StoreEight(ElementType type, void* result, int64_t offset, const float (&x)[8]) {
  if (type == ElementType::kF32) {
    auto* to = reinterpret_cast<FourFloats*>(static_cast<float*>(result) + offset);
    to[0] = {{x[0], x[1], x[2], x[3]}};
    to[1] = {{x[4], x[5], x[6], x[7]}};
    return;
  }
  EightHalves all;
  HLO_UNROLL
  for (int j = 0; j < 8; ++j) all.x[j] = type == ElementType::kBF16 ? FloatToBF16(x[j]) : F16Of(x[j]);
  *reinterpret_cast<EightHalves*>(static_cast<uint16_t*>(result) + offset) = all;
}

// Eight values in registers.
struct EightFloats {
  float x[8];
};

// The same as StoreFinished for the elements at `offset`, a multiple of eight, and the seven after it. The
// result must be aligned to 16 bytes. Not inlined, as StoreFinished.
HLO_DEVICE_CALLED void StoreEightFinished(const Epilogue& epilogue, void* result, int64_t offset,
                                          EightFloats eight) {
  HLO_ROLLED
  for (int32_t k = 0; k < epilogue.op_count; ++k) {
    const EpilogueOp op = epilogue.ops[k];
    float y[8] = {};
    if (op.kind != EpilogueOp::Kind::kRound)
      FindEight(epilogue.arrays[op.array], static_cast<uint32_t>(offset), y);
    HLO_UNROLL
    for (int j = 0; j < 8; ++j) eight.x[j] = RoundedTo(op.rounded_to, Combined(op.kind, eight.x[j], y[j]));
  }
  StoreEight(epilogue.stored, result, offset, eight.x);
}

// Stores the first `count` of four adjacent elements, or all of them if there are more.
HLO_DEVICE void StoreFour(float* to, uint32_t count, const FourFloats& x) {
  if (count >= 4 && IsAligned16(to)) {
    *reinterpret_cast<FourFloats*>(to) = x;
    return;
  }
  HLO_UNROLL
  for (uint32_t v = 0; v < 4; ++v) {
    if (v < count) to[v] = x.x[v];
  }
}

// The same with the epilogue; the result may be of 16-bit floats. Like StoreFinished, it is not inlined.
HLO_DEVICE_CALLED void StoreFourFinished(const Epilogue& epilogue, void* result, int64_t offset,
                                         uint32_t count, FourFloats x) {
  const auto at = static_cast<uint32_t>(offset);
  HLO_ROLLED
  for (int32_t k = 0; k < epilogue.op_count; ++k) {
    const EpilogueOp op = epilogue.ops[k];
    HLO_UNROLL
    for (uint32_t v = 0; v < 4; ++v) {
      if (v >= count) continue;
      const float y = op.kind == EpilogueOp::Kind::kRound ? 0 : Find(epilogue.arrays[op.array], at + v);
      x.x[v] = RoundedTo(op.rounded_to, Combined(op.kind, x.x[v], y));
    }
  }
  if (epilogue.stored == ElementType::kF32) return StoreFour(static_cast<float*>(result) + at, count, x);
  auto* to = static_cast<uint16_t*>(result) + at;
  HLO_UNROLL
  for (uint32_t v = 0; v < 4; ++v) {
    if (v < count) to[v] = epilogue.stored == ElementType::kBF16 ? FloatToBF16(x.x[v]) : F16Of(x.x[v]);
  }
}

}  // namespace hlo::cuda
