#include "kernels/cpu/fft/fft.h"

#include <algorithm>
#include <complex>

#include "base/arithmetic.h"
#include "kernels/cpu/fft/lines.h"
#include "kernels/cpu/fft/real_lines.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// Transforms dimensions first, ..., last of `from` into `array`; further passes are in place.
template <class R>
void TransformDims(const std::complex<R>* from, std::complex<R>* array, absl::Span<const int64_t> dims,
                   int64_t first, int64_t last, bool inverse) {
  const int64_t elements = Product(dims);
  for (int64_t d = last; d >= first; --d) {
    int64_t inner = 1;
    for (size_t e = static_cast<size_t>(d) + 1; e < dims.size(); ++e) inner *= dims[e];
    TransformLines<R>({from, array, elements / dims[d], dims[d], inner}, inverse);
    from = array;
  }
  if (from != array) std::copy_n(from, elements, array);
}

template <class R>
void Transform(const DenseArray& input, FftType type, int64_t rank, void* out,
               absl::Span<const int64_t> out_dims) {
  using C = std::complex<R>;
  const auto last = static_cast<int64_t>(input.dims.size()) - 1, first = last - rank + 1;
  if (type == FftType::kFft || type == FftType::kIfft) {
    return TransformDims<R>(static_cast<const C*>(input.data), static_cast<C*>(out), input.dims, first, last,
                            type == FftType::kIfft);
  }
  const int64_t lines = Product(input.dims.first(static_cast<size_t>(last)));
  if (type == FftType::kRfft) {
    C* bins = static_cast<C*>(out);
    RealToBins<R>(static_cast<const R*>(input.data), lines, input.dims[last], bins);
    return TransformDims<R>(bins, bins, out_dims, first, last - 1, false);
  }
  const C* bins = static_cast<const C*>(input.data);
  CachedVector<std::byte> buffer;
  if (rank > 1) {
    buffer.resize(Product(input.dims) * sizeof(C));
    C* copy = reinterpret_cast<C*>(buffer.data());
    TransformDims<R>(bins, copy, input.dims, first, last - 1, true);
    bins = copy;
  }
  return BinsToReal<R>(bins, lines, out_dims[last], static_cast<R*>(out));
}

// Returns the memory of TransformDims.
template <class R>
int64_t DimsMemory(absl::Span<const int64_t> dims, int64_t first, int64_t last) {
  int64_t most = 0;
  for (int64_t d = first; d <= last; ++d)
    most = std::max(most, LinesMemory<R>(dims[d], Product(dims) / dims[d]));
  return most;
}

template <class R>
int64_t TransformMemory(absl::Span<const int64_t> in_dims, FftType type, int64_t rank,
                        absl::Span<const int64_t> out_dims) {
  const auto last = static_cast<int64_t>(in_dims.size()) - 1, first = last - rank + 1;
  if (type == FftType::kFft || type == FftType::kIfft) return DimsMemory<R>(in_dims, first, last);
  const int64_t lines = Product(in_dims.first(static_cast<size_t>(last)));
  if (type == FftType::kRfft)
    return std::max(RealToBinsMemory<R>(lines, in_dims[last]), DimsMemory<R>(out_dims, first, last - 1));
  const int64_t copy = rank > 1 ? Product(in_dims) * static_cast<int64_t>(sizeof(std::complex<R>)) : 0;
  return copy + std::max(DimsMemory<R>(in_dims, first, last - 1), BinsToRealMemory<R>(lines, out_dims[last]));
}

}  // namespace

void Fft(const DenseArray& input, FftType type, absl::Span<const int64_t> length, void* out,
         ElementType out_type, absl::Span<const int64_t> out_dims) {
  const int64_t out_bytes = Product(out_dims) * ByteCount(out_type);
  if (Product(input.dims) == 0 || out_bytes == 0) {
    std::fill_n(static_cast<std::byte*>(out), out_bytes, std::byte{});
    return;
  }
  if (length.empty()) {
    std::memcpy(out, input.data, static_cast<size_t>(out_bytes));
    return;
  }
  const auto rank = static_cast<int64_t>(length.size());
  if (ComponentType(out_type) == ElementType::kF64)
    return Transform<double>(input, type, rank, out, out_dims);
  return Transform<float>(input, type, rank, out, out_dims);
}

int64_t FftMemory(absl::Span<const int64_t> in_dims, FftType type, int64_t rank, ElementType out_type,
                  absl::Span<const int64_t> out_dims) {
  if (rank == 0 || Product(in_dims) == 0 || Product(out_dims) == 0) return 0;
  if (ComponentType(out_type) == ElementType::kF64)
    return TransformMemory<double>(in_dims, type, rank, out_dims);
  return TransformMemory<float>(in_dims, type, rank, out_dims);
}

}  // namespace hlo::cpu
