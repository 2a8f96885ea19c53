#include "kernels/cpu/window/scan.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/elementwise/widened_array.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/window/window_taps.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kScannedLanes = 256;  // Lanes per tile; one cache line per lane fits in the L1 cache.

// Moves lanes [lane, lane + n) of one array at a step between memory and tiles.
class Tiles {
 public:
  Tiles(const ScanDims& dims, ElementType type, int64_t line_length)
      : dims_(dims),
        line_length_(line_length),
        width_(ByteCount(type)),
        lane_width_(ComputeTypeBytes(ComputeTypeOf(type))),
        load_(LoadTile(type)),
        store_(StoreTile(type)),
        tile_(kScannedLanes * lane_width_),
        raw_(kScannedLanes * width_) {}

  std::byte* tile() { return tile_.data(); }

  // Returns the tile, or the address of the lanes if they are contiguous in memory.
  const void* Load(const void* data, int64_t lane, int64_t n, int64_t t) {
    const auto* from = static_cast<const std::byte*>(data);
    std::byte* raw = load_.function == nullptr ? tile_.data() : raw_.data();
    const void* found = raw;
    EachRun(lane, n, t, [&](int64_t at, int64_t stride, int64_t count, int64_t done) {
      if (stride == 1 && count == n)
        found = from + at * width_;
      else
        CopyStrided(count, width_, raw + done * width_, 1, from + at * width_, stride);
    });
    if (load_.function == nullptr) return found;
    const void* in[] = {found};
    load_.function(n, tile_.data(), in, load_.parameter);
    return tile_.data();
  }
  void Store(void* data, int64_t lane, int64_t n, int64_t t) {
    const std::byte* raw = tile_.data();
    if (store_.function != nullptr) {
      const void* in[] = {tile_.data()};
      store_.function(n, raw_.data(), in, store_.parameter);
      raw = raw_.data();
    }
    EachRun(lane, n, t, [&](int64_t at, int64_t stride, int64_t count, int64_t done) {
      CopyStrided(count, width_, static_cast<std::byte*>(data) + at * width_, stride, raw + done * width_, 1);
    });
  }

 private:
  // Calls visit(offset, stride, count, lanes before) for groups of lanes with a constant stride.
  template <class Visit>
  void EachRun(int64_t lane, int64_t n, int64_t t, Visit&& visit) const {
    if (dims_.inner == 1) return visit(lane * line_length_ + t, line_length_, n, 0);
    for (int64_t done = 0; done < n;) {
      const int64_t o = (lane + done) / dims_.inner, i = (lane + done) % dims_.inner;
      const int64_t count = std::min(n - done, dims_.inner - i);
      visit((o * line_length_ + t) * dims_.inner + i, 1, count, done);
      done += count;
    }
  }

  const ScanDims& dims_;
  int64_t line_length_;  // 1 for carries.
  int64_t width_, lane_width_;
  TileCall load_, store_;
  CachedVector<std::byte> tile_, raw_;
};

void ScanLanes(const ScanDims& dims, const ScanArrays& arrays, const TileCode& code, int64_t lane,
               int64_t n) {
  CachedVector<Tiles> inputs, outputs, carries, next;
  for (const ScanInput& input : arrays.inputs) inputs.emplace_back(dims, input.type, dims.length);
  for (const ScanOutput& output : arrays.outputs) outputs.emplace_back(dims, output.type, dims.length);
  for (const ScanOutput& carry : arrays.carries) {
    carries.emplace_back(dims, carry.type, 1);
    next.emplace_back(dims, carry.type, 1);
  }
  CachedVector<const void*> in(inputs.size() + carries.size());
  CachedVector<void*> out(outputs.size() + carries.size());
  for (size_t k = 0; k < carries.size(); ++k) {
    const void* initial = carries[k].Load(arrays.initial[k].data, lane, n, 0);
    if (initial != carries[k].tile())
      std::memcpy(carries[k].tile(), initial, n * ComputeTypeBytes(ComputeTypeOf(arrays.initial[k].type)));
  }
  for (int64_t step = 0; step < dims.length; ++step) {
    const int64_t t = dims.reverse ? dims.length - 1 - step : step;
    for (size_t k = 0; k < inputs.size(); ++k) in[k] = inputs[k].Load(arrays.inputs[k].data, lane, n, t);
    for (size_t k = 0; k < outputs.size(); ++k) out[k] = outputs[k].tile();
    for (size_t k = 0; k < carries.size(); ++k) {
      in[inputs.size() + k] = carries[k].tile();
      out[outputs.size() + k] = next[k].tile();
    }
    code.Run(n, in.data(), out.data());
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k].Store(arrays.outputs[k].data, lane, n, t);
    std::swap(carries, next);
  }
  for (size_t k = 0; k < carries.size(); ++k) carries[k].Store(arrays.carries[k].data, lane, n, 0);
}

