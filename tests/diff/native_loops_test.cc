// Tests native loops against tile functions: the same bits for every operation and type, no access beyond the
// arrays, and random programs with all kinds of accesses.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/tile_code.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/native/machine_code.h"
#include "loops/split_at_edges.h"
#include "types/dispatch.h"

namespace hlo::native_loops_test {
namespace {

using cpu::NativeLoop;
using loops::Access;
using loops::ComputeType;
using loops::LoopProgram;
using loops::Operation;
using loops::Value;

constexpr int64_t kMost = 1000, kShort = 70;
constexpr ElementType kTypes[] = {
    ElementType::kPred, ElementType::kS4,  ElementType::kU4,  ElementType::kS8,
    ElementType::kU8,   ElementType::kS16, ElementType::kU16, ElementType::kS32,
    ElementType::kU32,  ElementType::kS64, ElementType::kU64, ElementType::kF16,
    ElementType::kBF16, ElementType::kF32, ElementType::kF64, ElementType::kC64};

using Bytes = std::vector<std::byte>;
using Place = GuardedMemory::Place;

// Returns random elements, half of which are special: near zero, near the ends of the range, near powers of
// two, infinities and NaNs.
Bytes RandomElements(ElementType type, int64_t count, std::mt19937& random) {
  if (type == ElementType::kC64) return RandomElements(ElementType::kF32, 2 * count, random);
  return DispatchType(type, [&]<ElementType kType>() {
    using T = Native<kType>;
    Bytes bytes(static_cast<size_t>(count) * sizeof(T));
    const int64_t bits = BitWidth(type);
    for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T element{};
      uint64_t word = random() | uint64_t{random()} << 32;
      const int64_t shift = static_cast<int64_t>(random() % static_cast<uint32_t>(bits));
      switch (random() % 6) {
        case 0:
          word = random() % 4 - 2;
          break;
        case 1:
          word = (uint64_t{1} << shift) + random() % 3 - 1;
          break;
        case 2:
          word = ~word >> (64 - bits) << shift;
          break;
        default:
          break;
      }
      if constexpr (std::is_same_v<T, bool>) {
        element = (word & 1) != 0;
      } else if constexpr (std::is_integral_v<T>) {
        const int unused = static_cast<int>(8 * sizeof(T) - bits);
        element = static_cast<T>(static_cast<T>(static_cast<T>(word) << unused) >> unused);
      } else if constexpr (std::is_floating_point_v<T>) {
        const double numbers[] = {0.0,          -0.0,         0.5,           -0.5,         1.5,     2.5,
                                  -3.7,         127.5,        -128.9,        255.9,        32767.5, 65536.0,
                                  2147483520.0, 2147483647.0, -2147483649.0, 4294967295.5, 9.3e18,  -9.3e18,
                                  1.9e19,       1e-310,       -1e-40,        3e38,         1e300,   HUGE_VAL,
                                  -HUGE_VAL,    NAN,          -NAN};
        if (random() % 2 == 0)
          element = static_cast<T>(numbers[random() % std::size(numbers)]);
        else
          std::memcpy(&element, &word, sizeof element);
        // Instructions make NaNs quiet at different times.
        if (element != element) element += element;
      } else if constexpr (requires { T::format(); }) {
        element = T::FromFloat(std::bit_cast<float>(static_cast<uint32_t>(word)));
        if (random() % 2 == 0)
          element = T::FromFloat(static_cast<float>(static_cast<int>(random() % 600) - 300) / 4);
      }
      std::memcpy(bytes.data() + i, &element, sizeof(T));
    }
    return bytes;
  });
}

std::string Describe(const Operation& operation) {
  std::string text = std::to_string(static_cast<int>(operation.kind)) + " opcode " +
                     std::string(Name(operation.opcode)) + " " + std::string(Name(operation.from)) + " to " +
                     std::string(Name(operation.to));
  if (operation.kind == Operation::Kind::kCompare)
    text += " direction " + std::to_string(static_cast<int>(operation.direction)) +
            (operation.total_order ? " total" : "");
  return text;
}

// Returns true if all elements have the same bits or are NaNs.
bool AreSame(ElementType type, const Bytes& a, const Bytes& b) {
  if (type == ElementType::kC64) return AreSame(ElementType::kF32, a, b);
  return DispatchType(type, [&]<ElementType kType>() {
    using T = Native<kType>;
    for (size_t i = 0; i < a.size(); i += sizeof(T)) {
      if (std::memcmp(a.data() + i, b.data() + i, sizeof(T)) == 0) continue;
      T x, y;
      std::memcpy(&x, a.data() + i, sizeof x);
      std::memcpy(&y, b.data() + i, sizeof y);
      if constexpr (std::is_floating_point_v<T>) {
        if (x != x && y != y) continue;
      } else if constexpr (requires { T::format(); }) {
        if (std::isnan(x.ToFloat()) && std::isnan(y.ToFloat())) continue;
      }
      return false;
    }
    return true;
  });
}

std::vector<void*> PointersTo(std::vector<GuardedMemory>& arrays) {
  std::vector<void*> pointers;
  for (GuardedMemory& array : arrays) pointers.push_back(array.data());
  return pointers;
}

// Compares an operation on arrays of these types with its tile function.
void Compare(const Operation& operation, const std::vector<ElementType>& from, ComputeType result) {
  SCOPED_TRACE(Describe(operation));
  const int64_t dims[] = {kMost};
  LoopProgram program({}, dims);
  std::vector<Value> values;
  std::vector<NativeLoop::Input> inputs;
  std::mt19937 random(static_cast<uint32_t>(from.size()));
  std::vector<Bytes> elements, lanes;
  for (size_t k = 0; k < from.size(); ++k) {
    values.push_back(program.Load({.argument = static_cast<int32_t>(k), .type = from[k], .inner = {1}}));
    inputs.push_back({values.back(), NativeLoop::Form::kArray, from[k], k % 2 == 0});
    elements.push_back(RandomElements(from[k], kMost, random));
    lanes.push_back(elements.back());
    if (const cpu::TileCall widen = cpu::LoadTile(from[k]); widen.function != nullptr) {
      lanes.back().resize(kMost * 4);
      const void* in[] = {elements.back().data()};
      widen.function(kMost, lanes.back().data(), in, widen.parameter);
    }
  }
  const Value out = program.Apply(operation, result, values);
  constexpr ElementType kStored[] = {ElementType::kPred, ElementType::kS8,  ElementType::kS16,
                                     ElementType::kS32,  ElementType::kS64, ElementType::kU8,
                                     ElementType::kU16,  ElementType::kU32, ElementType::kU64,
                                     ElementType::kF32,  ElementType::kF64, ElementType::kC64};
  const ElementType stored = kStored[static_cast<int>(result)];
  program.Store(out, {.argument = static_cast<int32_t>(from.size()), .type = stored, .inner = {1}});
  program.Finish();
  const auto native = NativeLoop::Compile(program, inputs, {{out, stored, true}});
  const cpu::TileCall call = cpu::FindTileCall(operation);
  // Operations that do not change bits have no code.
  if (native == nullptr) {
    const bool moves = operation.opcode == Opcode::kReal || operation.opcode == Opcode::kImag ||
                       operation.opcode == Opcode::kComplex;
    EXPECT_TRUE(moves || operation.kind == Operation::Kind::kBits ||
                operation.kind == Operation::Kind::kConvert);
    return;
  }
  ASSERT_NE(call.function, nullptr);
  // The NaN of two operands that commute depends on the code of the tile function. Roundings to bf16 that are
  // a part of another operation keep payloads.
  const bool any_nan = operation.opcode == Opcode::kAdd || operation.opcode == Opcode::kMultiply ||
                       operation.from == ElementType::kC64 ||
                       operation.kind == Operation::Kind::kRoundedScalar;
  for (int64_t n = 1; n <= kMost; n += n < kShort ? 1 : 93) {
    Bytes expected(static_cast<size_t>(n * ByteCount(stored)));
    const void* in[3] = {};
    for (size_t k = 0; k < from.size(); ++k) in[k] = lanes[k].data();
    call.function(n, expected.data(), in, call.parameter);
    for (const Place place : {Place::kBegin, Place::kEnd}) {
      std::vector<GuardedMemory> arrays;
      for (size_t k = 0; k < from.size(); ++k)
        arrays.emplace_back(Bytes(elements[k].begin(), elements[k].begin() + n * ByteCount(from[k])), place);
      arrays.emplace_back(n * ByteCount(stored), place);
      native->Run(PointersTo(arrays).data(), n);
      const Bytes got = arrays.back().Bytes();
      ASSERT_TRUE(got == expected || (any_nan && AreSame(stored, got, expected))) << n << " elements";
    }
  }
}

// Returns the type of an opcode's result.
ElementType ResultOf(Opcode opcode, ElementType type) {
  if (opcode == Opcode::kIsFinite) return ElementType::kPred;
  if (opcode == Opcode::kComplex) return ElementType::kC64;
  const bool takes_part = opcode == Opcode::kAbs || opcode == Opcode::kReal || opcode == Opcode::kImag;
  return takes_part && type == ElementType::kC64 ? ElementType::kF32 : type;
}

class NativeLoops : public testing::TestWithParam<cpu::NativeIsa> {
 protected:
  void SetUp() override {
    if (cpu::FindNativeIsa() < GetParam()) GTEST_SKIP() << "the instruction set is not supported";
    cpu::SetLargestNativeIsa(GetParam());
    delay_ = cpu::SetNativeCodeDelay(0);
  }
  void TearDown() override {
    cpu::SetLargestNativeIsa(cpu::NativeIsa::kAvx512);
    if (delay_ >= 0) cpu::SetNativeCodeDelay(delay_);
  }

