// Tests every elementwise opcode, conversion and reduction on the edge values of every type: NaN and zeros of
// both signs, infinities, subnormals, extremes. The fast engine and the emulated GPU must give the
// reference's bits, or values within the bound of transcendental functions. edge_deviations.txt lists all
// known deviations by device, operation and type; missing and outdated entries are errors. Setting
// HLO_UPDATE_EDGES rewrites the list.

#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "types/dispatch.h"

namespace hlo::edges_test {
namespace {

constexpr const char* kList = "tests/diff/edge_deviations.txt";

template <class R>
std::vector<R> RealEdges() {
  using L = std::numeric_limits<R>;
  std::vector<R> edges;
  for (const R x : {R{0}, L::denorm_min(), L::min() - L::denorm_min(), L::min(), L::epsilon(), R(0.5), R(1),
                    R(1.5), R(2.5), R(3), R(100), R(1e6), L::max(), L::infinity(), L::quiet_NaN()}) {
    edges.push_back(x);
    edges.push_back(std::copysign(x, R{-1}));
  }
  return edges;
}

template <ElementType kType>
std::vector<Native<kType>> Edges() {
  using N = Native<kType>;
  std::vector<N> edges;
  if constexpr (kType == ElementType::kPred) {
    edges = {false, true};
  } else if constexpr (requires { N::format(); }) {
    // Codes of both signs: zero and the smallest numbers, one and its neighbours, the largest, infinities and
    // NaN.
    const uint32_t mantissa = uint32_t{1} << N::format().mantissa_bits,
                   count = uint32_t{1} << N::format().bits();
    const uint32_t half = N::format().special == Special::kScale ? count : count / 2;
    std::set<uint32_t> codes;
    const auto one = static_cast<uint32_t>(N::format().bias) * mantissa;
    for (const uint32_t place : {0u, 1u, mantissa - 1, mantissa, mantissa + 1, one - mantissa, one - 1, one,
                                 one + 1, one + mantissa, one + 2 * mantissa, half - 2 * mantissa,
                                 half - mantissa - 1, half - mantissa, half - 2, half - 1}) {
      codes.insert(place % half);
      if (half != count) codes.insert(half + place % half);
    }
    for (const uint32_t code : codes) edges.push_back(N::FromDouble(DecodeSmallFloat(N::format(), code)));
  } else if constexpr (requires(N x) { x.real(); }) {
    using R = typename N::value_type;
    using L = std::numeric_limits<R>;
    const R parts[] = {R{0},     -R{0},          R(0.5),        R(-1), R(3), L::denorm_min(),
                       L::max(), -L::infinity(), L::quiet_NaN()};
    for (const R re : parts) {
      for (const R im : parts) edges.emplace_back(re, im);
    }
  } else if constexpr (std::is_floating_point_v<N>) {
    edges = RealEdges<N>();
  } else {
    const int width = static_cast<int>(BitWidth(kType));
    std::set<int64_t> numbers = {0, 1, -1, 2, -2, 3, 7, width - 1, width, width + 1, 100};
    for (int shift : {width - 1, width - 2, width / 2}) {
      for (const int64_t near : {-1, 0, 1})
        numbers.insert(
            static_cast<int64_t>((uint64_t{1} << std::max(shift, 0)) + static_cast<uint64_t>(near)));
    }
    std::set<N> wrapped;
    for (const int64_t x : numbers) {
      const auto left = static_cast<uint64_t>(x) << (64 - width);
      wrapped.insert(IsSigned(kType) ? static_cast<N>(static_cast<int64_t>(left) >> (64 - width))
                                     : static_cast<N>(left >> (64 - width)));
    }
    edges.assign(wrapped.begin(), wrapped.end());
  }
  return edges;
}

// Returns an array of `count` elements that cycles through the edge values, each repeated `stride` times.
Literal Array(ElementType type, int64_t count, int64_t stride) {
  Literal array = *Literal::Create(Shape::Array(type, {count}));
  DispatchType(type, [&]<ElementType kType>() {
    const auto edges = Edges<kType>();
    auto out = array.mutable_span<Native<kType>>();
    for (int64_t i = 0; i < count; ++i) out[i] = edges[i / stride % edges.size()];
  });
  return array;
}
int64_t EdgeCount(ElementType type) {
  return DispatchType(type, []<ElementType kType>() { return static_cast<int64_t>(Edges<kType>().size()); });
}

std::vector<ElementType> AllTypes() {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) types.push_back(static_cast<ElementType>(t));
  return types;
}

absl::StatusOr<CheckedModule> Read(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module =
      Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics, {.infer_shape = &InferMissingShape});
  if (module == nullptr) return absl::InvalidArgumentError(text);
  return Check(std::move(module), diagnostics);
}

