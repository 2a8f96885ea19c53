#pragma once
// The blocked matrix product under Gemm and Convolution: operands come as panels that a source packs from
// wherever they lie, the result goes through a sink that rounds it.

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
// The real type that T consists of.
template <class T>
using Part = typename PartOf<T>::type;
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, Part<T>>;

// A panel of a is kPanelRows<T> rows wide, one of b kPanelColumns<T> columns: what one call of the innermost
// kernel keeps in registers.
template <class T>
inline constexpr int kPanelRows = kVectorRegisters == 32 ? 12 : 6;
template <class T>
inline constexpr int kPanelColumns = kLanes<Part<T>>*(kComplex<T> ? 1 : 2);
// Terms that are summed up in registers before they are added to the result.
inline constexpr int64_t kPanelDepth = 256;

// One operand of a product as panels.
template <class T, int kWidth>
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  // panel[k * kWidth + i] = element (first + i, k_first + k) for i < count; zeros for count <= i < kWidth.
  virtual void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const = 0;
  // As many panels as there are for `count`, one after the other.
  virtual void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const {
    for (; count > 0; first += kWidth, count -= kWidth, panels += kWidth * k_count)
      Pack(first, std::min<int64_t>(kWidth, count), k_first, k_count, panels);
  }
  virtual int64_t bunch() const { return 4; }       // Panels that a thread packs together.
  virtual double nanoseconds() const { return 0; }  // Of an element, besides packing.
};

// A matrix in memory, of any type that widens to T.
template <class T, int kWidth>
class StridedSource final : public PanelSource<T, kWidth> {
 public:
  // Element (i, k) is data[i * stride + k * k_stride].
  StridedSource(const void* data, ElementType type, int64_t stride, int64_t k_stride);
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override;
  void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const override;

 private:
  // Whole panels of elements that are neighbours, line by line.
  template <class S>
  void PackLines(const S* from, int64_t panel_count, int64_t k_count, T* panels) const;
  // Asks for lines that will be packed next.
  void CallFor(int64_t first, int64_t count, int64_t k_first, int64_t k_count) const;

  const std::byte* data_;
  int64_t width_, stride_, k_stride_;
  WidenBlock<T> widen_;
  bool is_native_, is_bf16_;
};

// A matrix whose rows and columns each run through several dimensions of an array, the last fastest.
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

// A matrix that is computed block by block as it is packed.
template <class T, int kWidth>
class ComputedSource final : public PanelSource<T, kWidth> {
 public:
  // Element (i, k) is number x.first + i * stride + k * k_stride of what x computes; one of the strides is 1.
  ComputedSource(const GemmOperand& x, int64_t stride, int64_t k_stride)
      : compute_(*x.compute), type_(x.type), first_(x.first), stride_(stride), k_stride_(k_stride) {}
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override {
    PackPanels(first, count, k_first, k_count, panel);
  }
  void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const override;
  int64_t bunch() const override { return 16; }  // Long rows.
  double nanoseconds() const override { return compute_.nanoseconds; }

 private:
  const BlockFunction& compute_;
  ElementType type_;
  int64_t first_, stride_, k_stride_;
};

// Whether integers of the type can be PairSource's.
bool FitsPairs(ElementType type);

// A matrix in memory of integers that 16 bits hold, two terms of the sum to an element: term 2k in its lower
// half, 2k + 1 in its upper one.
template <int kWidth>
class PairSource final : public PanelSource<uint32_t, kWidth> {
 public:
  // Element (i, k) is data[i * stride + k * k_stride], 0 from k = k_count on.
  PairSource(const void* data, ElementType type, int64_t stride, int64_t k_stride, int64_t k_count);
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, uint32_t* panel) const override;

 private:
  const std::byte* data_;
  int64_t width_, stride_, k_stride_, k_count_;
  WidenBlock<int16_t> widen_;
};

// panel[k * kWidth + i] = rows[i][k] for i < count, zeros after them.
template <class T, int kWidth>
void PackRows(const T* const* rows, int64_t count, int64_t k_count, T* panel);

// In memory, with one stride between rows and one between columns.
inline bool IsPlainMatrix(const GemmOperand& x) {
  return x.compute == nullptr && x.row_sizes.empty() && x.column_sizes.empty();
}

// Where the matrices of one product of a batch begin, in elements after those of the first one.
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

// Where a product goes, and what is done to it there.
template <class T>
struct ProductSink {
  void* data = nullptr;           // The whole result; nullptr: only the epilogue sees it.
  int64_t origin = 0;             // The number of the product's first element in it.
  int64_t row_stride = 0;         // Of the result.
  int64_t byte_count = 0;         // Of an element.
  NarrowRow<T> narrow = nullptr;  // nullptr: elements are stored as they are.
  const BlockFunction* epilogue = nullptr;

  void* At(int64_t row, int64_t column) const {
    return static_cast<std::byte*>(data) + (origin + row * row_stride + column) * byte_count;
  }
  // Whether sums are taken where the result lies.
  bool SumsInPlace() const { return data != nullptr && narrow == nullptr; }
  bool HasEpilogue() const { return epilogue != nullptr && epilogue->run != nullptr; }
  // Rounds a finished block of sums into its place, unless it lies there, and runs the epilogue.
  void Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums, int64_t ld) const;
  // The same, on several threads where it pays.
  void FinishRows(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums, int64_t ld) const;
};

// sink[i, j] = sum over k of a(i, k) * b(j, k). Of kPairs both halves are multiplied, and both products
// added; of kQuads four bytes, those of a as unsigned numbers that are 128 more than what is meant.
enum class Terms : uint8_t { kSingle, kPairs, kQuads };
template <class T, Terms kTerms = Terms::kSingle>
void MultiplyPanels(int64_t m, int64_t n, int64_t k, const PanelSource<T, kPanelRows<T>>& a,
                    const PanelSource<T, kPanelColumns<T>>& b, const ProductSink<T>& sink);

// Scratch memory of the calling thread, aligned to 64 bytes, which stays its own. A slot's memory is
// undefined after the next call for the same slot.
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

// About how long so many multiplications and additions take.
template <class T>
constexpr double ProductNanoseconds(double terms) {
  return terms * (kComplex<T> ? 4 : 1) / (2.0 * kLanes<Part<T>>);
}

// f.template operator()<T>() with the C++ type of a compute type.
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