 private:
  int64_t delay_ = -1;
};

INSTANTIATE_TEST_SUITE_P(Isas, NativeLoops, testing::Values(cpu::NativeIsa::kAvx2, cpu::NativeIsa::kAvx512),
                         [](const testing::TestParamInfo<cpu::NativeIsa>& isa) {
                           return isa.param == cpu::NativeIsa::kAvx2 ? "Avx2" : "Avx512";
                         });

TEST_P(NativeLoops, ScalarOperationsHaveTheBitsOfTiles) {
  struct {
    Opcode opcode;
    size_t operands;
  } constexpr kOperations[] = {
#define HLO_SCALAR_OP(name, text, operands, ...) {Opcode::k##name, operands},
#include "hlo_run/opcodes.def"
  };
  for (const auto& [opcode, operands] : kOperations) {
    for (const ElementType type : kTypes) {
      if (opcode == Opcode::kComplex && type != ElementType::kF32) continue;
      const std::vector<ElementType> from(operands, type);
      const ComputeType result = loops::ComputeTypeOf(ResultOf(opcode, type));
      if (const auto operation = loops::FindScalarOperation(opcode, type)) Compare(*operation, from, result);
      if (const auto operation = loops::FindRoundedOperation(opcode, type)) Compare(*operation, from, result);
    }
  }
}

TEST_P(NativeLoops, ComparisonsAndSelectionsHaveTheBitsOfTiles) {
  for (const ElementType type : kTypes) {
    for (int direction = 0; direction < 6; ++direction) {
      for (const bool total : {false, true}) {
        const auto operation = loops::FindCompare(static_cast<ComparisonDirection>(direction), total, type);
        if (operation.has_value()) Compare(*operation, {type, type}, ComputeType::kPred);
      }
    }
    Compare(loops::SelectOf(type), {ElementType::kPred, type, type}, loops::ComputeTypeOf(type));
    if (const auto round = loops::FindRounding(type)) {
      const ElementType wide = IsFloat(type)    ? ElementType::kF32
                               : IsSigned(type) ? ElementType::kS8
                                                : ElementType::kU8;
      Compare(*round, {wide}, loops::ComputeTypeOf(type));
    }
  }
}

TEST_P(NativeLoops, ConversionsHaveTheBitsOfTiles) {
  for (const ElementType from : kTypes) {
    for (const ElementType to : kTypes) {
      if (const auto operation = loops::FindConvert(from, to))
        Compare(*operation, {from}, loops::ComputeTypeOf(to));
      if (from == to || BitWidth(from) < 8) continue;
      if (const auto operation = loops::FindBitcast(from, to))
        Compare(*operation, {from}, loops::ComputeTypeOf(to));
    }
  }
}

// Compares a function of one f32 in native code with that on tiles.
void CompareFunction(Opcode opcode, std::vector<float> arguments) {
  SCOPED_TRACE(static_cast<int>(opcode));
  const auto n = static_cast<int64_t>(arguments.size());
  const int64_t dims[] = {n};
  LoopProgram program({}, dims);
  const Value x = program.Load({.argument = 0, .type = ElementType::kF32, .inner = {1}});
  const Operation operation = *loops::FindScalarOperation(opcode, ElementType::kF32);
  const Value y = program.Apply(operation, ComputeType::kF32, {x});
  program.Store(y, {.argument = 1, .type = ElementType::kF32, .inner = {1}});
  program.Finish();
  const auto native = NativeLoop::Compile(program, {{x, NativeLoop::Form::kArray, ElementType::kF32, true}},
                                          {{y, ElementType::kF32, true}});
  ASSERT_NE(native, nullptr);
  std::vector<float> expected(arguments.size()), got(arguments.size());
  const void* in[] = {arguments.data()};
  const cpu::TileCall call = cpu::FindTileCall(operation);
  call.function(n, expected.data(), in, call.parameter);
  void* const pointers[] = {arguments.data(), got.data()};
  native->Run(pointers, n);
  int64_t different = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (std::memcmp(&expected[i], &got[i], sizeof(float)) == 0 || different++ > 0) continue;
    ADD_FAILURE() << arguments[i] << ": " << got[i] << " rather than " << expected[i];
  }
  EXPECT_EQ(different, 0);
}

