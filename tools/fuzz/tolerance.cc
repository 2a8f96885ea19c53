// Derives the error bounds of whole modules from those of their instructions. The reference evaluates
// variants of the module in which each inexact instruction is perturbed by its bound, up or down per element.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/print.h"
#include "hlo_run/run.h"
#include "judge.h"
#include "types/dispatch.h"
#include "types/promotion.h"

namespace hlo::fuzz {
namespace {

constexpr int kSamples = 6;
// If a sample changes an integer, other elements may be at the same threshold, each changed by half of the
// samples.
constexpr int kMaxSamples = 48;
// The samples reach about one standard deviation of the accumulated independent errors.
constexpr double kMargin = 16;
// Results that vary by more than this fraction of the largest one depend on rounding.
constexpr double kMaxSpread = 0.02;

enum class Error : uint8_t { kNone, kRelative, kLinear, kUnknown };

bool IsLinearFold(const Instruction& i) {
  if (i.called_computations().empty()) return false;
  const Opcode fold = i.called_computations().back()->root()->opcode();
  return fold == Opcode::kAdd;
}
bool FoldsWithoutRounding(const Instruction& i) {
  const std::vector<Opcode> plain = {Opcode::kMaximum, Opcode::kMinimum,   Opcode::kAnd,    Opcode::kOr,
                                     Opcode::kXor,     Opcode::kParameter, Opcode::kSelect, Opcode::kCompare,
                                     Opcode::kTuple,   Opcode::kConstant};
  for (const Computation* c : i.called_computations()) {
    for (const Instruction* part : c->instructions()) {
      if (std::find(plain.begin(), plain.end(), part->opcode()) == plain.end() &&
          (IsFloat(part->shape().type()) || IsComplex(part->shape().type())))
        return false;
    }
  }
  return true;
}

// Returns true if the product is computed in another type than the declared one and converted.
bool IsConvertedProduct(const Instruction& i) {
  const ElementType type = i.shape().type();
  return ProductType(i.operand(0)->shape().type(), i.operand(1)->shape().type(), type) != type;
}

Error ErrorOf(const Instruction& i) {
  if (!i.shape().IsArray() && !i.shape().IsTuple()) return Error::kNone;
  switch (i.opcode()) {
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kRaggedDot:
      if (IsConvertedProduct(i)) return Error::kUnknown;
      return !IsFloat(i.shape().type()) ? IsComplex(i.shape().type()) ? Error::kUnknown : Error::kNone
                                        : Error::kLinear;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter:
      if (i.shape().IsArray() && !IsFloat(i.shape().type()) && !IsComplex(i.shape().type()))
        return Error::kNone;
      if (FoldsWithoutRounding(i)) return Error::kNone;
      return i.shape().IsArray() && IsFloat(i.shape().type()) && IsLinearFold(i) ? Error::kLinear
                                                                                 : Error::kUnknown;
    case Opcode::kFft:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
    case Opcode::kCustomCall:
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
    case Opcode::kRng:
    case Opcode::kScaledDot:
    case Opcode::kScan:
    case Opcode::kMap:
      return Error::kUnknown;
    case Opcode::kMultiply:
    case Opcode::kDivide:
      return IsComplex(i.shape().type()) ? Error::kUnknown : Error::kNone;
    default:
      if (!Info(i.opcode()).has(kInexact)) return Error::kNone;
      return IsFloat(i.shape().type())     ? Error::kRelative
             : IsComplex(i.shape().type()) ? Error::kUnknown
                                           : Error::kNone;
  }
}

// Returns true if the contract requires the instruction to round once; perturbed operands may then change the
// last bit.
bool RoundsOnce(const Instruction& i) {
  if (!i.shape().IsArray() || !IsFloat(i.shape().type())) return false;
  switch (i.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide:
    case Opcode::kSqrt:
    case Opcode::kConvert:
    case Opcode::kReducePrecision:
      return true;
    default:
      return false;
  }
}

// Returns the instructions whose values may be inexact: inexact ones and their transitive users.
std::set<const Instruction*> Inexact(const Module& module) {
  std::set<const Instruction*> inexact;
  std::set<const Computation*> from_inexact;  // Called with inexact operands.
  const auto is_off = [&](const Instruction* i) {
    if (ErrorOf(*i) != Error::kNone) return true;
    if (i->opcode() == Opcode::kParameter && from_inexact.contains(i->parent())) return true;
    for (const Instruction* operand : i->operands()) {
      if (inexact.contains(operand)) return true;
    }
    for (const Computation* c : i->called_computations()) {
      if (inexact.contains(c->root())) return true;
    }
    return false;
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const Computation* c : module.computations()) {
      for (const Instruction* i : c->instructions()) {
        if (!is_off(i)) continue;
        grows |= inexact.insert(i).second;
        for (const Computation* callee : i->called_computations())
          grows |= from_inexact.insert(callee).second;
      }
    }
  }
  return inexact;
}

double Epsilon(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> double {
    using N = Native<kType>;
    if constexpr (std::is_floating_point_v<N>)
      return std::numeric_limits<N>::epsilon();
    else if constexpr (requires { N::format(); })
      return std::ldexp(1.0, -N::format().mantissa_bits);
    else
      return 0;
  });
}

