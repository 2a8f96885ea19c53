#include "plan/analysis/associativity.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "plan/codegen/operations.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMaxTriples = 20'000;

bool IsRounding(const Instruction& i) {
  return i.opcode() == Opcode::kConvert && IsHalf(i.shape().type()) &&
         i.operand(0)->shape().IsArray(ElementType::kF32);
}

// Returns the type to which the computation rounds a value before each use; nullopt if it does not.
std::optional<ElementType> RoundedTypeOf(const Computation& to_apply, const Instruction& value) {
  std::optional<ElementType> type;
  for (const Instruction* i : to_apply.instructions()) {
    if (!absl::c_linear_search(i->operands(), &value)) continue;
    if (!IsRounding(*i) || (type.has_value() && type != i->shape().type())) return std::nullopt;
    type = i->shape().type();
  }
  return type;
}

// True for a rounding of a parameter that is not used otherwise, and for the conversion back.
bool IsConversionOfRounded(const Computation& to_apply, const Instruction& i) {
  if (i.shape().IsArray(ElementType::kF32)) return IsHalf(i.operand(0)->shape().type());
  const Instruction& operand = *i.operand(0);
  return operand.opcode() == Opcode::kParameter && RoundedTypeOf(to_apply, operand).has_value();
}

// True if all parameters of f32 are rounded to the same type, or none is. Otherwise the result may depend on
// the order of roundings to different types, or on whether a value is rounded before it is compared.
bool RoundsParametersAlike(const Computation& to_apply) {
  std::vector<std::optional<ElementType>> types;
  for (const Instruction* parameter : to_apply.parameters()) {
    if (parameter->shape().IsArray(ElementType::kF32)) types.push_back(RoundedTypeOf(to_apply, *parameter));
  }
  return absl::c_all_of(types, [&](const std::optional<ElementType>& type) { return type == types[0]; });
}

// True if the computation only compares and selects. Its result depends only on the order of its operands,
// and three sample values of each kind have every order that three values can have. Parameters may be rounded
// first: then the result depends on the rounded values, which are represented by the samples, too. The
// recursion is shallow, because the computation has already been lowered.
bool IsSelectionOnly(const Computation& to_apply) {
  return RoundsParametersAlike(to_apply) &&
         std::all_of(to_apply.instructions().begin(), to_apply.instructions().end(),
                     [&](const Instruction* i) {
                       switch (i->opcode()) {
                         case Opcode::kConvert:
                           return IsConversionOfRounded(to_apply, *i);
                         case Opcode::kParameter:
                         case Opcode::kTuple:
                         case Opcode::kCompare:
                         case Opcode::kSelect:
                         case Opcode::kMaximum:
                         case Opcode::kMinimum:
                           return true;
                         case Opcode::kAnd:
                         case Opcode::kNot:
                         case Opcode::kOr:
                         case Opcode::kXor:
                           return IsPred(i->shape().type());
                         default:
                           return false;
                       }
                     });
}

template <class T>
std::vector<std::byte> BytesOf(std::initializer_list<T> values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.begin());
  return {bytes, bytes + values.size() * sizeof(T)};
}

// Returns sample values of a compute type that represent all others, and are exact in bf16 and f16 if it is
// f32. The total order also distinguishes NaNs.
std::vector<std::byte> SampleValues(loops::ComputeType compute_type, ValueSet values_in) {
  return loops::DispatchComputeType(compute_type, [&]<class T>() -> std::vector<std::byte> {
    if constexpr (std::is_same_v<T, bool>) {
      return BytesOf({false, true});
    } else if constexpr (std::is_floating_point_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
      constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
      const auto nan = [&](Bits payload) {
        return std::bit_cast<T>(std::bit_cast<Bits>(kNan) + (payload << 16));
      };
      if (values_in == ValueSet::kNumbers) return BytesOf<T>({-2, -1, -T{0}, 0, 1, 2});
      return BytesOf<T>({-kNan, -1, -T{0}, 0, 1, nan(0), nan(1), nan(2)});
    } else if constexpr (std::is_integral_v<T>) {
      return BytesOf<T>({0, 1, 2});
    } else {
      return {};
    }
  });
}

using Columns = std::vector<std::vector<std::byte>>;  // Indexed by operand.

}  // namespace

