#pragma once
// Random programs composed of what real code is made of.

#include <string>
#include <vector>

#include "program.h"

namespace hlo::fuzz {

// A computation that grows: idioms take values from the pool and add what they compute.
struct Scene {
  Body& body;
  Values pool;
  bool takes_parameters = false;  // The entry may get more of them.

  Random& random() { return body.random; }
  // A value of the pool or a new one, of any type and shape.
  Value Any();
  // The same, made to fit.
  Value Of(ElementType type, const Dims& dims);
  // Fresh values: a parameter of the entry, else something simple.
  Value Fresh(ElementType type, const Dims& dims);
  // Indices, mostly valid, for a dimension of this size.
  Value Indices(ElementType type, const Dims& dims, int64_t size);
  void Add(const Value& value) { pool.push_back(value); }

  int64_t Size();
  Dims SomeDims(int64_t rank);
  ElementType Type();    // Any type.
  ElementType Number();  // Numbers with order and arithmetic.
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
// One that is cheap enough for the body of a loop.
void SmallIdiom(Scene& scene);

// A few of them over shared values.
std::string RandomIdioms(uint64_t seed);
// The same with the type of one operand or result changed, often on large arrays. Checkers refuse most of
// them.
std::string RandomTypes(uint64_t seed);
// Only the idiom of this name.
std::string OneIdiom(uint64_t seed, std::string_view name);

#define HLO_FUZZ_IDIOMS(X)                                                                                   \
  X(Chain, 2)                                                                                                \
  X(Masks, 2)                                                                                                \
  X(Concatenations, 2)                                                                                       \
  X(ReshapeChain, 2)                                                                                         \
  X(Paddings, 1)                                                                                             \
  X(MixedTypes, 1) X(Layouts, 1) X(RotatedLoop, 2) X(UpdatedLoop, 2) X(History, 1.5) X(EarlyExit, 1)         \
      X(NestedLoop, 1) X(StackedScan, 2) X(Branches, 2) X(Wrapped, 1.5) X(ArgExtremes, 1.5) X(TopK, 1)       \
          X(Sorted, 1) X(Cumulative, 1.5) X(SegmentSums, 1.5) X(GatherRows, 1.5) X(ScatterRows, 1.5)         \
              X(Slices, 1.5) X(DotChain, 2) X(ReductionChain, 2) X(SeveralReductions, 1.5) X(Softmax, 1.5)   \
                  X(LayerNorm, 1.5) X(TokensAndPositions, 1.5) X(Attention, 1) X(Convolution, 1)             \
                      X(Windows, 1) X(MapCode, 0.7) X(RandomBits, 0.7) X(TopkOpcode, 0.7) X(ScanOpcode, 0.7) \
                          X(PoolingGradient, 0.7)
#define HLO_FUZZ_DECLARE(name, weight) void name(Scene& scene);
HLO_FUZZ_IDIOMS(HLO_FUZZ_DECLARE)
#undef HLO_FUZZ_DECLARE

}  // namespace hlo::fuzz