// Returns the least precise type to which the result of an instruction or of its combiner is rounded.
ElementType CoarsestType(const Instruction& i) {
  ElementType type = i.shape().type();
  for (const Computation* c : i.called_computations()) {
    const Shape& combined = c->root()->shape();
    if (combined.IsArray() && Epsilon(combined.type()) > Epsilon(type)) type = combined.type();
  }
  return type;
}

// Returns the largest number of terms in a sum of the instruction.
double Terms(const Instruction& i) {
  double most = 1;
  for (const Instruction* operand : i.operands()) {
    if (operand->shape().IsArray())
      most = std::max(most, static_cast<double>(operand->shape().ElementCount().value_or(1)));
  }
  const double results = static_cast<double>(std::max<int64_t>(i.shape().ElementCount().value_or(1), 1));
  if (i.opcode() == Opcode::kReduce) return most / results + 1;
  return std::min(most, 1e5);
}

// Lines that define names with a common prefix.
struct Lines {
  std::string name, text;
  void Add(std::string_view suffix, std::string_view definition) {
    text += fmt::format("  {}.{} = {}\n", name, suffix, definition);
  }
};

std::string SizedAs(const Shape& shape, std::string_view type) {
  return fmt::format("{}[{}]", type, fmt::join(shape.dims(), ","));
}

// Returns a call of a linear instruction on the magnitudes of its operands: the same sums over magnitudes.
std::string CallOnMagnitudes(const Instruction& i, Lines& lines) {
  std::string call = Print(i, {.form = PrintForm::kShort, .own_order = true});
  call = call.substr(call.find(" = ") + 3);
  std::string names;
  for (int64_t k = 0; k < i.operand_count(); ++k) {
    const Instruction& operand = *i.operand(k);
    const bool is_float = operand.shape().IsArray() && IsFloat(operand.shape().type());
    if (is_float)
      lines.Add(fmt::format("a{}", k), fmt::format("{} abs(%{})", ToString(operand.shape()), operand.name()));
    names +=
        fmt::format("{}{}", k > 0 ? ", " : "",
                    is_float ? fmt::format("{}.a{}", lines.name, k) : fmt::format("%{}", operand.name()));
  }
  const size_t open = call.find('(', call.find(std::string(Name(i.opcode())) + "("));
  return fmt::format("{}({}{}", Name(i.opcode()), names, call.substr(call.find(')', open)));
}

// Adds the definition of `up`, a hash of the indices and the salt: whether an element has a positive error.
void AddSigns(const Shape& shape, uint64_t salt, Lines& lines) {
  const std::string words = SizedAs(shape, "u32");
  const std::string& name = lines.name;
  lines.Add("seed", fmt::format("u32[] constant({})", static_cast<uint32_t>(salt)));
  lines.Add("hash", fmt::format("{} broadcast({}.seed), dimensions={{}}", words, name));
  std::string hash = name + ".hash";
  for (int64_t d = 0; d < shape.rank(); ++d) {
    lines.Add(fmt::format("i{}", d), fmt::format("{} iota(), iota_dimension={}", words, d));
    lines.Add(fmt::format("x{}", d), fmt::format("{} xor({}, {}.i{})", words, hash, name, d));
    lines.Add(fmt::format("k{}", d), "u32[] constant(2654435769)");
    lines.Add(fmt::format("b{}", d), fmt::format("{} broadcast({}.k{}), dimensions={{}}", words, name, d));
    lines.Add(fmt::format("m{}", d), fmt::format("{0} multiply({1}.x{2}, {1}.b{2})", words, name, d));
    lines.Add(fmt::format("t{}", d), "u32[] constant(15)");
    lines.Add(fmt::format("u{}", d), fmt::format("{} broadcast({}.t{}), dimensions={{}}", words, name, d));
    lines.Add(fmt::format("r{}", d),
              fmt::format("{0} shift-right-logical({1}.m{2}, {1}.u{2})", words, name, d));
    hash = fmt::format("{}.r{}", name, d);
  }
  lines.Add("one", "u32[] constant(1)");
  lines.Add("ones", fmt::format("{} broadcast({}.one), dimensions={{}}", words, name));
  lines.Add("bit", fmt::format("{} and({}, {}.ones)", words, hash, name));
  lines.Add("up", fmt::format("{0} compare({1}.bit, {1}.ones), direction=EQ", SizedAs(shape, "pred"), name));
}

