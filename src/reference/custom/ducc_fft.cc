// FFTs that jaxlib passes to DUCC (`dynamic_ducc_fft`). The operands are a descriptor, the array, its sizes
// (those of the real array if one side is real), the strides of operand and result, and the factor of the
// result.

#include <algorithm>
#include <optional>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/as_instruction.h"
#include "reference/custom/functions.h"
#include "types/index.h"

namespace hlo::reference::custom {
namespace {

enum class Transform : uint8_t { kComplex = 0, kToReal = 1, kToComplex = 2 };

struct Descriptor {
  uint32_t rank = 0;
  bool is_double = false, forward = false;
  Transform transform = Transform::kComplex;
  std::vector<int64_t> axes;
};

// Reads a FlatBuffers table: a vtable of 16-bit field offsets, where 0 means the default.
class FlatTable {
 public:
  explicit FlatTable(absl::Span<const uint8_t> bytes) : bytes_(bytes) {
    table_ = Number<uint32_t>(0);
    vtable_ = table_ - Number<int32_t>(table_);
    vtable_size_ = Number<uint16_t>(vtable_);
  }

  template <class T>
  T Scalar(int field, T otherwise) {
    const int64_t at = Place(field);
    return at == 0 ? otherwise : Number<T>(at);
  }
  std::vector<int64_t> List(int field) {
    std::vector<int64_t> list;
    int64_t at = Place(field);
    if (at == 0) return list;
    at += Number<uint32_t>(at);
    const int64_t count = Number<uint32_t>(at);
    for (int64_t i = 0; i < count && !failed_; ++i) list.push_back(Number<uint32_t>(at + 4 * (i + 1)));
    return list;
  }
  bool failed() const { return failed_; }

 private:
  int64_t Place(int field) {
    const int64_t entry = 4 + 2 * int64_t{field};
    if (entry + 2 > vtable_size_) return 0;
    const int64_t offset = Number<uint16_t>(vtable_ + entry);
    return offset == 0 ? 0 : table_ + offset;
  }
  template <class T>
  T Number(int64_t at) {
    T value{};
    if (at < 0 || at + static_cast<int64_t>(sizeof(T)) > static_cast<int64_t>(bytes_.size()))
      failed_ = true;
    else
      std::copy_n(bytes_.data() + at, sizeof(T), reinterpret_cast<uint8_t*>(&value));
    return value;
  }

