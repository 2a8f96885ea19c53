// Made-up arguments: a value depends on the seed, the array and the element's position alone, and is computed
// exactly.

#include "io/make_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "hlo_run/io.h"
#include "io/index_operands.h"
#include "types/wide.h"

namespace hlo {
namespace {

// SplitMix64's output function.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The numbers of one array: Bits(i, k) is the k-th random word of element i.
struct Stream {
  uint64_t key;
  uint64_t Bits(int64_t i, uint64_t k = 0) const { return Mix(Mix(key ^ static_cast<uint64_t>(i)) + k); }
  uint64_t Below(int64_t i, uint64_t n) const { return Bits(i) % n; }
};

// Uniform in [-1, 1), a multiple of 2^-23: exact in f32 too.
double Uniform(uint64_t bits) { return static_cast<double>(bits >> 40) * 0x1p-23 - 1.0; }

// Nearly normal with variance 1: the sum of twelve uniforms, free of a library's logarithm and its last
// digits.
double Normal(const Stream& stream, int64_t i, uint64_t part) {
  int64_t sum = 0;
  for (uint64_t word = 0; word < 3; ++word) {
    for (uint64_t bits = stream.Bits(i, 3 * part + word), k = 0; k < 4; ++k, bits >>= 16)
      sum += bits & 0xffff;
  }
  return static_cast<double>(sum - 6 * 65536) * 0x1p-16;
}

// Whole numbers up to this one are exact in the type, so that iota wraps there.
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

double Real(ElementType type, InputFill fill, const Stream& stream, int64_t i, uint64_t part) {
  if (type == ElementType::kF8E8M0FNU) {  // Powers of two only.
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
  switch (fill) {
    case InputFill::kZeros:
      return 0;
    case InputFill::kOnes:
      return 1;
    case InputFill::kIota:
      return static_cast<double>(static_cast<uint64_t>(i) % IotaModulus(type));
    case InputFill::kNormal:
      return Normal(stream, i, part);
    case InputFill::kUniform:
      return Uniform(stream.Bits(i, part));
  }
  return 0;
}

// At most `limit` where there is one.
int64_t Integer(ElementType type, InputFill fill, const Stream& stream, int64_t i, int64_t limit) {
  const int64_t bits = std::min<int64_t>(BitWidth(type) - (IsSigned(type) ? 1 : 0), 62);
  const int64_t most = (int64_t{1} << bits) - 1;  // The type's largest value.
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

void FillFrom(const Stream& stream, InputFill fill, int64_t limit, Literal& literal) {
  const ElementType type = literal.type();
  DispatchWide(type, [&]<class W>() {
    const StoreFn<W> store = Storer<W>(type);
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      W value;
      if constexpr (std::is_same_v<W, bool>) {
        value = fill == InputFill::kZeros  ? false
                : fill == InputFill::kOnes ? true
                                           : (fill == InputFill::kIota ? i : stream.Bits(i) >> 63) % 2 != 0;
      } else if constexpr (std::is_same_v<W, double>) {
        value = Real(type, fill, stream, i, 0);
      } else if constexpr (std::is_same_v<W, std::complex<double>>) {
        const bool real_only = fill == InputFill::kOnes || fill == InputFill::kIota;
        value = {Real(type, fill, stream, i, 0), real_only ? 0 : Real(type, fill, stream, i, 1)};
      } else {
        value = static_cast<W>(Integer(type, fill, stream, i, limit));
      }
      store(literal.mutable_data(), i, value);
    }
  });
}

}  // namespace

void io::FillArray(Literal& literal, InputFill fill, uint64_t seed, uint64_t array, int64_t limit) {
  FillFrom(Stream{Mix(Mix(seed) + array)}, fill, limit, literal);
}

namespace {

struct InputFiller {
  InputFill fill;
  uint64_t seed;
  uint64_t array_count = 0;

  void FillLeaves(Literal& value, absl::Span<const int64_t> limits, size_t* leaf) {
    if (value.shape().IsTuple()) {
      for (Literal& element : value.mutable_elements()) FillLeaves(element, limits, leaf);
      return;
    }
    const int64_t limit = *leaf < limits.size() ? limits[*leaf] : io::kNoIndexLimit;
    ++*leaf;
    if (value.shape().IsArray()) io::FillArray(value, fill, seed, array_count++, limit);
  }
};

}  // namespace

std::optional<InputFill> ParseInputFill(std::string_view word) {
  if (word == "uniform") return InputFill::kUniform;
  if (word == "normal") return InputFill::kNormal;
  if (word == "zeros") return InputFill::kZeros;
  if (word == "ones") return InputFill::kOnes;
  if (word == "iota") return InputFill::kIota;
  return std::nullopt;
}

absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, InputFill fill, uint64_t seed) {
  const std::vector<std::vector<int64_t>> limits = io::IndexLimits(module);
  InputFiller filler{fill, seed};
  std::vector<Literal> arguments;
  for (size_t p = 0; p < limits.size(); ++p) {
    HLO_ASSIGN_OR_RETURN(Literal value, Literal::Create(module.entry()->parameters()[p]->shape()));
    size_t leaf = 0;
    filler.FillLeaves(value, limits[p], &leaf);
    arguments.push_back(std::move(value));
  }
  return arguments;
}

}  // namespace hlo
