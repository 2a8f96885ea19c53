// Tests the 32-bit VM on the emulator: random programs over accesses of all kinds, against the CPU's
// loops bit for bit, with each number of values per thread.

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "kernels/cuda/vm/lower_vm32.h"
#include "kernels/cuda/vm/vm32_body.h"
#include "types/wide.h"

namespace hlo::cuda::vm32_test {
namespace {

using loops::Access;
using loops::ComputeType;
using loops::LoopProgram;
using loops::Value;

constexpr device::DeviceProperties kDevice = {.compute_capability = 80, .shared_bytes_per_block = 160 << 10};

// An array of moderate numbers with some special values.
std::vector<std::byte> RandomArray(ElementType type, int64_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(count * ByteCount(type)));
  const StoreFn<double> store = IsFloat(type) ? Storer<double>(type) : nullptr;
  for (int64_t i = 0; i < count; ++i) {
    std::byte* at = bytes.data() + i * ByteCount(type);
    const uint32_t word = random();
    if (type == ElementType::kPred) {
      *at = static_cast<std::byte>(word % 2);
    } else if (store != nullptr) {
      const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, 65504, -1e30};
      store(bytes.data(), i,
            word % 16 == 0 ? specials[random() % 8] : std::ldexp(static_cast<int>(word) >> 12, -9));
    } else {
      std::memcpy(at, &word, static_cast<size_t>(ByteCount(type)));
    }
  }
  return bytes;
}

// A program under construction, with its arguments.
struct RandomProgram {
  std::mt19937 random;
  std::vector<int64_t> dims;
  LoopProgram program;
  std::vector<std::vector<std::byte>> arrays = {};
  std::vector<ElementType> types = {};
  std::vector<Value> values = {};  // Indexed like value_types.
  std::vector<ElementType> value_types = {};
  std::vector<int32_t> outputs = {};

  RandomProgram(uint32_t seed, std::vector<int64_t> sizes)
      : random(seed), dims(std::move(sizes)), program({}, dims) {}

