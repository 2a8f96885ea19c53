#pragma once
// Packs an operand for tensor cores: rows of contiguous terms in a type that they support; f32 may be split
// into pieces of fewer bits (semantics 6.1).

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/intrinsics/tensor_core.h"
#include "kernels/cuda/memory/element_io.h"

namespace hlo::cuda {

enum class PackedType : uint8_t { kBF16, kF16, kTF32, kByte };

struct PackArgs {
  Operand operand;
  const void* data = nullptr;
  void* packed = nullptr;  // [piece][batch][mn][pitch].
  uint32_t mn = 0, k = 0, batch = 1;
  uint32_t pitch = 0;  // Terms per row, zero-padded.
  PackedType type = PackedType::kBF16;
  uint32_t pieces = 1;  // All pieces but the last are truncated; the last is the rounded remainder.
};

struct Pack {
  using Args = PackArgs;
  static constexpr uint32_t kThreads = 256, kTile = 32;
  static constexpr size_t kSharedBytes = kTile * (kTile + 1) * sizeof(uint32_t);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const PackArgs& args) {
    const uint32_t rows = CeilDiv(args.mn, kTile), columns = CeilDiv(args.pitch, kTile);
    const uint32_t rest = env.block().x / columns, batch = rest / rows;
    const uint32_t first_k = (env.block().x - rest * columns) * kTile,
                   first_mn = (rest - batch * rows) * kTile;
    auto* tile = reinterpret_cast<uint32_t*>(env.shared());
    const bool along_k = args.operand.load_pattern == LoadPattern::kAlongK;
    for (uint32_t x = env.thread(); x < kTile * kTile; x += kThreads) {
      const uint32_t fast = x % kTile, slow = x / kTile;
      const uint32_t mn = along_k ? slow : fast, k = along_k ? fast : slow;
      uint32_t bits = 0;
      if (first_mn + mn < args.mn && first_k + k < args.k)
        bits = ReadElement(args, batch, first_mn + mn, first_k + k);
      tile[mn * (kTile + 1) + k] = bits;
    }
    env.sync();
    for (uint32_t x = env.thread(); x < kTile * kTile; x += kThreads) {
      const uint32_t mn = first_mn + x / kTile, k = first_k + x % kTile;
      if (mn >= args.mn || k >= args.pitch) continue;
      const int64_t matrix = static_cast<int64_t>(args.mn) * args.pitch;
      Put(args, batch * matrix + static_cast<int64_t>(mn) * args.pitch + k, args.batch * matrix,
          tile[x / kTile * (kTile + 1) + x % kTile]);
    }
  }

 private:
  static HLO_DEVICE uint32_t ReadElement(const PackArgs& args, uint32_t batch, uint32_t mn, uint32_t k) {
    const Operand& operand = args.operand;
    const int64_t offset =
        operand.origin + operand.batch.Offset(batch) + operand.mn.Offset(mn) + operand.k.Offset(k);
    if (args.type == PackedType::kByte) return LoadElement<uint32_t>(operand.type, args.data, offset);
    return BitsOfFloat(LoadElement<float>(operand.type, args.data, offset));
  }

  // Stores the pieces of an element, `plane` elements apart.
  static HLO_DEVICE void Put(const PackArgs& args, int64_t offset, int64_t plane, uint32_t bits) {
    if (args.type == PackedType::kByte) {
      static_cast<uint8_t*>(args.packed)[offset] = static_cast<uint8_t>(bits);
      return;
    }
    float rest = FloatOfBits(bits);
    const uint32_t mask = args.type == PackedType::kTF32 ? 0xffffe000u : 0xffff0000u;
    for (uint32_t p = 0; p + 1 < args.pieces; ++p, offset += plane) {
      const float piece = FloatOfBits(BitsOfFloat(rest) & mask);
      Store(args, offset, piece);
      rest -= piece;
    }
    Store(args, offset, rest);
  }

  static HLO_DEVICE void Store(const PackArgs& args, int64_t offset, float value) {
    if (args.type == PackedType::kTF32)
      static_cast<uint32_t*>(args.packed)[offset] = RoundedToTF32(BitsOfFloat(value));
    else
      StoreElement<float>(args.type == PackedType::kBF16 ? ElementType::kBF16 : ElementType::kF16,
                          args.packed, offset, value);
  }

  // Rounds to nearest even with a 10-bit mantissa; preserves NaN.
  static HLO_DEVICE uint32_t RoundedToTF32(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits | 0x00400000u;
    return (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;
  }
};

}  // namespace hlo::cuda
