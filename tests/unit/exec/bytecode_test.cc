// Tests the bytecode interpreter against the same operations executed directly, and retargeting of results.

#include "kernels/cpu/bytecode/bytecode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "types/index.h"

namespace hlo::cpu::bytecode_test {
namespace {

// Even slots hold integers, odd ones floats.
constexpr int kSlots = 11, kSlotBytes = 32, kFrameBytes = kSlots * kSlotBytes;
using Frame = std::vector<std::byte>;
using Deed = std::function<void(std::byte* frame, void* const* arguments)>;

// Bytecode and equivalent functions.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  int Below(int limit) { return static_cast<int>(random_() % limit); }
  FrameOffset Slot(int first = 0) { return kSlotBytes * (first + Below(kSlots - first)); }
  static bool IsFloat(FrameOffset slot) { return slot / kSlotBytes % 2 == 1; }
  FrameOffset SlotLike(FrameOffset other) {
    const int count = IsFloat(other) ? kSlots / 2 : (kSlots + 1) / 2;
    return kSlotBytes * (2 * Below(count) + (IsFloat(other) ? 1 : 0));
  }
  void Operation(FrameOffset out) {
    using enum Opcode;
    constexpr Opcode kOfFloats[] = {kAdd,         kSubtract, kMultiply, kNegate, kCosine,
                                    kExponential, kTanh,     kSine,     kMaximum};
    constexpr Opcode kOfIntegers[] = {kAdd, kSubtract, kMultiply, kMaximum, kShiftRightLogical};
    const bool is_float = IsFloat(out);
    const Opcode opcode =
        is_float ? kOfFloats[Below(std::size(kOfFloats))] : kOfIntegers[Below(std::size(kOfIntegers))];
    const TileCall call = FindTileOp(opcode, is_float ? ElementType::kF32 : ElementType::kS32);
    Apply(call, Below(2) == 0 ? 1 : 1 + Below(kSlotBytes / 4), out);
  }
  void Compare(FrameOffset out) {
    const TileCall call = FindTileCompare(ComparisonDirection::kLt, false, ElementType::kS32);
    const FrameOffset a = SlotLike(0), b = SlotLike(0);
    code.Call(call, 1, {1, {4, 4, 4}}, out, {a, b, b});
    deeds.push_back([=](std::byte* frame, void* const*) {
      const void* in[] = {frame + a, frame + b, frame + b};
      call.function(1, frame + out, in, call.parameter);
    });
  }
  void Select(FrameOffset out) {
    const FrameOffset p = SlotLike(0), a = SlotLike(out), b = SlotLike(out);
    const TileCall call = FindTileSelect(ElementType::kU32);
    code.Call(call, 1, {4, {1, 4, 4}}, out, {p, a, b});
    deeds.push_back([=](std::byte* frame, void* const*) {
      std::memcpy(frame + out, frame + (frame[p] != std::byte{0} ? a : b), 4);
    });
  }
  void Copy(FrameOffset out) {
    const FrameOffset from = SlotLike(out);
    const int bytes = 1 + Below(kSlotBytes);
    code.Copy(out, from, bytes);
    deeds.push_back([=](std::byte* frame, void* const*) { std::memmove(frame + out, frame + from, bytes); });
  }
  void Product(FrameOffset out) {
    const FrameOffset a = SlotLike(out), b = SlotLike(out);
    if (a == out || b == out) return;
    loops::GemmProblem problem;
    problem.m = problem.n = 1;
    problem.k = 1 + Below(8);
    problem.a.type = problem.b.type = problem.c_type = ElementType::kF32;
    problem.a.column_stride = problem.b.row_stride = 1;
    const SmallDot dot = *SmallDot::Make(problem);
    code.Dot(dot, {4, 4 * problem.k, 4 * problem.k}, out, a, b);
    deeds.push_back([=](std::byte* frame, void* const*) { dot.Run(frame + a, frame + b, frame + out); });
  }
  // Loads from and stores to memory outside the frame; argument 1 is in the frame.
  void Far(FrameOffset place, int argument) {
    const FrameOffset index = SlotLike(0), address = kFrameBytes;
    const int count = 1 + Below(4), byte_count = 4 * count, max = 8 - count;
    const bool stores = Below(2) == 0, checks = Below(2) == 0;
    const Bytecode::Label outside = code.NewLabel();
    if (checks)
      code.CheckedAddress(address, false, index, ElementType::kS32, max, 4, outside);
    else
      code.Address(address, false, index, ElementType::kS32, max, 4);
    if (stores)
      code.Store(place, argument, 0, address, byte_count);
    else
      code.Load(place, argument, 0, address, byte_count);
    code.Bind(outside);
    deeds.push_back([=](std::byte* frame, void* const* arguments) {
      int32_t number;
      std::memcpy(&number, frame + index, sizeof number);
      if (checks && (number < 0 || number > max)) return;
      const int64_t distance = 4 * std::clamp<int64_t>(number, 0, max);
      std::memcpy(frame + address, &distance, sizeof distance);
      auto* far = static_cast<std::byte*>(arguments[argument]) + distance;
      std::memmove(stores ? far : frame + place, stores ? frame + place : far, byte_count);
    });
  }
  void MemoryCall(int argument) {
    const TileCall call = FindTileOp(Opcode::kAdd, ElementType::kS32);
    const Bytecode::MemoryOperand all = {argument, 0, Bytecode::kNoAddress};
    code.CallOnMemory({call, 8, all, {all, all, {}}});
    deeds.push_back([=](std::byte*, void* const* arguments) {
      const void* in[] = {arguments[argument], arguments[argument], nullptr};
      call.function(8, arguments[argument], in, call.parameter);
    });
  }
  void Any(FrameOffset out) {
    const int kind = Below(8);
    if (kind == 0) return Select(out);
    if (kind == 1) return Copy(out);
    if (kind == 2) return IsFloat(out) ? Product(out) : Compare(out);
    if (kind == 3 && !IsFloat(out)) return Far(out, 0);
    Operation(out);
  }