// All arguments whose results are near the ends of the range, in f32.
TEST_P(NativeLoops, ExponentialsNearTheEndsOfTheRangeHaveTheBitsOfTiles) {
  std::vector<float> arguments;
  const std::pair<float, float> ranges[] = {{86.0f, 89.0f}, {102.9f, 104.5f}};
  for (const auto& [first, last] : ranges) {
    for (float x = first; x <= last; x = std::nextafter(x, last + 1)) {
      arguments.push_back(x);
      arguments.push_back(-x);
    }
  }
  for (const Opcode opcode : {Opcode::kExponential, Opcode::kLogistic, Opcode::kTanh})
    CompareFunction(opcode, arguments);
}

// Arguments of all exponents, among them NaNs and subnormal numbers, and those next to special ones.
TEST_P(NativeLoops, LogarithmsHaveTheBitsOfTiles) {
  constexpr uint32_t kStep = 9973, kNeighbours = 1000;
  std::vector<float> arguments;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStep)
    arguments.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const uint32_t special : {0x00000000u, 0x80000000u, 0x00800000u, 0x3f400000u, 0x3f800000u, 0xbf800000u,
                                 0x3fc00000u, 0x7f800000u, 0xff800000u}) {
    for (uint32_t k = 0; k < 2 * kNeighbours; ++k)
      arguments.push_back(std::bit_cast<float>(special - kNeighbours + k));
  }
  for (const Opcode opcode : {Opcode::kLog, Opcode::kLogPlusOne}) CompareFunction(opcode, arguments);
}

enum class Code { kTiles, kNative, kNativeOnRows };

// Runs programs in turn on copies of the arrays, which are at this place, and returns the copies.
std::vector<Bytes> RunAll(absl::Span<const LoopProgram> programs, const std::vector<Bytes>& arrays, Code code,
                          Place place) {
  std::vector<GuardedMemory> memory;
  for (const Bytes& array : arrays) memory.emplace_back(array, place);
  for (const LoopProgram& program : programs) {
    cpu::TileProgram tiles(program);
    if (code == Code::kNative) tiles.AllowNativeCode();
    if (code == Code::kNativeOnRows) tiles.AllowNativeCodeOfRuns();
    tiles.Run(PointersTo(memory).data());
  }
  std::vector<Bytes> results;
  for (const GuardedMemory& array : memory) results.push_back(array.Bytes());
  return results;
}

// Returns the arrays after a run as tiles and after a run as native code.
// `on_rows`: in runs of whole programs. `place`: of the arrays.
std::pair<std::vector<Bytes>, std::vector<Bytes>> RunBoth(const LoopProgram& program,
                                                          const std::vector<Bytes>& arrays,
                                                          bool on_rows = false, Place place = Place::kEnd) {
  return {RunAll({&program, 1}, arrays, Code::kTiles, place),
          RunAll({&program, 1}, arrays, on_rows ? Code::kNativeOnRows : Code::kNative, place)};
}