  absl::Span<const uint8_t> bytes_;
  int64_t table_ = 0, vtable_ = 0, vtable_size_ = 0;
  bool failed_ = false;
};

std::optional<Descriptor> ReadDescriptor(absl::Span<const uint8_t> bytes) {
  FlatTable table(bytes);
  Descriptor descriptor;
  descriptor.rank = table.Scalar<uint32_t>(0, 0);
  descriptor.is_double = table.Scalar<uint8_t>(1, 0) != 0;
  const auto transform = table.Scalar<uint8_t>(2, 0);
  descriptor.axes = table.List(3);
  descriptor.forward = table.Scalar<uint8_t>(4, 0) != 0;
  if (table.failed() || transform > 2) return std::nullopt;
  descriptor.transform = static_cast<Transform>(transform);
  return descriptor;
}

FftType TypeOf(const Descriptor& descriptor) {
  switch (descriptor.transform) {
    case Transform::kToReal:
      return FftType::kIrfft;
    case Transform::kToComplex:
      return FftType::kRfft;
    case Transform::kComplex:
      break;
  }
  return descriptor.forward ? FftType::kFft : FftType::kIfft;
}

bool Holds(const Literal& numbers, absl::Span<const int64_t> wanted) {
  const absl::StatusOr<Literal> given = AsIndices(numbers);
  if (!given.ok() || given->element_count() != static_cast<int64_t>(wanted.size())) return false;
  return std::equal(wanted.begin(), wanted.end(), given->span<int64_t>().begin());
}

absl::Status DescriptorMismatch(const OpContext& context, const Descriptor& descriptor) {
  const Literal& x = context.operands[1];
  const Shape& shape = context.shape();
  const Shape& real = descriptor.transform == Transform::kToReal ? shape : x.shape();
  const auto wrong = [](std::string_view what) {
    return absl::FailedPreconditionError(fmt::format("its {}", what));
  };
  const bool is_inverse_of_real = descriptor.transform == Transform::kToReal && descriptor.forward;
  const bool is_forward_of_real = descriptor.transform == Transform::kToComplex && descriptor.forward;
  if (is_inverse_of_real || (descriptor.transform == Transform::kToComplex && !is_forward_of_real))
    return wrong("descriptor asks for a transform between real and complex numbers in the other direction");
  const auto count = static_cast<int64_t>(descriptor.axes.size());
  bool fits = descriptor.rank == static_cast<uint32_t>(x.rank()) && 0 < count && count <= x.rank();
  for (int64_t i = 0; fits && i < count; ++i) fits = descriptor.axes[i] == x.rank() - count + i;
  if (!fits) return wrong(fmt::format("descriptor does not name the last axes of {}", ToString(x.shape())));
  const ElementType type = IsComplex(x.type()) ? x.type() : shape.type();
  if (descriptor.is_double != (type == ElementType::kC128))
    return wrong(fmt::format("descriptor has another precision than {}", ToString(x.shape())));
  if (!Holds(context.operands[2], real.dims()))
    return wrong(fmt::format("sizes are not those of {}", ToString(real)));
  if (!Holds(context.operands[3], RowMajorStrides(x.dims())) ||
      !Holds(context.operands[4], RowMajorStrides(shape.dims())))
    return wrong("strides are not those of dense arrays");
  return absl::OkStatus();
}

}  // namespace

std::string DuccFftMismatch(const Instruction& call) {
  const Shape &x = call.operand(1)->shape(), &y = call.shape();
  const auto is = [&](ElementType from, ElementType to) { return x.IsArray(from) && y.IsArray(to); };
  const bool fits = is(ElementType::kC64, ElementType::kC64) || is(ElementType::kC128, ElementType::kC128) ||
                    is(ElementType::kF32, ElementType::kC64) || is(ElementType::kF64, ElementType::kC128) ||
                    is(ElementType::kC64, ElementType::kF32) || is(ElementType::kC128, ElementType::kF64);
  if (!fits) return fmt::format("there is no transform of {} to {}", ToString(x), ToString(y));
  if (call.operand(2)->shape().dim(0) != x.rank() || y.rank() != x.rank() ||
      call.operand(5)->shape().dim(0) != 1)
    return fmt::format("its sizes, strides and factor do not fit {}", ToString(x));
  return "";
}

absl::StatusOr<Literal> DuccFft(OpContext& context) {
  const std::optional<Descriptor> descriptor = ReadDescriptor(context.operands[0].span<uint8_t>());
  if (!descriptor.has_value())
    return absl::FailedPreconditionError("its descriptor is not readable; was the constant left out?");
  HLO_RETURN_IF_ERROR(DescriptorMismatch(context, *descriptor));
  const Literal& operand = context.operands[1];
  const Shape& shape = context.shape();
  const Shape& real = descriptor->transform == Transform::kToReal ? shape : operand.shape();
  const absl::Span<const int64_t> lengths =
      real.dims().subspan(real.rank() - static_cast<int64_t>(descriptor->axes.size()));
  const auto wide = [](ElementType type) { return IsComplex(type) ? ElementType::kC128 : ElementType::kF64; };
  HLO_ASSIGN_OR_RETURN(Literal x, Widened(operand, wide(operand.type())));
  const FftType type = TypeOf(*descriptor);
  const InstructionForm form{Opcode::kFft,
                             {Attribute<attr::fft_type>(type), Attribute<attr::fft_length>(lengths)},
                             Shape::Array(wide(shape.type()), shape.dims())};
  HLO_ASSIGN_OR_RETURN(Literal y, RunForm(context, form, {std::move(x)}));
  double factor = context.operands[5].span<double>()[0];
  // HLO's inverse transforms divide by the number of elements.
  if (type == FftType::kIfft || type == FftType::kIrfft) {
    for (const int64_t length : lengths) factor *= static_cast<double>(length);
  }
  HLO_RETURN_IF_ERROR(y.MakeUnique());
  const auto scale = [&](auto values) {
    for (auto& value : values) value *= factor;
  };
  if (IsComplex(shape.type()))
    scale(y.mutable_span<std::complex<double>>());
  else
    scale(y.mutable_span<double>());
  return Rounded(y, shape);
}

}  // namespace hlo::reference::custom
