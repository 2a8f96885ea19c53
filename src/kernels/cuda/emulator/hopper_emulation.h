#pragma once
// wgmma of hopper.h for the emulator. It is executed when its thread waits for it, so missing waits and early
// overwrites give wrong results.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cuda/emulator/tma_emulation.h"

namespace hlo::cuda {

template <int kCount>
void ReleaseRegisters(HostEnv&) {}
template <int kCount>
void AcquireRegisters(HostEnv&) {}

template <>
struct WarpgroupMma<HostEnv> {
  explicit WarpgroupMma(HostEnv& e) : env(e) {}

  void Begin() {}
  template <MmaKind kKind, bool kRowsA, bool kRowsB, uint32_t kSums>
  void Multiply(GroupSum<kKind> (&d)[kSums], MatrixDescriptor a, MatrixDescriptor b, bool adds) {
    [[maybe_unused]] const auto unchecked = env.unchecked();
    pending.push_back({d, a, b, kKind, 2 * kSums, kRowsA, kRowsB, adds, group});
  }
  void Commit() { ++group; }
  template <int kNewest>
  void Wait() {
    [[maybe_unused]] const auto unchecked = env.unchecked();
    size_t done = 0;
    for (; done < pending.size() && pending[done].group < group - kNewest; ++done) Execute(pending[done]);
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

  void Execute(const One& one) const {
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
  static void Add(const One& one, uint32_t index, absl::Span<const double> products) {
    double total = 0;
    for (const double product : products) total += product;
    if (IsOfFloatBytes(one.kind)) {
      auto& sum = static_cast<float*>(one.d)[index];
      sum = static_cast<float>(ShortSum(one.adds ? sum : 0, products));
    } else if (IsOfIntegers(one.kind)) {
      auto& sum = static_cast<uint32_t*>(one.d)[index];  // Integer accumulation wraps.
      sum = (one.adds ? sum : 0) + static_cast<uint32_t>(static_cast<int64_t>(total));
    } else {
      auto& sum = static_cast<float*>(one.d)[index];
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
