#include "idioms.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "fmt/format.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

constexpr int64_t kMaxElements = 20000, kLarge = 300000;

ElementType PickType(Random& random, const std::vector<ElementType>& common,
                     const std::vector<ElementType>& rare) {
  return random.Pick(random.Chance(0.9) ? common : rare);
}

std::string Make(uint64_t seed, std::string_view only, double large = 0.04) {
  Random random(seed);
  const bool is_exact = random.Chance(0.8), is_wild = is_exact && random.Chance(0.1);
  Program program(random.Next(), is_exact, is_wild);
  program.may_be_large = program.random.Chance(large);
  Body entry(program, 0);
  Scene scene{.body = entry, .takes_parameters = true};
  const std::vector<Idiom>& idioms = AllIdioms();
  double total = 0;
  for (const Idiom& idiom : idioms) total += idiom.weight;
  const int64_t count = only.empty() ? 1 + program.random.Below(4) : 1;
  for (int64_t i = 0; i < count; ++i) {
    double place = program.random.Unit() * total;
    for (const Idiom& idiom : idioms) {
      if (only.empty() ? (place -= idiom.weight) <= 0 : idiom.name == only) {
        idiom.make(scene);
        break;
      }
    }
  }
  if (scene.pool.empty()) scene.Add(scene.Any());
  // The last results, and some of the others: additional uses of a value change how it is planned.
  Values results;
  const auto size = static_cast<int64_t>(scene.pool.size());
  for (int64_t i = 0; i < size; ++i) {
    if (i + 2 >= size || program.random.Chance(0.3)) results.push_back(scene.pool[i]);
  }
  results.insert(results.end(), scene.shaped.begin(), scene.shaped.end());
  program.random.Shuffle(results);
  return program.Finish(entry, results);
}

// Returns the offsets of type names before brackets.
std::vector<size_t> TypePlaces(const std::string& text) {
  std::vector<size_t> places;
  for (size_t bracket = text.find('['); bracket != std::string::npos; bracket = text.find('[', bracket + 1)) {
    size_t begin = bracket;
    while (begin > 0 && std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    if (ParseElementType(std::string_view(text).substr(begin, bracket - begin))) places.push_back(begin);
  }
  return places;
}

}  // namespace

std::string RandomTypes(uint64_t seed) {
  Random random(seed ^ 0x7e57);
  std::string text = Make(seed, "", 0.4);
  for (int64_t i = random.Between(1, 2); i > 0; --i) {
    const std::vector<size_t> places = TypePlaces(text);
    if (places.empty()) break;
    const size_t at = random.Pick(places);
    static const std::vector<std::string> kTypes = {"f16", "f32",  "f64", "bf16", "s8",     "s32", "s64",
                                                    "u8",  "pred", "c64", "s4",   "f8e5m2", "u16"};
    text.replace(at, text.find('[', at) - at, random.Pick(kTypes));
  }
  // Values that are exact in one type may be inexact in the other.
  return text.replace(0, text.find('\n'), "HloModule loose");
}

ElementType Scene::Type() {
  return PickType(random(),
                  {kF32, kF32, kF32, kF32, kF64, kBF16, kF16, kS32, kS32, kS8, kU8, kS64, kU32, kPred},
                  {kS16, kU16, kU64, kS4, kU4, kF8E4M3FN, kF8E5M2, kC64, kC128});
}
ElementType Scene::Number() {
  return PickType(random(), {kF32, kF32, kF32, kF32, kF64, kBF16, kF16, kS32, kS32, kS8, kS64, kU32},
                  {kS16, kU16, kU8, kU64});
}
ElementType Scene::FloatType() { return PickType(random(), {kF32, kF32, kF32, kF64, kBF16}, {kF16}); }
ElementType Scene::IndexType() { return PickType(random(), {kS32, kS32, kS32, kS64}, {kU32, kS8, kU8}); }

int64_t Scene::Size() {
  static const std::vector<int64_t> kSmall = {1, 2, 3, 4, 5, 7, 8},
                                    kEdges = {15, 16, 17, 31, 32, 33, 64, 100};
  static const std::vector<int64_t> kLong = {257, 1025};
  if (random().Chance(0.01)) return 0;
  if (random().Chance(0.5)) return random().Pick(kSmall);
  return random().Pick(random().Chance(0.85) ? kEdges : kLong);
}

