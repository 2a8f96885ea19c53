// Tests native loops and native scalar functions against tile functions by random programs, with all kinds of
// accesses.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/loops/tile_code.h"
#include "kernels/cpu/loops/tile_program.h"
#include "loops/split_at_edges.h"
#include "native_loops.h"

namespace hlo::native_loops_test {
namespace {

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
      // Some pieces repeat one element.
      if (Pick(5) == 0) {
        pieces.back().inner.assign(dims_.size(), 0);
        pieces.back().offset = pieces.back().edges[0].stride = 0;
      }
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
    if (opcode == Opcode::kComplex && type != ElementType::kF32 && type != ElementType::kF64) return;
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

// Calls test(program, round) for as many random programs over each shape as there are rounds, until one
// fails.
// --gtest_random_seed=N gives other programs.
template <class Test>
void ForRandomPrograms(int rounds, const std::vector<std::vector<int64_t>>& shapes, Test&& test) {
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  for (int round = 0; round < rounds; ++round) {
    for (const std::vector<int64_t>& dims : shapes) {
      RandomProgram made(++seed, dims);
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      test(made, round);
      if (testing::Test::HasFailure()) return;
    }
  }
}

void ExpectSame(const RandomProgram& made, const std::vector<Bytes>& expected,
                const std::vector<Bytes>& got) {
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(AreSame(made.argument_types[k], expected[k], got[k])) << "argument " << k;
}

TEST_P(NativeLoops, RandomProgramsHaveTheBitsOfTiles) {
  const std::vector<std::vector<int64_t>> shapes = {{100},     {2500},     {7, 33},     {3, 700},
                                                    {130, 20}, {4, 6, 90}, {300, 4, 2}, {25, 17, 3},
                                                    {70, 64},  {130, 130}};
  ForRandomPrograms(200, shapes, [&](RandomProgram& made, int round) {
    const ElementType type = made.AnyType();
    for (int k = 0; k < 3; ++k) made.Load(type);
    if (made.Pick(3) == 0) made.Iota();
    // More scalars than registers.
    for (uint32_t k = made.Pick(4) == 0 ? 20 + made.Pick(30) : 0; k > 0; --k) made.LoadScalar(type);
    const uint32_t operations = 2 + made.Pick(made.Pick(4) == 0 ? 120 : 15);
    for (uint32_t k = 0; k < operations; ++k) made.Operate(made.types[made.values.size() - 1 - made.Pick(3)]);
    made.Store(made.values.size() - 1);
    for (uint32_t k = made.Pick(3); k > 0; --k)
      made.Store(made.Pick(static_cast<uint32_t>(made.values.size())));
    if (made.Pick(4) == 0) made.Store(made.values.size() - 1);
    made.program.Finish();
    const auto [expected, got] =
        RunBoth(made.program, made.arrays, round % 2 == 1, round % 4 < 2 ? Place::kBegin : Place::kEnd);
    ExpectSame(made, expected, got);
  });
}

// Sums of rows, some of which are concatenated or padded, along the rows or across them.
TEST_P(NativeLoops, RowsWithEdgesHaveTheBitsOfTiles) {
  const std::vector<std::vector<int64_t>> shapes = {
      {400},  {7, 150}, {3, 5, 200}, {70, 300}, {2, 90, 97}, {1, 2, 800}, {900, 120},
      {4000}, {32, 32}, {50, 60},    {300, 16}, {2000, 3},   {9, 8, 8},   {90, 2, 5, 7}};
  constexpr ElementType kSummed[] = {ElementType::kF32, ElementType::kS32,  ElementType::kF64,
                                     ElementType::kU8,  ElementType::kBF16, ElementType::kF16};
  int on_rows = 0, count = 0;
  ForRandomPrograms(60, shapes, [&](RandomProgram& made, int round) {
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
    ExpectSame(made, expected, got);
  });
  EXPECT_GT(on_rows, count / 3);
}

// Sums of arrays with gaps between their rows, or with short rows of pieces, as one loop and as split loops.
TEST_P(NativeLoops, SplitLoopsHaveTheBitsOfTheWholeLoop) {
  const std::vector<std::vector<int64_t>> shapes = {{70, 20},    {30, 9, 40}, {5, 64, 33}, {300, 8}, {9, 8},
                                                    {2, 3, 400}, {100, 3},    {70, 4, 2},  {33, 9}};
  constexpr ElementType kSummed[] = {ElementType::kF32, ElementType::kS32, ElementType::kU8,
                                     ElementType::kBF16};
  int split = 0, on_rows = 0;
  ForRandomPrograms(60, shapes, [&](RandomProgram& made, int round) {
    const ElementType type = kSummed[made.Pick(std::size(kSummed))];
    made.LoadPieces(type);
    for (uint32_t k = 1 + made.Pick(4); k > 0; --k) {
      made.LoadPieces(type);
      made.Pick(4) == 0 ? made.SelectInside(type) : made.Add(type);
    }
    made.Store(made.values.size() - 1);
    made.program.Finish();
    const std::vector<LoopProgram> parts = loops::SplitAtEdges(made.program);
    if (parts.size() == 1) return;
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
      ExpectSame(made, expected, got);
    }
  });
  EXPECT_GT(split, 60);
  EXPECT_GT(on_rows, 30);
}

// A random scalar function, such as the combiner of a reduction.
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
                                     ElementType::kF64, ElementType::kS64, ElementType::kC64,
                                     ElementType::kC128};
  uint32_t seed = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 10000;
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << ++seed);
    const ElementType a = kStored[seed % 7], b = kStored[seed / 7 % 7];
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