TEST_P(NativeLoops, ScalarsStayInTheirRegisters) {
  // Some scalars are used often but early; the others are used early and late, and fill the registers.
  constexpr int kOften = 19, kOthers = 12;
  const int64_t dims[] = {kMost};
  LoopProgram program({}, dims);
  std::mt19937 random(1);
  std::vector<Bytes> arrays;
  const auto load = [&](int64_t count) {
    arrays.push_back(RandomElements(ElementType::kS32, count, random));
    return program.Load({.argument = static_cast<int32_t>(arrays.size()) - 1,
                         .type = ElementType::kS32,
                         .inner = {count == 1 ? 0 : 1}});
  };
  Value x = load(kMost);
  std::vector<Value> often, others;
  for (int k = 0; k < kOften; ++k) often.push_back(load(1));
  for (int k = 0; k < kOthers; ++k) others.push_back(load(1));
  const auto apply = [&](Opcode opcode, Value a, Value b) {
    x = program.Apply(*loops::FindScalarOperation(opcode, ElementType::kS32), ComputeType::kS32, {a, b});
  };
  for (const Value scalar : often) {
    apply(Opcode::kAdd, x, scalar);
    apply(Opcode::kXor, x, scalar);
    apply(Opcode::kSubtract, x, scalar);
  }
  for (int times = 0; times < 2; ++times) {
    for (const Value scalar : others) apply(Opcode::kSubtract, scalar, x);
  }
  arrays.emplace_back(kMost * sizeof(int32_t));
  program.Store(
      x, {.argument = static_cast<int32_t>(arrays.size()) - 1, .type = ElementType::kS32, .inner = {1}});
  program.Finish();
  const auto [expected, got] = RunBoth(program, arrays);
  EXPECT_TRUE(expected == got);
}

TEST_P(NativeLoops, OneRowMayHaveManyScalars) {
  constexpr int kScalars = 45;
  constexpr int64_t kOffset = 3;
  const int64_t dims[] = {kMost};
  LoopProgram program({}, dims);
  std::mt19937 random(1);
  std::vector<Bytes> arrays = {RandomElements(ElementType::kS32, kMost + kOffset, random)};
  const auto apply = [&](Opcode opcode, Value a, Value b) {
    return program.Apply(*loops::FindScalarOperation(opcode, ElementType::kS32), ComputeType::kS32, {a, b});
  };
  Value x = program.Load({.argument = 0, .type = ElementType::kS32, .offset = kOffset, .inner = {1}});
  const Value position =
      program.Load({.argument = loops::Access::kIota, .type = ElementType::kS32, .offset = 7, .inner = {1}});
  x = apply(Opcode::kXor, x, position);
  for (int k = 1; k <= kScalars; ++k) {
    arrays.push_back(RandomElements(ElementType::kS32, k, random));
    const Value scalar =
        program.Load({.argument = k, .type = ElementType::kS32, .offset = k - 1, .inner = {0}});
    x = apply(k % 2 == 0 ? Opcode::kAdd : Opcode::kXor, x, scalar);
  }
  arrays.emplace_back((kMost + kOffset) * sizeof(int32_t));
  program.Store(x, {.argument = kScalars + 1, .type = ElementType::kS32, .offset = kOffset, .inner = {1}});
  program.Finish();
  cpu::TileProgram tiles(program);
  tiles.AllowNativeCodeOfRuns();
  EXPECT_TRUE(tiles.RunsOnRows());
  const auto [expected, got] = RunBoth(program, arrays, true);
  EXPECT_TRUE(expected == got);
}

TEST_P(NativeLoops, ValuesMayBeStoredTwice) {
  const int64_t dims[] = {kMost};
  LoopProgram program({}, dims);
  const auto access = [](int32_t argument) {
    return Access{.argument = argument, .type = ElementType::kS32, .inner = {1}};
  };
  const Value x = program.Load(access(0)), y = program.Load(access(1));
  const Value sum =
      program.Apply(*loops::FindScalarOperation(Opcode::kAdd, ElementType::kS32), ComputeType::kS32, {x, y});
  program.Store(sum, access(2));
  program.Store(sum, access(3));
  program.Finish();
  for (const bool early : {true, false}) {
    const auto native =
        NativeLoop::Compile(program,
                            {{x, NativeLoop::Form::kArray, ElementType::kS32, true},
                             {y, NativeLoop::Form::kArray, ElementType::kS32, true}},
                            {{sum, ElementType::kS32, early}, {sum, ElementType::kS32, early}});
    ASSERT_NE(native, nullptr);
    std::mt19937 random(1);
    std::vector<Bytes> arrays(4, RandomElements(ElementType::kS32, kMost, random));
    void* pointers[] = {arrays[0].data(), arrays[1].data(), arrays[2].data(), arrays[3].data()};
    native->Run(pointers, kMost);
    EXPECT_TRUE(arrays[2] == arrays[3]);
    EXPECT_FALSE(arrays[0] == arrays[2]);
  }
}

TEST_P(NativeLoops, OverwrittenInputsAreStored) {
  const int64_t dims[] = {kMost};
  LoopProgram program({}, dims);
  const auto apply = [&](Opcode opcode, ElementType from, ComputeType compute_type,
                         const std::vector<Value>& operands) {
    return program.Apply(*loops::FindScalarOperation(opcode, from), compute_type, operands);
  };
  const Value x = program.Load({.argument = 0, .type = ElementType::kC64, .inner = {1}});
  const Value imaginary = apply(Opcode::kImag, ElementType::kC64, ComputeType::kF32, {x});
  const Value real = apply(Opcode::kReal, ElementType::kC64, ComputeType::kF32, {x});
  const Value sum = apply(Opcode::kAdd, ElementType::kF32, ComputeType::kF32, {real, real});
  const Value both = apply(Opcode::kComplex, ElementType::kF32, ComputeType::kC64, {sum, sum});
  program.Store(both, {.argument = 0, .type = ElementType::kC64, .inner = {1}});
  program.Store(imaginary, {.argument = 1, .type = ElementType::kF32, .inner = {1}});
  program.Finish();
  const auto native =
      NativeLoop::Compile(program, {{x, NativeLoop::Form::kArray, ElementType::kC64, false}},
                          {{both, ElementType::kC64, false}, {imaginary, ElementType::kF32, false}});
  ASSERT_NE(native, nullptr);
  std::vector<float> numbers(2 * kMost), imaginaries(kMost);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  void* pointers[] = {numbers.data(), numbers.data(), imaginaries.data()};
  native->Run(pointers, kMost);
  for (size_t i = 0; i < imaginaries.size(); ++i) {
    ASSERT_EQ(imaginaries[i], static_cast<float>(2 * i + 1));
    ASSERT_EQ(numbers[2 * i], static_cast<float>(4 * i));
    ASSERT_EQ(numbers[2 * i + 1], static_cast<float>(4 * i));
  }
}