Dims Scene::SomeDims(int64_t rank) {
  const int64_t most = body.program.may_be_large && body.depth == 0 ? kLarge
                       : body.depth > 0                             ? kMaxElements / 4
                                                                    : kMaxElements;
  Dims dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(Size());
  if (most == kLarge && rank > 0) dims[random().Below(rank)] *= random().Pick<int64_t>({64, 256, 1000});
  while (Count(dims) > most) {
    int64_t& largest = *std::max_element(dims.begin(), dims.end());
    largest = (largest + 1) / 2;
  }
  return dims;
}

Value Scene::Fresh(ElementType type, const Dims& dims) {
  if (takes_parameters) {
    const bool is_wild = body.program.is_wild && random().Chance(0.3);
    Value value = body.Parameter(is_wild ? "wild" : "p", type, dims);
    if (!body.program.is_exact && IsFloat(ComponentType(type))) value.step = kUnknownStep;
    if (IsPred(type)) value.top = 1;
    if (IsIntegral(type)) value.top = std::numeric_limits<double>::infinity();
    return value;
  }
  if (!dims.empty() && random().Chance(0.5) && !IsComplex(type) && !IsPred(type))
    return body.Iota(type, dims, random().Below(static_cast<int64_t>(dims.size())));
  return body.Splat(type, dims, static_cast<double>(random().Below(2)));
}

BodyFn Below(int64_t trips) {
  return [trips](Body& b, const Values& state) -> Values {
    return {b.Compare(state[0], b.Constant(kS32, static_cast<double>(trips)), "LT")};
  };
}
Value Next(Body& b, const Value& counter) { return b.Binary("add", counter, b.Constant(kS32, 1)); }

Value Scene::Any() {
  if (!pool.empty() && (random().Chance(0.75) || !takes_parameters)) {
    // Recent values are preferred, so that chains become long.
    const auto size = static_cast<int64_t>(pool.size());
    return pool[random().Chance(0.5) ? size - 1 - random().Below(std::min<int64_t>(size, 3))
                                     : random().Below(size)];
  }
  return Fresh(Type(), SomeDims(random().Between(0, 4)));
}

Value Scene::Of(ElementType type, const Dims& dims) {
  if (pool.empty() || random().Chance(takes_parameters ? 0.35 : 0.1)) return Fresh(type, dims);
  Values fitting;
  for (const Value& v : pool) {
    if (v.type == type && v.dims == dims) fitting.push_back(v);
  }
  if (!fitting.empty() && random().Chance(0.6)) return random().Pick(fitting);
  return body.Fit(Any(), type, dims);
}

Value Scene::Indices(ElementType type, const Dims& dims, int64_t size) {
  if (takes_parameters && random().Chance(0.7)) {
    const int64_t most = BitWidth(type) == 8 ? std::min<int64_t>(size, 100) : size;
    Value value = body.Parameter(fmt::format("below_{}", std::max<int64_t>(most, 1)), type, dims);
    value.top = static_cast<double>(most + 2);
    return value;
  }
  return Of(type, dims);
}

const std::vector<Idiom>& AllIdioms() {
#define HLO_FUZZ_ROW(name, weight) {#name, &name, weight},
  static const std::vector<Idiom> kIdioms = {HLO_FUZZ_IDIOMS(HLO_FUZZ_ROW)};
#undef HLO_FUZZ_ROW
  return kIdioms;
}

void SmallIdiom(Scene& scene) {
  static constexpr IdiomFn kSmall[] = {
      &Chain,         &Chain,          &Masks,        &Concatenations,    &ReshapeChain,
      &Slices,        &Paddings,       &MixedTypes,   &SeveralReductions, &Cumulative,
      &History,       &ReductionChain, &Selections,   &Repacking,         &WindowGather,
      &WindowScatter, &Rounded,        &DynamicSizes, &SortedByKeys,      &SeveralFolds,
      &DilatedWindows};
  kSmall[scene.random().Below(std::size(kSmall))](scene);
}

std::string RandomIdioms(uint64_t seed) { return Make(seed, ""); }
std::string OneIdiom(uint64_t seed, std::string_view name) { return Make(seed, name); }

}  // namespace hlo::fuzz
