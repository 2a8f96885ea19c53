// Tests row programs in the emulator: random loops and reductions over the same rows in one launch, against a
// launch for each, bit for bit.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/reduce/lower_rows.h"
#include "kernels/cuda/reduce/lower_vm32_reduce.h"
#include "kernels/cuda/reduce/row_space.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"
#include "types/wide.h"

namespace hlo::cuda::rows_test {
namespace {

using loops::Access;
using loops::ComputeType;
using loops::LoopProgram;
using loops::ReduceProgram;
using loops::Value;
using Part = std::variant<LoopProgram, ReduceProgram>;

constexpr device::DeviceProperties kDevice = {.compute_capability = 80, .shared_bytes_per_block = 160 << 10};

// Rows are the positions of [batch, heads].
struct Sizes {
  int64_t batch, heads, length;
  int64_t rows() const { return batch * heads; }
};

enum class Kind : uint8_t { kWide, kPerRow, kColumns, kScalar, kMask };  // A mask is the same for all heads.

struct Array {
  ElementType type;
  Kind kind;
  std::vector<std::byte> bytes;
  bool is_live_out = false;
};

struct Program {
  Sizes sizes;
  std::mt19937 random;
  std::vector<Array> arrays = {};
  std::vector<Part> parts = {};

  uint32_t Pick(uint32_t count) { return random() % count; }

