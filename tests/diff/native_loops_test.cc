// Tests native loops against tile functions: the same bits for every operation and type, and no access beyond
// the arrays.

#include "native_loops.h"

#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::native_loops_test {
namespace {

using cpu::NativeLoop;

constexpr int64_t kMost = 1000, kShort = 70;

std::string Describe(const Operation& operation) {
  std::string text = std::to_string(static_cast<int>(operation.kind)) + " opcode " +
                     std::string(Name(operation.opcode)) + " " + std::string(Name(operation.from)) + " to " +
                     std::string(Name(operation.to));
  if (operation.kind == Operation::Kind::kCompare)
    text += " direction " + std::to_string(static_cast<int>(operation.direction)) +
            (operation.total_order ? " total" : "");
  return text;
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
  constexpr ElementType kStored[] = {
      ElementType::kPred, ElementType::kS8,  ElementType::kS16, ElementType::kS32, ElementType::kS64,
      ElementType::kU8,   ElementType::kU16, ElementType::kU32, ElementType::kU64, ElementType::kF32,
      ElementType::kF64,  ElementType::kC64, ElementType::kC128};
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
                       IsComplex(operation.from) || operation.kind == Operation::Kind::kRoundedScalar;
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
      if (opcode == Opcode::kComplex && type != ElementType::kF32 && type != ElementType::kF64) continue;
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

// A program on a matrix, scalars of each row, a row for all, a matrix whose rows are apart and, if there are
// some, diagonals of numbers. The scalars are more than there are registers for pointers.
struct RowsProgram {
  RowsProgram(ElementType type, int64_t row, bool with_iotas, std::optional<Opcode> function)
      : program({}, std::vector<int64_t>{5, 3, row}) {
    const ComputeType compute_type = loops::ComputeTypeOf(type);
    std::mt19937 random(1);
    const auto load = [&](int64_t count, const loops::Strides& strides, int64_t offset = 0) {
      arrays.push_back(RandomElements(type, count, random));
      const auto argument = static_cast<int32_t>(arrays.size()) - 1;
      return program.Load({.argument = argument, .type = type, .offset = offset, .inner = strides});
    };
    Value sum = load(15 * row, {3 * row, row, 1});
    const auto add = [&](Value value) {
      sum = program.Apply(*loops::FindScalarOperation(Opcode::kAdd, type), compute_type, {sum, value});
    };
    for (int k = 0; k < 14; ++k) add(load(15, {3, 1, 0}));
    if (function.has_value())
      sum = program.Apply(*loops::FindScalarOperation(*function, type), compute_type, {sum});
    add(load(row, {0, 0, 1}));
    add(load(15 * (row + 7), {row + 7, 5 * (row + 7), 1}, 7));
    const auto count = [&](int64_t offset, const loops::Strides& strides) {
      add(program.Load({.argument = Access::kIota, .type = type, .offset = offset, .inner = strides}));
    };
    if (with_iotas) {
      count(-2, {9, 0, 1});
      count(0, {-1, 4, 0});
    }
    arrays.push_back(RandomElements(type, 15 * row, random));
    const auto argument = static_cast<int32_t>(arrays.size()) - 1;
    program.Store(sum, {.argument = argument, .type = type, .inner = {row, 5 * row, 1}});
    program.Finish();
  }

  LoopProgram program;
  std::vector<Bytes> arrays;
};

// Shorter rows run as tiles.
TEST_P(NativeLoops, RowsInMemoryHaveTheBitsOfTiles) {
  constexpr int64_t kShortestBytes = 32;
  const auto compare = [&](ElementType type, int64_t row, bool with_iotas, std::optional<Opcode> function) {
    const RowsProgram rows(type, row, with_iotas, function);
    cpu::TileProgram tiles(rows.program);
    tiles.AllowNativeCodeOfRuns();
    EXPECT_EQ(tiles.RunsOnRows(), row * ByteCount(type) >= kShortestBytes);
    for (const Place place : {Place::kBegin, Place::kEnd}) {
      const auto [expected, got] = RunBoth(rows.program, rows.arrays, true, place);
      EXPECT_TRUE(AreSame(type, expected.back(), got.back())) << Name(type) << " " << row;
    }
  };
  for (const ElementType type : {ElementType::kS8, ElementType::kS16, ElementType::kS32, ElementType::kS64,
                                 ElementType::kF32, ElementType::kF64, ElementType::kC64}) {
    for (const int64_t row : {2, 3, 4, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33, 47, 63, 64, 100, 250})
      compare(type, row, false, std::nullopt);
  }
  for (const int64_t row : {8, 11, 20, 32, 250}) {
    compare(ElementType::kS32, row, true, std::nullopt);
    compare(ElementType::kF32, row, false, Opcode::kTan);
  }
}

}  // namespace
}  // namespace hlo::native_loops_test