// --- Random programs.

class RandomProgram {
 public:
  RandomProgram(uint32_t seed, std::vector<int64_t> dims)
      : random(seed), dims_(std::move(dims)), program({}, dims_) {}

  uint32_t Pick(uint32_t count) { return random() % count; }
  ElementType AnyType() { return kTypes[Pick(std::size(kTypes))]; }

  void Load(ElementType type) { Keep(program.Load(AnyAccess(type, Pick(9))), type); }
  void LoadScalar(ElementType type) { Keep(program.Load(AnyAccess(type, 1)), type); }
  void Iota() {
    constexpr ElementType kIotas[] = {ElementType::kS32, ElementType::kU32, ElementType::kS64,
                                      ElementType::kF32, ElementType::kU8};
    Access access = AnyAccess(kIotas[Pick(5)], Pick(6));
    access.argument = Access::kIota;
    const ElementType type = access.type;
    Keep(program.Load(std::move(access)), type);
  }
  // Loads elements that are contiguous, or the same, in each row.
  void LoadRows(ElementType type) { Keep(program.Load(AnyAccess(type, Pick(5))), type); }
  // Loads from up to three arrays in a sequence along one dimension, with gaps between the elements of the
  // last one, and an element beyond them.
  void LoadPieces(ElementType type) {
    const auto d = static_cast<size_t>(Pick(static_cast<uint32_t>(dims_.size())));
    std::vector<Access> pieces;
    int64_t begin = Pick(7) - int64_t{3};
    for (uint32_t left = 1 + Pick(3); left > 0; --left) {
      const bool has_gaps = left == 1 && Pick(3) == 0 && d + 1 < dims_.size();
      pieces.push_back(Piece(type, d, begin, has_gaps ? 2 + Pick(2) : 1));
      begin += pieces.back().edges[0].size;
    }
    if (Pick(2) == 0) {
      pieces.back().outside = static_cast<int32_t>(arrays.size());
      arrays.push_back(RandomElements(type, 1, random));
      argument_types.push_back(type);
    }
    Keep(program.Load(std::move(pieces)), type);
  }
  // Selects between the last two values of a type by whether edges along two dimensions contain the position.
  void SelectInside(ElementType type) {
    Access mask{.argument = Access::kInside, .type = ElementType::kPred};
    mask.inner.assign(dims_.size(), 0);
    for (const size_t d : {size_t{0}, dims_.size() - 1}) {
      loops::Edge edge{.at = {.offset = Pick(5) - int64_t{2}},
                       .size = 1 + Pick(static_cast<uint32_t>(dims_[d]))};
      edge.at.inner.assign(dims_.size(), 0);
      edge.at.inner[d] = 1;
      mask.edges.push_back(std::move(edge));
    }
    const size_t last = values.size() - 1;
    const Value inside = program.Load(std::move(mask));
    Keep(program.Apply(loops::SelectOf(type), loops::ComputeTypeOf(type),
                       {inside, values[last], values[last - 1]}),
         type);
  }
  void Add(ElementType type) {
    const size_t last = values.size() - 1;
    Round(program.Apply(*loops::FindScalarOperation(Opcode::kAdd, type), loops::ComputeTypeOf(type),
                        {values[last], values[last - 1]}),
          type);
  }
  void StoreRows() {
    Access access = AnyAccess(types.back(), 0);
    program.Store(values.back(), std::move(access));
  }
  void Operate(ElementType type) {
    const ComputeType compute_type = loops::ComputeTypeOf(type);
    const uint32_t kind = Pick(10);
    std::optional<Operation> operation;
    if (kind == 0) {
      // The sign of a NaN that is the extreme of two numbers depends on the code of tiles.
      const bool total = Pick(4) == 0 && !IsFloat(type);
      operation = loops::FindCompare(static_cast<ComparisonDirection>(Pick(6)), total, type);
      if (!operation.has_value()) return;
      return Keep(program.Apply(*operation, ComputeType::kPred, {Any(type), Any(type)}), ElementType::kPred);
    }
    if (kind == 1) {
      const Value predicate = Any(ElementType::kPred);
      return Keep(program.Apply(loops::SelectOf(type), compute_type, {predicate, Any(type), Any(type)}),
                  type);
    }
    if (kind == 2) {
      const ElementType to = AnyType();
      operation = loops::FindConvert(type, to);
      if (operation.has_value()) Round(program.Apply(*operation, loops::ComputeTypeOf(to), {Any(type)}), to);
      return;
    }
    constexpr std::pair<Opcode, int> kOperations[] = {
        {Opcode::kAdd, 2},       {Opcode::kSubtract, 2}, {Opcode::kMultiply, 2},
        {Opcode::kMaximum, 2},   {Opcode::kMinimum, 2},  {Opcode::kAnd, 2},
        {Opcode::kOr, 2},        {Opcode::kXor, 2},      {Opcode::kShiftLeft, 2},
        {Opcode::kDivide, 2},    {Opcode::kNot, 1},      {Opcode::kShiftRightLogical, 2},
        {Opcode::kRemainder, 2}, {Opcode::kNegate, 1},   {Opcode::kShiftRightArithmetic, 2},
        {Opcode::kAbs, 1},       {Opcode::kSign, 1},     {Opcode::kExponential, 1},
        {Opcode::kFloor, 1},     {Opcode::kSqrt, 1},     {Opcode::kClamp, 3},
        {Opcode::kTanh, 1},      {Opcode::kPower, 2},    {Opcode::kPopcnt, 1},
        {Opcode::kMulhi, 2},     {Opcode::kIsFinite, 1}, {Opcode::kLogPlusOne, 1},
        {Opcode::kReal, 1},      {Opcode::kImag, 1},     {Opcode::kComplex, 2}};
    const auto [opcode, count] = kOperations[Pick(std::size(kOperations))];
    if (opcode == Opcode::kComplex && type != ElementType::kF32) return;
    operation = loops::FindScalarOperation(opcode, type);
    if (!operation.has_value()) return;
    std::vector<Value> operands;
    for (int k = 0; k < count; ++k) operands.push_back(Any(type));
    const ElementType result = ResultOf(opcode, type);
    Round(program.Apply(*operation, loops::ComputeTypeOf(result), operands), result);
  }
  void Store(size_t k) {
    Access access = AnyAccess(types[k], Pick(2) == 0 ? 0 : 4 + Pick(2));
    outputs.push_back(access.argument);
    program.Store(values[k], std::move(access));
  }