  int64_t CountOf(Kind kind) const {
    switch (kind) {
      case Kind::kWide:
        return sizes.rows() * sizes.length;
      case Kind::kPerRow:
        return sizes.rows();
      case Kind::kColumns:
        return sizes.length;
      case Kind::kMask:
        return sizes.batch * sizes.length;
      default:
        return 1;
    }
  }
  int32_t AddArray(ElementType type, Kind kind) {
    const int64_t count = CountOf(kind);
    Array array{type, kind, std::vector<std::byte>(static_cast<size_t>(count * ByteCount(type)))};
    const StoreFn<double> store = Storer<double>(type);
    for (int64_t i = 0; i < count; ++i) {
      const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30};
      store(array.bytes.data(), i,
            Pick(997) == 0 ? specials[Pick(6)] : std::ldexp(static_cast<int>(random()) >> 12, -16));
    }
    arrays.push_back(std::move(array));
    return static_cast<int32_t>(arrays.size()) - 1;
  }
  ElementType AnyType() {
    const ElementType types[] = {ElementType::kF32, ElementType::kBF16, ElementType::kF16};
    return types[Pick(3)];
  }
};

// The dimensions of a part.
enum class Form : uint8_t { kFlat, kRows, kHeads, kOnceFlat, kOnceHeads };
bool IsOnce(Form form) { return form >= Form::kOnceFlat; }

std::vector<int64_t> DimsOf(Form form, const Sizes& sizes) {
  switch (form) {
    case Form::kFlat:
      return {sizes.rows() * sizes.length};
    case Form::kRows:
      return {sizes.rows(), sizes.length};
    case Form::kHeads:
      return {sizes.batch, sizes.heads, sizes.length};
    case Form::kOnceFlat:
      return {sizes.rows()};
    default:
      return {sizes.batch, sizes.heads};
  }
}

// Returns the strides over DimsOf; empty if the part cannot access such an array.
loops::Strides StridesOf(Form form, Kind kind, const Sizes& sizes) {
  if (kind == Kind::kScalar) return loops::Strides(DimsOf(form, sizes).size(), 0);
  const int64_t length = sizes.length, heads = sizes.heads;
  switch (form) {
    case Form::kFlat:
      return kind == Kind::kWide ? loops::Strides{1} : loops::Strides{};
    case Form::kRows:
      if (kind == Kind::kMask) return {};
      return kind == Kind::kWide     ? loops::Strides{length, 1}
             : kind == Kind::kPerRow ? loops::Strides{1, 0}
                                     : loops::Strides{0, 1};
    case Form::kHeads:
      return kind == Kind::kWide      ? loops::Strides{heads * length, length, 1}
             : kind == Kind::kPerRow  ? loops::Strides{heads, 1, 0}
             : kind == Kind::kColumns ? loops::Strides{0, 0, 1}
                                      : loops::Strides{length, 0, 1};
    case Form::kOnceFlat:
      return kind == Kind::kPerRow ? loops::Strides{1} : loops::Strides{};
    default:
      return kind == Kind::kPerRow ? loops::Strides{heads, 1} : loops::Strides{};
  }
}

// An access whose last dimension is an inner one if the part is a reduction.
Access AccessOf(int32_t argument, Form form, bool reduces, const Program& program) {
  const Array& array = program.arrays[argument];
  loops::Strides strides = StridesOf(form, array.kind, program.sizes);
  Access access{.argument = argument, .type = array.type};
  if (reduces) {
    access.inner = {strides.back()};
    strides.pop_back();
    access.outer = strides;
  } else {
    access.inner = strides;
  }
  return access;
}

// Returns a value of a few operations on arrays that exist.
Value AnyValue(LoopProgram& body, Form form, bool reduces, Program& program) {
  std::vector<Value> values;
  const uint32_t loads = 1 + program.Pick(3);
  while (values.size() < loads) {
    // Recent arrays are read most.
    const auto count = static_cast<uint32_t>(program.arrays.size());
    const auto argument =
        static_cast<int32_t>(count - 1 - std::min(program.Pick(count), program.Pick(count)));
    const Array& array = program.arrays[argument];
    if (array.kind != Kind::kScalar && StridesOf(form, array.kind, program.sizes).empty()) continue;
    values.push_back(body.Load(AccessOf(argument, form, reduces, program)));
  }
  const Opcode binary[] = {Opcode::kAdd, Opcode::kSubtract, Opcode::kMultiply, Opcode::kMaximum,
                           Opcode::kDivide};
  const Opcode unary[] = {Opcode::kExponential, Opcode::kRsqrt, Opcode::kNegate, Opcode::kTanh,
                          Opcode::kCosine};
  for (uint32_t i = 1 + program.Pick(4); i > 0; --i) {
    const Value a = values[program.Pick(static_cast<uint32_t>(values.size()))], b = values.back();
    if (program.Pick(3) == 0) {
      values.push_back(body.Apply(*loops::FindScalarOperation(unary[program.Pick(5)], ElementType::kF32),
                                  ComputeType::kF32, {b}));
    } else if (program.Pick(4) == 0) {
      values.push_back(body.Apply(*loops::FindRoundedOperation(Opcode::kAdd, ElementType::kBF16),
                                  ComputeType::kF32, {a, b}));
    } else {
      values.push_back(body.Apply(*loops::FindScalarOperation(binary[program.Pick(5)], ElementType::kF32),
                                  ComputeType::kF32, {a, b}));
    }
  }
  return values.back();
}

void AddLoop(Form form, Program& program) {
  const std::vector<int64_t> dims = DimsOf(form, program.sizes);
  LoopProgram body({}, dims);
  for (uint32_t stores = 1 + program.Pick(2); stores > 0; --stores) {
    const Value value = AnyValue(body, form, false, program);
    int32_t to = -1;
    const Kind kind = IsOnce(form) ? Kind::kPerRow : Kind::kWide;
    const auto last = static_cast<int32_t>(program.arrays.size()) - 1;
    // In place, if nothing else in the loop may read what is stored.
    if (program.Pick(4) == 0 && stores == 1 && program.arrays[last].kind == kind && !IsOnce(form)) to = last;
    if (to < 0) to = program.AddArray(program.AnyType(), kind);
    if (program.Pick(2) == 0) program.arrays[to].is_live_out = true;
    body.Store(value, AccessOf(to, form, false, program));
  }
  body.Finish();
  program.parts.emplace_back(std::move(body));
}

void AddReduction(Program& program) {
  const Form form = program.Pick(2) == 0 ? Form::kRows : Form::kHeads;
  std::vector<int64_t> outer = DimsOf(form, program.sizes);
  const int64_t inner[] = {outer.back()};
  outer.pop_back();
  LoopProgram body(outer, inner);
  body.Yield(AnyValue(body, form, true, program));
  body.Finish();
  const Opcode opcodes[] = {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum};
  loops::ScalarFunction combiner({ComputeType::kF32, ComputeType::kF32});
  combiner.Yield(combiner.Apply(*loops::FindScalarOperation(opcodes[program.Pick(3)], ElementType::kF32),
                                ComputeType::kF32, {0, 1}));
  const int32_t init = program.AddArray(ElementType::kF32, Kind::kScalar);
  const int32_t output = program.AddArray(program.AnyType(), Kind::kPerRow);
  program.arrays[output].is_live_out = program.Pick(3) == 0;
  program.parts.emplace_back(
      ReduceProgram{{.combiner = std::move(combiner),
                     .results = {{init, output, ElementType::kF32, program.arrays[output].type}}},
                    std::move(body)});
}

std::vector<void*> PointersOf(std::vector<Array>& arrays) {
  std::vector<void*> pointers;
  for (Array& array : arrays) pointers.push_back(array.bytes.data());
  return pointers;
}

void RunSeparately(const std::vector<Part>& parts, std::vector<Array>& arrays) {
  const std::vector<void*> pointers = PointersOf(arrays);
  for (const Part& part : parts) {
    const auto* reduce = std::get_if<ReduceProgram>(&part);
    const absl::StatusOr<LoweredProgram> loop = reduce != nullptr
                                                    ? absl::StatusOr<LoweredProgram>(absl::UnknownError(""))
                                                    : LowerLoop(std::get<LoopProgram>(part), kDevice);
    const std::optional<LoweredProgram> lowered =
        reduce != nullptr ? LowerVm32Reduce(*reduce, kDevice) : *loop;
    ASSERT_TRUE(lowered.has_value() && lowered->workspace_bytes == 0);
    ASSERT_TRUE(lowered->run(pointers.data(), nullptr, {.emulated = true}).ok());
  }
}

void ExpectSame(const Array& got, const Array& want, const std::string& where) {
  const LoadFn<double> load = Loader<double>(want.type);
  const int64_t count = static_cast<int64_t>(want.bytes.size()) / ByteCount(want.type);
  for (int64_t i = 0; i < count; ++i) {
    const double a = load(got.bytes.data(), i), b = load(want.bytes.data(), i);
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_TRUE(a == b && std::signbit(a) == std::signbit(b))
        << where << ", element " << i << ": " << a << ", not " << b;
  }
}

TEST(Rows, RandomPrograms) {
  const Sizes all[] = {{1, 1, 64},   {2, 3, 64},   {1, 9, 132},  {3, 11, 768},
                       {2, 2, 1024}, {1, 3, 2052}, {1, 2, 8192}, {5, 1, 128}};
  int fused = 0, runs = 0;
  for (uint32_t seed = 0; seed < 160; ++seed) {
    Program program{all[seed % 8], std::mt19937(seed)};
    for (const Kind kind : {Kind::kScalar, Kind::kColumns, Kind::kMask, Kind::kPerRow, Kind::kWide})
      program.AddArray(program.AnyType(), kind);
    for (int i = program.Pick(2) == 0 ? 0 : 1; i < 2; ++i)
      AddLoop(static_cast<Form>(program.Pick(3)), program);
    for (uint32_t count = 1 + program.Pick(3); count > 0; --count) {
      AddReduction(program);
      if (program.Pick(2) == 0) AddLoop(program.Pick(2) == 0 ? Form::kOnceFlat : Form::kOnceHeads, program);
      if (program.Pick(3) != 0) AddLoop(static_cast<Form>(program.Pick(3)), program);
    }
    program.arrays.back().is_live_out = true;
    std::vector<Array> want = program.arrays;
    RunSeparately(program.parts, want);
    std::vector<RowsPartProgram> parts;
    for (const Part& part : program.parts) {
      const auto* reduce = std::get_if<ReduceProgram>(&part);
      parts.push_back({reduce != nullptr ? &reduce->body : &std::get<LoopProgram>(part), reduce});
    }
    const std::optional<LoweredRows> lowered = LowerRows(
        parts, [&](int32_t a) { return program.arrays[a].is_live_out || a < 5; }, kDevice);
    ++runs;
    if (!lowered.has_value()) continue;
    ++fused;
    for (const int32_t schedule : {0, 1, 2}) {
      std::vector<Array> got = program.arrays;
      const absl::Status status =
          lowered->program.run(PointersOf(got).data(), nullptr, {.emulated = true, .schedule = schedule});
      ASSERT_TRUE(status.ok()) << status;
      for (size_t a = 0; a < got.size(); ++a) {
        if (program.arrays[a].is_live_out)
          ExpectSame(got[a], want[a],
                     "program " + std::to_string(seed) + ", array " + std::to_string(a) + ", " +
                         lowered->program.name);
      }
    }
  }
  EXPECT_GE(fused, runs * 3 / 4);
}

TEST(Rows, SplitsDimensions) {
  const std::vector<int64_t> flat = {24 * 8}, heads = {2, 12, 8}, once = {8, 3};
  const std::optional<RowSpace> space = RowSpace::Of({flat, heads, once}, 24, 8);
  ASSERT_TRUE(space.has_value());
  EXPECT_FALSE(space->IsPerRow(space->Strides(flat, {1})));
  EXPECT_TRUE(space->IsPerRow(space->Strides(once, {3, 1})));
  EXPECT_EQ(space->Strides(once, {3, 1}), space->RowStrides());
  EXPECT_EQ(space->Strides(flat, {1}), space->Strides(heads, {96, 8, 1}));
  EXPECT_FALSE(RowSpace::Of({{2, 12, 8}, {3, 8, 8}}, 24, 8).has_value());
  EXPECT_FALSE(RowSpace::Of({{24, 7}}, 24, 8).has_value());
}

// Loops that read other rows, or overwrite what another thread reads, are not fused.
TEST(Rows, RejectsUnsupportedPrograms) {
  const auto loop = [](Access load, Access store) {
    const int64_t dims[] = {6, 64};
    LoopProgram body({}, dims);
    const Value x = body.Load(std::move(load));
    body.Store(
        body.Apply(*loops::FindScalarOperation(Opcode::kNegate, ElementType::kF32), ComputeType::kF32, {x}),
        std::move(store));
    body.Finish();
    return body;
  };
  const auto array = [](int32_t argument, int64_t row, int64_t column, int64_t offset) {
    return Access{.argument = argument,
                  .type = ElementType::kF32,
                  .offset = offset,
                  .outer = {},
                  .inner = {row, column}};
  };
  const int64_t rows[] = {6}, length[] = {64};
  LoopProgram body(rows, length);
  body.Yield(body.Load({.argument = 1, .type = ElementType::kF32, .outer = {64}, .inner = {1}}));
  body.Finish();
  loops::ScalarFunction combiner({ComputeType::kF32, ComputeType::kF32});
  combiner.Yield(combiner.Apply(*loops::FindScalarOperation(Opcode::kAdd, ElementType::kF32),
                                ComputeType::kF32, {0, 1}));
  const ReduceProgram sum{{.combiner = combiner, .results = {{2, 3, ElementType::kF32, ElementType::kF32}}},
                          body};
  const auto fuses = [&](const LoopProgram& first, const LoopProgram& second) {
    const RowsPartProgram parts[] = {{&first}, {&sum.body, &sum}, {&second}};
    return LowerRows(
               parts, [](int32_t argument) { return argument != 1; }, kDevice)
        .has_value();
  };
  const LoopProgram plain = loop(array(0, 64, 1, 0), array(1, 64, 1, 0));
  EXPECT_TRUE(fuses(plain, loop(array(1, 64, 1, 0), array(4, 64, 1, 0))));
  EXPECT_TRUE(fuses(plain, loop(array(0, 64, 1, 0), array(0, 64, 1, 0))));
  // Rows in reverse, and the sums of other rows.
  EXPECT_FALSE(fuses(plain, loop(array(1, -64, 1, 320), array(4, 64, 1, 0))));
  EXPECT_FALSE(fuses(plain, loop(array(3, 0, 0, 0), array(4, 64, 1, 0))));
  // An operand is overwritten while other rows may read it.
  EXPECT_FALSE(
      fuses(loop(array(0, -64, 1, 320), array(1, 64, 1, 0)), loop(array(0, 64, 1, 0), array(0, 64, 1, 0))));
  EXPECT_FALSE(fuses(plain, loop(array(4, 0, 0, 0), array(4, 64, 1, 0))));
  EXPECT_FALSE(fuses(plain, loop(array(0, 64, 1, 0), array(2, 64, 1, 0))));
}

}  // namespace
}  // namespace hlo::cuda::rows_test
