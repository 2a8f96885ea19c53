// Tests the VM on the emulator against the CPU's tile functions: bit-exact operations on every type.

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "types/wide.h"

namespace hlo::cuda::vm_test {
namespace {

constexpr int64_t kCount = 700;  // More than a thread block, and not a multiple of anything.

std::vector<ElementType> AllTypes() {
  return {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) ElementType::k##name,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
  };
}

// Returns random bits; every other wide float has a moderate magnitude.
std::vector<std::byte> RandomArray(ElementType type, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(kCount * 16);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  const int64_t width = ByteCount(type), bits = BitWidth(type);
  for (int64_t i = 0; i < kCount; ++i) {
    std::byte* at = bytes.data() + i * width;
    if (i % 7 == 0) std::fill_n(at, width, std::byte{0});
    if (width == 1 && bits < 8) {
      int value = static_cast<int>(*at) & ((1 << bits) - 1);
      if (IsIntegral(type) && IsSigned(type) && bits < 8)
        value = static_cast<int8_t>(value << (8 - bits)) >> (8 - bits);
      *at = static_cast<std::byte>(value);
    }
    if (i % 2 == 0) continue;
    const double moderate = std::ldexp(static_cast<double>(random() % 20000) - 10000, -8);
    if (type == ElementType::kF32 || type == ElementType::kC64) {
      const float value = static_cast<float>(moderate);
      std::memcpy(at, &value, sizeof value);
    } else if (type == ElementType::kF64 || type == ElementType::kC128) {
      std::memcpy(at, &moderate, sizeof moderate);
    }
  }
  return bytes;
}

bool SameElement(ElementType type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, ByteCount(type)) == 0) return true;
  const auto same = [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  };
  if (IsFloat(type)) {
    const LoadFn<double> load = Loader<double>(type);
    return same(load(a, 0), load(b, 0));
  }
  if (IsComplex(type)) {
    const LoadFn<std::complex<double>> load = Loader<std::complex<double>>(type);
    const std::complex<double> x = load(a, 0), y = load(b, 0);
    return same(x.real(), y.real()) && same(x.imag(), y.imag());
  }
  return false;
}

// True if two complex numbers are equal within the tolerance; non-finite numbers must be of the same kind.
bool IsNear(ElementType type, const std::byte* a, const std::byte* b, double tolerance) {
  const LoadFn<std::complex<double>> load = Loader<std::complex<double>>(type);
  const std::complex<double> x = load(a, 0), y = load(b, 0);
  const auto is_finite = [](std::complex<double> z) {
    return std::isfinite(z.real()) && std::isfinite(z.imag());
  };
  if (!is_finite(x) || !is_finite(y)) return is_finite(x) == is_finite(y);
  return std::abs(x - y) <= tolerance * std::abs(x);
}

loops::Access Dense(int32_t argument, ElementType type) {
  return {.argument = argument, .type = type, .inner = {1}};
}

// Compares out = call(operands...), rounded to `to`, on VM and CPU. Returns false if the VM lacks the
// instruction. A tolerance implies complex operands of moderate magnitude.
bool Compare(const loops::Operation& operation, absl::Span<const ElementType> from, ElementType to,
             std::string_view what, double tolerance = 0) {
  const int64_t dims[] = {kCount};
  loops::LoopProgram program({}, dims);
  std::vector<loops::Value> values;
  for (size_t k = 0; k < from.size(); ++k)
    values.push_back(program.Load(Dense(static_cast<int32_t>(k), from[k])));
  loops::Value value = program.Apply(operation, loops::ComputeTypeOf(to), values);
  if (const auto round = loops::FindRounding(to); round.has_value())
    value = program.Apply(*round, loops::ComputeTypeOf(to), {value});
  program.Store(value, Dense(static_cast<int32_t>(from.size()), to));
  program.Finish();

  const absl::StatusOr<LoweredProgram> lowered = LowerLoop(program, {.compute_capability = 80});
  if (!lowered.ok()) return false;
  std::vector<std::vector<std::byte>> arrays;
  for (size_t k = 0; k < from.size(); ++k)
    arrays.push_back(RandomArray(from[k], static_cast<uint32_t>(k + 1)));
  std::vector<void*> pointers;
  for (std::vector<std::byte>& array : arrays) pointers.push_back(array.data());
  std::vector<std::byte> wanted(kCount * 16), got(kCount * 16);
  pointers.push_back(wanted.data());
  cpu::TileProgram(program).Run(pointers.data());
  pointers.back() = got.data();
  const absl::Status status = lowered->run(pointers.data(), nullptr, {.emulated = true});
  EXPECT_TRUE(status.ok()) << status.ToString();
  const int64_t width = ByteCount(to);
  for (int64_t i = 0; i < kCount; ++i) {
    if (SameElement(to, wanted.data() + i * width, got.data() + i * width)) continue;
    if (tolerance > 0 &&
        (i % 2 == 0 || IsNear(to, wanted.data() + i * width, got.data() + i * width, tolerance)))
      continue;
    ADD_FAILURE() << what << " of " << Name(from[0]) << " to " << Name(to) << " differs at element " << i;
    break;
  }
  return true;
}

