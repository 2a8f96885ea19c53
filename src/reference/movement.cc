// Data movement (semantics 2.4, 2.5, 3.14, 4.1). The comments state which operand element each result element
// equals.

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <optional>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/op.h"
#include "types/packing.h"
#include "types/physical_layout.h"
#include "types/view.h"
#include "types/wide.h"

namespace hlo::reference {
namespace {

View DenseView(const Literal& array) { return View::Dense(array.dims()); }

// Returns the array's bits in row-major order as elements of another type. The result may be shorter but not
// longer.
absl::StatusOr<Literal> Reinterpreted(const Literal& array, const Shape& shape) {
  const ElementType from = array.type(), to = shape.type();
  const bool same_bytes = BitWidth(to) >= 8 && !IsSubByte(from);
  if (same_bytes && DenseByteCount(shape) == array.byte_count()) {
    return Literal::FromBuffer(shape, array.buffer());
  }
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  const int64_t have = PackedByteCount(from, array.element_count());
  const int64_t need = PackedByteCount(to, result.element_count());
  if (need > have) {
    return absl::InvalidArgumentError(fmt::format("{} has {}, but {} needs {}", ToString(array.shape()),
                                                  Counted(have, "byte"), ToString(shape), need));
  }
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> packed, Buffer::Allocate(have));
  Pack(from, array.data(), array.element_count(), packed->data());
  Unpack(to, packed->data(), result.element_count(), result.mutable_data());
  return result;
}

// Returns the bytes of an array in its layout; padding is zero.
absl::StatusOr<std::shared_ptr<Buffer>> InMemory(const PhysicalLayout& layout, const std::byte* elements) {
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> memory, Buffer::Allocate(layout.slots_byte_count()));
  std::memset(memory->data(), 0, static_cast<size_t>(memory->byte_count()));
  layout.Store(elements, memory->data());
  return memory;
}

// Reads the operand's memory in the result's layout; nullopt if result elements are in the operand's padding.
absl::StatusOr<std::optional<Literal>> ReadThroughMemory(const Literal& operand, const PhysicalLayout& from,
                                                         const Shape& shape, const PhysicalLayout& to) {
  if (to.slots_byte_count() > from.slots_byte_count()) return std::nullopt;
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> ones, Buffer::Allocate(operand.byte_count()));
  std::memset(ones->data(), 0xff, static_cast<size_t>(ones->byte_count()));
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> occupied, InMemory(from, ones->data()));
  to.Load(occupied->data(), result.mutable_data());
  // An element with a zero bit is in padding.
  const int64_t bits = std::min<int64_t>(8, BitWidth(shape.type()));
  const auto full = static_cast<std::byte>(IsSigned(shape.type()) ? 0xff : ZeroExtend(0xff, bits));
  const std::byte* end = result.data() + result.byte_count();
  if (std::find_if(result.data(), end, [&](std::byte b) { return b != full; }) != end) return std::nullopt;

  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> memory, InMemory(from, operand.data()));
  to.Load(memory->data(), result.mutable_data());
  return result;
}

// result[(i + shift) mod n] = array[i] along one dimension: swaps its two parts.
absl::StatusOr<Literal> Rotated(const Literal& array, int64_t dimension, int64_t shift) {
  const int64_t n = array.dim(dimension);
  if (n == 0) return array;
  const int64_t moved = (shift % n + n) % n;
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(array.shape()));
  const auto copy_part = [&](int64_t from, int64_t to, int64_t count) {
    Index source = Zeros(array.rank()), target = Zeros(array.rank()), sizes = array.dims();
    source[dimension] = from;
    target[dimension] = to;
    sizes[dimension] = count;
    CopyElements(ByteCount(array.type()), array.data(), DenseView(array).Window(source, sizes),
                 result.mutable_data(), DenseView(result).Window(target, sizes));
  };
  copy_part(0, moved, n - moved);
  copy_part(n - moved, 0, moved);
  return result;
}

}  // namespace

// result[i] = operand[k] with k[n] = i[dimensions[n]].
absl::StatusOr<Literal> Broadcast(OpContext& context) {
  const Literal& operand = context.operands[0];
  const IntList dimensions = context.instruction.Get<attr::dimensions>();
  const Index operand_strides = RowMajorStrides(operand.dims());
  View from{context.shape().dims(), Zeros(context.shape().rank())};
  for (size_t n = 0; n < dimensions.size(); ++n) from.strides[dimensions[n]] += operand_strides[n];
  return Copied(operand, from, context.shape());
}

// Elements keep their row-major position.
absl::StatusOr<Literal> Reshape(OpContext& context) { return context.operands[0].WithShape(context.shape()); }

// result[i] = operand[j] with j[permutation[k]] = i[k].
absl::StatusOr<Literal> Transpose(OpContext& context) {
  const Literal& operand = context.operands[0];
  return Copied(operand, DenseView(operand).Permuted(context.instruction.Get<attr::dimensions>()),
                context.shape());
}

// Replaces i[d] by dim(d) - 1 - i[d] along each of `dimensions`.
absl::StatusOr<Literal> Reverse(OpContext& context) {
  const Literal& operand = context.operands[0];
  Index start = Zeros(operand.rank()), steps(operand.rank(), 1);
  for (int64_t d : context.instruction.Get<attr::dimensions>()) {
    start[d] = operand.dim(d) - 1;
    steps[d] = -1;
  }
  return Copied(operand, DenseView(operand).Window(start, operand.dims(), steps), context.shape());
}

// result[i] = operand[start + i * stride].
absl::StatusOr<Literal> Slice(OpContext& context) {
  const Literal& operand = context.operands[0];
  Index start, steps;
  for (const SliceRange& range : context.instruction.Get<attr::slice>()) {
    start.push_back(range.start);
    steps.push_back(context.shape().dim(steps.rank()) > 1 ? range.stride : 1);
  }
  return Copied(operand, DenseView(operand).Window(start, context.shape().dims(), steps), context.shape());
}

