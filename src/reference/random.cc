// Random bits and numbers (semantics 7).

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/custom/functions.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "reference/wide_scalar.h"
#include "types/counter_random.h"
#include "types/index.h"
#include "types/normal_random.h"
#include "types/wide.h"

namespace hlo::reference {
namespace {

using State = std::array<uint64_t, 3>;

// Returns the dimension along which the two words of a block are adjacent: the first one of even size, or
// else the first of the largest size.
int64_t SplitDimension(absl::Span<const int64_t> dims) {
  const auto even = std::find_if(dims.begin(), dims.end(), [](int64_t size) { return size % 2 == 0; });
  if (even != dims.end()) return even - dims.begin();
  return std::max_element(dims.begin(), dims.end()) - dims.begin();
}

// Returns the block of the counter, which is advanced.
TwoWords<uint32_t> NextPair(State& state) {
  const uint64_t counter = state[1]++;
  return ThreeFry<uint32_t>(state[0], {LowWord(counter), HighWord(counter)});
}

// Calls set(i, bits) for every element of an array of these sizes and advances the state.
template <class Set>
void ThreeFryWords(absl::Span<const int64_t> dims, State& state, Set&& set) {
  if (dims.empty()) {
    set(0, NextPair(state).low);
    return;
  }
  const int64_t split = SplitDimension(dims);
  const Index strides = RowMajorStrides(dims);
  Index half(dims);
  half[split] = (half[split] + 1) / 2;
  for (const Index& j : EachIndex(half)) {
    const TwoWords<uint32_t> words = NextPair(state);
    const int64_t place = Offset(j, strides) + j[split] * strides[split];
    set(place, words.low);
    if (2 * j[split] + 1 < dims[split]) set(place + strides[split], words.high);
  }
}

template <class Set>
void ThreeFryPairs(int64_t count, State& state, Set&& set) {
  for (int64_t i = 0; i < count; ++i) {
    const TwoWords<uint32_t> words = NextPair(state);
    set(i, JoinWords(words.low, words.high));
  }
}

// In a state of two words the key is also the upper half of the counter, and the next state keeps it.
template <class Set>
void PhiloxUnits(int64_t count, bool in_pairs, bool two_words, State& state, Set&& set) {
  const int64_t step = in_pairs ? 2 : 4;
  uint64_t low = state[1], high = two_words ? state[0] : state[2];
  for (int64_t i = 0; i < count; i += step) {
    const FourWords words = Philox(low, high, state[0]);
    for (int64_t k = 0; k < step && i + k < count; ++k)
      set(i + k, in_pairs ? words.Pair(static_cast<int>(k)) : words.word[k]);
    if (++low == 0) ++high;
  }
  state[1] = low;
  if (!two_words) state[2] = high;
}

// The two words of block `index` after the counter.
using Words = std::array<uint64_t, 2>;
Words WordsOf(uint64_t seed, const std::array<uint64_t, 2>& counter, uint64_t index) {
  const uint64_t low = counter[0] + index, high = counter[1] + (low < index ? 1 : 0);
  const FourWords words = Philox(low, high, seed);
  return {words.Pair(0), words.Pair(1)};
}

// Returns a number in [a, b); rounding to the computation's type must not give b.
double UniformFloat(const Words& words, double a, double b, ScalarRound round) {
  for (const uint64_t word : words) {
    const double x = round(RandomFraction(word) * (b - a) + a);
    if (x < b || !(a < b)) return x;
  }
  return a;
}

// Returns a normal number with mean a and standard deviation b by the Box-Muller transform.
double Normal(const Words& words, double a, double b) { return NormalNumber(words[0], words[1], a, b); }

}  // namespace

std::string RandomUnsupportedReason(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kRng) {
    return IsPred(instruction.shape().type()) ? "random numbers of pred have no meaning" : "";
  }
  const Shape& state = instruction.operand(0)->shape();
  const Shape& result = instruction.shape().IsTuple() ? instruction.shape().element(1) : instruction.shape();
  const bool two_words = state.IsArray(ElementType::kU64) && state.rank() == 1 && state.dim(0) == 2;
  const bool three_words = state.IsArray(ElementType::kU64) && state.rank() == 1 && state.dim(0) == 3;
  if (!two_words && !three_words)
    return fmt::format("a state of {} is not u64[2] or u64[3]", ToString(state));
  if (three_words && instruction.Get<attr::rng_algorithm>() == RngAlgorithm::kThreeFry)
    return "three-fry has a state of u64[2]";
  if (!result.IsArray() || IsPred(result.type()) || BitWidth(result.type()) > 64 || IsComplex(result.type()))
    return fmt::format("random bits of {} have no meaning", ToString(result));
  return "";
}

