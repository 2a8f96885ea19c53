#pragma once
// This file defines the accumulators of a reduction: one array of elements per result, in the compute type.

#include <algorithm>
#include <cstring>

#include "ir/neutral_element.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {

class Accumulators {
 public:
  static constexpr int64_t kMaxElementBytes = 16;  // Maximum bytes per element.

  Accumulators(const ReduceProgram& program, int64_t length) : program_(program) {
    bytes_.resize(program.results.size() * length * kMaxElementBytes);
    for (size_t k = 0; k < program.results.size(); ++k) {
      at_.push_back(bytes_.data() + k * length * kMaxElementBytes);
      width_.push_back(ComputeTypeBytes(compute_type(k)));
    }
  }
  ComputeType compute_type(size_t k) const { return ComputeTypeOf(program_.results[k].init_type); }
  std::byte* at(size_t k, int64_t i) { return at_[k] + i * width_[k]; }
  size_t count() const { return at_.size(); }

  // Copies the body's tile to the elements from `i` on.
  void CopyTile(const TileRunner& runner, int64_t i, int64_t n) {
    for (size_t k = 0; k < count(); ++k)
      std::memcpy(at(k, i), runner.yielded(static_cast<int64_t>(k)), n * width_[k]);
  }
  void FillWithInit(void* const* arguments, int64_t i, int64_t n) {
    alignas(16) std::byte element[kMaxElementBytes];
    for (size_t k = 0; k < count(); ++k) {
      LoadInit(arguments, k, element);
      CopyStrided(n, width_[k], at(k, i), 1, element, 0);
    }
  }
  // Fills elements [i, i + n) of a single result with the neutral element of the reduction's fold.
  void FillWithNeutral(int64_t i, int64_t n) {
    const double neutral = *NeutralOf(*program_.fold, program_.results[0].init_type);
    DispatchComputeType(compute_type(0), [&]<class T>() {
      if constexpr (std::is_arithmetic_v<T>)
        std::fill_n(reinterpret_cast<T*>(at(0, i)), n, static_cast<T>(neutral));
    });
  }
  void Combine(const TileRunner& runner, int64_t i, int64_t n) {
    CombineWith(i, n, [&](size_t k) { return Yielded(runner, k, 0); });
  }
  // Reduces the body's tile to element i, or combines the reduced tile with it unless `first`.
  void FoldTile(const TileRunner& runner, const TileCall& fold, int64_t i, int64_t n, bool first) {
    alignas(16) std::byte element[kMaxElementBytes];
    const void* in[] = {runner.yielded(0)};
    fold.function(n, first ? at(0, i) : element, in, fold.parameter);
    if (first) return;
    const void* both[] = {at(0, i), element};
    CombineInto(i, 1, both);
  }
  // Computes acc[i] = combiner(acc[i], other[0]).
  void CombineWith(int64_t i, Accumulators& other) {
    CombineWith(i, 1, [&](size_t k) { return other.at(k, 0); });
  }
  // Combines acc[i] with element j of the body's tile.
  void CombineWith(int64_t i, const TileRunner& runner, int64_t j) {
    CombineWith(i, 1, [&](size_t k) { return Yielded(runner, k, j); });
  }
  // Computes acc[i + j] = combiner(acc[i + j], row[j]) for j < n, for a single result.
  void CombineWithRow(int64_t i, int64_t n, const std::byte* row) {
    const void* const in[] = {at(0, i), row};
    CombineInto(i, n, in);
  }
  // Computes acc[i + j] = combiner(acc[i + j], acc[other + j]) for j < n.
  void Fold(int64_t i, int64_t other, int64_t n) {
    CombineWith(i, n, [&](size_t k) { return at(k, other); });
  }
  // Reduces n groups of `length` elements from `begin` on to the first one by a balanced tree, which combines
  // group i with i + n / 2.
  void ReduceByTree(int64_t n, int64_t length = 1, int64_t begin = 0) {
    while (n > 1) {
      const int64_t half = (n + 1) / 2;
      Fold(begin, begin + half * length, (n - half) * length);
      n = half;
    }
  }
  // The same by a tree that combines adjacent elements, which preserves their order.
  void ReduceByTreeInOrder(int64_t n) {
    CachedVector<std::byte> sides(2 * count() * n * kMaxElementBytes);
    absl::InlinedVector<const void*, 8> in(2 * count());
    for (; n > 1; n = (n + 1) / 2) {
      const int64_t pairs = n / 2;
      for (size_t k = 0; k < 2 * count(); ++k) {
        std::byte* side = sides.data() + static_cast<int64_t>(k) * n * kMaxElementBytes;
        const size_t value = k % count();
        CopyStrided(pairs, width_[value], side, 1, at(value, k < count() ? 0 : 1), 2);
        in[k] = side;
      }
      if (n % 2 != 0) {
        for (size_t k = 0; k < count(); ++k) std::memcpy(at(k, pairs), at(k, n - 1), width_[k]);
      }
      CombineInto(0, pairs, in.data());
    }
  }
  // Computes acc[j] = combiner(init, acc[j]) for j of [i, i + n).
  void CombineWithInit(void* const* arguments, int64_t i, int64_t n) {
    Accumulators inits(program_, n);
    inits.FillWithInit(arguments, 0, n);
    CombineOf(
        i, n, [&](size_t k) { return inits.at(k, 0); }, [&](size_t k) { return at(k, i); });
  }
  // Stores acc[i, i + n) in the results from index `to` on.
  void Store(void* const* arguments, int64_t i, int64_t n, int64_t to) {
    for (size_t k = 0; k < count(); ++k) {
      const ReduceProgram::Result& result = program_.results[k];
      auto* out = static_cast<std::byte*>(arguments[result.output]) + to * ByteCount(result.output_type);
      const TileCall narrow = StoreTile(result.output_type);
      const void* in[] = {at(k, i)};
      if (narrow.function != nullptr)
        narrow.function(n, out, in, narrow.parameter);
      else
        std::memcpy(out, in[0], n * width_[k]);
    }
  }