  std::mt19937 random;

 private:
  std::vector<int64_t> dims_;

 public:
  LoopProgram program;
  std::vector<Bytes> arrays;
  std::vector<ElementType> argument_types, types;
  std::vector<Value> values;
  std::vector<int32_t> outputs;

 private:
  void Keep(Value value, ElementType type) {
    values.push_back(value);
    types.push_back(type);
  }
  void Round(Value value, ElementType type) {
    if (const auto round = loops::FindRounding(type))
      value = program.Apply(*round, loops::ComputeTypeOf(type), {value});
    Keep(value, type);
  }
  Value Any(ElementType type) {
    std::vector<Value> found;
    for (size_t k = 0; k < values.size(); ++k) {
      if (types[k] == type) found.push_back(values[k]);
    }
    if (found.empty() || Pick(5) == 0) {
      Load(type);
      return values.back();
    }
    return found[Pick(2) == 0 ? found.size() - 1 : Pick(static_cast<uint32_t>(found.size()))];
  }
  // Returns the access of an array that is at `begin` along dimension d. Its own stride there is in the
  // access or in the edge.
  Access Piece(ElementType type, size_t d, int64_t begin, int64_t spacing) {
    std::vector<int64_t> dims = dims_;
    dims[d] = 1 + Pick(static_cast<uint32_t>(dims[d]));
    Access access{.argument = static_cast<int32_t>(arrays.size()), .type = type};
    access.inner.assign(dims.size(), 0);
    int64_t count = 1;
    for (size_t i = dims.size(); i-- > 0; count *= dims[i]) access.inner[i] = count;
    loops::Edge edge{.at = {.offset = -begin}, .size = dims[d], .spacing = spacing};
    edge.at.inner.assign(dims.size(), 0);
    edge.at.inner[d] = 1;
    if (spacing > 1 || Pick(2) == 0)
      edge.stride = std::exchange(access.inner[d], 0);
    else
      access.offset = -begin * access.inner[d];
    access.edges.push_back(std::move(edge));
    arrays.push_back(RandomElements(type, count, random));
    argument_types.push_back(type);
    return access;
  }
  // Dense, scalar, along the last dimension or all others, rows of longer rows, transposed, run-time starts,
  // or some dimensions in any order.
  Access AnyAccess(ElementType type, uint32_t kind) {
    const auto rank = static_cast<int>(dims_.size());
    loops::Strides strides(static_cast<size_t>(rank), 0);
    int64_t extent = 1, next = 1;
    const auto spread = [&](int d, int64_t stride) {
      strides[static_cast<size_t>(d)] = stride;
      extent += (dims_[static_cast<size_t>(d)] - 1) * stride;
      next = stride * dims_[static_cast<size_t>(d)];
    };
    if (kind == 2 || kind == 4) spread(rank - 1, 1);
    if (kind == 4) next += 3;
    if (kind == 5) {
      for (int d = 0; d < rank; ++d) spread(d, next);
    } else if (kind >= 7) {
      std::vector<int> order(static_cast<size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      next = 1 + Pick(3);
      for (const int d : order) {
        if (Pick(3) != 0) spread(d, next);
      }
    } else if (kind != 1 && kind != 2) {
      const int last = kind == 3 || kind == 4 ? rank - 2 : rank - 1;
      for (int d = last; d >= 0; --d) spread(d, next);
    }
    const int64_t offset = Pick(3) == 0 ? Pick(4) : 0, room = kind == 6 ? 9 : 0;
    Access access{
        .argument = static_cast<int32_t>(arrays.size()), .type = type, .offset = offset, .inner = strides};
    arrays.push_back(RandomElements(type, extent + offset + room, random));
    argument_types.push_back(type);
    if (kind == 6) {
      Bytes start(sizeof(int32_t));
      const auto value = static_cast<int32_t>(Pick(12)) - 2;
      std::memcpy(start.data(), &value, sizeof value);
      access.starts.push_back({.argument = static_cast<int32_t>(arrays.size()),
                               .type = ElementType::kS32,
                               .max = room,
                               .stride = 1});
      arrays.push_back(start);
      argument_types.push_back(ElementType::kS32);
    }
    return access;
  }
};

TEST_P(NativeLoops, RandomProgramsHaveTheBitsOfTiles) {
  const std::vector<std::vector<int64_t>> shapes = {{100},     {2500},     {7, 33},     {3, 700},
                                                    {130, 20}, {4, 6, 90}, {300, 4, 2}, {25, 17, 3},
                                                    {70, 64},  {130, 130}};
  // --gtest_random_seed=N gives other programs.
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  for (int round = 0; round < 200; ++round) {
    for (const std::vector<int64_t>& dims : shapes) {
      RandomProgram made(++seed, dims);
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      const ElementType type = made.AnyType();
      for (int k = 0; k < 3; ++k) made.Load(type);
      if (made.Pick(3) == 0) made.Iota();
      // More scalars than registers.
      for (uint32_t k = made.Pick(4) == 0 ? 20 + made.Pick(30) : 0; k > 0; --k) made.LoadScalar(type);
      const uint32_t operations = 2 + made.Pick(made.Pick(4) == 0 ? 120 : 15);
      for (uint32_t k = 0; k < operations; ++k)
        made.Operate(made.types[made.values.size() - 1 - made.Pick(3)]);
      made.Store(made.values.size() - 1);
      for (uint32_t k = made.Pick(3); k > 0; --k)
        made.Store(made.Pick(static_cast<uint32_t>(made.values.size())));
      if (made.Pick(4) == 0) made.Store(made.values.size() - 1);
      made.program.Finish();
      const auto [expected, got] =
          RunBoth(made.program, made.arrays, round % 2 == 1, round % 4 < 2 ? Place::kBegin : Place::kEnd);
      for (size_t k = 0; k < expected.size(); ++k)
        ASSERT_TRUE(AreSame(made.argument_types[k], expected[k], got[k])) << "argument " << k;
    }
  }
}

// A matrix, the scalar of each row, a row for all, a diagonal of numbers and a matrix whose rows are apart.
// Rows of all other lengths run as tiles.
TEST_P(NativeLoops, RowsInMemoryHaveTheBitsOfTiles) {
  std::mt19937 random(1);
  const auto add = *loops::FindScalarOperation(Opcode::kAdd, ElementType::kS32);
  for (const int64_t row : {3, 31, 32, 33, 100, 250}) {
    const std::vector<int64_t> dims = {5, 3, row};
    LoopProgram program({}, dims);
    std::vector<Bytes> arrays;
    const auto load = [&](int64_t count, const loops::Strides& strides, int64_t offset) {
      arrays.push_back(RandomElements(ElementType::kS32, count, random));
      const auto argument = static_cast<int32_t>(arrays.size()) - 1;
      return program.Load(
          {.argument = argument, .type = ElementType::kS32, .offset = offset, .inner = strides});
    };
    Value sum = load(15 * row, {3 * row, row, 1}, 0);
    const auto add_to_sum = [&](Value value) { sum = program.Apply(add, ComputeType::kS32, {sum, value}); };
    add_to_sum(load(15, {3, 1, 0}, 0));
    add_to_sum(load(row, {0, 0, 1}, 0));
    add_to_sum(load(15 * (row + 7), {row + 7, 5 * (row + 7), 1}, 7));
    add_to_sum(program.Load(
        {.argument = Access::kIota, .type = ElementType::kS32, .offset = -2, .inner = {9, 0, 1}}));
    add_to_sum(program.Load({.argument = Access::kIota, .type = ElementType::kS32, .inner = {-1, 4, 0}}));
    arrays.push_back(RandomElements(ElementType::kS32, 15 * row, random));
    program.Store(sum, {.argument = 4, .type = ElementType::kS32, .inner = {row, 5 * row, 1}});
    program.Finish();
    cpu::TileProgram tiles(program);
    tiles.AllowNativeCodeOfRuns();
    EXPECT_EQ(tiles.RunsOnRows(), row >= 32);
    const auto [expected, got] = RunBoth(program, arrays, true);
    EXPECT_TRUE(expected == got) << row;
  }
}

// Sums of rows, some of which are concatenated or padded, along the rows or across them.
TEST_P(NativeLoops, RowsWithEdgesHaveTheBitsOfTiles) {
  const std::vector<std::vector<int64_t>> shapes = {{400},       {7, 150},    {3, 5, 200}, {70, 300},
                                                    {2, 90, 97}, {1, 2, 800}, {900, 120},  {4000}};
  constexpr ElementType kSummed[] = {ElementType::kF32, ElementType::kS32,  ElementType::kF64,
                                     ElementType::kU8,  ElementType::kBF16, ElementType::kF16};
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  int on_rows = 0, count = 0;
  for (int round = 0; round < 60; ++round) {
    for (const std::vector<int64_t>& dims : shapes) {
      RandomProgram made(++seed, dims);
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      const ElementType type = kSummed[made.Pick(std::size(kSummed))];
      made.LoadPieces(type);
      for (uint32_t k = 1 + made.Pick(4); k > 0; --k) {
        made.Pick(2) == 0 ? made.LoadPieces(type) : made.LoadRows(type);
        made.Pick(3) == 0 ? made.SelectInside(type) : made.Add(type);
      }
      made.StoreRows();
      made.program.Finish();
      cpu::TileProgram tiles(made.program);
      tiles.AllowNativeCodeOfRuns();
      on_rows += tiles.RunsOnRows() ? 1 : 0;
      ++count;
      const auto [expected, got] =
          RunBoth(made.program, made.arrays, true, round % 2 == 0 ? Place::kBegin : Place::kEnd);
      for (size_t k = 0; k < expected.size(); ++k)
        ASSERT_TRUE(AreSame(made.argument_types[k], expected[k], got[k])) << "argument " << k;
    }
  }
  EXPECT_GT(on_rows, count / 3);
}

// Sums of arrays with gaps between their rows, or with short rows of pieces, as one loop and as split loops.
TEST_P(NativeLoops, SplitLoopsHaveTheBitsOfTheWholeLoop) {
  const std::vector<std::vector<int64_t>> shapes = {{70, 20},    {30, 9, 40}, {5, 64, 33}, {300, 8}, {9, 8},
                                                    {2, 3, 400}, {100, 3},    {70, 4, 2},  {33, 9}};
  constexpr ElementType kSummed[] = {ElementType::kF32, ElementType::kS32, ElementType::kU8,
                                     ElementType::kBF16};
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  int split = 0, on_rows = 0;
  for (int round = 0; round < 60; ++round) {
    for (const std::vector<int64_t>& dims : shapes) {
      RandomProgram made(++seed, dims);
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      const ElementType type = kSummed[made.Pick(std::size(kSummed))];
      made.LoadPieces(type);
      for (uint32_t k = 1 + made.Pick(4); k > 0; --k) {
        made.LoadPieces(type);
        made.Pick(4) == 0 ? made.SelectInside(type) : made.Add(type);
      }
      made.Store(made.values.size() - 1);
      made.program.Finish();
      const std::vector<LoopProgram> parts = loops::SplitAtEdges(made.program);
      if (parts.size() == 1) continue;
      ++split;
      for (const LoopProgram& part : parts) {
        cpu::TileProgram tiles(part);
        tiles.AllowNativeCodeOfRuns();
        on_rows += tiles.RunsOnRows() ? 1 : 0;
      }
      const Place place = round % 2 == 0 ? Place::kBegin : Place::kEnd;
      const std::vector<Bytes> expected = RunAll({&made.program, 1}, made.arrays, Code::kTiles, place);
      for (const Code code : {Code::kTiles, Code::kNative, Code::kNativeOnRows}) {
        const std::vector<Bytes> got = RunAll(parts, made.arrays, code, place);
        for (size_t k = 0; k < expected.size(); ++k)
          ASSERT_TRUE(AreSame(made.argument_types[k], expected[k], got[k])) << "argument " << k;
      }
    }
  }
  EXPECT_GT(split, 60);
  EXPECT_GT(on_rows, 30);
}

// --- Random functions, such as combiners of reductions.

class RandomFunction {
 public:
  RandomFunction(uint32_t seed, std::vector<ElementType> inputs)
      : random_(seed), types_(std::move(inputs)), function(ComputeTypesOf(types_)) {}

