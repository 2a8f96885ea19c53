#pragma once
// hopper.h for the emulator. A box is copied when a thread waits for its barrier, and a wgmma is executed
// when its thread waits for it, so missing waits and early overwrites give wrong results.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

inline uint32_t SharedAddress(HostEnv& env, const void* p) {
  return static_cast<uint32_t>(static_cast<const std::byte*>(p) - env.shared());
}

struct HostBarrier {
  uint8_t count, pending;
  uint16_t phase;
  int32_t missing_bytes;

  void Settle() {
    if (pending != 0 || missing_bytes != 0) return;
    phase ^= 1;
    pending = count;
  }
};
static_assert(sizeof(HostBarrier) == 8);
inline HostBarrier* BarrierAt(uint64_t* barrier) { return reinterpret_cast<HostBarrier*>(barrier); }

struct PendingBox {
  std::byte* to;
  uint32_t address;
  BoxSource source;
  int64_t at[3];
};
// Boxes in flight to a barrier. One thread block runs at a time.
inline std::multimap<uint64_t*, PendingBox>& PendingBoxes() {
  static thread_local std::multimap<uint64_t*, PendingBox> boxes;
  return boxes;
}

inline void InitBarrier(HostEnv&, uint64_t* barrier, uint32_t count) {
  *BarrierAt(barrier) = {static_cast<uint8_t>(count), static_cast<uint8_t>(count), 0, 0};
  PendingBoxes().erase(barrier);
}
inline void PublishBarriers(HostEnv&) {}
inline void Arrive(HostEnv&, uint64_t* barrier) {
  --BarrierAt(barrier)->pending;
  BarrierAt(barrier)->Settle();
}
inline void ArriveExpecting(HostEnv& env, uint64_t* barrier, uint32_t bytes) {
  BarrierAt(barrier)->missing_bytes += static_cast<int32_t>(bytes);
  Arrive(env, barrier);
}

inline uint32_t BoxBytes(const BoxSource& source) {
  return source.element_bytes * source.box[0] * source.box[1] * source.box[2];
}

inline void CopyBox(HostEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z,
                    uint64_t* barrier) {
  std::memset(to, 0xff, BoxBytes(map.source));
  PendingBoxes().emplace(barrier, PendingBox{to, SharedAddress(env, to), map.source, {x, y, z}});
}

inline void Deliver(const PendingBox& box) {
  const BoxSource& s = box.source;
  for (uint32_t i = 0; i < BoxBytes(s) / s.element_bytes; ++i) {
    const int64_t at[3] = {box.at[0] + i % s.box[0], box.at[1] + i / s.box[0] % s.box[1],
                           box.at[2] + i / s.box[0] / s.box[1]};
    uint16_t value = 0;
    bool inside = true;
    int64_t place = 0;
    for (int d = 0; d < 3; ++d) {
      inside &= at[d] >= 0 && at[d] < static_cast<int64_t>(s.dims[d]);
      place += at[d] * static_cast<int64_t>(s.byte_strides[d]);
    }
    if (inside) std::memcpy(&value, static_cast<const std::byte*>(s.data) + place, s.element_bytes);
    std::memcpy(box.to + (Swizzled128(box.address + s.element_bytes * i) - box.address), &value,
                s.element_bytes);
  }
}

inline void WaitFor(HostEnv& env, uint64_t* barrier, uint32_t parity) {
  for (auto [box, end] = PendingBoxes().equal_range(barrier); box != end; box = PendingBoxes().erase(box)) {
    Deliver(box->second);
    BarrierAt(barrier)->missing_bytes -= static_cast<int32_t>(BoxBytes(box->second.source));
  }
  BarrierAt(barrier)->Settle();
  while ((env.load_volatile(&BarrierAt(barrier)->phase) & 1) == parity) {
    auto [box, end] = PendingBoxes().equal_range(barrier);
    if (box != end) return WaitFor(env, barrier, parity);
  }
}

template <int kCount>
void GiveRegisters(HostEnv&) {}
template <int kCount>
void TakeRegisters(HostEnv&) {}

template <>
struct WarpgroupMma<HostEnv> {
  explicit WarpgroupMma(HostEnv& e) : env(e) {}

