// Tests the order of stores: loops that overwrite arrays that they load, as LoopProgram allows it, compute
// the same bits as with other arrays for the results.

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::store_order_test {
namespace {

using loops::Access;
using loops::LoopProgram;

constexpr int64_t kCount = 1100;  // More than a tile.
constexpr int kLoads = 4, kOperations = 9;

Access Whole(int32_t argument, ElementType type) { return {argument, type, 0, {}, {1}}; }

// A random program. The loads are arguments 0 to kLoads - 1, the stores follow. `overwritten` are the
// arguments of loads that stores may overwrite, or -1.
struct Made {
  LoopProgram program;
  std::vector<int32_t> overwritten;
};

Made Random(ElementType type, std::mt19937& random) {
  // Operations of which chains take all but popcnt and clz.
  const Opcode binary[] = {Opcode::kAdd, Opcode::kMultiply, Opcode::kSubtract, Opcode::kMaximum};
  const bool is_float = type == ElementType::kF32;
  const Opcode unary[] = {is_float ? Opcode::kTanh : Opcode::kPopcnt,
                          is_float ? Opcode::kFloor : Opcode::kCountLeadingZeros};
  Made made{LoopProgram({}, {std::vector<int64_t>{kCount}}), {}};
  std::vector<loops::Value> values;
  for (int32_t k = 0; k < kLoads; ++k) values.push_back(made.program.Load(Whole(k, type)));
  const auto any = [&] { return values[random() % values.size()]; };
  for (int k = 0; k < kOperations; ++k) {
    const bool is_unary = random() % 3 == 0;
    const Opcode opcode = is_unary ? unary[random() % 2] : binary[random() % 4];
    const auto operation = loops::FindScalarOperation(opcode, type);
    // Recent values make long chains.
    const loops::Value first = random() % 2 == 0 ? values.back() : any();
    if (is_unary)
      values.push_back(made.program.Apply(*operation, loops::ComputeTypeOf(type), {first}));
    else
      values.push_back(made.program.Apply(*operation, loops::ComputeTypeOf(type), {first, any()}));
  }
  const int stores = 2 + static_cast<int>(random() % 3);
  for (int k = 0; k < stores; ++k) {
    const loops::Value value = k == 0 ? values.back() : values[kLoads + random() % kOperations];
    made.program.Store(value, Whole(kLoads + k, type));
  }
  made.program.Finish();
  std::vector<bool> is_taken(kLoads, false);
  for (size_t k = 0; k < made.program.stores().size(); ++k) {
    made.overwritten.push_back(-1);
    for (int32_t load = 0; load < kLoads; ++load) {
      const bool fits = made.program.LastUse([&](const Access& access) { return access.argument == load; }) <=
                        made.program.StoredFrom(k);
      if (!fits || is_taken[load] || random() % 2 == 0) continue;
      is_taken[load] = true;
      made.overwritten.back() = load;
      break;
    }
  }
  return made;
}

// Returns the stored arrays.
std::vector<std::vector<uint32_t>> RunIn(const Made& made, const std::vector<std::vector<uint32_t>>& loaded,
                                         bool in_place, bool by_other_name) {
  std::vector<std::vector<uint32_t>> arrays = loaded;
  arrays.resize(kLoads + made.overwritten.size(), std::vector<uint32_t>(kCount));
  std::vector<void*> pointers;
  for (auto& array : arrays) pointers.push_back(array.data());
  const auto overwritten = [&](int32_t argument) {
    return argument < kLoads || !in_place ? -1 : made.overwritten[argument - kLoads];
  };
  for (int32_t k = kLoads; k < static_cast<int32_t>(arrays.size()); ++k) {
    if (overwritten(k) >= 0) pointers[k] = pointers[overwritten(k)];
  }
  const auto may_alias = [&](int32_t a, int32_t b) {
    return a == b || overwritten(a) == b || overwritten(b) == a;
  };
  LoopProgram program = made.program;
  program.VisitAccesses([&](Access& access, bool is_store) {
    if (is_store && overwritten(access.argument) >= 0 && !by_other_name)
      access.argument = overwritten(access.argument);
  });
  if (by_other_name)
    cpu::TileProgram(program, may_alias).Run(pointers.data());
  else
    cpu::TileProgram(program).Run(pointers.data());
  std::vector<std::vector<uint32_t>> stored;
  for (size_t k = kLoads; k < arrays.size(); ++k) {
    const auto* at = static_cast<const uint32_t*>(pointers[k]);
    stored.emplace_back(at, at + kCount);
  }
  return stored;
}

TEST(StoreOrderTest, LoopsInPlaceComputeTheSameBits) {
  std::mt19937 random(1);
  int in_place = 0;
  for (int i = 0; i < 4000; ++i) {
    const ElementType type = i % 2 == 0 ? ElementType::kS32 : ElementType::kF32;
    const Made made = Random(type, random);
    std::vector<std::vector<uint32_t>> loaded(kLoads, std::vector<uint32_t>(kCount));
    for (auto& array : loaded) {
      // As floats, these are between 0.5 and 2.
      for (uint32_t& element : array) element = 0x3f00'0000 + random() % 0x0100'0000;
    }
    const auto expected = RunIn(made, loaded, false, false);
    for (const bool by_other_name : {false, true})
      ASSERT_EQ(RunIn(made, loaded, true, by_other_name), expected) << i;
    for (const int32_t load : made.overwritten) in_place += load >= 0;
  }
  EXPECT_GT(in_place, 1000);
}

}  // namespace
}  // namespace hlo::store_order_test