// Returns the lines after an instruction named `raw`, which define `name` as its result with an error.
std::string WithError(const Instruction& i, const std::string& name, const std::string& raw, uint64_t salt,
                      double scale) {
  const Shape& shape = i.shape();
  const std::string array = ToString(shape), type(Name(shape.type()));
  Lines lines{name, ""};
  std::string size = fmt::format("abs({})", raw);
  double bound = (ErrorOf(i) == Error::kNone ? 1 : 4) * Epsilon(shape.type());
  if (ErrorOf(i) == Error::kLinear) {
    size = CallOnMagnitudes(i, lines);
    const ElementType coarsest = CoarsestType(i);
    const double accumulated = coarsest == ElementType::kF64 ? 0x1p-53 : 0x1p-24;
    bound = Epsilon(coarsest) + Terms(i) * accumulated;
  }
  lines.Add("size", array + " " + size);
  AddSigns(shape, salt, lines);
  lines.Add("bound", fmt::format("{}[] constant({})", type, bound * scale));
  lines.Add("bounds", fmt::format("{} broadcast({}.bound), dimensions={{}}", array, name));
  lines.Add("error", fmt::format("{0} multiply({1}.size, {1}.bounds)", array, name));
  lines.Add("less", fmt::format("{0} negate({1}.error)", array, name));
  lines.Add("signed", fmt::format("{0} select({1}.up, {1}.error, {1}.less)", array, name));
  const bool is_root = i.parent()->root() == &i;
  return lines.text +
         fmt::format("  {}{} = {} add({}, {}.signed)\n", is_root ? "ROOT " : "", name, array, raw, name);
}

std::vector<double> Reals(const Literal& literal) {
  std::vector<double> numbers;
  DispatchType(literal.type(), [&]<ElementType kType>() {
    for (const Native<kType>& x : literal.span<Native<kType>>()) {
      if constexpr (requires { x.ToFloat(); })
        numbers.push_back(x.ToFloat());
      else if constexpr (requires { x.real(); })
        numbers.push_back(std::abs(std::complex<double>(x)));
      else
        numbers.push_back(static_cast<double>(x));
    }
  });
  return numbers;
}

// Adds the deviation of a sample to the tolerance of a float.
void WidenFloats(const Literal& want, const Literal& sample, std::vector<double>* tolerance) {
  const std::vector<double> a = Reals(want), b = Reals(sample);
  double largest = 0, farthest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
    if (std::isfinite(a[i]) && std::isfinite(b[i])) farthest = std::max(farthest, std::abs(a[i] - b[i]));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    double& t = (*tolerance)[i];
    if (t < 0) continue;
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::isfinite(a[i]) && std::isfinite(b[i]))) {
      t = -1;
    } else if (farthest > kMaxSpread * largest) {
      t = -1;
    } else {
      t = std::max(t, kMargin * farthest);
    }
  }
}

// Excludes integers and predicates that a sample changes from the comparison. Returns true if there are any.
bool ExcludeChanged(const Literal& want, const Literal& sample, std::vector<double>* tolerance) {
  const std::vector<double> a = Reals(want), b = Reals(sample);
  bool changes = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    (*tolerance)[i] = -1;
    changes = true;
  }
  return changes;
}

bool IsInteger(const Literal& literal) { return !IsFloat(literal.type()) && !IsComplex(literal.type()); }

}  // namespace