// Returns the agreement that the contract requires of an opcode's result.
CompareRule RuleOf(Opcode opcode, ElementType type) {
  const ElementType part = ComponentType(type);
  const bool is_complex_arithmetic =
      IsComplex(type) && (opcode == Opcode::kMultiply || opcode == Opcode::kDivide ||
                          opcode == Opcode::kSqrt || opcode == Opcode::kAbs || opcode == Opcode::kSign);
  if (!Info(opcode).has(kInexact) && !is_complex_arithmetic) return CompareRule::Exact();
  if (IsComplex(type)) return CompareRule::Close(0, part == ElementType::kF64 ? 0x1p-49 : 0x1p-20);
  return CompareRule::Ulp(part == ElementType::kF64 || part == ElementType::kF32 ? 4 : 1);
}

class Table {
 public:
  void Compare(const std::string& key, const std::string& text, const std::vector<Literal>& arguments,
               const CompareRule& rule) {
    const absl::StatusOr<CheckedModule> module = Read("HloModule edges\n" + text);
    if (!module.ok()) return;  // The operation does not support this type.
    const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
    if (absl::IsUnimplemented(want.status())) return;  // The operation is not defined for this type.
    ASSERT_TRUE(want.ok()) << text << want.status();
    ++modules_;
    for (const auto& [name, device] :
         {std::pair("cpu", Device{}), std::pair("gpu", Device{Device::Kind::kEmulatedGpu})}) {
      const absl::StatusOr<Literal> got = Execute(*module, arguments, Engine::kFast, {}, device);
      ASSERT_TRUE(got.ok()) << text << got.status();
      const CompareReport report = CompareArrays(*got, *want, rule);
      if (report.ok()) continue;
      std::string of;
      if (!report.first.empty() && report.first[0].index.size() == 1) {
        for (const Literal& argument : arguments) {
          if (argument.element_count() != report.element_count) continue;
          of += of.empty() ? "" : ", ";
          AppendElement(argument, report.first[0].index[0], false, {}, &of);
        }
      }
      const ElementError& first = report.first.empty() ? ElementError{} : report.first[0];
      found_[fmt::format("{} {}", name, key)] =
          fmt::format("{} of {}; of {}: got {}, want {}", report.mismatch_count, report.element_count, of,
                      first.got, first.want);
    }
  }

  // Compares with the entries of the list whose keys end with `part`.
  void Check(std::string_view part) const {
    std::map<std::string, std::string> listed;
    std::ifstream file(kList);
    ASSERT_TRUE(file) << kList;
    std::vector<std::string> others;
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(": ");
      const bool is_ours = !line.starts_with("#") &&
                           line.substr(0, colon).find(fmt::format(" {} ", part)) != std::string::npos;
      if (is_ours)
        listed[line.substr(0, colon)] = line;
      else
        others.push_back(line);
    }
    EXPECT_GT(modules_, 100);
    if (std::getenv("HLO_UPDATE_EDGES") != nullptr) {
      file.close();
      std::ofstream out(kList);
      for (const std::string& line : others) out << line << "\n";
      for (const auto& [key, what] : found_) out << key << ": " << what << "\n";
      return;
    }
    for (const auto& [key, what] : found_)
      EXPECT_TRUE(listed.contains(key)) << "not listed: " << key << ": " << what;
    for (const auto& [key, line] : listed)
      EXPECT_TRUE(found_.contains(key)) << "does not occur any more: " << line;
  }

 private:
  std::map<std::string, std::string> found_;
  int64_t modules_ = 0;
};

TEST(EdgesTest, ElementwiseOperations) {
  Table table;
  for (int o = 0; o < kOpcodeCount; ++o) {
    const auto opcode = static_cast<Opcode>(o);
    const OpcodeInfo& info = Info(opcode);
    if (!info.has(kElementwise) || !info.has(kInfer) || opcode == Opcode::kCompare) continue;
    for (const ElementType type : AllTypes()) {
      const int64_t n = EdgeCount(type), count = info.min_operands == 1 ? n : n * n;
      const std::string shape = fmt::format("{}[{}]", Name(type), count);
      const std::string key = fmt::format("elementwise {} {}", info.name, Name(type));
      if (info.min_operands == 1) {
        table.Compare(key,
                      fmt::format("ENTRY e {{ a = {} parameter(0)\n ROOT r = {}(a) }}", shape, info.name),
                      {Array(type, count, 1)}, RuleOf(opcode, type));
      } else {
        table.Compare(
            key,
            fmt::format("ENTRY e {{ a = {0} parameter(0)\n b = {0} parameter(1)\n ROOT r = {1}(a, b) }}",
                        shape, info.name),
            {Array(type, count, 1), Array(type, count, n)}, RuleOf(opcode, type));
      }
    }
  }
  table.Check("elementwise");
}