  uint32_t Pick(uint32_t count) { return random() % count; }
  int64_t Count() const {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return count;
  }
  int32_t AddArray(ElementType type, int64_t count) {
    arrays.push_back(RandomArray(type, count, random));
    types.push_back(type);
    return static_cast<int32_t>(arrays.size()) - 1;
  }
  // An access of the kind `kind` to a new array.
  Access AnyAccess(ElementType type, uint32_t kind) {
    const auto rank = static_cast<int>(dims.size());
    loops::Strides strides(static_cast<size_t>(rank), 0);
    int64_t extent = 1;
    const auto spread = [&](int d, int64_t stride) {
      strides[d] = stride;
      extent += (dims[d] - 1) * stride;
    };
    int64_t next = 1;
    switch (kind) {
      case 0:  // Dense.
        for (int d = rank - 1; d >= 0; next *= dims[d--]) spread(d, next);
        break;
      case 1:  // A scalar.
        break;
      case 2:  // Along the last dimension.
        spread(rank - 1, 1);
        break;
      case 3:  // Along all dimensions but the last.
        for (int d = rank - 2; d >= 0; next *= dims[d--]) spread(d, next);
        break;
      case 4:  // Rows within longer rows, which keep or lose the alignment.
        spread(rank - 1, 1);
        next = dims[rank - 1] + (Pick(2) == 0 ? 4 : 3);
        for (int d = rank - 2; d >= 0; next *= dims[d--]) spread(d, next);
        break;
      default:  // Transposed.
        for (int d = 0; d < rank; next *= dims[d++]) spread(d, next);
        break;
    }
    const int64_t offset = Pick(3) == 0 ? Pick(4) : 0;
    return {.argument = AddArray(type, extent + offset), .type = type, .offset = offset, .inner = strides};
  }
  void Load(ElementType type) {
    values.push_back(program.Load(AnyAccess(type, Pick(6))));
    value_types.push_back(type);
  }
  void Iota(ElementType type) {
    Access access = AnyAccess(type, Pick(6));
    access.argument = Access::kIota;
    values.push_back(program.Load(std::move(access)));
    value_types.push_back(type);
  }
  // A load or store whose start is known at run time.
  Access Started(ElementType type) {
    Access access = AnyAccess(type, 0);
    const int64_t room = Pick(2) == 0 ? 8 : 5;
    arrays.back() = RandomArray(type, Count() + access.offset + room, random);
    const int32_t start = AddArray(ElementType::kS32, 1);
    const int32_t value = static_cast<int32_t>(Pick(12)) - 2;
    std::memcpy(arrays[start].data(), &value, sizeof value);
    access.starts.push_back({.argument = start, .type = ElementType::kS32, .max = room, .stride = 1});
    return access;
  }
  // Returns a value of the type, or one loaded.
  Value Any(ElementType type) {
    std::vector<Value> found;
    for (size_t k = 0; k < values.size(); ++k)
      if (value_types[k] == type) found.push_back(values[k]);
    if (found.empty() || Pick(4) == 0) {
      Load(type);
      return values.back();
    }
    return Pick(2) == 0 ? found.back() : found[Pick(static_cast<uint32_t>(found.size()))];
  }
  void Keep(Value value, ElementType type) {
    if (const auto round = loops::FindRounding(type); round.has_value())
      value = program.Apply(*round, loops::ComputeTypeOf(type), {value});
    values.push_back(value);
    value_types.push_back(type);
  }
  void Operate(ElementType type) {
    constexpr Opcode kBinary[] = {Opcode::kAdd,
                                  Opcode::kSubtract,
                                  Opcode::kMultiply,
                                  Opcode::kDivide,
                                  Opcode::kMaximum,
                                  Opcode::kMinimum,
                                  Opcode::kAnd,
                                  Opcode::kXor,
                                  Opcode::kOr,
                                  Opcode::kShiftLeft,
                                  Opcode::kShiftRightLogical,
                                  Opcode::kShiftRightArithmetic,
                                  Opcode::kRemainder};
    constexpr Opcode kUnary[] = {Opcode::kNegate, Opcode::kAbs,   Opcode::kSqrt,
                                 Opcode::kNot,    Opcode::kFloor, Opcode::kSign};
    switch (Pick(8)) {
      case 0: {
        const auto call = loops::FindScalarOperation(kUnary[Pick(6)], type);
        if (call.has_value()) Keep(program.Apply(*call, loops::ComputeTypeOf(type), {Any(type)}), type);
        return;
      }
      case 1: {
        const auto call = loops::FindCompare(static_cast<ComparisonDirection>(Pick(6)), false, type);
        if (!call.has_value()) return;
        Keep(program.Apply(*call, ComputeType::kPred, {Any(type), Any(type)}), ElementType::kPred);
        return;
      }
      case 2:
        Keep(program.Apply(loops::SelectOf(type), loops::ComputeTypeOf(type),
                           {Any(ElementType::kPred), Any(type), Any(type)}),
             type);
        return;
      case 3: {
        constexpr ElementType kTo[] = {ElementType::kF32, ElementType::kBF16, ElementType::kS32,
                                       ElementType::kU8};
        const ElementType to = kTo[Pick(4)];
        const auto call = loops::FindConvert(type, to);
        if (call.has_value()) Keep(program.Apply(*call, loops::ComputeTypeOf(to), {Any(type)}), to);
        return;
      }
      case 4: {
        const auto call = loops::FindScalarOperation(Opcode::kClamp, type);
        if (!call.has_value()) return;
        Keep(program.Apply(*call, loops::ComputeTypeOf(type), {Any(type), Any(type), Any(type)}), type);
        return;
      }
      default: {
        const Opcode opcode = kBinary[Pick(std::size(kBinary))];
        const auto call = loops::FindScalarOperation(opcode, type);
        if (!call.has_value()) return;
        const Value a = Any(type);
        Keep(program.Apply(*call, loops::ComputeTypeOf(type), {a, Pick(4) == 0 ? a : Any(type)}), type);
      }
    }
  }
  void Store(size_t k, bool with_start, bool drops = false) {
    Access access =
        with_start ? Started(value_types[k]) : AnyAccess(value_types[k], Pick(2) == 0 ? 0 : 4 + Pick(2));
    access.drops = drops;
    outputs.push_back(access.argument);
    program.Store(values[k], std::move(access));
  }
};

bool SameElements(ElementType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()) / ByteCount(type); ++i) {
    const size_t at = static_cast<size_t>(i * ByteCount(type));
    if (std::memcmp(a.data() + at, b.data() + at, static_cast<size_t>(ByteCount(type))) == 0) continue;
    if (!IsFloat(type)) return false;
    const LoadFn<double> load = Loader<double>(type);
    if (!std::isnan(load(a.data(), i)) || !std::isnan(load(b.data(), i))) return false;
  }
  return true;
}

struct Seen {
  int small = 0, all = 0, aligned = 0;
};