  uint32_t Pick(size_t count) { return random_() % static_cast<uint32_t>(count); }
  void Operate() {
    const ElementType type = types_[Pick(types_.size())];
    constexpr std::pair<Opcode, int> kOperations[] = {
        {Opcode::kAdd, 2}, {Opcode::kMultiply, 2}, {Opcode::kMaximum, 2}, {Opcode::kAnd, 2},
        {Opcode::kOr, 2},  {Opcode::kSubtract, 2}, {Opcode::kNegate, 1},  {Opcode::kExponential, 1}};
    const auto [opcode, count] = kOperations[Pick(std::size(kOperations))];
    const uint32_t kind = Pick(5);
    if (kind == 0) {
      const Bytes constant = RandomElements(type, 1, random_);
      function.Constant(loops::ComputeTypeOf(type), constant.data());
      return types_.push_back(type);
    }
    if (kind == 1) {
      const auto compare = loops::FindCompare(static_cast<ComparisonDirection>(Pick(6)), false, type);
      if (compare.has_value()) Apply(*compare, {Any(type), Any(type)}, ElementType::kPred);
    } else if (kind == 2) {
      Apply(loops::SelectOf(type), {Any(ElementType::kPred), Any(type), Any(type)}, type);
    } else if (const auto operation = loops::FindScalarOperation(opcode, type)) {
      std::vector<Value> operands;
      for (int k = 0; k < count; ++k) operands.push_back(Any(type));
      Apply(*operation, operands, type);
    }
  }
  // Returns the last value of a type, or an earlier one; there must be one.
  Value Any(ElementType type) {
    std::vector<Value> found;
    for (size_t k = 0; k < types_.size(); ++k) {
      if (types_[k] == type) found.push_back(static_cast<Value>(k));
    }
    return Pick(2) == 0 ? found.back() : found[Pick(found.size())];
  }
  Bytes Elements(ElementType type, int64_t count) { return RandomElements(type, count, random_); }