bool IsAssociative(const Computation& to_apply, const loops::ScalarFunction& combiner,
                   absl::Span<const ElementType> types, ValueSet values_in) {
  if (!IsSelectionOnly(to_apply)) return false;
  const size_t count = types.size();
  std::vector<int64_t> widths, sizes;
  Columns samples;
  int64_t values = 1;
  for (ElementType type : types) {
    const loops::ComputeType compute_type = loops::ComputeTypeOf(type);
    widths.push_back(loops::ComputeTypeBytes(compute_type));
    samples.push_back(SampleValues(compute_type, values_in));
    sizes.push_back(static_cast<int64_t>(samples.back().size()) / widths.back());
    values *= sizes.back();
    if (values == 0 || values * values * values > kMaxTriples) return false;
  }
  // Returns the columns of one operand for every triple: column k holds digit k of the triple's number.
  const int64_t triples = values * values * values;
  const auto operand = [&](int64_t divisor) {
    Columns columns(count);
    for (size_t k = 0; k < count; ++k) {
      columns[k].resize(triples * widths[k]);
      for (int64_t i = 0; i < triples; ++i) {
        std::memcpy(columns[k].data() + i * widths[k], samples[k].data() + i / divisor % sizes[k] * widths[k],
                    widths[k]);
      }
      divisor *= sizes[k];
    }
    return columns;
  };
  const cpu::TileCode code(combiner);
  const auto combined = [&](const Columns& a, const Columns& b) {
    Columns result = a;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Columns* side : {&a, &b}) {
      for (const std::vector<std::byte>& column : *side) in.push_back(column.data());
    }
    for (std::vector<std::byte>& column : result) out.push_back(column.data());
    code.Run(triples, in.data(), out.data());
    return result;
  };
  const Columns a = operand(1), b = operand(values), c = operand(values * values);
  return combined(combined(a, b), c) == combined(a, combined(b, c));
}

namespace {

// Tests the combiner on all pairs of sample values.
template <class T>
ArgMinMaxRule FindArgMinMaxOf(const loops::ScalarFunction& combiner, loops::ComputeType value_lane,
                              loops::ComputeType position_lane, ValueSet values_in) {
  using ArgMinMax = loops::Reduction::ArgMinMax;
  const cpu::TileCode code(combiner);
  const std::vector<std::byte> bytes = SampleValues(value_lane, values_in);
  const auto* samples = reinterpret_cast<const T*>(bytes.data());
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(T));
  const int64_t width = loops::ComputeTypeBytes(position_lane);
  for (const auto& [largest, last_value] :
       {std::pair(true, false), std::pair(true, true), std::pair(false, false), std::pair(false, true)}) {
    bool fits = count > 0;
    for (int64_t i = 0; i < count * count; ++i) {
      const T a = samples[i / count], b = samples[i % count];
      alignas(16) std::byte positions[3][16] = {};
      cpu::FillIota(position_lane, 1, positions[0], 1, 0);
      cpu::FillIota(position_lane, 1, positions[1], 2, 0);
      T value;
      const void* in[] = {&a, positions[0], &b, positions[1]};
      void* out[] = {&value, positions[2]};
      code.Run(1, in, out);
      const bool first = a != a || (b == b && (largest ? a >= b : a <= b));
      const bool first_value = first && !(last_value && a == b);
      fits &= std::memcmp(&value, first_value ? &a : &b, sizeof value) == 0 &&
              std::memcmp(positions[2], positions[first ? 0 : 1], width) == 0;
    }
    if (fits) return {largest ? ArgMinMax::kArgMax : ArgMinMax::kArgMin, last_value};
  }
  return {};
}

}  // namespace

std::optional<ElementType> RoundedType(const Computation& to_apply, int64_t number) {
  return RoundedTypeOf(to_apply, *to_apply.parameter(number));
}

ArgMinMaxRule FindArgMinMax(const Computation& to_apply, const loops::ScalarFunction& combiner,
                            absl::Span<const ElementType> types, ValueSet values_in) {
  if (types.size() != 2 || !IsIntegral(types[1]) || BitWidth(types[1]) < 32 || !IsSelectionOnly(to_apply))
    return {};
  return loops::DispatchComputeType(loops::ComputeTypeOf(types[0]), [&]<class T>() -> ArgMinMaxRule {
    if constexpr (std::is_arithmetic_v<T>)
      return FindArgMinMaxOf<T>(combiner, loops::ComputeTypeOf(types[0]), loops::ComputeTypeOf(types[1]),
                                values_in);
    else
      return {};
  });
}

}  // namespace hlo::plan