// Returns (next state, bits): a counter encrypted with a key (semantics 7.2). Types narrower than 32 bits
// keep the low bits of a word.
absl::StatusOr<Literal> RngBitGenerator(OpContext& context) {
  const Shape& shape = context.shape().IsTuple() ? context.shape().element(1) : context.shape();
  HLO_ASSIGN_OR_RETURN(Literal bits, Literal::Create(shape));
  Literal state = std::move(context.operands[0]);
  HLO_RETURN_IF_ERROR(state.MakeUnique());
  const absl::Span<uint64_t> words = state.mutable_span<uint64_t>();
  State counter = {};
  std::copy(words.begin(), words.end(), counter.begin());

  const int64_t width = BitWidth(shape.type()), byte_count = ByteCount(shape.type());
  auto set = [&](int64_t i, uint64_t value) {
    if (width < 8 && IsSigned(shape.type()))
      value = static_cast<uint64_t>(SignExtend(static_cast<int64_t>(value), width));
    if (width < 8 && !IsSigned(shape.type())) value = ZeroExtend(value, width);
    std::memcpy(bits.mutable_data() + i * byte_count, &value, byte_count);
  };
  const bool in_pairs = width == 64;
  if (context.instruction.Get<attr::rng_algorithm>() != RngAlgorithm::kThreeFry)
    PhiloxUnits(bits.element_count(), in_pairs, words.size() == 2, counter, set);
  else if (in_pairs)
    ThreeFryPairs(bits.element_count(), counter, set);
  else
    ThreeFryWords(shape.dims(), counter, set);

  std::copy_n(counter.begin(), words.size(), words.begin());
  if (!context.shape().IsTuple()) return bits;
  std::vector<Literal> parts = {std::move(state), std::move(bits)};
  return Literal::Tuple(std::move(parts));
}

// Draws numbers from a distribution with parameters (a, b), each from a block of the counter; the values are
// implementation-defined (semantics 7.7). Floats of at most 16 bits are drawn as f32.
absl::StatusOr<Literal> Rng(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const WideScalar a = LoadScalar(context.operands[0], 0), b = LoadScalar(context.operands[1], 0);
  const ElementType type = result.type();
  const ScalarRound round = ArithmeticRound(type == ElementType::kF64 ? type : ElementType::kF32);
  const bool normal = context.instruction.Get<attr::distribution>() == RandomDistribution::kNormal;
  const std::array<uint64_t, 2> counter = context.caller.AdvanceCounter(result.element_count());
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const Words words = WordsOf(context.caller.seed(), counter, static_cast<uint64_t>(i));
    WideScalar value = a;
    if (IsFloat(type))
      value.f = normal ? round(Normal(words, a.f, b.f)) : UniformFloat(words, a.f, b.f, round);
    else if (a.u != b.u)
      value.u = a.u + words[0] % ZeroExtend(b.u - a.u, BitWidth(type));
    StoreScalar(result, i, value);
  }
  return result;
}

// Returns the counter before `delta` is added, low half first.
absl::StatusOr<Literal> RngGetAndUpdateState(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const std::array<uint64_t, 2> counter =
      context.caller.AdvanceCounter(context.instruction.Get<attr::delta>());
  std::copy(counter.begin(), counter.end(), result.mutable_span<uint64_t>().begin());
  return result;
}

// Computes (y0, y1) = ThreeFry with key (k0, k1) of the counter (x0, x1) elementwise.
absl::StatusOr<Literal> custom::ThreeFryBlocks(OpContext& context) {
  absl::Span<const uint32_t> in[4];
  for (int k = 0; k < 4; ++k) in[k] = context.operands[k].span<uint32_t>();
  HLO_ASSIGN_OR_RETURN(Literal first, Literal::Create(context.shape().element(0)));
  HLO_ASSIGN_OR_RETURN(Literal second, Literal::Create(context.shape().element(1)));
  for (size_t i = 0; i < in[0].size(); ++i) {
    const auto words = ThreeFry<uint32_t>(JoinWords(in[0][i], in[1][i]), {in[2][i], in[3][i]});
    first.mutable_span<uint32_t>()[i] = words.low;
    second.mutable_span<uint32_t>()[i] = words.high;
  }
  return Literal::Tuple({std::move(first), std::move(second)});
}

}  // namespace hlo::reference