void ReducePrefixesOfLanes(const Prefixes& prefixes, absl::Span<const WindowArray> arrays,
                           const TileCode& combiner, int64_t lane, int64_t n) {
  const ScanDims& dims = prefixes.dims;
  const int64_t first = prefixes.has_empty_one ? 1 : 0;
  CachedVector<Tiles> inputs, sums;
  CachedVector<const void*> in(2 * arrays.size());
  CachedVector<void*> out(arrays.size());
  for (size_t k = 0; k < arrays.size(); ++k) {
    inputs.emplace_back(dims, arrays[k].type, dims.length);
    sums.emplace_back(dims, arrays[k].type, dims.length + first);
    const WidenedInput init(arrays[k].type, arrays[k].init, 1);
    CopyStrided(n, init.width(), sums[k].tile(), 1, init.at(0), 0);
    if (prefixes.has_empty_one) sums[k].Store(arrays[k].result, lane, n, 0);
  }
  for (size_t k = 0; k < arrays.size(); ++k) in[k] = out[k] = sums[k].tile();
  for (int64_t t = 0; t < dims.length; ++t) {
    for (size_t k = 0; k < arrays.size(); ++k)
      in[arrays.size() + k] = inputs[k].Load(arrays[k].base, lane, n, t);
    combiner.Run(n, in.data(), out.data());
    for (size_t k = 0; k < arrays.size(); ++k) sums[k].Store(arrays[k].result, lane, n, first + t);
  }
}

// Calls scan(lane, n) for parts of the lanes.
template <class ScanPart>
void InParts(const ScanDims& dims, const TileCode& code, ScanPart&& scan) {
  const int64_t lanes = dims.outer * dims.inner;
  const double nanoseconds =
      2.0 * static_cast<double>(code.step_count() + 1) * static_cast<double>(lanes * dims.length);
  ParallelFor(CeilDiv(lanes, kScannedLanes), nanoseconds, [&](int64_t part) {
    scan(part * kScannedLanes, std::min(kScannedLanes, lanes - part * kScannedLanes));
  });
}

template <class F, class T, bool kCarryFirst>
void ScanLine(int64_t length, int64_t step, const void* in, void* out, void* carry) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const F f{};
  T sum = *static_cast<T*>(carry);
  for (int64_t i = 0; i < length; ++i, x += step, y += step) *y = sum = kCarryFirst ? f(sum, *x) : f(*x, sum);
  *static_cast<T*>(carry) = sum;
}

template <class F, class T>
ScanLineFn LineOf(bool carry_first) {
  if constexpr (std::is_invocable_r_v<T, F, T, T>)
    return carry_first ? &ScanLine<F, T, true> : &ScanLine<F, T, false>;
  else
    return nullptr;
}

}  // namespace

void Scan(const ScanDims& dims, const ScanArrays& arrays, const TileCode& code) {
  InParts(dims, code, [&](int64_t lane, int64_t n) { ScanLanes(dims, arrays, code, lane, n); });
}

void ReducePrefixes(const Prefixes& prefixes, absl::Span<const WindowArray> arrays,
                    const TileCode& combiner) {
  InParts(prefixes.dims, combiner,
          [&](int64_t lane, int64_t n) { ReducePrefixesOfLanes(prefixes, arrays, combiner, lane, n); });
}

void ReducePrefixesOfLines(const Prefixes& prefixes, const WindowArray& array, ScanLineFn line) {
  const int64_t width = ByteCount(array.type), length = prefixes.dims.length;
  const auto* from = static_cast<const std::byte*>(array.base);
  auto* to = static_cast<std::byte*>(array.result);
  for (int64_t o = 0; o < prefixes.dims.outer; ++o) {
    alignas(16) std::byte carry[16];
    std::memcpy(carry, array.init, width);
    if (prefixes.has_empty_one) {
      std::memcpy(to, carry, width);
      to += width;
    }
    line(length, 1, from, to, carry);
    from += length * width;
    to += length * width;
  }
}

std::optional<Prefixes> FindPrefixes(absl::Span<const int64_t> base_dims, Window window,
                                     absl::Span<const int64_t> result_dims) {
  const auto is_trivial = [](const WindowDim& dim) { return IsTrivial(dim); };
  const auto scanned = std::find_if_not(window.begin(), window.end(), is_trivial);
  if (scanned == window.end() || !std::all_of(scanned + 1, window.end(), is_trivial)) return std::nullopt;
  const size_t d = scanned - window.begin();
  const int64_t length = base_dims[d];
  const bool has_empty_one = result_dims[d] == length + 1;
  const WindowDim prefix{.size = scanned->size, .padding_low = scanned->size - (has_empty_one ? 0 : 1)};
  if (*scanned != prefix || scanned->size < length || result_dims[d] < length) return std::nullopt;
  return Prefixes{{Product(base_dims.first(d)), length, Product(base_dims.subspan(d + 1)), false},
                  has_empty_one};
}

ScanLineFn FindScanLine(Opcode opcode, ElementType type, bool carry_first) {
  if (!IsStoredAsComputed(type) || BitWidth(type) < 8) return nullptr;
  return DispatchComputeType(ComputeTypeOf(type), [&]<class T>() -> ScanLineFn {
    switch (opcode) {
      case Opcode::kAdd:
        return LineOf<scalar::Add, T>(carry_first);
      case Opcode::kMultiply:
        return LineOf<scalar::Multiply, T>(carry_first);
      case Opcode::kMaximum:
        return LineOf<scalar::Maximum, T>(carry_first);
      case Opcode::kMinimum:
        return LineOf<scalar::Minimum, T>(carry_first);
      default:
        return nullptr;
    }
  });
}

}  // namespace hlo::cpu