  void Begin() {}
  template <MmaKind kKind, bool kRowsA, bool kRowsB, uint32_t kSums>
  void Multiply(GroupSum<kKind> (&d)[kSums], MatrixDescriptor a, MatrixDescriptor b, bool adds) {
    pending.push_back({d, a, b, kKind, 2 * kSums, kRowsA, kRowsB, adds, group});
  }
  void Commit() { ++group; }
  template <int kNewest>
  void Wait() {
    size_t done = 0;
    for (; done < pending.size() && pending[done].group < group - kNewest; ++done) CarryOut(pending[done]);
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(done));
  }

 private:
  struct One {
    void* d;
    MatrixDescriptor a, b;
    MmaKind kind;
    uint32_t columns;
    bool rows_a, rows_b, adds;
    int64_t group;
  };

  // Returns an element of the first or the second operand.
  double Element(const One& one, bool first, uint32_t mn, uint32_t k) const {
    const uint32_t bytes = TermBytes(one.kind);
    uint16_t bits = 0;
    std::memcpy(
        &bits,
        env.shared() + ElementAddress(first ? one.a : one.b, first ? one.rows_a : one.rows_b, mn, k, bytes),
        bytes);
    if (bytes == 2) return one.kind == MmaKind::kBF16 ? BF16ToFloat(bits) : F16ToFloat(bits);
    if (IsOfFloatBytes(one.kind)) {
      const bool is_e4 = one.kind == MmaKind::kE4E4 || one.kind == (first ? MmaKind::kE4E5 : MmaKind::kE5E4);
      return DecodeSmallFloat(is_e4 ? kF8E4M3FNFormat : kF8E5M2Format, bits);
    }
    const bool is_signed =
        one.kind == MmaKind::kS8S8 || one.kind == (first ? MmaKind::kS8U8 : MmaKind::kU8S8);
    return is_signed ? static_cast<int8_t>(bits) : static_cast<uint8_t>(bits);
  }

  void CarryOut(const One& one) const {
    const uint32_t t = env.thread() % 128, g = t % 32 / 4, q = t % 4, terms = 32 / TermBytes(one.kind);
    double rows[2][32];
    for (uint32_t h = 0; h < 2; ++h) {
      for (uint32_t k = 0; k < terms; ++k) rows[h][k] = Element(one, true, t / 32 * 16 + g + 8 * h, k);
    }
    for (uint32_t column = 0; column < one.columns / 4; ++column) {
      const uint32_t j = column / 2, n = 8 * j + 2 * q + column % 2;
      double column_terms[32];
      for (uint32_t k = 0; k < terms; ++k) column_terms[k] = Element(one, false, n, k);
      for (uint32_t h = 0; h < 2; ++h) {
        double products[32];
        for (uint32_t k = 0; k < terms; ++k) products[k] = rows[h][k] * column_terms[k];
        Add(one, 4 * j + 2 * h + column % 2, absl::MakeConstSpan(products, terms));
      }
    }
  }
  static void Add(const One& one, uint32_t place, absl::Span<const double> products) {
    double total = 0;
    for (const double product : products) total += product;
    if (IsOfFloatBytes(one.kind)) {
      auto& sum = static_cast<float*>(one.d)[place];
      sum = static_cast<float>(ShortSum(one.adds ? sum : 0, products));
    } else if (IsOfIntegers(one.kind)) {
      auto& sum = static_cast<uint32_t*>(one.d)[place];  // Integer accumulation wraps.
      sum = (one.adds ? sum : 0) + static_cast<uint32_t>(static_cast<int64_t>(total));
    } else {
      auto& sum = static_cast<float*>(one.d)[place];
      sum = static_cast<float>((one.adds ? sum : 0) + total);
    }
  }

  // Models the FP8 accumulation of the hardware according to published measurements: each term is truncated
  // 13 bits below the largest, and the sum 13 bits below its leading bit.
  static double ShortSum(double sum, absl::Span<const double> products) {
    const auto cut = [](double value, int exponent) {
      return std::ldexp(std::trunc(std::ldexp(value, 13 - exponent)), exponent - 13);
    };
    double greatest = std::fabs(sum), total = sum;
    for (const double product : products) {
      greatest = std::max(greatest, std::fabs(product));
      total += product;
    }
    if (greatest == 0 || !std::isfinite(total)) return total;
    const int exponent = std::ilogb(greatest);
    total = cut(sum, exponent);
    for (const double product : products) total += cut(product, exponent);
    return total == 0 ? total : cut(total, std::ilogb(total));
  }

  HostEnv& env;
  std::vector<One> pending;
  int64_t group = 0;
};

}  // namespace hlo::cuda