TEST(EdgesTest, ComparisonsSelectionsAndClamps) {
  Table table;
  for (const ElementType type : AllTypes()) {
    const int64_t n = EdgeCount(type), count = n * n;
    const std::string name(Name(type));
    const std::vector<Literal> pair = {Array(type, count, 1), Array(type, count, n)};
    for (const char* direction : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
      for (const char* order : {"", ", type=TOTALORDER"}) {
        table.Compare(fmt::format("comparison {}{} {}", direction, *order != 0 ? "-TOTAL" : "", name),
                      fmt::format("ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{1}] parameter(1)\n ROOT r "
                                  "= pred[{1}] compare(a, b), direction={2}{3} }}",
                                  name, count, direction, order),
                      pair, CompareRule::Exact());
      }
    }
    table.Compare(fmt::format("comparison select {}", name),
                  fmt::format("ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{1}] parameter(1)\n p = "
                              "pred[{1}] compare(a, b), direction=EQ\n"
                              " ROOT r = {0}[{1}] select(p, a, b) }}",
                              name, count),
                  pair, CompareRule::Exact());
    table.Compare(
        fmt::format("comparison clamp {}", name),
        fmt::format(
            "ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{1}] parameter(1)\n c = {0}[{1}] parameter(2)\n"
            " ROOT r = {0}[{1}] clamp(a, b, c) }}",
            name, count),
        {pair[0], pair[1], Array(type, count, n + 1)}, CompareRule::Exact());
  }
  table.Check("comparison");
}

TEST(EdgesTest, ConversionsOfEdgeValuesAgree) {
  Table table;
  for (const ElementType from : AllTypes()) {
    const int64_t n = EdgeCount(from);
    for (const ElementType to : AllTypes()) {
      for (const char* opcode : {"convert", "bitcast-convert"}) {
        if (*opcode == 'b' && BitWidth(from) != BitWidth(to)) continue;
        table.Compare(fmt::format("conversion {} {}-{}", opcode, Name(from), Name(to)),
                      fmt::format("ENTRY e {{ a = {}[{}] parameter(0)\n ROOT r = {}[{}] {}(a) }}", Name(from),
                                  n, Name(to), n, opcode),
                      {Array(from, n, 1)}, CompareRule::Exact());
      }
    }
  }
  for (const ElementType type : AllTypes()) {
    for (const char* bits : {"exponent_bits=5, mantissa_bits=10", "exponent_bits=8, mantissa_bits=7",
                             "exponent_bits=4, mantissa_bits=0"}) {
      const int64_t n = EdgeCount(type);
      table.Compare(
          fmt::format("conversion reduce-precision-{}-{} {}", bits[14], bits[31], Name(type)),
          fmt::format("ENTRY e {{ a = {0}[{1}] parameter(0)\n ROOT r = {0}[{1}] reduce-precision(a), {2} }}",
                      Name(type), n, bits),
          {Array(type, n, 1)}, CompareRule::Exact());
    }
  }
  table.Check("conversion");
}

// Rows and columns have two elements, because longer sums depend on their order.
TEST(EdgesTest, ReductionsOfEdgeValuesAgree) {
  Table table;
  for (const ElementType type : AllTypes()) {
    const int64_t n = EdgeCount(type), count = n * n;
    for (const char* opcode : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
      const char* neutral = *opcode == 'm' && opcode[1] == 'u' ? "1" : "0";
      const bool is_extreme = *opcode == 'm' && opcode[1] != 'u';
      const std::string value = IsPred(type)      ? (*neutral == '1' ? "true" : "false")
                                : IsComplex(type) ? fmt::format("({}, 0)", neutral)
                                                  : neutral;
      if (is_extreme && IsComplex(type)) continue;
      const std::string code =
          fmt::format("c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT z = {0}[] {1}(x, y) }}\n",
                      Name(type), opcode);
      for (const bool rows : {true, false}) {
        const std::string text = fmt::format(
            "{0}ENTRY e {{ a = {1}[{2}] parameter(0)\n b = {1}[{2}] parameter(1)\n x = {1}[{3}] reshape(a)\n "
            "y = {1}[{3}] reshape(b)\n"
            " p = {1}[{4}] concatenate(x, y), dimensions={{{5}}}\n i = {1}[] constant({6})\n ROOT r = "
            "{1}[{2}] reduce(p, i), dimensions={{{5}}}, to_apply=c }}",
            code, Name(type), count, rows ? fmt::format("{},1", count) : fmt::format("1,{}", count),
            rows ? fmt::format("{},2", count) : fmt::format("2,{}", count), rows ? 1 : 0, value);
        const bool is_product = IsComplex(type) && *neutral == '1';
        table.Compare(fmt::format("reduction {}-of-{} {}", opcode, rows ? "rows" : "columns", Name(type)),
                      text, {Array(type, count, 1), Array(type, count, n)},
                      is_product ? RuleOf(Opcode::kMultiply, type) : CompareRule::Exact());
      }
    }
  }
  table.Check("reduction");
}

}  // namespace
}  // namespace hlo::edges_test
