#pragma once
// Generates random programs from idioms of real programs.

#include <string>
#include <vector>

#include "program.h"

namespace hlo::fuzz {

// A computation under construction: idioms use values of the pool and add their results to it.
struct Scene {
  Body& body;
  Values pool;
  Values shaped = {};  // Results with layouts or dynamic dimensions, which other idioms do not use.
  bool takes_parameters = false;  // The entry may get additional parameters.

  Random& random() { return body.random; }
  // Returns a value of the pool, or a new one, of any type and shape.
  Value Any();
  // Returns a value converted to this type and shape.
  Value Of(ElementType type, const Dims& dims);
  // Returns a new value: a parameter in the entry, otherwise a simple expression.
  Value Fresh(ElementType type, const Dims& dims);
  // Returns indices, mostly valid, for a dimension of this size.
  Value Indices(ElementType type, const Dims& dims, int64_t size);
  void Add(const Value& value) { pool.push_back(value); }
  void AddAll(const Values& values) { pool.insert(pool.end(), values.begin(), values.end()); }

  int64_t Size();
  Dims SomeDims(int64_t rank);
  ElementType Type();    // Returns any type.
  ElementType Number();  // Returns a type with order and arithmetic.
  ElementType FloatType();
  ElementType IndexType();
};

using IdiomFn = void (*)(Scene& scene);
struct Idiom {
  const char* name;
  IdiomFn make;
  double weight;
};
const std::vector<Idiom>& AllIdioms();
// Conditions and steps of loops that count in state[0] of type s32.
BodyFn Below(int64_t trips);
Value Next(Body& b, const Value& counter);
// Adds an idiom that is cheap enough for the body of a loop.
void SmallIdiom(Scene& scene);

// Returns a module of several idioms that share values.
std::string RandomIdioms(uint64_t seed);
// Returns the same with the type of one operand or result changed, often on large arrays. The checker rejects
// most of them.
std::string RandomTypes(uint64_t seed);
// Returns a module with only the idiom of this name.
std::string OneIdiom(uint64_t seed, std::string_view name);

// clang-format off
#define HLO_FUZZ_IDIOMS(X)                                                                                 \
  X(Chain, 2) X(Masks, 2) X(Concatenations, 2) X(ReshapeChain, 2) X(Paddings, 1) X(MixedTypes, 1)          \
  X(Layouts, 1) X(RotatedLoop, 2) X(UpdatedLoop, 2) X(History, 1.5) X(EarlyExit, 1) X(NestedLoop, 1)       \
  X(StackedScan, 2) X(Branches, 2) X(Wrapped, 1.5) X(ArgExtremes, 1.5) X(TopK, 1) X(Sorted, 1)             \
  X(Cumulative, 1.5) X(SegmentSums, 1.5) X(GatherRows, 1.5) X(GatherPoints, 1) X(ScatterRows, 1.5)         \
  X(Slices, 1.5) X(DotChain, 2) X(ReductionChain, 2) X(SeveralReductions, 1.5) X(Softmax, 1.5)           \
  X(LayerNorm, 1.5) X(TokensAndPositions, 1.5) X(Attention, 1) X(Convolution, 1) X(Windows, 1)             \
  X(MapCode, 0.7) X(RandomBits, 0.7) X(TopkOpcode, 0.7) X(ScanOpcode, 0.7) X(PoolingGradient, 0.7)         \
  X(ScalarLoops, 2) X(DilatedWindows, 1) X(SeveralScatters, 1) X(AsyncCall, 0.7)                           \
  X(GeneralConvolution, 1) X(DynamicSizes, 1) X(DynamicLoop, 0.7) X(StoredLayouts, 1) X(Repacking, 1)      \
  X(Lopsided, 0.5) X(OverlappingUpdates, 1.5) X(AliasedState, 1.5) X(SharedBranches, 1.5)                  \
  X(NestedCalls, 1) X(SortedByKeys, 1.5) X(WindowScatter, 1.5) X(WindowGather, 1) X(Rounded, 0.7)          \
  X(Selections, 1) X(SeveralFolds, 1)
// clang-format on
#define HLO_FUZZ_DECLARE(name, weight) void name(Scene& scene);
HLO_FUZZ_IDIOMS(HLO_FUZZ_DECLARE)
#undef HLO_FUZZ_DECLARE

}  // namespace hlo::fuzz