absl::StatusOr<std::string> Perturbed(const Module& module, uint64_t salt, double scale) {
  std::string text = "HloModule perturbed\n\n";
  std::vector<const Computation*> scalar_code;
  for (const Computation* c : module.computations()) {
    for (const Instruction* i : c->instructions()) {
      const Opcode op = i->opcode();
      const bool takes_scalars = op == Opcode::kReduce || op == Opcode::kReduceWindow ||
                                 op == Opcode::kScatter || op == Opcode::kSort ||
                                 op == Opcode::kSelectAndScatter;
      if (ErrorOf(*i) == Error::kUnknown)
        return absl::UnimplementedError(fmt::format("there is no error bound for {}", Name(op)));
      if (!takes_scalars) continue;
      scalar_code.insert(scalar_code.end(), i->called_computations().begin(), i->called_computations().end());
    }
  }
  const std::set<const Instruction*> inexact = Inexact(module);
  const PrintOptions options{.form = PrintForm::kShort, .own_order = true};
  for (const Computation* c : module.computations()) {
    const bool is_plain = std::find(scalar_code.begin(), scalar_code.end(), c) != scalar_code.end();
    text += fmt::format("{}%{} {{\n", c->IsEntry() ? "ENTRY " : "", c->name());
    for (const Instruction* i : c->instructions()) {
      std::string definition = Print(*i, options);
      definition = definition.substr(definition.find(" = "));
      const bool has_error =
          !is_plain && (ErrorOf(*i) != Error::kNone || (inexact.contains(i) && RoundsOnce(*i)));
      const std::string name = fmt::format("%{}", i->name());
      const bool is_root = c->root() == i && !has_error;
      text += fmt::format("  {}{}{}{}\n", is_root ? "ROOT " : "", name, has_error ? ".raw" : "", definition);
      if (has_error) text += WithError(*i, name, name + ".raw", Random(salt ^ text.size()).Next(), scale);
    }
    text += "}\n\n";
  }
  return text;
}

Tolerance ToleranceOf(const CheckedModule& module, const std::vector<Literal>& arguments,
                      const Literal& result) {
  Tolerance tolerance;
  const std::vector<LiteralLeaf> want = ArrayLeaves(result);
  const bool is_inexact = Inexact(module.module()).contains(module.module().entry()->root());
  for (const LiteralLeaf& leaf : want) {
    std::vector<double>& tolerances = tolerance.by_leaf.emplace_back(leaf.value->element_count(), 0.0);
    if (!is_inexact || !IsFloat(leaf.value->type())) continue;
    // All samples of a single number may round to the same value.
    const std::vector<double> numbers = Reals(*leaf.value);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (std::isfinite(numbers[i])) tolerances[i] = 4 * Epsilon(leaf.value->type()) * std::abs(numbers[i]);
    }
  }
  const bool any_integer = is_inexact && std::any_of(want.begin(), want.end(), [](const LiteralLeaf& x) {
                             return IsInteger(*x.value);
                           });
  // Deviations of floats are multiplied by the margin. An integer is compared only if errors of that size do
  // not move it across a threshold.
  int samples = kSamples;
  for (int sample = 0; sample < samples; ++sample) {
    for (const bool of_integers : {false, true}) {
      if (of_integers && !any_integer) continue;
      const absl::StatusOr<std::string> text =
          Perturbed(module.module(), sample + 1, of_integers ? kMargin : 1);
      if (!text.ok()) return {.unknown = text.status().ToString()};
      const absl::StatusOr<CheckedModule> variant = ReadModule(*text);
      if (!variant.ok()) return {.unknown = variant.status().ToString()};
      const absl::StatusOr<Literal> value = Evaluate(*variant, arguments, {.max_seconds = 4});
      if (!value.ok()) return {.unknown = value.status().ToString()};
      const std::vector<LiteralLeaf> got = ArrayLeaves(*value);
      for (size_t i = 0; i < got.size(); ++i) {
        std::vector<double>& tolerances = tolerance.by_leaf[i];
        if (IsInteger(*want[i].value)) {
          if (ExcludeChanged(*want[i].value, *got[i].value, &tolerances)) samples = kMaxSamples;
        } else if (!of_integers) {
          WidenFloats(*want[i].value, *got[i].value, &tolerances);
        }
      }
    }
  }
  return tolerance;
}

}  // namespace hlo::fuzz
