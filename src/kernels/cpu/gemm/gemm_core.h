#pragma once
// This file declares the blocked matrix product behind Gemm and Convolution. Panel sources pack the operands,
// and a sink rounds and stores the result.

#include <algorithm>
#include <complex>
#include <cstdint>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/widen.h"

namespace hlo::cpu {

template <class T>
struct PartOf {
  using type = T;
};
template <class R>
struct PartOf<std::complex<R>> {
  using type = R;
};
// The real component type of T.
template <class T>
using Part = typename PartOf<T>::type;
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, Part<T>>;

// The contents of an element of a panel: kSingle is one term; kPairs are two terms, whose products are both
// added; kQuads are four bytes, those of a as unsigned numbers with a bias of 128; kAmx is a word of an AMX
// tile (amx.h).
enum class Terms : uint8_t { kSingle, kPairs, kQuads, kAmx };
// The rows, or columns, of a panel of AMX tiles.
inline constexpr int kAmxLines = 32;

// The register tile of the micro-kernel: a panel of a has kPanelRows<T> rows, a panel of b has
// kPanelColumns<T> columns.
template <class T, Terms kTerms = Terms::kSingle>
inline constexpr int kPanelRows = kTerms == Terms::kAmx    ? kAmxLines
                                  : kVectorRegisters == 32 ? 12
                                                           : 6;
template <class T, Terms kTerms = Terms::kSingle>
inline constexpr int kPanelColumns = kTerms == Terms::kAmx ? kAmxLines
                                                           : kLanes<Part<T>>*(kComplex<T> ? 1 : 2);
// The number of elements along k that are accumulated in registers before they are added to the result.
inline constexpr int64_t kPanelDepth = 256;

// A matrix in memory. Element (i, k) is data[i * stride + k * k_stride].
template <class T>
struct PlainMatrix {
  const T* data = nullptr;
  int64_t stride = 0, k_stride = 0;
};

// Packs one operand of a product into panels.
template <class T, int kWidth>
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  // Sets panel[k * kWidth + i] = element (first + i, k_first + k) for i < count, and 0 for count <= i <
  // kWidth.
  virtual void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const = 0;
  // Packs all panels for `count` rows or columns, one after the other.
  virtual void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const {
    for (; count > 0; first += kWidth, count -= kWidth, panels += kWidth * k_count)
      Pack(first, std::min<int64_t>(kWidth, count), k_first, k_count, panels);
  }
  // Returns the matrix, if its elements are stored as they are multiplied; otherwise one without data.
  virtual PlainMatrix<T> InPlace() const { return {}; }
  virtual int64_t bunch() const { return 4; }       // Panels that a thread packs together.
  virtual double nanoseconds() const { return 0; }  // Time per element besides packing.
};

// A strided matrix in memory, of any type that widens to T.
template <class T, int kWidth>
class StridedSource final : public PanelSource<T, kWidth> {
 public:
  // Element (i, k) is data[i * stride + k * k_stride].
  StridedSource(const void* data, ElementType type, int64_t stride, int64_t k_stride);
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override;
  void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const override;
  PlainMatrix<T> InPlace() const override {
    if (!is_native_) return {};
    return {reinterpret_cast<const T*>(data_), stride_, k_stride_};
  }

 private:
  // Packs full panels, line by line, if elements of a line are contiguous.
  template <class S>
  void PackLines(const S* from, int64_t panel_count, int64_t k_count, T* panels) const;
  // Prefetches the lines that are packed next.
  void PrefetchLines(int64_t first, int64_t count, int64_t k_first, int64_t k_count) const;

  const std::byte* data_;
  int64_t width_, stride_, k_stride_;
  WidenBlock<T> widen_;
  bool is_native_, is_bf16_;
};

// A matrix whose rows and columns each span several dimensions of an array, the last one fastest.
template <class T, int kWidth>
class NestedSource final : public PanelSource<T, kWidth> {
 public:
  NestedSource(const void* data, ElementType type, Index sizes, Index strides, Index k_sizes,
               Index k_strides);
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override;

 private:
  const std::byte* data_;
  int64_t width_;
  Index sizes_, strides_, k_sizes_, k_strides_;
  WidenBlock<T> widen_;
};

// A matrix that is computed block by block during packing.
template <class T, int kWidth>
class ComputedSource final : public PanelSource<T, kWidth> {
 public:
  // Element (i, k) is the computed element x.first + i * stride + k * k_stride. One stride is 1.
  ComputedSource(const GemmOperand& x, int64_t stride, int64_t k_stride)
      : compute_(*x.compute), type_(x.type), first_(x.first), stride_(stride), k_stride_(k_stride) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override {
    PackPanels(first, count, k_first, k_count, panel);
  }
  void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const override;
  int64_t bunch() const override { return 16; }  // Rows are long.
  double nanoseconds() const override { return compute_.nanoseconds; }

 private:
  const BlockFunction& compute_;
  ElementType type_;
  int64_t first_, stride_, k_stride_;
};

// Returns true if PairSource supports the integer type.
bool FitsPairs(ElementType type);