  Bytecode code;
  std::vector<Deed> deeds;

 private:
  void Apply(const TileCall& call, int count, FrameOffset out) {
    const FrameOffset a = SlotLike(out), b = SlotLike(out);
    code.Call(call, count, {4, {4, 4, 4}}, out, {a, b, b});
    deeds.push_back([=](std::byte* frame, void* const*) {
      const void* in[] = {frame + a, frame + b, frame + b};
      call.function(count, frame + out, in, call.parameter);
    });
  }

  std::mt19937 random_;
};

// Returns small integers, and floats around 0.
Frame Numbers(uint32_t seed, int slots) {
  std::mt19937 random(seed);
  Frame frame(slots * kSlotBytes);
  for (size_t k = 0; k < frame.size(); k += 4) {
    const int32_t number = static_cast<int32_t>(random() % 12) - 2;
    const float real = static_cast<float>(number) * 0.75f;
    const bool is_float = Program::IsFloat(static_cast<FrameOffset>(k));
    std::memcpy(frame.data() + k, is_float ? static_cast<const void*>(&real) : &number, 4);
  }
  return frame;
}

// The sum of two NaNs may be either of them.
void ExpectSame(const Frame& got, const Frame& want, uint32_t seed) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); k += 4) {
    float a, b;
    std::memcpy(&a, got.data() + k, 4);
    std::memcpy(&b, want.data() + k, 4);
    const bool are_nan = Program::IsFloat(static_cast<FrameOffset>(k)) && a != a && b != b;
    ASSERT_TRUE(are_nan || std::memcmp(got.data() + k, want.data() + k, 4) == 0)
        << "seed " << seed << ", byte " << k;
  }
}

struct Memory {
  explicit Memory(uint32_t seed)
      : frame(Numbers(seed, kSlots + 1)),
        far(Numbers(seed + 1, 1)),
        arguments{far.data(), frame.data() + kFrameBytes - kSlotBytes} {}
  Memory(const Memory&) = delete;
  Frame frame, far;
  void* arguments[2];
};

TEST(Bytecode, ExecutesOperationsInOrder) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Program program(seed);
    for (int k = 0; k < 12; ++k) program.Any(program.Slot());
    program.code.Finish();
    Memory got(seed), want(seed);
    ASSERT_TRUE(program.code.Run(got.frame.data(), got.arguments, [](int32_t) { return true; }));
    for (const Deed& deed : program.deeds) deed(want.frame.data(), want.arguments);
    ExpectSame(got.frame, want.frame, seed);
    ExpectSame(got.far, want.far, seed);
  }
}

// Retargeting: a result is copied at the end, or computed directly at its destination.
TEST(Bytecode, RetargetingKeepsTheResults) {
  constexpr FrameOffset kTo = 0, kFrom = 2 * kSlotBytes;
  int retargeted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    Program program(seed);
    const int before = program.Below(5), after = program.Below(5);
    const auto other = [&] {
      const int kind = program.Below(8);
      const FrameOffset out = program.Slot(3);
      // Accesses must not overlap the destination.
      if (kind < 2 && !Program::IsFloat(out) && out != kFrameBytes - kSlotBytes)
        program.Far(out, kind);
      else if (kind == 2)
        program.MemoryCall(program.Below(2));
      else
        program.Any(out);
    };
    for (int k = 0; k < before; ++k) other();
    const TileCall add = FindTileOp(Opcode::kAdd, ElementType::kS32);
    const FrameOffset a = program.SlotLike(kFrom), b = program.SlotLike(kFrom);
    constexpr int kCount = kSlotBytes / 4;
    program.code.Call(add, kCount, {4, {4, 4, 4}}, kFrom, {a, b, b});
    program.deeds.push_back([=](std::byte* frame, void* const*) {
      const void* in[] = {frame + a, frame + b, frame + b};
      add.function(kCount, frame + kFrom, in, add.parameter);
    });
    for (int k = 0; k < after; ++k) other();
    program.deeds.push_back(
        [=](std::byte* frame, void* const*) { std::memcpy(frame + kTo, frame + kFrom, kSlotBytes); });
    const auto extent = [](int32_t argument) {
      return argument == 1 ? Bytecode::Bytes{kFrameBytes - kSlotBytes, kSlotBytes} : Bytecode::Bytes{0, 0};
    };
    if (program.code.Retarget(0, kFrom, kTo, kSlotBytes, extent)) {
      ++retargeted;
    } else {
      ++refused;
      program.code.Copy(kTo, kFrom, kSlotBytes);
    }
    program.code.Finish();
    Memory got(seed), want(seed);
    ASSERT_TRUE(program.code.Run(got.frame.data(), got.arguments, [](int32_t) { return true; }));
    for (const Deed& deed : program.deeds) deed(want.frame.data(), want.arguments);
    std::memcpy(got.frame.data() + kFrom, want.frame.data() + kFrom, kSlotBytes);
    ExpectSame(got.frame, want.frame, seed);
    ExpectSame(got.far, want.far, seed);
  }
  EXPECT_GT(retargeted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hlo::cpu::bytecode_test
