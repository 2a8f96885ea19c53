#pragma once
// Common parts of the tests of native loops: arrays of random elements, and runs of loops as tiles and as
// native code.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/native/machine_code.h"
#include "loops/loop_program.h"
#include "types/dispatch.h"

namespace hlo::native_loops_test {

using loops::Access;
using loops::ComputeType;
using loops::LoopProgram;
using loops::Operation;
using loops::Value;

constexpr ElementType kTypes[] = {ElementType::kPred, ElementType::kS4,  ElementType::kU4,  ElementType::kS8,
                                  ElementType::kU8,   ElementType::kS16, ElementType::kU16, ElementType::kS32,
                                  ElementType::kU32,  ElementType::kS64, ElementType::kU64, ElementType::kF16,
                                  ElementType::kBF16, ElementType::kF32, ElementType::kF64, ElementType::kC64,
                                  ElementType::kC128};

using Bytes = std::vector<std::byte>;
using Place = GuardedMemory::Place;

// Returns random elements, half of which are special: near zero, near the ends of the range, near powers of
// two, infinities and NaNs.
inline Bytes RandomElements(ElementType type, int64_t count, std::mt19937& random) {
  if (IsComplex(type)) return RandomElements(ComponentType(type), 2 * count, random);
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

// Returns true if all elements have the same bits or are NaNs.
inline bool AreSame(ElementType type, const Bytes& a, const Bytes& b) {
  if (IsComplex(type)) return AreSame(ComponentType(type), a, b);
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

inline std::vector<void*> PointersTo(std::vector<GuardedMemory>& arrays) {
  std::vector<void*> pointers;
  for (GuardedMemory& array : arrays) pointers.push_back(array.data());
  return pointers;
}

// Returns the type of an opcode's result.
inline ElementType ResultOf(Opcode opcode, ElementType type) {
  if (opcode == Opcode::kIsFinite) return ElementType::kPred;
  if (opcode == Opcode::kComplex) return type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128;
  const bool takes_part = opcode == Opcode::kAbs || opcode == Opcode::kReal || opcode == Opcode::kImag;
  return takes_part && IsComplex(type) ? ComponentType(type) : type;
}

// Runs with AVX2 and with AVX-512.
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

enum class Code { kTiles, kNative, kNativeOnRows };

// Runs programs in turn on copies of the arrays, which are at this place, and returns the copies.
inline std::vector<Bytes> RunAll(absl::Span<const LoopProgram> programs, const std::vector<Bytes>& arrays,
                                 Code code, Place place) {
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
inline std::pair<std::vector<Bytes>, std::vector<Bytes>> RunBoth(const LoopProgram& program,
                                                                 const std::vector<Bytes>& arrays,
                                                                 bool on_rows = false,
                                                                 Place place = Place::kEnd) {
  return {RunAll({&program, 1}, arrays, Code::kTiles, place),
          RunAll({&program, 1}, arrays, on_rows ? Code::kNativeOnRows : Code::kNative, place)};
}

}  // namespace hlo::native_loops_test