void Check(uint32_t seed, ElementType type, const std::vector<int64_t>& dims, Seen* seen) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << " " << Name(type));
  RandomProgram made(seed, dims);
  for (int k = 0; k < 3; ++k) made.Load(type);
  if (made.Pick(3) == 0) made.Iota(made.Pick(2) == 0 ? ElementType::kF32 : ElementType::kS32);
  if (made.Pick(3) == 0) {
    made.values.push_back(made.program.Load(made.Started(type)));
    made.value_types.push_back(type);
  }
  const uint32_t operations = 3 + made.Pick(12);
  for (uint32_t k = 0; k < operations; ++k)
    made.Operate(made.value_types.back() == ElementType::kPred ? type : made.value_types.back());
  const size_t last = made.values.size() - 1;
  if (made.Pick(4) == 0) {
    made.Store(last, true, true);
  } else {
    made.Store(last, made.Pick(3) == 0);
    made.Store(made.Pick(static_cast<uint32_t>(last + 1)), made.Pick(3) == 0);
  }
  made.program.Finish();

  VmBuilder builder;
  ASSERT_TRUE(LowerSteps(made.program, builder).ok());
  builder.EndSection();
  const absl::StatusOr<VmTemplate> vm = builder.Finish(DimsOf(made.program));
  ASSERT_TRUE(vm.ok()) << vm.status();
  const std::optional<Vm32Template> vm32 = LowerVm32(*vm);
  ASSERT_TRUE(vm32.has_value());
  ++(vm32->needs_all ? seen->all : seen->small);

  const auto run = [&](auto&& go) {
    std::vector<std::vector<std::byte>> arrays = made.arrays;
    std::vector<void*> pointers;
    for (std::vector<std::byte>& array : arrays) pointers.push_back(array.data());
    go(pointers.data());
    return arrays;
  };
  const std::vector<std::vector<std::byte>> want =
      run([&](void* const* pointers) { cpu::TileProgram(made.program).Run(pointers); });
  for (const int vectors : {1, 2, 4}) {
    if (vectors == 4 && vm32->needs_all) continue;
    const auto got = run([&](void* const* pointers) {
      Vm32Program program = vm32->program;
      SetVm32Pointers(*vm, pointers, program);
      for (int a = 0; a < vm->program.access_count; ++a) seen->aligned += program.accesses[a].vectors ? 1 : 0;
      const Vm32Choice choice{vectors, Vm32Kernel4::kSlotBytes * vectors * vm32->slot_count};
      const absl::Status status =
          LaunchVm32(*vm32, choice, program, {.emulated = true, .schedule = static_cast<int32_t>(seed % 3)});
      ASSERT_TRUE(status.ok()) << status;
    });
    for (const int32_t output : made.outputs)
      EXPECT_TRUE(SameElements(made.types[output], want[output], got[output]))
          << vectors << " vectors, argument " << output;
  }
}

TEST(Vm32Kernel, RandomProgramsHaveTheBitsOfTheCpu) {
  Seen seen;
  uint32_t seed = 1;
  const std::vector<std::vector<int64_t>> shapes = {{5, 8},   {3, 7},     {2, 3, 4}, {1},          {37},
                                                    {9, 260}, {4, 3, 64}, {2100},    {3, 2, 5, 4}, {64, 36}};
  for (const std::vector<int64_t>& dims : shapes) {
    for (const ElementType type :
         {ElementType::kF32, ElementType::kBF16, ElementType::kF16, ElementType::kS32, ElementType::kU32,
          ElementType::kS8, ElementType::kU16, ElementType::kPred}) {
      for (int k = 0; k < 20; ++k) Check(seed++, type, dims, &seen);
    }
  }
  EXPECT_GT(seen.small, 40);
  EXPECT_GT(seen.all, 100);
  EXPECT_GT(seen.aligned, 500);
}

// Loops of the small interpreter only.
TEST(Vm32Kernel, RunsCommonLoopsWithoutCalls) {
  const int64_t dims[] = {33, 64};
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    LoopProgram program({}, dims);
    const Value x = program.Load({.argument = 0, .type = type, .inner = {64, 1}}),
                s = program.Load({.argument = 1, .type = type, .inner = {0, 1}}),
                m = program.Load({.argument = 2, .type = type, .inner = {1, 0}}),
                z = program.Load({.argument = 3, .type = type, .inner = {0, 0}});
    const auto apply = [&](Opcode opcode, Value a, Value b) {
      const Value value = program.Apply(*loops::FindScalarOperation(opcode, type), ComputeType::kF32, {a, b});
      const auto round = loops::FindRounding(type);
      return !round.has_value() ? value : program.Apply(*round, ComputeType::kF32, {value});
    };
    const Value y = apply(Opcode::kMaximum, apply(Opcode::kMultiply, apply(Opcode::kSubtract, x, m), s), z);
    program.Store(y, {.argument = 4, .type = type, .inner = {64, 1}});
    program.Finish();
    VmBuilder builder;
    ASSERT_TRUE(LowerSteps(program, builder).ok());
    builder.EndSection();
    const absl::StatusOr<VmTemplate> vm = builder.Finish(DimsOf(program));
    ASSERT_TRUE(vm.ok());
    const std::optional<Vm32Template> vm32 = LowerVm32(*vm);
    ASSERT_TRUE(vm32.has_value());
    EXPECT_FALSE(vm32->needs_all);
    EXPECT_EQ(vm32->is_narrow, type == ElementType::kBF16);
    // Four loads, three operations with their roundings, a store, and a fetch of x, which is loaded first.
    EXPECT_EQ(vm32->program.code_count, 9);
    const absl::StatusOr<LoweredProgram> lowered = LowerLoop(program, kDevice);
    ASSERT_TRUE(lowered.ok());
    EXPECT_EQ(lowered->name, "loop 1 x 4, no calls");
  }
}

}  // namespace
}  // namespace hlo::cuda::vm32_test