 private:
  static std::vector<ComputeType> ComputeTypesOf(const std::vector<ElementType>& types) {
    std::vector<ComputeType> computed;
    for (const ElementType type : types) computed.push_back(loops::ComputeTypeOf(type));
    return computed;
  }
  void Apply(const Operation& operation, const std::vector<Value>& operands, ElementType type) {
    function.Apply(operation, loops::ComputeTypeOf(type), operands);
    types_.push_back(type);
  }

  std::mt19937 random_;
  std::vector<ElementType> types_;

 public:
  loops::ScalarFunction function;
};

TEST_P(NativeLoops, RandomFunctionsHaveTheBitsOfTiles) {
  constexpr ElementType kStored[] = {ElementType::kF32, ElementType::kS32, ElementType::kU8,
                                     ElementType::kF64, ElementType::kS64, ElementType::kC64};
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << ++seed);
    const ElementType a = kStored[seed % 6], b = kStored[seed / 6 % 6];
    const std::vector<ElementType> types = {a, b, ElementType::kPred, a, b, ElementType::kPred};
    RandomFunction made(seed, types);
    for (uint32_t k = 2 + made.Pick(20); k > 0; --k) made.Operate();
    for (size_t k = 0; k < 3; ++k) made.function.Yield(made.Any(types[k]));
    const cpu::TileCode tiles(made.function);
    cpu::TileCode native(made.function);
    native.AllowNativeCode(made.function);
    for (const int64_t n : {1, 15, 64, 333}) {
      const Place place = round % 2 == 0 ? Place::kBegin : Place::kEnd;
      std::vector<GuardedMemory> arrays, copies;
      for (const ElementType type : types) {
        const Bytes elements = made.Elements(type, n);
        arrays.emplace_back(elements, place);
        copies.emplace_back(elements, place);
      }
      // The results overwrite the first operands, as those of combiners do.
      const auto run = [&](const cpu::TileCode& code, std::vector<GuardedMemory>& operands) {
        const std::vector<void*> pointers = PointersTo(operands);
        code.Run(n, pointers.data(), pointers.data());
      };
      run(tiles, arrays);
      run(native, copies);
      for (size_t k = 0; k < types.size(); ++k)
        ASSERT_TRUE(AreSame(types[k], arrays[k].Bytes(), copies[k].Bytes()))
            << "operand " << k << " of " << n;
    }
  }
}

}  // namespace
}  // namespace hlo::native_loops_test