ElementType PartOf(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  return type == ElementType::kC128 ? ElementType::kF64 : type;
}

TEST(Vm, OperationsHaveTheBitsOfTheCpu) {
  struct {
    Opcode opcode;
    size_t operands;
    ScalarPrecision precision;
  } constexpr kOperations[] = {
#define HLO_SCALAR_OP(name, text, operands, attributes, shape_rule, builder, precision, traits) \
  {Opcode::k##name, operands, ScalarPrecision::k##precision},
#include "hlo_run/opcodes.def"
  };
  int compared = 0;
  for (const auto& [opcode, operands, precision] : kOperations) {
    if (precision == ScalarPrecision::kDouble || opcode == Opcode::kComplex) continue;
    for (const ElementType type : AllTypes()) {
      const auto call = loops::FindScalarOperation(opcode, type);
      if (!call.has_value()) continue;
      ElementType to = type;
      if (IsComplex(type) && (opcode == Opcode::kDivide || opcode == Opcode::kAbs ||
                              opcode == Opcode::kSign || opcode == Opcode::kSqrt))
        continue;
      if (opcode == Opcode::kIsFinite) to = ElementType::kPred;
      if (opcode == Opcode::kAbs || opcode == Opcode::kReal || opcode == Opcode::kImag) to = PartOf(type);
      compared += Compare(*call, std::vector<ElementType>(operands, type), to, Name(opcode));
    }
  }
  EXPECT_GT(compared, 400);
}

TEST(Vm, ComplexFunctionsAreCloseToTheCLibrary) {
  int compared = 0;
  for (const ElementType type : {ElementType::kC64, ElementType::kC128}) {
    const double tolerance = type == ElementType::kC64 ? 1e-6 : 1e-12;
    for (const Opcode opcode : {Opcode::kAcos,        Opcode::kAcosh,
                                Opcode::kAsin,        Opcode::kAsinh,
                                Opcode::kAtanh,       Opcode::kCosh,
                                Opcode::kCosine,      Opcode::kExp2,
                                Opcode::kExponential, Opcode::kExponentialMinusOne,
                                Opcode::kLog,         Opcode::kLog2,
                                Opcode::kLogPlusOne,  Opcode::kLogistic,
                                Opcode::kRsqrt,       Opcode::kSign,
                                Opcode::kSine,        Opcode::kSinh,
                                Opcode::kSqrt,        Opcode::kTan,
                                Opcode::kTanh}) {
      compared += Compare(*loops::FindScalarOperation(opcode, type), {type}, type, Name(opcode), tolerance);
    }
    for (const Opcode opcode : {Opcode::kDivide, Opcode::kPower})
      compared +=
          Compare(*loops::FindScalarOperation(opcode, type), {type, type}, type, Name(opcode), tolerance);
  }
  EXPECT_EQ(compared, 46);
}

TEST(Vm, IntegerPowersHaveTheBitsOfTheCpu) {
  for (const ElementType type : AllTypes()) {
    const auto call = loops::FindScalarOperation(Opcode::kPower, type);
    if (call.has_value() && IsIntegral(type)) {
      EXPECT_TRUE(Compare(*call, {type, type}, type, "power"));
    }
  }
}

TEST(Vm, ComparisonsAndSelectsHaveTheBitsOfTheCpu) {
  for (const ElementType type : AllTypes()) {
    for (const bool total : {false, true}) {
      for (int direction = 0; direction < 6; ++direction) {
        const auto call = loops::FindCompare(static_cast<ComparisonDirection>(direction), total, type);
        if (call.has_value()) {
          EXPECT_TRUE(Compare(*call, {type, type}, ElementType::kPred, "compare"));
        }
      }
    }
    EXPECT_TRUE(Compare(loops::SelectOf(type), {ElementType::kPred, type, type}, type, "select"));
  }
}

TEST(Vm, ConversionsHaveTheBitsOfTheCpu) {
  for (const ElementType from : AllTypes()) {
    for (const ElementType to : AllTypes()) {
      if (const auto call = loops::FindConvert(from, to); call.has_value()) {
        EXPECT_TRUE(Compare(*call, {from}, to, "convert"));
      }
      if (const auto call = loops::FindBitcast(from, to); call.has_value()) {
        EXPECT_TRUE(Compare(*call, {from}, to, "bitcast"));
      }
    }
    for (const auto& [exponent, mantissa] : {std::pair<int, int>(5, 10), {8, 7}, {2, 1}, {11, 0}}) {
      const auto call = loops::FindReducePrecision(from, exponent, mantissa);
      if (call.has_value()) {
        EXPECT_TRUE(Compare(*call, {from}, from, "reduce-precision"));
      }
    }
  }
}

}  // namespace
}  // namespace hlo::cuda::vm_test