 private:
  void LoadInit(void* const* arguments, size_t k, std::byte* element) {
    const ReduceProgram::Result& result = program_.results[k];
    const TileCall widen = LoadTile(result.init_type);
    const void* in[] = {arguments[result.init]};
    if (widen.function != nullptr)
      widen.function(1, element, in, widen.parameter);
    else
      std::memcpy(element, in[0], width_[k]);
  }
  const std::byte* Yielded(const TileRunner& runner, size_t k, int64_t j) const {
    return static_cast<const std::byte*>(runner.yielded(static_cast<int64_t>(k))) + j * width_[k];
  }
  // Computes acc[i, i + n) = combiner(acc, others); others(k) and olds(k) point to result k.
  template <class Others>
  void CombineWith(int64_t i, int64_t n, Others&& others) {
    CombineOf(
        i, n, [&](size_t k) { return at(k, i); }, others);
  }
  template <class Olds, class Others>
  void CombineOf(int64_t i, int64_t n, Olds&& olds, Others&& others) {
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(olds(k));
    for (size_t k = 0; k < count(); ++k) in.push_back(others(k));
    CombineInto(i, n, in.data());
  }
  void CombineInto(int64_t i, int64_t n, const void* const* in) {
    absl::InlinedVector<void*, 8> out;
    for (size_t k = 0; k < count(); ++k) out.push_back(at(k, i));
    program_.combiner_code.Run(n, in, out.data());
  }

  const ReduceProgram& program_;
  CachedVector<std::byte> bytes_;
  absl::InlinedVector<std::byte*, 4> at_;
  absl::InlinedVector<int64_t, 4> width_;
};

}  // namespace hlo::cpu