// Concatenates the operands along the dimension.
absl::StatusOr<Literal> Concatenate(OpContext& context) {
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  Index start = Zeros(result.rank());
  for (const Literal& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(const Literal piece, WithType(operand, result.type()));
    CopyElements(ByteCount(result.type()), piece.data(), DenseView(piece), result.mutable_data(),
                 DenseView(result).Window(start, piece.dims()));
    start[dimension] += piece.dim(dimension);
  }
  return result;
}

// Operand element a is moved to low + a * (interior + 1), or dropped outside the result; all other elements
// are the padding value.
absl::StatusOr<Literal> Pad(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  HLO_ASSIGN_OR_RETURN(const Literal operand, WithType(context.operands[0], result.type()));
  HLO_ASSIGN_OR_RETURN(const Literal value, WithType(context.operands[1], result.type()));
  for (const PaddingDim& padding : context.instruction.Get<attr::padding>()) {
    if (!WithinReach(padding.low) || !WithinReach(padding.high) || !WithinReach(padding.interior)) {
      return absl::UnimplementedError("padding by 2^60 and more elements is not evaluated");
    }
  }
  const int64_t width = ByteCount(result.type());
  FillElements(width, value.data(), result.mutable_data(), DenseView(result));

  // The operand elements that are kept, and their positions in the result.
  Index first, count, target, steps;
  for (int64_t d = 0; d < result.rank(); ++d) {
    const PaddingDim& padding = context.instruction.Get<attr::padding>()[d];
    if (operand.dim(d) == 0 || result.dim(d) == 0) return result;
    const int64_t step = padding.interior + 1;
    first.push_back(padding.low < 0 ? CeilDiv(-padding.low, step) : 0);
    target.push_back(padding.low + first[d] * step);
    const int64_t fit = target[d] < result.dim(d) ? (result.dim(d) - 1 - target[d]) / step + 1 : 0;
    count.push_back(std::max<int64_t>(0, std::min(operand.dim(d) - first[d], fit)));
    steps.push_back(count[d] > 1 ? step : 1);
  }
  CopyElements(width, operand.data(), DenseView(operand).Window(first, count), result.mutable_data(),
               DenseView(result).Window(target, count, steps));
  return result;
}

// Returns the index i[iota_dimension] as s64 converted to the type.
absl::StatusOr<Literal> Iota(OpContext& context) {
  const Shape& shape = context.shape();
  const int64_t dimension = context.instruction.Get<attr::iota_dimension>();
  HLO_ASSIGN_OR_RETURN(Literal line, Literal::Create(Shape::Array(shape.type(), {shape.dim(dimension)})));
  DispatchWide(shape.type(), [&]<class W>() {
    const StoreFn<W> store = Storer<W>(shape.type());
    for (int64_t i = 0; i < line.element_count(); ++i) {
      if constexpr (std::is_same_v<W, std::complex<double>>)
        store(line.mutable_data(), i, static_cast<double>(i));
      else
        store(line.mutable_data(), i, static_cast<W>(i));
    }
  });
  View from{shape.dims(), Zeros(shape.rank())};
  from.strides[dimension] = 1;
  return Copied(line, from, shape);
}

// Reinterprets the operand's bits, first element and least significant bit first, as elements of the result
// type.
absl::StatusOr<Literal> BitcastConvert(OpContext& context) {
  return Reinterpreted(context.operands[0], context.shape());
}

// Reinterprets the operand as bitcast-convert does, in the memory order of both layouts. If result elements
// would be in the operand's padding, tiles are ignored and only the dimension orders count.
absl::StatusOr<Literal> Bitcast(OpContext& context) {
  const Shape& operand_shape = context.instruction.operand(0)->shape();
  const bool untiled = IsUntiled(operand_shape) && IsUntiled(context.shape());
  if (!untiled && !HaveSameTiling(operand_shape, context.shape())) {
    const absl::StatusOr<PhysicalLayout> from = PhysicalLayout::Of(operand_shape, NarrowElements::kPacked);
    const absl::StatusOr<PhysicalLayout> to = PhysicalLayout::Of(context.shape(), NarrowElements::kPacked);
    if (from.ok() && to.ok()) {
      HLO_ASSIGN_OR_RETURN(std::optional<Literal> result,
                           ReadThroughMemory(context.operands[0], *from, context.shape(), *to));
      if (result) return *std::move(result);
    }
  }
  const Index operand_order = MajorToMinor(operand_shape);
  const Index result_order = MajorToMinor(context.shape());
  HLO_ASSIGN_OR_RETURN(const Literal operand, Transposed(context.operands[0], operand_order));
  const Shape in_memory = Shape::Array(context.shape().type(), Pick(context.shape().dims(), result_order));
  HLO_ASSIGN_OR_RETURN(const Literal result, Reinterpreted(operand, in_memory));
  HLO_ASSIGN_OR_RETURN(const Literal logical, Transposed(result, Inverse(result_order)));
  return logical.WithShape(context.shape());
}

// mode=rotate: result[(i + shift) mod n] = operand[i] along each of `dimensions`.
absl::StatusOr<Literal> Shuffle(OpContext& context) {
  const IntList dimensions = context.instruction.Get<attr::dimensions>();
  const IntList shifts = context.instruction.Get<attr::shifts>();
  Literal result = context.operands[0];
  for (size_t k = 0; k < dimensions.size(); ++k) {
    HLO_ASSIGN_OR_RETURN(result, Rotated(result, dimensions[k], shifts[k]));
  }
  return result;
}

}  // namespace hlo::reference
