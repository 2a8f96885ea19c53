// Generates arguments. A value depends only on the seed, the array and the element's index, and is computed
// exactly.

#include "io/make_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/activity.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/io.h"
#include "io/index_operands.h"
#include "types/wide.h"

namespace hlo {
namespace {

// The output function of SplitMix64.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The random numbers of an array: Bits(i, k) is the k-th random word of element i.
struct Stream {
  uint64_t key;
  uint64_t Bits(int64_t i, uint64_t k = 0) const { return Mix(Mix(key ^ static_cast<uint64_t>(i)) + k); }
  uint64_t Below(int64_t i, uint64_t n) const { return Bits(i) % n; }
};

// Returns a uniform number in [-1, 1), a multiple of 2^-23 and thus exact in f32.
double Uniform(uint64_t bits) { return static_cast<double>(bits >> 40) * 0x1p-23 - 1.0; }

// Returns an approximately standard normal number, the sum of twelve uniform ones, which does not depend on a
// library's logarithm.
double Normal(const Stream& stream, int64_t i, uint64_t part) {
  int64_t sum = 0;
  for (uint64_t word = 0; word < 3; ++word) {
    for (uint64_t bits = stream.Bits(i, 3 * part + word), k = 0; k < 4; ++k, bits >>= 16)
      sum += bits & 0xffff;
  }
  return static_cast<double>(sum - 6 * 65536) * 0x1p-16;
}

// Returns the limit below which all integers are exact in the type; iota wraps there.
uint64_t IotaModulus(ElementType type) {
  const int64_t mantissa_bits = DispatchType(ComponentType(type), []<ElementType kType>() -> int64_t {
    using T = Native<kType>;
    if constexpr (std::is_same_v<T, float>)
      return 23;
    else if constexpr (std::is_same_v<T, double>)
      return 52;
    else if constexpr (requires { T::format(); })
      return T::format().mantissa_bits;
    else
      return 0;
  });
  return uint64_t{2} << mantissa_bits;
}

// Returns a number of either sign with a magnitude in [2^-10, 2^10].
double LogUniform(const Stream& stream, int64_t i, uint64_t part) {
  const uint64_t bits = stream.Bits(i, 2 * part);
  const int exponent = static_cast<int>(stream.Bits(i, 2 * part + 1) % 20) - 10;
  const double magnitude = std::ldexp(1 + static_cast<double>(bits >> 41) * 0x1p-23, exponent);
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

// Returns a power of two; f8e8m0fnu has no other values.
double PowerOfTwo(InputFill fill, const Stream& stream, int64_t i) {
  switch (fill) {
    case InputFill::kZeros:
      return 0x1p-127;
    case InputFill::kOnes:
      return 1;
    case InputFill::kIota:
      return std::ldexp(1.0, static_cast<int>(i % 8));
    default:
      return std::ldexp(1.0, static_cast<int>(stream.Below(i, 7)) - 3);
  }
}

double Real(ElementType type, InputFill fill, const Stream& stream, int64_t i, uint64_t part) {
  if (type == ElementType::kF8E8M0FNU) return PowerOfTwo(fill, stream, i);
  switch (fill) {
    case InputFill::kZeros:
      return 0;
    case InputFill::kOnes:
      return 1;
    case InputFill::kIota:
      return static_cast<double>(static_cast<uint64_t>(i) % IotaModulus(type));
    case InputFill::kNormal:
      return Normal(stream, i, part);
    case InputFill::kLogUniform:
      return LogUniform(stream, i, part);
    case InputFill::kUniform:
      return Uniform(stream.Bits(i, part));
  }
  return 0;
}

bool IsRandom(InputFill fill) {
  return fill == InputFill::kUniform || fill == InputFill::kNormal || fill == InputFill::kLogUniform;
}

// Returns a real number in the range; log-uniform ranges are positive.
double RealIn(const InputRange& range, InputFill fill, const Stream& stream, int64_t i, uint64_t part) {
  const double width = range.high - range.low;
  const double unit = static_cast<double>(stream.Bits(i, 2 * part) >> 11) * 0x1p-53;  // In [0, 1).
  double value = range.low + width * unit;
  if (fill == InputFill::kNormal) {  // The sum of twelve uniform numbers is in [-6, 6].
    value = range.low + width / 2 + Normal(stream, i, part) * (width / 12);
  } else if (fill == InputFill::kLogUniform) {
    const int first = std::ilogb(range.low), last = std::ilogb(range.high);
    const auto exponents = static_cast<uint64_t>(last - first) + 1;
    value = std::ldexp(1 + unit, first + static_cast<int>(stream.Bits(i, 2 * part + 1) % exponents));
  }
  return std::clamp(value, range.low, range.high);
}

// The integers of a type that an array may contain.
struct IntegerRange {
  int64_t low = 0, high = 0;
  bool is_empty() const { return low > high; }
};
IntegerRange IntegersIn(const InputRange& range, ElementType type, int64_t limit) {
  constexpr double kFarthest = 0x1p62;  // Differences fit into 64 bits.
  const int64_t bits = std::min<int64_t>(BitWidth(type) - (IsSigned(type) ? 1 : 0), 62);
  const int64_t most = std::min((int64_t{1} << bits) - 1, limit);
  const int64_t least = IsSigned(type) && limit == io::kNoIndexLimit ? -(int64_t{1} << bits) : 0;
  const auto low = static_cast<int64_t>(std::ceil(std::clamp(range.low, -kFarthest, kFarthest)));
  const auto high = static_cast<int64_t>(std::floor(std::clamp(range.high, -kFarthest, kFarthest)));
  return {std::max(low, least), std::min(high, most)};
}

// Returns a small integer, at most `limit` if there is one.
int64_t Integer(ElementType type, InputFill fill, const Stream& stream, int64_t i, int64_t limit) {
  const int64_t bits = std::min<int64_t>(BitWidth(type) - (IsSigned(type) ? 1 : 0), 62);
  const int64_t most = (int64_t{1} << bits) - 1;  // The largest value of the type.
  const int64_t high = std::min(limit, most);
  switch (fill) {
    case InputFill::kZeros:
      return 0;
    case InputFill::kOnes:
      return std::min<int64_t>(1, limit);
    case InputFill::kIota:
      return i % (high + 1);  // At most 2^62.
    default:
      break;
  }
  if (limit != io::kNoIndexLimit)
    return static_cast<int64_t>(stream.Below(i, static_cast<uint64_t>(high) + 1));
  const int64_t low = IsSigned(type) ? -std::min<int64_t>(8, most + 1) : 0;
  const int64_t small = std::min<int64_t>(IsSigned(type) ? 8 : 16, most);
  return low + static_cast<int64_t>(stream.Below(i, static_cast<uint64_t>(small - low) + 1));
}

bool Coin(InputFill fill, const Stream& stream, int64_t i) {
  if (fill == InputFill::kIota) return i % 2 != 0;
  return IsRandom(fill) ? stream.Bits(i) >> 63 != 0 : fill == InputFill::kOnes;
}

// Returns an element in the wide type of the array.
template <Wide W>
W Element(ElementType type, const io::ArrayFill& array, const Stream& stream, int64_t i) {
  const bool has_power = type != ElementType::kF8E8M0FNU || (array.range && array.range->low > 0);
  const bool in_range = array.range && IsRandom(array.fill) && has_power;
  if constexpr (std::is_same_v<W, bool>) {
    return Coin(array.fill, stream, i);
  } else if constexpr (std::is_same_v<W, double>) {
    return in_range ? RealIn(*array.range, array.fill, stream, i, 0) : Real(type, array.fill, stream, i, 0);
  } else if constexpr (std::is_same_v<W, std::complex<double>>) {
    if (in_range)
      return {RealIn(*array.range, array.fill, stream, i, 0), RealIn(*array.range, array.fill, stream, i, 1)};
    const bool real_only = array.fill == InputFill::kOnes || array.fill == InputFill::kIota;
    return {Real(type, array.fill, stream, i, 0), real_only ? 0 : Real(type, array.fill, stream, i, 1)};
  } else {
    if (!in_range) return static_cast<W>(Integer(type, array.fill, stream, i, array.limit));
    const IntegerRange range = IntegersIn(*array.range, type, array.limit);
    const auto count = static_cast<uint64_t>(range.high - range.low) + 1;
    return static_cast<W>(range.low + static_cast<int64_t>(stream.Below(i, count)));
  }
}

absl::Status CheckRange(const io::ArrayFill& array, ElementType type) {
  if (!array.range || !IsRandom(array.fill) || IsPred(type)) return absl::OkStatus();
  const InputRange& range = *array.range;
  if (IsIntegral(type) && IntegersIn(range, type, array.limit).is_empty()) {
    const bool is_index = array.limit != io::kNoIndexLimit;
    return absl::FailedPreconditionError(fmt::format(
        "no {}{} is in the range {}:{}", Name(type),
        is_index ? fmt::format(" index between 0 and {}", array.limit) : "", range.low, range.high));
  }
  if (!IsIntegral(type) && array.fill == InputFill::kLogUniform && range.low <= 0) {
    return absl::FailedPreconditionError(
        fmt::format("a log-uniform range must be positive, and {}:{} is not", range.low, range.high));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status io::FillArray(Literal& literal, const ArrayFill& fill, uint64_t seed, uint64_t array) {
  const ElementType type = literal.type();
  HLO_RETURN_IF_ERROR(CheckRange(fill, type));
  const Stream stream{Mix(Mix(seed) + array)};
  absl::Status status;
  DispatchWide(type, [&]<class W>() {
    const StoreFn<W> store = Storer<W>(type);
    // Elements of different chunks are in different bytes, also those of packed types.
    constexpr int64_t kReportEvery = 1 << 20, kChunk = 1 << 14;
    constexpr double kNanoseconds = 10;  // For an element.
    const int64_t count = literal.element_count();
    for (int64_t begin = 0; begin < count && status.ok(); begin += kReportEvery) {
      if (count > kReportEvery) Report({.done = begin, .total = count, .unit = "elements"});
      status = CheckCancelled();
      const int64_t end = std::min(begin + kReportEvery, count);
      void* data = literal.mutable_data();
      ParallelFor(CeilDiv(end - begin, kChunk), kNanoseconds * static_cast<double>(end - begin),
                  [&](int64_t chunk) {
                    const int64_t first = begin + chunk * kChunk;
                    for (int64_t i = first; i < std::min(first + kChunk, end); ++i)
                      store(data, i, Element<W>(type, fill, stream, i));
                  });
    }
  });
  return status;
}

namespace {

// Returns the option for a parameter by name or number.
template <class T>
const T* FindFor(const std::vector<std::pair<std::string, T>>& values, const Instruction& parameter,
                 size_t p) {
  for (const auto& [name, value] : values) {
    if (name == parameter.name() || name == fmt::format("{}", p)) return &value;
  }
  return nullptr;
}

template <class T>
absl::Status CheckNames(const std::vector<std::pair<std::string, T>>& values, const Module& module) {
  const auto parameters = module.entry()->parameters();
  std::vector<std::string_view> names;
  for (const Instruction* parameter : parameters) names.push_back(parameter->name());
  for (const auto& [name, value] : values) {
    uint64_t number = 0;
    const bool found = std::find(names.begin(), names.end(), name) != names.end() ||
                       (absl::SimpleAtoi(name, &number) && number < parameters.size());
    if (found) continue;
    const std::string_view near = ClosestName(name, names);
    return absl::FailedPreconditionError(
        fmt::format("the entry computation has no parameter '{}'{}", name,
                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  return absl::OkStatus();
}

class InputMaker {
 public:
  InputMaker(const MakeOptions& options, absl::Span<const int64_t> limits)
      : options_(options), limits_(limits) {}

  // Fills the leaves of a parameter; `array` is the number of the next leaf among all parameters.
  absl::Status Fill(Literal& value, io::ArrayFill fill, uint64_t* array) {
    if (value.shape().IsTuple()) {
      for (Literal& element : value.mutable_elements()) HLO_RETURN_IF_ERROR(Fill(element, fill, array));
      return absl::OkStatus();
    }
    fill.limit = leaf_ < limits_.size() ? limits_[leaf_] : io::kNoIndexLimit;
    ++leaf_;
    return value.shape().IsArray() ? io::FillArray(value, fill, options_.seed, (*array)++) : absl::OkStatus();
  }

 private:
  const MakeOptions& options_;
  absl::Span<const int64_t> limits_;
  size_t leaf_ = 0;
};

uint64_t ArrayCount(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? 1 : 0;
  uint64_t count = 0;
  for (const Shape& element : shape.elements()) count += ArrayCount(element);
  return count;
}

}  // namespace

std::optional<InputFill> ParseInputFill(std::string_view word) {
  constexpr std::pair<std::string_view, InputFill> kWords[] = {{"uniform", InputFill::kUniform},
                                                               {"normal", InputFill::kNormal},
                                                               {"log-uniform", InputFill::kLogUniform},
                                                               {"zeros", InputFill::kZeros},
                                                               {"ones", InputFill::kOnes},
                                                               {"iota", InputFill::kIota}};
  for (const auto& [text, fill] : kWords) {
    if (text == word) return fill;
  }
  return std::nullopt;
}

absl::StatusOr<InputRange> ParseInputRange(std::string_view text) {
  const size_t colon = text.find(':');
  InputRange range;
  const auto read = [](std::string_view part, double* out) {
    return absl::SimpleAtod(absl::string_view(part.data(), part.size()), out) && std::isfinite(*out);
  };
  if (colon == std::string_view::npos || !read(text.substr(0, colon), &range.low) ||
      !read(text.substr(colon + 1), &range.high)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is not a range LO:HI of two numbers", text));
  }
  if (range.low > range.high || !std::isfinite(range.high - range.low))
    return absl::InvalidArgumentError(fmt::format("the range '{}' is empty or too wide", text));
  return range;
}

absl::StatusOr<std::vector<Literal>> io::MakeSomeInputs(const Module& module, const MakeOptions& options,
                                                        const std::function<bool(size_t)>& is_wanted,
                                                        absl::Span<const Shape> shapes) {
  HLO_RETURN_IF_ERROR(CheckNames(options.fills, module));
  HLO_RETURN_IF_ERROR(CheckNames(options.ranges, module));
  const std::vector<std::vector<int64_t>> limits = IndexLimits(module);
  std::vector<Literal> arguments(limits.size());
  uint64_t array = 0;
  for (size_t p = 0; p < limits.size(); ++p) {
    const Instruction& parameter = *module.entry()->parameters()[p];
    const Shape& shape = shapes.empty() ? parameter.shape() : shapes[p];
    if (!is_wanted(p)) {
      array += ArrayCount(shape);
      continue;
    }
    ArrayFill fill{.fill = options.fill, .range = options.range};
    if (const InputFill* own = FindFor(options.fills, parameter, p)) fill.fill = *own;
    if (const InputRange* own = FindFor(options.ranges, parameter, p)) fill.range = *own;
    Report({.what = fmt::format("making argument {} of {}", p + 1, limits.size())});
    HLO_ASSIGN_OR_RETURN(arguments[p], Literal::Create(shape));
    const absl::Status status = InputMaker(options, limits[p]).Fill(arguments[p], fill, &array);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          fmt::format("parameter {} '{}': {}", p, parameter.name(), Message(status)));
    }
  }
  return arguments;
}

absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, const MakeOptions& options) {
  return io::MakeSomeInputs(module, options, [](size_t) { return true; });
}

absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, InputFill fill, uint64_t seed) {
  return MakeInputs(module, MakeOptions{.fill = fill, .seed = seed});
}

}  // namespace hlo