// An integer matrix of at most 16 bits per element, packed two terms at a time: term 2k in the lower half,
// term 2k + 1 in the upper half.
template <int kWidth>
class PairSource final : public PanelSource<uint32_t, kWidth> {
 public:
  // Element (i, k) is data[i * stride + k * k_stride]. Terms from index k_count on are 0.
  PairSource(const void* data, ElementType type, int64_t stride, int64_t k_stride, int64_t k_count);
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, uint32_t* panel) const override;

 private:
  const std::byte* data_;
  int64_t width_, stride_, k_stride_, k_count_;
  WidenBlock<int16_t> widen_;
};

// Sets panel[k * kWidth + i] = rows[i][k] for i < count, and 0 for count <= i < kWidth.
template <class T, int kWidth>
void PackRows(const T* const* rows, int64_t count, int64_t k_count, T* panel);

// Returns true if the operand is stored in memory with a single row stride and a single column stride.
inline bool IsPlainMatrix(const GemmOperand& x) {
  return x.compute == nullptr && x.row_sizes.empty() && x.column_sizes.empty();
}

// Offsets of one product of a batch, in elements relative to the first product.
struct BatchOffsets {
  int64_t a = 0, b = 0, c = 0;
};
inline BatchOffsets OffsetsOf(const GemmProblem& problem, int64_t batch) {
  BatchOffsets offsets;
  EachDigit(batch, problem.batch_dims, [&](int64_t d, int64_t i) {
    offsets.a += i * problem.a.batch_strides[d];
    offsets.b += i * problem.b.batch_strides[d];
    offsets.c += i * problem.c_batch_strides[d];
  });
  return offsets;
}

// Describes where a product is stored, and how it is converted and post-processed.
template <class T>
struct ProductSink {
  void* data = nullptr;           // The whole result; nullptr if only the epilogue sees it.
  int64_t origin = 0;             // Index of the product's first element in the result.
  int64_t row_stride = 0;         // Row stride of the result.
  int64_t byte_count = 0;         // Size of an element.
  NarrowRow<T> narrow = nullptr;  // nullptr if elements are stored unconverted.
  const BlockFunction* epilogue = nullptr;
  int scale = 0;  // Finished sums of f32 are divided by 2^scale.

  void* At(int64_t row, int64_t column) const {
    return static_cast<std::byte*>(data) + (origin + row * row_stride + column) * byte_count;
  }
  // Returns true if sums are accumulated directly in the result.
  bool SumsInPlace() const { return data != nullptr && narrow == nullptr; }
  bool HasEpilogue() const { return epilogue != nullptr && epilogue->run != nullptr; }
  // Rounds a finished block of sums into the result, unless it was accumulated there, and runs the epilogue.
  void Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums, int64_t ld) const;
  // Performs Finish with several threads if worthwhile.
  void FinishRows(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums, int64_t ld) const;
};

// Returns the sink for an array of a type, or for the epilogue alone if `data` is nullptr. The epilogue must
// outlive it.
template <class T>
ProductSink<T> SinkOf(void* data, ElementType type, const BlockFunction& epilogue);

// The sources of the operands of a product.
template <class T, Terms kTerms = Terms::kSingle>
using RowSource = PanelSource<T, kPanelRows<T, kTerms>>;
template <class T, Terms kTerms = Terms::kSingle>
using ColumnSource = PanelSource<T, kPanelColumns<T, kTerms>>;

// Computes sink[i, j] = sum over k of a(i, k) * b(j, k).
template <class T, Terms kTerms = Terms::kSingle>
void MultiplyPanels(int64_t m, int64_t n, int64_t k, const RowSource<T, kTerms>& a,
                    const ColumnSource<T, kTerms>& b, const ProductSink<T>& sink);

// Slots of the calling thread's scratch memory, aligned to 64 bytes and cached per thread. The contents of a
// slot are undefined after the next call for the same slot.
enum class ScratchSlot {
  kPanels,
  kSums,
  kPartials,
  kOperand,
  kResult,
  kBlock,
  kPiece,
  kComputed,
  kCallerA,
  kCallerB,
  kCount
};
void* Scratch(ScratchSlot slot, int64_t byte_count);
template <class T>
T* Scratch(ScratchSlot slot, int64_t count) {
  return static_cast<T*>(Scratch(slot, count * static_cast<int64_t>(sizeof(T))));
}

// Estimates the time for the given number of products of elements.
template <class T, Terms kTerms = Terms::kSingle>
constexpr double ProductNanoseconds(double terms) {
  constexpr double kAmxSpeedup = 8;
  return terms * (kComplex<T> ? 4 : 1) / (2.0 * kLanes<Part<T>>) / (kTerms == Terms::kAmx ? kAmxSpeedup : 1);
}

// Calls f.template operator()<T>() with the C++ type of a compute type.
template <class F>
void DispatchCompute(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kF32:
      return f.template operator()<float>();
    case ElementType::kF64:
      return f.template operator()<double>();
    case ElementType::kU32:
      return f.template operator()<uint32_t>();
    case ElementType::kU64:
      return f.template operator()<uint64_t>();
    case ElementType::kC64:
      return f.template operator()<std::complex<float>>();
    default:
      return f.template operator()<std::complex<double>>();
  }
}

}  // namespace hlo::cpu
